//go:build amd64 && !noasm

package window

import "github.com/stowage-ml/stowage/internal/simd"

// Conv sums the products of each pixel's taps with the weights.
func Conv(l simd.Level, s *Strip) {
	switch l {
	case simd.AVX512:
		conv16(s)
	case simd.AVX2:
		conv8(s)
	default:
		conv(s)
	}
}

// Max takes the largest of each pixel's taps: a NaN is none, and −Inf stands for no taps.
func Max(l simd.Level, s *Strip) {
	switch l {
	case simd.AVX512:
		max16(s)
	case simd.AVX2:
		max8(s)
	default:
		maximum(s)
	}
}

// Sum adds each pixel's taps up, in order, and scales the sum.
func Sum(l simd.Level, s *Strip) {
	switch l {
	case simd.AVX512:
		sum16(s)
	case simd.AVX2:
		sum8(s)
	default:
		sum(s)
	}
}

// Blend sets every element of dst to wa·a + wb·b; a and b are at least as long, and may begin
// where dst does or later in the same memory.
func Blend(l simd.Level, dst, a, b []float32, wa, wb float32) {
	n := 0
	if len(dst) > 0 {
		a, b = a[:len(dst)], b[:len(dst)]
		switch l {
		case simd.AVX512:
			n = len(dst) / 16 * 16
			blend16(&dst[0], &a[0], &b[0], n/16, wa, wb)
		case simd.AVX2:
			n = len(dst) / 8 * 8
			blend8(&dst[0], &a[0], &b[0], n/8, wa, wb)
		}
	}
	blend(dst[n:], a[n:], b[n:], wa, wb)
}

// Larger sets every element of dst to that of a or b that is larger, and to b's where either is NaN; a and
// b are at least as long, and may begin where dst does or later in the same memory.
func Larger(l simd.Level, dst, a, b []float32) {
	n := 0
	if len(dst) > 0 {
		a, b = a[:len(dst)], b[:len(dst)]
		switch l {
		case simd.AVX512:
			n = len(dst) / 16 * 16
			larger16(&dst[0], &a[0], &b[0], n/16)
		case simd.AVX2:
			n = len(dst) / 8 * 8
			larger8(&dst[0], &a[0], &b[0], n/8)
		}
	}
	larger(dst[n:], a[n:], b[n:])
}

// Spread sets n pixels of dst to sums of pixels of src: tap t of pixel i is at[i·taps+t] bytes behind the
// start of src, and has weight w[i·taps+t]. Every pixel has at least one tap.
func Spread(l simd.Level, dst, src []float32, at []int32, w []float32, taps int) {
	n := len(at) / taps
	if n == 0 {
		return
	}
	dst, w = dst[:n*l.Block()], w[:n*taps]
	switch l {
	case simd.AVX512:
		spread16(&dst[0], &src[0], &at[0], &w[0], n, taps)
	case simd.AVX2:
		spread8(&dst[0], &src[0], &at[0], &w[0], n, taps)
	default:
		spread(dst, src, at, w, taps)
	}
}

// Products sums the products of all channels of each pixel's taps with the weights.
func Products(l simd.Level, s *Dense) {
	switch l {
	case simd.AVX512:
		dense16(s)
	case simd.AVX2:
		dense8(s)
	default:
		dense(s)
	}
}

//go:noescape
func dense8(s *Dense)

//go:noescape
func dense16(s *Dense)

//go:noescape
func blend8(dst, a, b *float32, n int, wa, wb float32)

//go:noescape
func blend16(dst, a, b *float32, n int, wa, wb float32)

//go:noescape
func larger8(dst, a, b *float32, n int)

//go:noescape
func larger16(dst, a, b *float32, n int)

//go:noescape
func spread8(dst, src *float32, at *int32, w *float32, n, taps int)

//go:noescape
func spread16(dst, src *float32, at *int32, w *float32, n, taps int)

//go:noescape
func conv8(s *Strip)

//go:noescape
func conv16(s *Strip)

//go:noescape
func max8(s *Strip)

//go:noescape
func max16(s *Strip)

//go:noescape
func sum8(s *Strip)

//go:noescape
func sum16(s *Strip)
