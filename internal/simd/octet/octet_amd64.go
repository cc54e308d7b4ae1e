//go:build amd64 && !noasm

package octet

import (
	"github.com/stowage-ml/stowage/internal/simd"
)

// tile is what the assembly is told: a run of tiles, one below the other. Strides are in bytes.
type tile struct {
	a     *byte
	b     *int8
	c     *int32
	sums  *int32
	terms *int32
	// ldb is the bytes between panels.
	lda, ldb, ldc int
	// k counts groups, rows is the height of one tile, and tiles their number, which the assembly
	// counts down.
	k, rows, tiles int
	zero           int32
	float          int
	// offsets list where each step's part of an image is.
	offsets *int32
	// mask and lanes say which columns of a masked tile are there.
	mask  int
	lanes *int32
}

var laneMasks = [32]int32{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// vector is Mul in assembly, if there is any for the level.
func (r *Rows) vector(l simd.Level, b *Matrix, j, n int, out []int32, ld int, float bool) bool {
	if l != simd.AVX2 && l != simd.AVX512 {
		return false
	}
	w, g := Cols(l), group(l)
	rows := roundUp(r.k, g)
	t := tile{lda: r.stride, ldb: w * rows, ldc: 4 * ld, k: rows / g, zero: r.zero}
	if float {
		t.float = 1
	}
	for c := 0; c < n; c += w {
		t.a, t.terms = &r.data[0], &r.terms[0]
		t.b, t.c, t.sums = &b.data[(j+c)*rows], &out[c], &b.sums[j+c]
		if have := n - c; g == 4 && r.m <= 2 && have >= 4*w {
			t.tiles = 1
			wide(r.m, &t)
			c += 3 * w
			continue
		} else if have < w {
			t.mask, t.lanes = 1<<have-1, &laneMasks[max(16-have, 0)]
		}
		r.column(&t, g == 4, n-c < w, out[c:], ld)
	}
	return true
}

// run is so many tiles of so many rows, one below the other.
type run struct{ rows, tiles int }

// heights cuts m rows into tiles of about the same height, the higher ones first. There are no high
// ones when all are the same.
func heights(m int, dot bool) (high, low run) {
	most := 6
	if dot {
		most = 12
	}
	count := (m + most - 1) / most
	low.rows = m / count
	high = run{low.rows + 1, m - low.rows*count}
	low.tiles = count - high.tiles
	return high, low
}

// column computes a column of tiles.
func (r *Rows) column(t *tile, dot, masked bool, out []int32, ld int) {
	high, low := heights(r.m, dot)
	if t.rows, t.tiles = high.rows, high.tiles; t.tiles > 0 {
		call(dot, masked, t)
		at := high.rows * high.tiles
		t.a, t.c, t.terms = &r.data[at*r.stride], &out[at*ld], &r.terms[at]
	}
	t.rows, t.tiles = low.rows, low.tiles
	call(dot, masked, t)
}

func call(dot, masked bool, t *tile) {
	switch {
	case dot && masked:
		tilemAVX512(t)
	case dot:
		tileAVX512(t)
	case masked:
		tilemAVX2(t)
	default:
		tileAVX2(t)
	}
}

func wide(rows int, t *tile) {
	if rows == 1 {
		wide1AVX512(t)
	} else {
		wide2AVX512(t)
	}
}

// Each computes a run of tiles of one panel, those with an m a part of the columns; wide ones one
// tile of four panels.

//go:noescape
func tileAVX2(t *tile)

//go:noescape
func tilemAVX2(t *tile)

//go:noescape
func tileAVX512(t *tile)

//go:noescape
func tilemAVX512(t *tile)

//go:noescape
func wide1AVX512(t *tile)

//go:noescape
func wide2AVX512(t *tile)
