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
