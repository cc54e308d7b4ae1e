package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// TestWinogradIsAConvolution transforms inputs and weights, multiplies, and transforms back: whole
// numbers in, whole numbers out, up to rounding.
func TestWinogradIsAConvolution(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, l := range simd.Levels() {
		b := l.Block()
		for tiles := 1; tiles <= 5; tiles++ {
			pitch := (4*tiles+2)*b + r.IntN(3)*b
			src := whole(t, r, 5*pitch+(4*tiles+2)*b)
			apart := tiles*b + r.IntN(2)*b
			v := whole(t, r, 35*apart+tiles*b)
			WinogradIn(l, v, apart, src, pitch, tiles)
			g := whole(t, r, 9*b)
			u := whole(t, r, 36*b)
			WinogradWeights(l, u, b, g, 1)
			for e := range 36 {
				for i := range tiles * b {
					v[e*apart+i] *= u[e*b+i%b]
				}
			}
			o := &Output{Sums: v, Apart: apart, Pitch: pitch, Tiles: tiles, Y: whole(t, r, 3*pitch+4*tiles*b)}
			if r.IntN(2) == 0 {
				o.Plus = whole(t, r, len(o.Y))
			}
			if r.IntN(2) == 0 {
				o.Bias = whole(t, r, b)
			}
			if r.IntN(2) == 0 {
				o.Clamp, o.Lo, o.Hi = true, -20, 25
			}
			WinogradOut(l, o)
			for i := range 16 * tiles * b {
				row, col, lane := i/(4*tiles*b), i/b%(4*tiles), i%b
				at := row*pitch + col*b + lane
				if want := o.naive(src, g, at, lane, pitch, b); math.Abs(float64(o.Y[at]-want)) > 1e-3 {
					t.Fatalf("%v: %d tiles: output %d, %d lane %d: got %v, want %v", l, tiles, row, col, lane, o.Y[at], want)
				}
			}
		}
	}
}

// naive computes one output as the convolution's definition says.
func (o *Output) naive(src, g []float32, at, lane, pitch, b int) (sum float32) {
	for i := range 9 {
		sum += g[i*b+lane] * src[at+i/3*pitch+i%3*b]
	}
	if o.Bias != nil {
		sum += o.Bias[lane]
	}
	if o.Plus != nil {
		sum += o.Plus[at]
	}
	if o.Clamp {
		sum = min(max(sum, o.Lo), o.Hi)
	}
	return sum
}

func TestModerateFindsWhatTransformsSpread(t *testing.T) {
	for _, l := range simd.Levels() {
		for n := range 70 {
			v := guarded(t, n)
			for i := range v {
				v[i] = float32(i) - 1e14
			}
			if !Moderate(l, v) {
				t.Errorf("%v: %d elements: got false, want true", l, n)
			}
			for i := range v {
				old := v[i]
				for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -2e19} {
					if v[i] = float32(x); Moderate(l, v) {
						t.Errorf("%v: %v at %d of %d: got true, want false", l, x, i, n)
					}
				}
				v[i] = old
			}
		}
	}
}
