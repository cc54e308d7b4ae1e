package octet

import (
	"math"

	"github.com/stowage-ml/stowage/internal/simd"
)

// steps is a scale and a zero point: the number of steps is limited to what fits the type.
type steps struct {
	scale, lo, hi float32
	zero          int32
}

func stepsOf(scale float32, zero int32, signed bool) steps {
	if signed {
		return steps{scale, float32(-128 - zero), float32(127 - zero), zero}
	}
	return steps{scale, float32(-zero), float32(255 - zero), zero}
}

// round returns the integer for a number of steps; NaN is the least.
func (s *steps) round(x float32) byte {
	if !(x > s.lo) {
		x = s.lo
	}
	if x > s.hi {
		x = s.hi
	}
	return byte(int32(math.RoundToEven(float64(x))) + s.zero)
}

// Quantise divides by the scale, rounds to even, adds the zero point and saturates. NaN becomes the
// least number.
func Quantise(l simd.Level, dst []byte, src []float32, scale float32, zero int32, signed bool) {
	dst = dst[:len(src)]
	s := stepsOf(scale, zero, signed)
	for i := quantise(l, dst, src, &s); i < len(src); i++ {
		dst[i] = s.round(src[i] / scale)
	}
}

// Requantise multiplies sums by the scale, rounds to even, adds the zero point and saturates.
func Requantise(l simd.Level, dst []byte, src []int32, scale float32, zero int32, signed bool) {
	dst = dst[:len(src)]
	s := stepsOf(scale, zero, signed)
	for i := requantise(l, dst, src, &s); i < len(src); i++ {
		dst[i] = s.round(float32(src[i]) * scale)
	}
}

// RequantiseEach is Requantise with a scale for each element.
func RequantiseEach(l simd.Level, dst []byte, src []int32, scales []float32, zero int32, signed bool) {
	dst, scales = dst[:len(src)], scales[:len(src)]
	s := stepsOf(0, zero, signed)
	for i := requantiseEach(l, dst, src, scales, &s); i < len(src); i++ {
		dst[i] = s.round(float32(src[i]) * scales[i])
	}
}

// Dequantise subtracts the zero point and multiplies by the scale.
func Dequantise(l simd.Level, dst []float32, src []byte, scale float32, zero int32, signed bool) {
	dst = dst[:len(src)]
	s := steps{scale: scale, zero: zero}
	i := dequantise(l, dst, src, &s, signed)
	if signed {
		for ; i < len(src); i++ {
			dst[i] = float32(int32(int8(src[i]))-zero) * scale
		}
		return
	}
	for ; i < len(src); i++ {
		dst[i] = float32(int32(src[i])-zero) * scale
	}
}

// Floats replaces integers by the bits of the nearest float32.
func Floats(x []int32) {
	for i, v := range x {
		x[i] = int32(math.Float32bits(float32(v)))
	}
}
