package backend

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/stowage-ml/stowage/tensor"
)

// Layout says how a tensor's elements lie in memory. Zero is row-major order. A positive layout
// b, for tensors of rank 3 and more whose second dim counts channels, holds the channels in
// blocks of b: [N, C, d…] lies as a row-major [N, ⌈C/b⌉, d…, b]. The places of the last block
// that stand for no channel hold any finite values.
type Layout int

// RowMajor is the layout of everything outside of a plan.
const RowMajor Layout = 0

// String names the layout: "row-major" or "blocked 8".
func (l Layout) String() string {
	if l == RowMajor {
		return "row-major"
	}
	return fmt.Sprintf("blocked %d", int(l))
}

// RowMajor reports whether the kernel reads and writes row-major order alone.
func (c *Candidate) RowMajor() bool {
	for _, ls := range [][]Layout{c.In, c.Out} {
		for _, l := range ls {
			if l != RowMajor {
				return false
			}
		}
	}
	return true
}

// Fits reports whether a tensor of this type and shape can have the layout.
func (l Layout) Fits(dt tensor.DType, s tensor.Shape) bool {
	return l == RowMajor || len(s) >= 3 && dt.Bits()%8 == 0 && dt != tensor.String
}

// Bytes returns the size of a tensor in this layout; −1 when it is more than an int64 counts.
func (l Layout) Bytes(dt tensor.DType, s tensor.Shape) int64 {
	n, ok := s.Elements()
	if !ok {
		return -1
	}
	if l != RowMajor && n > 0 {
		c, b := s[1], int64(l)
		hi, lo := bits.Mul64(uint64(n/c), uint64((c+b-1)/b*b))
		if hi != 0 || lo > math.MaxInt64 {
			return -1
		}
		n = int64(lo)
	}
	if n, ok = dt.ByteSize(n); !ok {
		return -1
	}
	return n
}
