//go:build !amd64 || noasm

package window

import "github.com/stowage-ml/stowage/internal/simd"

// Conv sums the products of each pixel's taps with the weights.
func Conv(_ simd.Level, s *Strip) { conv(s) }

// Max takes the largest of each pixel's taps: a NaN is none, and −Inf stands for no taps.
func Max(_ simd.Level, s *Strip) { maximum(s) }

// Sum adds each pixel's taps up, in order, and scales the sum.
func Sum(_ simd.Level, s *Strip) { sum(s) }

// Blend sets every element of dst to wa·a + wb·b; a and b are at least as long, and may begin
// where dst does or later in the same memory.
func Blend(_ simd.Level, dst, a, b []float32, wa, wb float32) { blend(dst, a, b, wa, wb) }

// Spread sets n pixels of dst to sums of pixels of src: tap t of pixel i is at[i·taps+t] bytes behind the
// start of src, and has weight w[i·taps+t]. Every pixel has at least one tap.
func Spread(_ simd.Level, dst, src []float32, at []int32, w []float32, taps int) {
	spread(dst, src, at, w, taps)
}

// Products sums the products of all channels of each pixel's taps with the weights.
func Products(_ simd.Level, s *Dense) { dense(s) }

// Larger sets every element of dst to that of a or b that is larger, and to b's where either is NaN; a and
// b are at least as long, and may begin where dst does or later in the same memory.
func Larger(_ simd.Level, dst, a, b []float32) { larger(dst, a, b) }
