package gemm

import "github.com/stowage-ml/stowage/internal/simd"

// Pack lays a K×N matrix out as Mul reads it fastest: panels of Cols columns, one behind the
// other, each row by row, with zeros where the last has no columns. dst has PackedLen elements;
// element (k, j) is src[k*ld+j].
func Pack(l simd.Level, dst, src []float32, ld, k, n int) {
	if k <= 0 || n <= 0 {
		return
	}
	w := Cols(l)
	_, _ = src[(k-1)*ld+n-1], dst[PackedLen(l, k, n)-1]
	j := 0
	if full := n / w * w; packFull(l, dst, src, ld, k, full) {
		j = full
	}
	for ; j < n; j += w {
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
	if k <= 0 || n <= 0 {
		return
	}
	w := Cols(l)
	_, _ = src[(n-1)*ld+k-1], dst[PackedLen(l, k, n)-1]
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
	rows, cols := transposeBlocks(l, dst, src, ldd, lds, m, n)
	transposePlain(dst, src, ldd, lds, m, 0, cols, rows)
	transposePlain(dst, src, ldd, lds, m, cols, n, 0)
}

// transposePlain transposes columns from to to of the result, from row top on.
func transposePlain(dst, src []float32, ldd, lds, m, from, to, top int) {
	for j := from; j < to; j += 8 {
		for i := top; i < m; i++ {
			d := dst[i*ldd+j:][:min(8, to-j)]
			for c := range d {
				d[c] = src[(j+c)*lds+i]
			}
		}
	}
}
