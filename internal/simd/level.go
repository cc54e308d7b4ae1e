// Package simd is what the CPU's vector units can do. Its subpackages hold the inner loops of
// kernels, each in assembly for some levels and in Go for the rest: they take slices and counts,
// and know nothing of tensors or operators.
package simd

import "fmt"

// Level is a set of vector instructions. Code for a level may use all of its instructions.
type Level uint8

// The levels.
const (
	// Generic is Go alone.
	Generic Level = iota
	// AVX2 is AVX2 with FMA and F16C: 8 float32 in a register, 16 registers.
	AVX2
	// AVX512 is AVX2 and AVX-512 F, CD, BW, DQ and VL: 16 float32 in a register, 32 registers.
	AVX512
	// NEON is ARM's Advanced SIMD: 4 float32 in a register, 32 registers.
	NEON
)

// Lanes returns how many float32 a register of the level holds; that of Generic is the length of
// the loops that compilers unroll.
func (l Level) Lanes() int {
	switch l {
	case AVX512:
		return 16
	case AVX2:
		return 8
	}
	return 4
}

// Block returns how many channels a block of the blocked layout has on this level.
func (l Level) Block() int { return max(8, l.Lanes()) }

var names = [...]string{"generic", "avx2", "avx512", "neon"}

// String names the level as kernels' sources do; that of Generic is "generic".
func (l Level) String() string { return names[l] }

// Parse returns the level of that name.
func Parse(name string) (Level, error) {
	for i, n := range names {
		if n == name {
			return Level(i), nil
		}
	}
	return Generic, fmt.Errorf("simd: level: got %q, want one of %q", name, names)
}

// Levels lists the levels that this machine and this build have, from the least to the best:
// Generic is always there.
func Levels() []Level { return levels }

// Dot reports whether the level's code may use VPDPBUSD, which multiplies four 8-bit numbers and adds
// the products: AVX-512 machines need not have it.
func Dot(l Level) bool { return l == AVX512 && dot }

// Best is the last of Levels.
func Best() Level { return levels[len(levels)-1] }
