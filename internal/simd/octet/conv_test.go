package octet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

func TestConvolutionsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, l := range simd.Levels() {
		for range 300 {
			testConv(t, r, l, r.IntN(27), r.IntN(12), r.IntN(80))
		}
	}
}

// testConv convolves an image of units rows, of which each step reads one at a random place.
func testConv(t *testing.T, r *rand.Rand, l simd.Level, m, steps, n int) {
	g := Unit(l)
	x := Number{Signed: r.IntN(2) == 0}
	x.Zero = number(byte(r.Uint32()), x.Signed)
	pitch := roundUp(n, Cols(l)) + 9
	v := Conv{M: m, N: n, LDC: n + 2, Float: r.IntN(2) == 0, Weights: make([]byte, 4*m*steps), Terms: make([]int32, m)}
	planes, weights, starts := make([][]byte, steps*g), make([]int32, m*steps*g), make([]int, steps)
	v.Image = make([]byte, 4*steps*pitch)
	x.Blank(l, v.Image)
	for s := range steps {
		var rows [4][]byte
		for i := range g {
			rows[i] = octets(r, 1, pitch, pitch)
			planes[s*g+i] = rows[i]
		}
		x.Row(l, v.Image[4*s*pitch:], &rows, pitch)
		starts[s] = r.IntN(10)
		v.Offsets = append(v.Offsets, int32(4*(s*pitch+starts[s])))
		v.Far = max(v.Far, v.Offsets[s])
	}
	for i := range m {
		sum := int32(0)
		for u := range steps * g {
			w := number(byte(r.Uint32()), true)
			weights[i*steps*g+u] = w
			sum += w
			PutWeight(l, v.Weights[4*i*steps:], u/g, u%g, w)
		}
		v.Terms[i] = -sum * x.Base(l)
	}
	const untouched = 0x7ead
	all := slices.Repeat([]int32{untouched}, m*v.LDC+32)
	v.C = all[16:][:max(0, (m-1)*v.LDC+n):max(0, (m-1)*v.LDC+n)]
	if m > 0 && n > 0 {
		v.Run(l)
	}
	for i := range m {
		for j := range n {
			want := int32(0)
			for u := range steps * g {
				want += weights[i*steps*g+u] * (number(planes[u][starts[u/g]+j], x.Signed) - x.Zero)
			}
			if v.Float {
				want = int32(math.Float32bits(float32(want)))
			}
			if got := &all[16+i*v.LDC+j]; *got != want {
				t.Fatalf("%v %d×%d×%d %+v: (%d,%d): got %d, want %d", l, m, steps, n, x, i, j, *got, want)
			} else {
				*got = untouched
			}
		}
	}
	for i, got := range all {
		if got != untouched {
			t.Fatalf("%v %d×%d×%d: wrote %d outside of the result, at %d", l, m, steps, n, got, i-16)
		}
	}
}
