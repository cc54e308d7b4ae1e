// Package conv holds the inner loops of dense convolutions: a register tile of a few output
// pixels times a few blocks of output channels, over any number of taps. It knows nothing of
// tensors, padding or operators. Steps and counts are in float32 elements.
package conv

import "github.com/stowage-ml/stowage/internal/simd"

// Tile describes Count register tiles of Pixels output pixels times Blocks blocks of output
// channels. A block has as many channels as the level's Block, b. With taps numbered by row,
// plane, column and place, as W stores them, and x0 the first element of tile i and pixel p,
//
//	x0 = i·TileX + p·PixelX
//	Y[i·TileY + p·b + k·BlockY + c] = start + Σ W[k·BlockW + tap·b + c] · X[x0 + at(tap)]
//	at(tap) = row·RowX + plane·PlaneX + col·ColX + place
//
// There are Inner places in each column, Last in those of the last plane; where that is zero there
// is no tap. The sum is taken in the order of the taps, whatever the shape of the tile, so that the
// way an output is cut into tiles does not change its bits. No element that the formula does not
// name is read or written.
type Tile struct {
	X, W, Y []float32
	// Bias is what each channel starts from, Blocks·b of them; nil is zero. It does not count when
	// More is set: then Y is what it starts from.
	Bias []float32
	More bool
	// Plus, which may be nil, has what is added to each result, where Y has the result.
	Plus []float32
	// Clamp bounds the results, after that, to [Lo, Hi]; NaN stays.
	Clamp  bool
	Lo, Hi float32

	// Ahead is what further tiles will read of the first block's weights; other blocks' are BlockW apart.
	// Run may fetch some of them into cache, and leaves the rest in Ahead.
	Ahead []float32

	Count, Pixels, Blocks int
	Rows, Planes, Cols    int
	Inner, Last           int
	TileX, PixelX         int
	RowX, PlaneX, ColX    int
	TileY, BlockY, BlockW int

	// What the assembly's loops keep in memory: addresses, and how many are left.
	x, y, row, ahead, aheadEnd uintptr
	left, rows, planes, inner  int
}

// MaxPixels returns the largest Pixels of a level's tiles of the given number of blocks; 0 when
// there are no such tiles.
func MaxPixels(l simd.Level, blocks int) int {
	if blocks < 1 || blocks > MaxBlocks {
		return 0
	}
	switch l {
	case simd.AVX512:
		return [...]int{14, 14, 8, 6}[blocks-1]
	case simd.AVX2:
		return [...]int{12, 6, 4, 2}[blocks-1]
	case simd.NEON:
		return [...]int{11, 0, 0, 0}[blocks-1]
	}
	return [...]int{14, 14, 8, 6}[blocks-1]
}

// MaxBlocks is the largest Blocks of any level's tiles.
const MaxBlocks = 4

// Run computes the tiles. It panics when they reach beyond the slices.
func Run(l simd.Level, t *Tile) {
	if t.Count == 0 {
		return
	}
	t.check(l)
	if t.none() {
		t.Rows = 0
	}
	run(l, t)
}

// none reports whether there are no taps.
func (t *Tile) none() bool {
	return t.Rows == 0 || t.Planes == 0 || t.Cols == 0 || t.Inner == 0 || t.Last == 0
}

// check panics unless all that the tiles touch is in their slices.
func (t *Tile) check(l simd.Level) {
	b := l.Block()
	if t.Pixels < 1 || t.Pixels > MaxPixels(l, t.Blocks) || t.Count < 0 {
		panic("BUG: conv: no tile of that shape")
	}
	if t.Rows < 0 || t.Planes < 0 || t.Cols < 0 || t.Inner < 0 || t.Last < 0 || t.Last > t.Inner ||
		t.TileX|t.PixelX|t.RowX|t.PlaneX|t.ColX|t.TileY|t.BlockY|t.BlockW < 0 {
		panic("BUG: conv: a count or step below zero")
	}
	last := t.Count - 1
	size := last*t.TileY + (t.Blocks-1)*t.BlockY + t.Pixels*b
	if size > len(t.Y) || t.Plus != nil && size > len(t.Plus) {
		panic("BUG: conv: outputs beyond their slice")
	}
	if t.Bias != nil && t.Blocks*b > len(t.Bias) {
		panic("BUG: conv: biases beyond their slice")
	}
	if t.none() {
		return
	}
	taps := t.Rows * t.Cols * (t.Inner*(t.Planes-1) + t.Last)
	if (t.Blocks-1)*t.BlockW+taps*b > len(t.W) {
		panic("BUG: conv: weights beyond their slice")
	}
	end := (t.Planes-1)*t.PlaneX + t.Last
	if t.Planes > 1 {
		end = max(end, (t.Planes-2)*t.PlaneX+t.Inner)
	}
	if last*t.TileX+(t.Pixels-1)*t.PixelX+(t.Rows-1)*t.RowX+(t.Cols-1)*t.ColX+end > len(t.X) {
		panic("BUG: conv: inputs beyond their slice")
	}
}
