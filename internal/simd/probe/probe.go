// Package probe is loops that do nothing but reach the limits of a processor: multiply-adds in
// registers, and streams through memory. It knows no clock.
package probe

import "github.com/stowage-ml/stowage/internal/simd"

// sums is how many vectors FMA adds to: more than are in flight at once.
const sums = 12

// FMA adds a·b, n times, to each of Sums(l) numbers that start at 0, with the multiply-adds of the
// level, and returns their total. That is 2·n·Sums(l) operations, and nothing is read from memory.
func FMA(l simd.Level, a, b float32, n int) float32 {
	if n <= 0 {
		return 0
	}
	return fma(l, a, b, n)
}

// Sums is the number of sums of FMA.
func Sums(l simd.Level) int {
	if fast(l) {
		return sums * l.Lanes()
	}
	return genericSums
}

// Copy copies as many elements as both slices have with the vectors of the level.
func Copy(l simd.Level, dst, src []float32) {
	n := min(len(dst), len(src))
	stream(l, dst[:n], src[:n])
}

const genericSums = 8

// fmaGeneric is FMA in Go; products are rounded before they are added, as on any processor.
func fmaGeneric(a, b float32, n int) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for range n {
		s0 += float32(a * b)
		s1 += float32(a * b)
		s2 += float32(a * b)
		s3 += float32(a * b)
		s4 += float32(a * b)
		s5 += float32(a * b)
		s6 += float32(a * b)
		s7 += float32(a * b)
	}
	return s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7
}
