//go:build amd64 && !noasm

package peak

import "github.com/stowage-ml/stowage/internal/simd"

// work runs n rounds of independent multiply-adds and returns the number of operations.
func work(n int) float64 {
	switch simd.Best() {
	case simd.AVX512:
		avx512(n)
		return float64(n) * 20 * 16 * 2
	case simd.AVX2:
		avx2(n)
		return float64(n) * 12 * 8 * 2
	}
	return 0
}

// avx512 runs n times 20 multiply-adds of 16 lanes.
func avx512(n int)

// avx2 runs n times 12 multiply-adds of 8 lanes.
func avx2(n int)
