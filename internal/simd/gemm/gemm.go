// Package gemm is the inner loops of products of float32 matrices, which lie row by row in
// slices: tiles of the result that stay in registers. It knows nothing of tensors, operators or
// threads. Extents and strides are counted in elements.
package gemm

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/simd"
)

// Start says what a product is added to.
type Start int

// What a product may be added to.
const (
	// FromZero adds to nothing: the product replaces what C holds.
	FromZero Start = iota
	// FromC adds to what C holds.
	FromC
	// FromCols adds to Bias[j] in column j.
	FromCols
	// FromRows adds to Bias[i] in row i.
	FromRows
)

// Mul is a product C = start + A·B of an M×K and a K×N matrix. Element (i, j) of a matrix X is
// X[i*LDX+j], except that a packed B is what Pack makes, and LDB then the number of rows that it
// was packed with, and element (k, j) of a transposed B is B[j*LDB+k]. The slices must hold every
// element that is named so, and no more is read or written. C must not overlap anything else. Each
// sum is made in the order of k, whatever the extents and the tiles are; with a transposed B, in
// that of as many sums as a register has lanes.
type Mul struct {
	M, N, K       int
	A, B, C       []float32
	LDA, LDB, LDC int
	Packed        bool
	Transposed    bool
	Start         Start
	Bias          []float32
	// Clamp bounds the results by Lo, then Hi; NaN stays NaN.
	Clamp  bool
	Lo, Hi float32
}

// Cols returns the width of the level's tiles, and so of a panel of packed B.
func Cols(l simd.Level) int {
	switch l {
	case simd.AVX512:
		return 32
	case simd.AVX2, simd.NEON:
		return 16
	}
	return 8
}

// TileRows returns the height of the level's tiles.
func TileRows(l simd.Level) int {
	switch l {
	case simd.AVX512:
		return 12
	case simd.AVX2, simd.NEON:
		return 6
	}
	return 4
}

// PackedLen returns the number of elements of a packed K×N matrix.
func PackedLen(l simd.Level, k, n int) int {
	w := Cols(l)
	return (n + w - 1) / w * w * k
}

// Run computes the product with the level's instructions.
func (m *Mul) Run(l simd.Level) {
	if m.M <= 0 || m.N <= 0 {
		return
	}
	m.check(l)
	if m.K > 0 && m.vector(l) {
		return
	}
	if m.Transposed {
		m.plainDots()
	} else {
		m.plain()
	}
}

// check panics when a slice is too short for what the product names.
func (m *Mul) check(l simd.Level) {
	need := func(what string, s []float32, rows, cols, ld int) {
		if rows > 0 && cols > 0 && (ld < cols && rows > 1 || len(s) < (rows-1)*ld+cols) {
			panic(fmt.Sprintf("BUG: gemm: %s: got %d elements of stride %d, want %d×%d", what, len(s), ld, rows, cols))
		}
	}
	need("A", m.A, m.M, m.K, m.LDA)
	need("C", m.C, m.M, m.N, m.LDC)
	switch {
	case m.Transposed:
		need("B", m.B, m.N, m.K, m.LDB)
	case !m.Packed:
		need("B", m.B, m.K, m.N, m.LDB)
	default:
		m.checkPacked(l)
	}
	switch m.Start {
	case FromCols:
		need("bias", m.Bias, 1, m.N, m.N)
	case FromRows:
		need("bias", m.Bias, 1, m.M, m.M)
	}
}

func (m *Mul) checkPacked(l simd.Level) {
	if w := Cols(l); m.K > m.LDB || m.K > 0 && len(m.B) < ((m.N-1)/w*m.LDB+m.K)*w {
		panic(fmt.Sprintf("BUG: gemm: packed B: got %d elements of %d rows, want %d×%d", len(m.B), m.LDB, m.K, m.N))
	}
}
