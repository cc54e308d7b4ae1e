package conv

import (
	"github.com/stowage-ml/stowage/internal/simd"
	inner "github.com/stowage-ml/stowage/internal/simd/conv"
)

// cycles estimates the cycles that a tile takes for each tap: two multiply-adds or two loads at a
// time, and no fewer than a multiply-add's latency.
func cycles(blocks, pixels int) float64 {
	loads := float64(blocks+pixels) / 2
	if blocks == 1 {
		loads += 0.5
	}
	return max(4, float64(blocks*pixels)/2, loads) + 0.1
}

// rowCycles estimates the cycles that a row of pixels takes for each tap of so many blocks.
func rowCycles(l simd.Level, blocks, row int) float64 {
	n, wide, narrow := split(row, inner.MaxPixels(l, blocks))
	return float64(wide)*cycles(blocks, narrow+1) + float64(n-wide)*cycles(blocks, narrow)
}

// split cuts a row into n tiles of about the same size, at most most: the first wide ones have
// narrow+1 pixels, the others narrow.
func split(row, most int) (n, wide, narrow int) {
	n = (row + most - 1) / most
	return n, row % n, row / n
}

// cut is blocks first to first+n of output channels, which tiles compute together.
type cut struct{ first, n int }

// cuts returns the cheapest way to cut the blocks of output channels for rows of that many pixels,
// and the estimated cycles that it takes for a row and tap.
func cuts(l simd.Level, blocks, row int) (best []cut, cost float64) {
	least := 0
	for most := 1; most <= inner.MaxBlocks && inner.MaxPixels(l, most) > 0; most++ {
		sum := 0.0
		for _, k := range even(blocks, most) {
			sum += rowCycles(l, k, row)
		}
		if least == 0 || sum < cost {
			least, cost = most, sum
		}
	}
	if least == 0 {
		return nil, 0
	}
	best = make([]cut, 0, (blocks+least-1)/least)
	for at, k := range even(blocks, least) {
		best = append(best, cut{at, k})
	}
	return best, cost
}

// even yields the parts, of about the same size and at most most, that blocks are cut into: the first and
// the number of each.
func even(blocks, most int) func(yield func(at, k int) bool) {
	return func(yield func(at, k int) bool) {
		n := (blocks + most - 1) / most
		for i, at := 0, 0; i < n; i++ {
			k := (blocks - at + n - i - 1) / (n - i)
			if !yield(at, k) {
				return
			}
			at += k
		}
	}
}
