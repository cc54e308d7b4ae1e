//go:build noasm || !amd64

package probe

import "github.com/stowage-ml/stowage/internal/simd"

// fast reports whether there is assembly for a level.
func fast(simd.Level) bool { return false }

func fma(_ simd.Level, a, b float32, n int) float32 { return fmaGeneric(a, b, n) }

func stream(_ simd.Level, dst, src []float32) { copy(dst, src) }
