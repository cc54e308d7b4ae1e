package tensor

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MaxRank is the largest number of dimensions a tensor may have.
const MaxRank = 16

// Shape is the extent of each dimension, outermost first. An empty shape is a scalar (one
// element); a shape with a zero has no elements.
type Shape []int64

// Elements returns the product of the extents; ok is false when an extent is negative or the
// product overflows an int64.
func (s Shape) Elements() (n int64, ok bool) {
	n = 1
	zero, over := false, false
	for _, d := range s {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			zero = true
		} else if !over {
			hi, lo := bits.Mul64(uint64(n), uint64(d))
			over = hi != 0 || lo > math.MaxInt64
			n = int64(lo)
		}
	}
	if zero {
		return 0, true
	}
	if over {
		return 0, false
	}
	return n, true
}

// Equal reports whether the two shapes have the same rank and extents.
func (s Shape) Equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i] != o[i] {
			return false
		}
	}
	return true
}

// Clone returns a copy that shares nothing with s.
func (s Shape) Clone() Shape { return append(Shape{}, s...) }

// String returns the extents in brackets, such as "[1,3,224,224]".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	b.WriteByte(']')
	return b.String()
}
