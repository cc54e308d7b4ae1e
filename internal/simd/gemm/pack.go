package gemm

import "github.com/stowage-ml/stowage/internal/simd"

// Pack lays a K×N matrix out as Mul reads it fastest: panels of Cols columns, one behind the
// other, each row by row, with zeros where the last has no columns. dst has PackedLen elements;
// element (k, j) is src[k*ld+j].
func Pack(l simd.Level, dst, src []float32, ld, k, n int) {
	w := Cols(l)
	if k > 0 && n > 0 {
		_, _ = src[(k-1)*ld+n-1], dst[PackedLen(l, k, n)-1]
	}
	for j := 0; j < n; j += w {
		p := dst[j*k:][:w*k]
		m := min(w, n-j)
		for i := range k {
			copy(p[i*w:][:w], src[i*ld+j:][:m])
			clear(p[i*w:][m:w])
		}
	}
}

// PackTransposed is Pack for a matrix whose element (k, j) is src[j*ld+k].
func PackTransposed(l simd.Level, dst, src []float32, ld, k, n int) {
	w := Cols(l)
	if k > 0 && n > 0 {
		_, _ = src[(n-1)*ld+k-1], dst[PackedLen(l, k, n)-1]
	}
	for j := 0; j < n; j += w {
		p := dst[j*k:][:w*k]
		m := min(w, n-j)
		if m < w {
			clear(p)
		}
		Transpose(l, p, src[j*ld:], w, ld, k, m)
	}
}

// Transpose sets the m×n matrix dst to the transpose of src: dst[i*ldd+j] = src[j*lds+i].
func Transpose(l simd.Level, dst, src []float32, ldd, lds, m, n int) {
	if m <= 0 || n <= 0 {
		return
	}
	_, _ = src[(n-1)*lds+m-1], dst[(m-1)*ldd+n-1]
	for j := 0; j < n; j += 8 {
		for i := range m {
			d := dst[i*ldd+j:][:min(8, n-j)]
			for c := range d {
				d[c] = src[(j+c)*lds+i]
			}
		}
	}
}
