package octet

import (
	"math"

	"github.com/stowage-ml/stowage/internal/simd"
)

// Steps is a scale and a zero point; Lo and Hi bound the number of steps before the zero point is
// added, and must leave what fits the type.
type Steps struct {
	Scale, Lo, Hi float32
	Zero          int32
}

// StepsOf returns the steps of a type, with all the room that it has.
func StepsOf(scale float32, zero int32, signed bool) Steps {
	if signed {
		return Steps{scale, float32(-128 - zero), float32(127 - zero), zero}
	}
	return Steps{scale, float32(-zero), float32(255 - zero), zero}
}

// round returns the integer for a number of steps; NaN is the least.
func (s *Steps) round(x float32) byte {
	if !(x > s.Lo) {
		x = s.Lo
	}
	if x > s.Hi {
		x = s.Hi
	}
	return byte(int32(math.RoundToEven(float64(x))) + s.Zero)
}

// Quantise divides by the scale, rounds to even, adds the zero point and saturates. NaN becomes the
// least number.
func Quantise(l simd.Level, dst []byte, src []float32, s Steps) {
	dst = dst[:len(src)]
	for i := quantise(l, dst, src, &s); i < len(src); i++ {
		dst[i] = s.round(src[i] / s.Scale)
	}
}

// Requantise multiplies sums by the scale, rounds to even, adds the zero point and saturates.
func Requantise(l simd.Level, dst []byte, src []int32, s Steps) {
	dst = dst[:len(src)]
	for i := requantise(l, dst, src, &s); i < len(src); i++ {
		dst[i] = s.round(float32(src[i]) * s.Scale)
	}
}

// RequantiseEach is Requantise with a scale for each element.
func RequantiseEach(l simd.Level, dst []byte, src []int32, scales []float32, s Steps) {
	dst, scales = dst[:len(src)], scales[:len(src)]
	for i := requantiseEach(l, dst, src, scales, &s); i < len(src); i++ {
		dst[i] = s.round(float32(src[i]) * scales[i])
	}
}

// Dequantise subtracts the zero point and multiplies by the scale.
func Dequantise(l simd.Level, dst []float32, src []byte, scale float32, zero int32, signed bool) {
	dst = dst[:len(src)]
	s := Steps{Scale: scale, Zero: zero}
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
