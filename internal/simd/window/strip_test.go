package window

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// TestStripsOfEveryLength compares the loops of each level with their definition, over strips of
// all lengths that take another way, with gaps between pixels and taps; odd values are among the
// data, and nothing but the strip's pixels is written.
func TestStripsOfEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels() {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 11, 12, 13, 17, 31} {
			for _, k := range [][2]int{{0, 3}, {2, 0}, {1, 1}, {3, 3}, {1, 7}, {5, 2}, {5, 5}, {4, 3}} {
				checkStrip(t, r, l.String()+" Conv", l, Conv, n, k, wantConv)
				checkStrip(t, r, l.String()+" Max", l, Max, n, k, wantMax)
				checkStrip(t, r, l.String()+" Sum", l, Sum, n, k, wantSum)
			}
		}
	}
}

type geometry struct{ srcStep, dstStep, srcRow, srcCol, wRow int }

func checkStrip(t *testing.T, r *rand.Rand, name string, l simd.Level, loop func(simd.Level, *Strip), n int, k [2]int,
	want func(s *Strip, taps [][2]float32, bias float32) float32) {
	t.Helper()
	b := l.Block()
	// Taps as far apart as pixels have ways of their own.
	g := geometry{1 + r.IntN(3), 1 + r.IntN(2), 40 + r.IntN(5), 1 + r.IntN(2), k[1] + r.IntN(2)}
	if r.IntN(2) == 0 {
		g.srcCol = g.srcStep
	}
	const times, srcNext = 2, 3
	dstNext := n*g.dstStep + r.IntN(2)
	src := values(r, b*(n*g.srcStep+k[0]*g.srcRow+k[1]*g.srcCol+1+srcNext))
	weights, bias := values(r, b*(k[0]*g.wRow+1)), values(r, b)
	dst := values(r, b*(times*dstNext+n*g.dstStep+2))
	expect := append([]float32(nil), dst...)
	s := Strip{Dst: &dst[b], Src: &src[0], W: &weights[0], N: n, DstStep: 4 * b * g.dstStep, SrcStep: 4 * b * g.srcStep,
		KH: k[0], KW: k[1], SrcRow: 4 * b * g.srcRow, SrcCol: 4 * b * g.srcCol, WRow: 4 * b * g.wRow, Bias: &bias[0],
		Lo: -20, Hi: 30, Scale: 0.25, Times: times, DstNext: 4 * b * dstNext, SrcNext: 4 * b * srcNext}
	for j := range times * n {
		i, at := j%n, j/n
		for c := range b {
			var taps [][2]float32
			for y := range k[0] {
				for x := range k[1] {
					taps = append(taps, [2]float32{src[b*(at*srcNext+i*g.srcStep+y*g.srcRow+x*g.srcCol)+c], weights[b*(y*g.wRow+x)+c]})
				}
			}
			expect[b*(1+at*dstNext+i*g.dstStep)+c] = want(&s, taps, bias[c])
		}
	}
	loop(l, &s)
	for i, v := range expect {
		if dst[i] != v && !(v != v && dst[i] != dst[i]) {
			t.Fatalf("%s: n=%d kernel=%v %+v: element %d: got %v, want %v", name, n, k, g, i-b, dst[i], v)
		}
	}
}

// values returns small whole numbers, whose sums of products are exact, and some that are not numbers.
func values(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(17) - 8)
		switch r.IntN(200) {
		case 0:
			v[i] = float32(math.NaN())
		case 1:
			v[i] = float32(math.Inf(1 - 2*r.IntN(2)))
		case 2:
			v[i] = math.Float32frombits(uint32(r.IntN(100)))
		}
	}
	return v
}

func wantConv(s *Strip, taps [][2]float32, bias float32) float32 {
	for _, p := range taps {
		bias = float32(math.FMA(float64(p[0]), float64(p[1]), float64(bias)))
	}
	if bias < s.Lo {
		return s.Lo
	}
	if bias > s.Hi {
		return s.Hi
	}
	return bias
}

func wantMax(_ *Strip, taps [][2]float32, _ float32) float32 {
	best := float32(math.Inf(-1))
	for _, p := range taps {
		if p[0] > best {
			best = p[0]
		}
	}
	return best
}

func wantSum(s *Strip, taps [][2]float32, _ float32) float32 {
	sum := float32(0)
	for _, p := range taps {
		sum += p[0]
	}
	return sum * s.Scale
}
