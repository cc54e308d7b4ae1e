//go:build amd64 && !noasm

package octet

import "github.com/stowage-ml/stowage/internal/simd"

// Each converts a first part in assembly, if there is any for the level, and returns its length.

func quantise(l simd.Level, dst []byte, src []float32, s *Steps) int {
	n := len(src) / 32
	if n == 0 || l == simd.Generic {
		return 0
	}
	quantise32(&dst[0], &src[0], n, s)
	return 32 * n
}

func requantise(l simd.Level, dst []byte, src []int32, s *Steps) int {
	n := len(src) / 32
	if n == 0 || l == simd.Generic {
		return 0
	}
	requantise32(&dst[0], &src[0], n, s)
	return 32 * n
}

func requantiseEach(l simd.Level, dst []byte, src []int32, scales []float32, s *Steps) int {
	n := len(src) / 32
	if n == 0 || l == simd.Generic {
		return 0
	}
	requantiseEach32(&dst[0], &src[0], &scales[0], n, s)
	return 32 * n
}

func dequantise(l simd.Level, dst []float32, src []byte, s *Steps, signed bool) int {
	n := len(src) / 32
	switch {
	case n == 0 || l == simd.Generic:
		return 0
	case l == simd.AVX512 && signed:
		dequantiseSignedWider32(&dst[0], &src[0], n, s)
	case l == simd.AVX512:
		dequantiseWider32(&dst[0], &src[0], n, s)
	case signed:
		dequantiseSigned32(&dst[0], &src[0], n, s)
	default:
		dequantise32(&dst[0], &src[0], n, s)
	}
	return 32 * n
}

// Each converts n times as many elements as its name says.

//go:noescape
func quantise32(dst *byte, src *float32, n int, s *Steps)

//go:noescape
func requantise32(dst *byte, src *int32, n int, s *Steps)

//go:noescape
func requantiseEach32(dst *byte, src *int32, scales *float32, n int, s *Steps)

//go:noescape
func dequantise32(dst *float32, src *byte, n int, s *Steps)

//go:noescape
func dequantiseSigned32(dst *float32, src *byte, n int, s *Steps)

//go:noescape
func dequantiseWider32(dst *float32, src *byte, n int, s *Steps)

//go:noescape
func dequantiseSignedWider32(dst *float32, src *byte, n int, s *Steps)
