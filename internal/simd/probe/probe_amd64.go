//go:build amd64 && !noasm

package probe

import "github.com/stowage-ml/stowage/internal/simd"

// fast reports whether there is assembly for a level.
func fast(l simd.Level) bool { return l == simd.AVX2 || l == simd.AVX512 }

//go:noescape
func fmaAVX2(a, b float32, n int) float32

//go:noescape
func fmaAVX512(a, b float32, n int) float32

//go:noescape
func copyAVX2(dst, src *float32, n int)

//go:noescape
func copyAVX512(dst, src *float32, n int)

func fma(l simd.Level, a, b float32, n int) float32 {
	switch l {
	case simd.AVX512:
		return fmaAVX512(a, b, n)
	case simd.AVX2:
		return fmaAVX2(a, b, n)
	}
	return fmaGeneric(a, b, n)
}

func stream(l simd.Level, dst, src []float32) {
	// The loops copy whole blocks; the rest is left to Go.
	const block = 64
	n := len(src) / block * block
	if n == 0 || !fast(l) {
		copy(dst, src)
		return
	}
	if l == simd.AVX512 {
		copyAVX512(&dst[0], &src[0], n)
	} else {
		copyAVX2(&dst[0], &src[0], n)
	}
	copy(dst[n:], src[n:])
}
