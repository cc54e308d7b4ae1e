package octet

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// rounded is the rule in float64: steps rounded to even, plus the zero point, saturated.
func rounded(x float32, zero int32, signed bool) byte {
	lo, hi := 0.0, 255.0
	if signed {
		lo, hi = -128, 127
	}
	q := math.RoundToEven(float64(x)) + float64(zero)
	if !(q > lo) {
		q = lo
	}
	return byte(int32(min(q, hi)))
}

func TestConversionsRoundAndSaturate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	inf := float32(math.Inf(1))
	special := []float32{float32(math.NaN()), inf, -inf, 1e20, -1e20, 0.5, 1.5, -0.5, 2.5, 1e-40}
	for _, l := range simd.Levels() {
		for n := range 140 {
			for _, signed := range []bool{false, true} {
				scale, zero := r.Float32()+0.01, number(byte(r.Uint32()), signed)
				src, sums, scales, octs := make([]float32, n), make([]int32, n), make([]float32, n), octets(r, 1, n, n)
				for i := range n {
					src[i] = (r.Float32() - 0.5) * 300
					if r.IntN(4) == 0 {
						src[i] = special[r.IntN(len(special))]
						scale = 1
					}
					sums[i], scales[i] = int32(r.Uint32())>>(r.Uint32()%31), r.Float32()
				}
				got, each := make([]byte, 2*n+2), make([]byte, n)
				Quantise(l, got[:n], src, StepsOf(scale, zero, signed))
				Requantise(l, got[n+1:], sums, StepsOf(scale, zero, signed))
				RequantiseEach(l, each, sums, scales, StepsOf(0, zero, signed))
				back := make([]float32, n+1)
				Dequantise(l, back, octs, scale, zero, signed)
				for i := range n {
					if want := rounded(src[i]/scale, zero, signed); got[i] != want {
						t.Fatalf("%v: quantise %v/%v zero %d: got %d, want %d", l, src[i], scale, zero, got[i], want)
					}
					if want := rounded(float32(sums[i])*scale, zero, signed); got[n+1+i] != want {
						t.Fatalf("%v: requantise %v·%v zero %d: got %d, want %d", l, sums[i], scale, zero, got[n+1+i], want)
					}
					if want := rounded(float32(sums[i])*scales[i], zero, signed); each[i] != want {
						t.Fatalf("%v: requantise %v·%v zero %d: got %d, want %d", l, sums[i], scales[i], zero, each[i], want)
					}
					if want := float32(number(octs[i], signed)-zero) * scale; back[i] != want {
						t.Fatalf("%v: dequantise %d: got %v, want %v", l, octs[i], back[i], want)
					}
				}
				if got[n] != 0 || got[2*n+1] != 0 || back[n] != 0 {
					t.Fatalf("%v: %d elements: wrote beyond the end", l, n)
				}
			}
		}
	}
}
