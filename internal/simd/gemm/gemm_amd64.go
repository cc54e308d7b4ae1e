//go:build amd64 && !noasm

package gemm

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

// tile is what the assembly is told: a run of tiles, one below the other. Strides are in bytes.
type tile struct {
	a, b, c, bias *float32
	lda, ldb, ldc int
	// k is the inner extent, rows that of one tile, and tiles their number, which the assembly
	// counts down.
	k, rows, tiles int
	start          Start
	clamp          int
	lo, hi         float32
	// mask and lanes say which lanes of a tile's last register are there: as bits, and as the first of
	// eight words.
	mask  int
	lanes *int32
}

// laneMasks has eight words from 8−n on of which the first n are set.
var laneMasks = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// wideCols returns the width of the widest tile of so few rows; 0 when there is none.
func wideCols(l simd.Level, rows int) int {
	switch {
	case rows > 3:
		return 0
	case l == simd.AVX512:
		return 128
	case rows == 1:
		return 64
	}
	return 32
}

// vector computes the product in assembly if there is any for the level.
func (m *Mul) vector(l simd.Level) bool {
	if l != simd.AVX2 && l != simd.AVX512 {
		return false
	}
	if m.Transposed {
		m.dots(l)
		return true
	}
	if m.streams(l) {
		m.stream(l)
		return true
	}
	j := 0
	if w := wideCols(l, m.M); w > 0 && !m.Packed {
		for ; j+w <= m.N; j += w {
			t := m.tile(j)
			t.tiles = 1
			wide(l, m.M, &t)
		}
	}
	for w := Cols(l); j < m.N; j += w {
		m.column(l, j, min(w, m.N-j))
	}
	return true
}

// streams reports whether B is read row after row: when it is too large for the second-level cache,
// and walking down its columns would touch a page for each row.
func (m *Mul) streams(l simd.Level) bool {
	most := 3
	if l == simd.AVX2 {
		most = 2
	}
	return !m.Packed && m.M <= most && m.N >= streamCols && m.K*m.N >= streamSize
}

// streamCols and streamSize are the least width and size, in elements, of a B that is read row after row.
var streamCols, streamSize = 256, 1 << 19

// stream computes the product so.
func (m *Mul) stream(l simd.Level) {
	for i := range m.M {
		m.begin(m.C[i*m.LDC:][:m.N], i, 0)
	}
	t := m.tile(0)
	t.tiles, t.rows = m.N/l.Lanes(), m.N%l.Lanes()
	t.mask, t.lanes = 1<<t.rows-1, &laneMasks[8-t.rows%8]
	axpy(l, m.M, &t)
	for i := range m.M {
		m.end(m.C[i*m.LDC:][:m.N], i, 0)
	}
}

// tile describes the tile at row 0 and column j.
func (m *Mul) tile(j int) tile {
	t := tile{a: unsafe.SliceData(m.A), b: at(m.B, j), c: at(m.C, j), lda: 4 * m.LDA, ldb: 4 * m.LDB, ldc: 4 * m.LDC,
		k: m.K, start: m.Start, lo: m.Lo, hi: m.Hi}
	if m.Clamp {
		t.clamp = 1
	}
	switch m.Start {
	case FromCols:
		t.bias = at(m.Bias, j)
	case FromRows:
		t.bias = unsafe.SliceData(m.Bias)
	}
	return t
}

// column computes the n columns from j on, which are one tile wide.
func (m *Mul) column(l simd.Level, j, n int) {
	t := m.tile(j)
	w := Cols(l)
	if m.Packed {
		t.b, t.ldb = at(m.B, j*m.LDB), 4*w
	}
	double := n > w/2
	full := n%(w/2) == 0
	if last := (n-1)%(w/2) + 1; l == simd.AVX512 {
		t.mask = 1<<last - 1
	} else {
		t.lanes = &laneMasks[8-last]
	}
	// Tiles of about the same height, the higher ones first.
	count := (m.M + TileRows(l) - 1) / TileRows(l)
	low := m.M / count
	if t.tiles = m.M - low*count; t.tiles > 0 {
		high := t.tiles * (low + 1)
		t.rows = low + 1
		call(l, double, full, &t)
		t.a, t.c = at(m.A, high*m.LDA), at(m.C, high*m.LDC+j)
		if m.Start == FromRows {
			t.bias = at(m.Bias, high)
		}
		count -= high / (low + 1)
	}
	t.rows, t.tiles = low, count
	call(l, double, full, &t)
}

// dots computes the product with a transposed right operand.
func (m *Mul) dots(l simd.Level) {
	most := 4
	if l == simd.AVX2 {
		most = 2
	}
	for i := 0; i < m.M; i += most {
		part := *m
		part.M, part.A, part.C = min(most, m.M-i), m.A[i*m.LDA:], m.C[i*m.LDC:]
		if m.Start == FromRows {
			part.Bias = m.Bias[i:]
		}
		part.dotRows(l)
	}
}

// dotRows is dots for as many rows as the assembly takes at once.
func (m *Mul) dotRows(l simd.Level) {
	var c, bias [16]float32
	t := m.tile(0)
	last := m.K % l.Lanes()
	if l == simd.AVX512 {
		t.mask = 1<<last - 1
	} else {
		t.lanes = &laneMasks[8-last]
	}
	if t.tiles = m.N / 4; t.tiles > 0 {
		dot(l, m.M, &t)
	}
	// The last columns go one by one, as four that are the same.
	for j := m.N &^ 3; j < m.N; j++ {
		t.b, t.ldb = at(m.B, j*m.LDB), 0
		t.c, t.ldc, t.tiles = &c[0], 16, 1
		for i := range m.M {
			c[4*i] = m.C[i*m.LDC+j]
		}
		if m.Start == FromCols {
			bias[0] = m.Bias[j]
			t.bias = &bias[0]
		}
		dot(l, m.M, &t)
		for i := range m.M {
			m.C[i*m.LDC+j] = c[4*i]
		}
	}
}

// at returns the address of s[i] where s may be empty.
func at(s []float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), 4*i))
}

// call runs the assembly for a tile of one or two registers' width, the last of which is full or
// masked.
func call(l simd.Level, double, full bool, t *tile) {
	switch {
	case l == simd.AVX512 && double && full:
		tile2AVX512(t)
	case l == simd.AVX512 && double:
		tile2mAVX512(t)
	case l == simd.AVX512 && full:
		tile1AVX512(t)
	case l == simd.AVX512:
		tile1mAVX512(t)
	case double && full:
		tile2AVX2(t)
	case double:
		tile2mAVX2(t)
	case full:
		tile1AVX2(t)
	default:
		tile1mAVX2(t)
	}
}

// wide runs the assembly for the widest tile of 1 to 3 rows.
func wide(l simd.Level, rows int, t *tile) {
	switch {
	case l == simd.AVX512 && rows == 1:
		wide1AVX512(t)
	case l == simd.AVX512 && rows == 2:
		wide2AVX512(t)
	case l == simd.AVX512:
		wide3AVX512(t)
	case rows == 1:
		wide1AVX2(t)
	case rows == 2:
		wide2AVX2(t)
	default:
		wide3AVX2(t)
	}
}

// dot runs the assembly for a few rows of A times four rows of B after the other.
func dot(l simd.Level, rows int, t *tile) {
	switch {
	case l == simd.AVX2 && rows == 1:
		dot1AVX2(t)
	case l == simd.AVX2:
		dot2AVX2(t)
	case rows == 1:
		dot1AVX512(t)
	case rows == 2:
		dot2AVX512(t)
	case rows == 3:
		dot3AVX512(t)
	default:
		dot4AVX512(t)
	}
}

// Each computes tile.tiles times four columns of a product with a transposed B. The mask is of
// the last register of a row.

//go:noescape
func dot1AVX2(t *tile)

//go:noescape
func dot2AVX2(t *tile)

//go:noescape
func dot1AVX512(t *tile)

//go:noescape
func dot2AVX512(t *tile)

//go:noescape
func dot3AVX512(t *tile)

//go:noescape
func dot4AVX512(t *tile)

// axpy runs the assembly for up to three rows of A times all of B.
func axpy(l simd.Level, rows int, t *tile) {
	switch {
	case l == simd.AVX2 && rows == 1:
		axpy1AVX2(t)
	case l == simd.AVX2:
		axpy2AVX2(t)
	case rows == 1:
		axpy1AVX512(t)
	case rows == 2:
		axpy2AVX512(t)
	default:
		axpy3AVX512(t)
	}
}

// Each adds to C a product of a few rows, whose width is tile.tiles registers and, masked, tile.rows
// elements more.

//go:noescape
func axpy1AVX2(t *tile)

//go:noescape
func axpy2AVX2(t *tile)

//go:noescape
func axpy1AVX512(t *tile)

//go:noescape
func axpy2AVX512(t *tile)

//go:noescape
func axpy3AVX512(t *tile)

// Each computes a run of tiles of one width: of 1 or 2 registers, or, in wide ones, of as many as
// wideCols says. The last register of those with an m is masked.

//go:noescape
func tile1AVX2(t *tile)

//go:noescape
func tile1mAVX2(t *tile)

//go:noescape
func tile2AVX2(t *tile)

//go:noescape
func tile2mAVX2(t *tile)

//go:noescape
func wide1AVX2(t *tile)

//go:noescape
func wide2AVX2(t *tile)

//go:noescape
func wide3AVX2(t *tile)

//go:noescape
func tile1AVX512(t *tile)

//go:noescape
func tile1mAVX512(t *tile)

//go:noescape
func tile2AVX512(t *tile)

//go:noescape
func tile2mAVX512(t *tile)

//go:noescape
func wide1AVX512(t *tile)

//go:noescape
func wide2AVX512(t *tile)

//go:noescape
func wide3AVX512(t *tile)
