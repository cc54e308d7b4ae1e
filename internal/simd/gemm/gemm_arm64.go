//go:build arm64 && !noasm

package gemm

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

// tile is what the assembly is told: a run of tiles, one below the other, that are added to. Strides
// are in bytes.
type tile struct {
	a, b, c        *float32
	lda, ldb, ldc  int
	k, rows, tiles int
}

// vector computes the product in assembly, but for the last columns of a B that is not packed.
func (m *Mul) vector(l simd.Level) bool {
	if l != simd.NEON || m.Transposed {
		return false
	}
	w := Cols(l)
	for i := range m.M {
		for j := 0; j < m.N; j += w {
			m.begin(m.C[i*m.LDC+j:][:min(w, m.N-j)], i, j)
		}
	}
	for j := 0; j < m.N; j += w {
		n := min(w, m.N-j)
		switch {
		case n == w:
			m.column(j, w, m.C[j:], m.LDC)
		case m.Packed:
			m.last(j, n)
		default:
			for ; n >= 4; j, n = j+4, n-4 {
				m.column(j, 4, m.C[j:], m.LDC)
			}
			m.rest(j, n)
		}
	}
	if m.Clamp {
		for i := range m.M {
			m.end(m.C[i*m.LDC:][:m.N], i, 0)
		}
	}
	return true
}

// at returns the address of s[i] where s may be empty.
func at(s []float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), 4*i))
}

// column adds the product's columns from j on, of which there are 16 or 4, to c.
func (m *Mul) column(j, n int, c []float32, ldc int) {
	t := tile{a: unsafe.SliceData(m.A), b: at(m.B, j), c: unsafe.SliceData(c), lda: 4 * m.LDA, ldb: 4 * m.LDB,
		ldc: 4 * ldc, k: m.K}
	if m.Packed {
		t.b, t.ldb = at(m.B, j*m.LDB), 4*Cols(simd.NEON)
	}
	call := func() {
		if n == 4 {
			tile1NEON(&t)
		} else {
			tile4NEON(&t)
		}
	}
	// Tiles of about the same height, the higher ones first.
	count := (m.M + TileRows(simd.NEON) - 1) / TileRows(simd.NEON)
	low := m.M / count
	if t.tiles = m.M - low*count; t.tiles > 0 {
		count -= t.tiles
		high := t.tiles * (low + 1)
		t.rows = low + 1
		call()
		t.a, t.c = at(m.A, high*m.LDA), at(c, high*ldc)
	}
	t.rows, t.tiles = low, count
	call()
}

// last adds the n columns of the last panel of a packed B.
func (m *Mul) last(j, n int) {
	const rows, w = 6, 16
	var c [rows * w]float32
	for i := 0; i < m.M; i += rows {
		part := *m
		part.M, part.A = min(rows, m.M-i), m.A[i*m.LDA:]
		for r := range part.M {
			copy(c[r*w:][:n], m.C[(i+r)*m.LDC+j:])
		}
		part.column(j, w, c[:], w)
		for r := range part.M {
			copy(m.C[(i+r)*m.LDC+j:][:n], c[r*w:])
		}
	}
}

// rest adds n < 4 columns of a B that is not packed.
func (m *Mul) rest(j, n int) {
	for i := range m.M {
		d := m.C[i*m.LDC+j:][:n]
		for k, x := range m.A[i*m.LDA:][:m.K] {
			for c, y := range m.B[k*m.LDB+j:][:n] {
				d[c] += x * y
			}
		}
	}
}

func packFull(simd.Level, []float32, []float32, int, int, int) bool { return false }

func transposeBlocks(simd.Level, []float32, []float32, int, int, int, int) (rows, cols int) {
	return 0, 0
}

// Each adds a run of tiles of 16 or of 4 columns to C. k is at least 1.

//go:noescape
func tile4NEON(t *tile)

//go:noescape
func tile1NEON(t *tile)
