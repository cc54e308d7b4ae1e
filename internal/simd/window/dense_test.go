package window

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// TestProductsOfEveryLength compares with the definition, for runs of all lengths that take another
// way, taps in either direction, and channels that fill their blocks or do not.
func TestProductsOfEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, l := range simd.Levels() {
		for _, n := range []int{0, 1, 3, 4, 5, 11, 12, 13, 17, 29} {
			for _, k := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {2, 2}, {3, 1}, {1, 4}} {
				for _, channels := range []int{1, 7, 8, 16, 17, 40} {
					checkDense(t, r, l, n, k, channels)
				}
			}
		}
	}
}

func checkDense(t *testing.T, r *rand.Rand, l simd.Level, n int, k [2]int, channels int) {
	t.Helper()
	b := l.Block()
	blocks := (channels + b - 1) / b
	dir := 1 - 2*r.IntN(2)
	const pitch, rows = 64, 4
	wCol := channels + r.IntN(3)
	src, w := calm(r, blocks*pitch*rows*b), calm(r, (k[0]*4+k[1])*wCol*b+b)
	src[r.IntN(len(src))], w[r.IntN(len(w))] = float32(math.NaN()), float32(math.Inf(1))
	bias, dst := values(r, b), values(r, (2*n+1)*b)
	first := 0
	if dir < 0 {
		first = 8
	}
	want := append([]float32(nil), dst...)
	for i := range n {
		for c := range b {
			taps := [][2]float32{}
			for y := range k[0] {
				for x := range k[1] {
					for ch := range channels {
						at := ((ch/b*rows+y)*pitch+first+i+dir*x)*b + ch%b
						taps = append(taps, [2]float32{src[at], w[((y*4+x)*wCol+ch)*b+c]})
					}
				}
			}
			want[2*i*b+c] = wantConv(&Strip{Lo: -50, Hi: 60}, taps, bias[c])
		}
	}
	s := Dense{Dst: &dst[0], Src: &src[first*b], W: &w[0], N: n, DstStep: 8 * b, SrcStep: 4 * b, KH: k[0], KW: k[1],
		SrcRow: 4 * b * pitch, SrcCol: 4 * b * dir, WRow: 4 * b * 4 * wCol, WCol: 4 * b * wCol, Channels: channels,
		SrcPlane: 4 * b * pitch * rows, Bias: &bias[0], Lo: -50, Hi: 60}
	Products(l, &s)
	for i, v := range want {
		if dst[i] != v && (v == v || dst[i] == dst[i]) {
			t.Fatalf("%v: n=%d kernel=%v channels=%d: element %d: got %v, want %v", l, n, k, channels, i, dst[i], v)
		}
	}
}

// calm returns small whole numbers.
func calm(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(7) - 3)
	}
	return v
}
