package window

import (
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// TestBlendOfEveryLength compares with the definition; what is behind the result stays as it was.
func TestBlendOfEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range simd.Levels() {
		for n := range 150 {
			a, b := values(r, n), values(r, n)
			dst := values(r, n+1)
			last := dst[n]
			Blend(l, dst[:n], a, b, 0.5, -2)
			for i := range n {
				if want := 0.5*a[i] - 2*b[i]; dst[i] != want && (want == want || dst[i] == dst[i]) {
					t.Fatalf("%v: %d elements: element %d: got %v, want %v", l, n, i, dst[i], want)
				}
			}
			if dst[n] != last && last == last {
				t.Fatalf("%v: %d elements: wrote what is behind", l, n)
			}
		}
	}
}

// TestLargerOfEveryLength compares with the definition, also where the result takes an operand's
// place.
func TestLargerOfEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, l := range simd.Levels() {
		for n := range 150 {
			for _, ahead := range []int{1, 8, 40} {
				got := values(r, n+ahead)
				want := append([]float32(nil), got...)
				for i := range n {
					if a, b := want[i], want[i+ahead]; !(a > b) {
						want[i] = b
					}
				}
				Larger(l, got[:n], got, got[ahead:])
				for i, v := range want {
					if got[i] != v && (v == v || got[i] == got[i]) {
						t.Fatalf("%v: %d elements, %d ahead: element %d: got %v, want %v", l, n, ahead, i, got[i], v)
					}
				}
			}
		}
	}
}

func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, l := range simd.Levels() {
		b := l.Block()
		for n := range 9 {
			for taps := 1; taps < 6; taps++ {
				src, w, dst := values(r, 10*b), values(r, n*taps), values(r, (n+1)*b)
				at := make([]int32, n*taps)
				for i := range at {
					at[i] = int32(4 * b * r.IntN(10))
				}
				last := dst[n*b]
				Spread(l, dst, src, at, w, taps)
				for i := range n * b {
					want := float32(0)
					for t := range taps {
						want += src[int(at[i/b*taps+t])/4+i%b] * w[i/b*taps+t]
					}
					if dst[i] != want && (want == want || dst[i] == dst[i]) {
						t.Fatalf("%v: %d pixels of %d taps: element %d: got %v, want %v", l, n, taps, i, dst[i], want)
					}
				}
				if dst[n*b] != last && last == last {
					t.Fatalf("%v: %d pixels of %d taps: wrote what is behind", l, n, taps)
				}
			}
		}
	}
}
