package conv

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/simd"
)

// The transforms of Winograd's minimal filtering F(4×4, 3×3) (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks"): 4×4 outputs of a 3×3 kernel are 36 products of transformed
// inputs and weights, summed over the channels, and transformed back.

// WinogradSide is how many outputs a tile has in a row, and WinogradReach how many inputs it reads.
const (
	WinogradSide  = 4
	WinogradReach = 6
)

// WinogradIn transforms the inputs of tiles that lie side by side: input (r, c) of tile t, a vector
// of the level's Block b elements, is src[r·pitch+(4t+c)·b]; transformed element e is
// dst[e·apart+t·b], for e < 36.
func WinogradIn(l simd.Level, dst []float32, apart int, src []float32, pitch, tiles int) {
	b := l.Block()
	if tiles <= 0 {
		return
	}
	_, _ = dst[35*apart+tiles*b-1], src[5*pitch+(4*tiles+2)*b-1]
	winogradIn(l, dst, apart, src, pitch, tiles)
}

// Output is a transform of sums of products into the outputs of tiles that lie side by side: the
// sums of tile t, vectors of the level's Block b elements, are Sums[e·Apart+t·b] for e < 36; output
// (r, c) is Y[r·Pitch+(4t+c)·b].
type Output struct {
	Sums, Y []float32
	// Plus, which may be nil, has what is added to each output, where Y has the output; Bias, which
	// may be nil, is added to every vector.
	Plus, Bias []float32
	// Clamp bounds the results, after that, to [Lo, Hi]; NaN stays.
	Clamp               bool
	Lo, Hi              float32
	Apart, Pitch, Tiles int
}

// WinogradOut computes the outputs.
func WinogradOut(l simd.Level, o *Output) {
	b := l.Block()
	if o.Tiles <= 0 {
		return
	}
	end := 3*o.Pitch + 4*o.Tiles*b - 1
	_, _ = o.Sums[35*o.Apart+o.Tiles*b-1], o.Y[end]
	if o.Plus != nil {
		_ = o.Plus[end]
	}
	if o.Bias != nil {
		_ = o.Bias[b-1]
	}
	winogradOut(l, o)
}

// WinogradWeights transforms n 3×3 kernels of each of the level's Block b channels: element k of
// kernel i is the vector src[(9i+k)·b], transformed element e is dst[e·apart+i·b], for e < 36.
func WinogradWeights(l simd.Level, dst []float32, apart int, src []float32, n int) {
	b := l.Block()
	if n <= 0 {
		return
	}
	_, _ = dst[35*apart+n*b-1], src[9*n*b-1]
	winogradWeights(l, dst, apart, src, n)
}

// winogradWeightsGo is the slow twin of the assembly.
func winogradWeightsGo(dst []float32, apart int, src []float32, n int) {
	for i := range n * lanes {
		at := i/lanes*9*lanes + i%lanes
		var half [6][3]float32
		for c := range 3 {
			for r, x := range widen3(src[at+c*lanes], src[at+(3+c)*lanes], src[at+(6+c)*lanes]) {
				half[r][c] = x
			}
		}
		for r, h := range half {
			for c, x := range widen3(h[0], h[1], h[2]) {
				dst[(r*6+c)*apart+i] = x
			}
		}
	}
}

func widen3(a, b, c float32) [6]float32 {
	s, t := a+c, a+4*c
	return [6]float32{a / 4, (s + b) * (-1. / 6), (s - b) * (-1. / 6), (t + 2*b) * (1. / 24), (t - 2*b) * (1. / 24), c}
}

// winogradInGo is the slow twin of the assembly.
func winogradInGo(dst []float32, apart int, src []float32, pitch, tiles int) {
	for i := range tiles * lanes {
		t, lane := i/lanes, i%lanes
		var half [36]float32
		for c := range 6 {
			at := (4*t+c)*lanes + lane
			v := spread6([6]float32{src[at], src[at+pitch], src[at+2*pitch], src[at+3*pitch], src[at+4*pitch], src[at+5*pitch]})
			for r, x := range v {
				half[r*6+c] = x
			}
		}
		for r := range 6 {
			for c, x := range spread6([6]float32(half[r*6:])) {
				dst[(r*6+c)*apart+i] = x
			}
		}
	}
}

func spread6(d [6]float32) [6]float32 {
	a, b := d[4]-4*d[2], d[3]-4*d[1]
	e, f := d[4]-d[2], 2*(d[3]-d[1])
	return [6]float32{4*d[0] - 5*d[2] + d[4], a + b, a - b, e + f, e - f, 4*d[1] - 5*d[3] + d[5]}
}

// winogradOutGo is the slow twin of the assembly.
func winogradOutGo(o *Output) {
	for i := range o.Tiles * lanes {
		t, lane := i/lanes, i%lanes
		var half [24]float32
		for c := range 6 {
			var m [6]float32
			for r := range m {
				m[r] = o.Sums[(r*6+c)*o.Apart+i]
			}
			for r, x := range gather6(m) {
				half[r*6+c] = x
			}
		}
		for r := range 4 {
			for c, x := range gather6([6]float32(half[r*6:])) {
				at := r*o.Pitch + (4*t+c)*lanes + lane
				if o.Bias != nil {
					x += o.Bias[lane]
				}
				if o.Plus != nil {
					x += o.Plus[at]
				}
				if o.Clamp {
					x = bound(x, o.Lo, o.Hi)
				}
				o.Y[at] = x
			}
		}
	}
}

func gather6(m [6]float32) [4]float32 {
	a, b, c, d := m[1]+m[2], m[1]-m[2], m[3]+m[4], m[3]-m[4]
	return [4]float32{m[0] + a + c, b + 2*d, a + 4*c, b + 8*d + m[5]}
}

// Moderate reports whether all elements are below 2⁴⁸ in size: no NaN, no infinity, and nothing
// that transforms make infinite.
func Moderate(l simd.Level, v []float32) bool {
	var most [16]uint32
	for _, x := range v[largest(l, &most, v):] {
		most[0] = max(most[0], math.Float32bits(x)&(1<<31-1))
	}
	return slices.Max(most[:]) < math.Float32bits(1<<48)
}
