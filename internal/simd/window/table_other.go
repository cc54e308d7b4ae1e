//go:build !amd64 || noasm

package window

import "github.com/stowage-ml/stowage/internal/simd"

// Conv sums the products of each pixel's taps with the weights.
func Conv(_ simd.Level, s *Strip) { conv(s) }

// Max takes the largest of each pixel's taps: a NaN is none, and −Inf stands for no taps.
func Max(_ simd.Level, s *Strip) { maximum(s) }

// Sum adds each pixel's taps up, in order, and scales the sum.
func Sum(_ simd.Level, s *Strip) { sum(s) }
