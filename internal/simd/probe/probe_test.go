package probe

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

func TestFMAAddsEveryProduct(t *testing.T) {
	for _, l := range simd.Levels() {
		for _, n := range []int{-1, 0, 1, 2, 7, 1000} {
			want := float32(max(n, 0)*Sums(l)) * 1.5 * 0.5
			if got := FMA(l, 1.5, 0.5, n); got != want {
				t.Errorf("%v, %d times: got %v, want %v", l, n, got, want)
			}
		}
	}
}

func TestCopyCopiesAllAndNoMore(t *testing.T) {
	for _, l := range simd.Levels() {
		for _, n := range []int{0, 1, 31, 32, 63, 64, 65, 127, 128, 200, 1000} {
			src, dst := make([]float32, n+3), make([]float32, n+2)
			for i := range src {
				src[i] = float32(i + 1)
			}
			Copy(l, dst[1:n+1], src[2:])
			for i, got := range dst {
				want := float32(0)
				if i >= 1 && i <= n {
					want = src[i+1]
				}
				if got != want {
					t.Fatalf("%v, %d elements: element %d: got %v, want %v", l, n, i, got, want)
				}
			}
		}
	}
}

func BenchmarkFMA(b *testing.B) {
	for _, l := range simd.Levels() {
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				FMA(l, 1, 1, 1000)
			}
			b.ReportMetric(2*1000*float64(Sums(l))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "flops/ns")
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{4 << 10, 32 << 10, 512 << 10, 8 << 20} {
		src, dst := make([]float32, n/8), make([]float32, n/8)
		b.Run(simd.Best().String(), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Copy(simd.Best(), dst, src)
			}
		})
	}
}
