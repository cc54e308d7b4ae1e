package gemm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

func TestPackingMovesEveryElementToItsPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range simd.Levels() {
		for range 300 {
			k, n, more := 1+r.IntN(40), 1+r.IntN(100), r.IntN(3)
			w := Cols(l)
			for _, transposed := range []bool{false, true} {
				rows, cols := k, n
				if transposed {
					rows, cols = n, k
				}
				_, src := noise(r, rows, cols, cols+more)
				all, dst := noise(r, 1, PackedLen(l, k, n), 0)
				for i := range dst {
					dst[i] = sentinel
				}
				if transposed {
					PackTransposed(l, dst, src, cols+more, k, n)
				} else {
					Pack(l, dst, src, cols+more, k, n)
				}
				for j := range (n + w - 1) / w * w {
					for i := range k {
						want := float32(0)
						if j < n && transposed {
							want = src[j*(cols+more)+i]
						} else if j < n {
							want = src[i*(cols+more)+j]
						}
						if got := &dst[j/w*w*k+i*w+j%w]; *got != want {
							t.Fatalf("%v %d×%d transposed=%v: (%d,%d): got %v, want %v", l, k, n, transposed, i, j, *got, want)
						} else {
							*got = sentinel
						}
					}
				}
				for _, v := range all {
					if !math.IsNaN(float64(v)) {
						t.Fatalf("%v %d×%d transposed=%v: wrote %v beyond the end", l, k, n, transposed, v)
					}
				}
			}
		}
	}
}

func TestTransposeWritesNothingBetweenRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, l := range simd.Levels() {
		for range 300 {
			m, n, more := 1+r.IntN(40), 1+r.IntN(40), r.IntN(3)
			_, src := noise(r, n, m, m+more)
			all, dst := noise(r, m, n, n+more)
			Transpose(l, dst, src, n+more, m+more, m, n)
			for i := range m {
				for j := range n {
					if got := &dst[i*(n+more)+j]; *got != src[j*(m+more)+i] {
						t.Fatalf("%v %d×%d: (%d,%d): got %v, want %v", l, m, n, i, j, *got, src[j*(m+more)+i])
					} else {
						*got = sentinel
					}
				}
			}
			for _, v := range all {
				if !math.IsNaN(float64(v)) {
					t.Fatalf("%v %d×%d: wrote %v outside of the rows", l, m, n, v)
				}
			}
		}
	}
}

func BenchmarkPack(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range simd.Levels()[1:] {
		_, src := noise(r, 512, 512, 1024)
		dst := make([]float32, PackedLen(l, 512, 512))
		b.Run(l.String()+"/rows", func(b *testing.B) {
			b.SetBytes(8 * 512 * 512)
			for b.Loop() {
				Pack(l, dst, src, 1024, 512, 512)
			}
		})
		b.Run(l.String()+"/transposed", func(b *testing.B) {
			b.SetBytes(8 * 512 * 512)
			for b.Loop() {
				PackTransposed(l, dst, src, 1024, 512, 512)
			}
		})
	}
}
