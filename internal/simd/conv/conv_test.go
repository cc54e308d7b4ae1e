package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// naive computes a tile as its formula says.
func naive(t *Tile, b int) {
	for i := range t.Count {
		for k := range t.Blocks {
			for p := range t.Pixels {
				for c := range b {
					y := &t.Y[i*t.TileY+p*b+k*t.BlockY+c]
					sum := float32(0)
					if t.More {
						sum = *y
					} else if t.Bias != nil {
						sum = t.Bias[k*b+c]
					}
					sum += t.sum(i*t.TileX+p*t.PixelX, k*t.BlockW+c, b)
					if t.Plus != nil {
						sum += t.Plus[i*t.TileY+p*b+k*t.BlockY+c]
					}
					if t.Clamp {
						sum = min(max(sum, t.Lo), t.Hi)
					}
					*y = sum
				}
			}
		}
	}
}

// sum adds the taps whose first input is at x and first weight at w.
func (t *Tile) sum(x, w, b int) (sum float32) {
	for r := range t.Rows {
		for q := range t.Planes {
			n := t.Inner
			if q == t.Planes-1 {
				n = t.Last
			}
			for c := range t.Cols {
				for j := range n {
					sum += t.X[x+r*t.RowX+q*t.PlaneX+c*t.ColX+j] * t.W[w]
					w += b
				}
			}
		}
	}
	return sum
}

// whole returns n small whole numbers, so that sums do not depend on their order, between memory
// that must not be touched.
func whole(t *testing.T, r *rand.Rand, n int) []float32 {
	s := guarded(t, n)
	for i := range s {
		s[i] = float32(r.IntN(9) - 4)
	}
	return s
}

// random draws a tile whose slices are just large enough.
func random(t *testing.T, r *rand.Rand, l simd.Level, blocks, pixels int) *Tile {
	b := l.Block()
	v := &Tile{Count: 1 + r.IntN(3), Pixels: pixels, Blocks: blocks, Rows: r.IntN(4), Planes: 1 + r.IntN(3),
		Cols: 1 + r.IntN(3), Inner: 1 + r.IntN(b), More: r.IntN(2) == 0, Clamp: r.IntN(2) == 0, Lo: -20, Hi: 30}
	v.Last = 1 + r.IntN(v.Inner)
	v.TileX, v.PixelX, v.RowX, v.PlaneX, v.ColX = r.IntN(50), r.IntN(40), r.IntN(50), r.IntN(50), r.IntN(40)
	v.BlockY = pixels*b + r.IntN(5)
	v.TileY = blocks*v.BlockY + r.IntN(5)
	taps := v.Rows * v.Cols * (v.Inner*(v.Planes-1) + v.Last)
	v.BlockW = taps*b + r.IntN(7)
	v.W = whole(t, r, (blocks-1)*v.BlockW+taps*b)
	end := (v.Planes-1)*v.PlaneX + v.Last
	if v.Planes > 1 {
		end = max(end, (v.Planes-2)*v.PlaneX+v.Inner)
	}
	v.X = whole(t, r, (v.Count-1)*v.TileX+(pixels-1)*v.PixelX+max(v.Rows-1, 0)*v.RowX+(v.Cols-1)*v.ColX+end)
	v.Y = whole(t, r, (v.Count-1)*v.TileY+(blocks-1)*v.BlockY+pixels*b)
	if r.IntN(3) == 0 {
		v.Plus = whole(t, r, len(v.Y))
	}
	if r.IntN(3) > 0 {
		v.Bias = whole(t, r, blocks*b)
	}
	return v
}

func TestTilesAreTheirFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels() {
		for blocks := 1; blocks <= MaxBlocks; blocks++ {
			for pixels := 1; pixels <= MaxPixels(l, blocks); pixels++ {
				for range 12 {
					v := random(t, r, l, blocks, pixels)
					want := *v
					want.Y = append([]float32(nil), v.Y...)
					naive(&want, l.Block())
					Run(l, v)
					for i := range v.Y {
						if v.Y[i] != want.Y[i] {
							t.Fatalf("%v, %d×%d: element %d: got %v, want %v", l, blocks, pixels, i, v.Y[i], want.Y[i])
						}
					}
				}
			}
		}
	}
}

func TestTilesKeepNaNAndInf(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, l := range simd.Levels() {
		b := l.Block()
		v := &Tile{Count: 1, Pixels: 2, Blocks: 1, Rows: 1, Planes: 1, Cols: 1, Inner: 1, Last: 1, PixelX: 1, Clamp: true,
			Lo: 0, Hi: 6, X: []float32{nan, inf}, W: make([]float32, b), Y: make([]float32, 2*b)}
		for i := range v.W {
			v.W[i] = 1
		}
		Run(l, v)
		if v.Y[0] == v.Y[0] || v.Y[b] != 6 {
			t.Errorf("%v: got %v and %v, want NaN and 6", l, v.Y[0], v.Y[b])
		}
	}
}

func TestRunRefusesTilesBeyondTheirSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range simd.Levels() {
		for _, f := range []func(v *Tile){
			func(v *Tile) { v.X = v.X[:len(v.X)-1] },
			func(v *Tile) { v.W = v.W[:len(v.W)-1] },
			func(v *Tile) { v.Y = v.Y[:len(v.Y)-1] },
			func(v *Tile) { v.Plus = v.Y[:len(v.Y)-1] },
			func(v *Tile) { v.Bias = make([]float32, 2*l.Block()-1) },
			func(v *Tile) { v.Pixels = 99 },
			func(v *Tile) { v.Last = v.Inner + 1 },
			func(v *Tile) { v.RowX = -1 },
		} {
			v := random(t, r, l, 2, 3)
			for v.Rows == 0 {
				v = random(t, r, l, 2, 3)
			}
			f(v)
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: got no panic, want one", l)
					}
				}()
				Run(l, v)
			}()
		}
	}
}

// BenchmarkTile measures each shape of tile with operands in the first cache.
func BenchmarkTile(b *testing.B) {
	for _, l := range simd.Levels()[1:] {
		for blocks := 1; blocks <= MaxBlocks; blocks++ {
			for pixels := MaxPixels(l, blocks); pixels > 0; pixels -= 3 {
				b.Run(l.String()+"/"+string(rune('0'+blocks))+"x"+string([]rune{rune('0' + pixels/10), rune('0' + pixels%10)}),
					func(bb *testing.B) {
						n := l.Block()
						v := &Tile{Count: 1, Pixels: pixels, Blocks: blocks, Rows: 3, Planes: 1, Cols: 3, Inner: n, Last: n, PixelX: n,
							RowX: 20 * n, ColX: n, BlockW: 9 * n * n, BlockY: pixels * n, X: make([]float32, 80*n),
							W: make([]float32, blocks*9*n*n), Y: make([]float32, blocks*pixels*n)}
						for bb.Loop() {
							Run(l, v)
						}
						bb.ReportMetric(float64(2*blocks*pixels*9*n*n*bb.N)/float64(bb.Elapsed().Nanoseconds()), "GFLOP/s")
					})
			}
		}
	}
}
