package prog

import (
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/simd"
)

// BenchmarkSmallTiles shows what a call costs beside its work.
func BenchmarkSmallTiles(b *testing.B) {
	for _, text := range []string{
		`in x: float32[1,16,8,8] a = Neg@22(x) y = HardSwish@22(a) out y`,
		`in x: float32[1,16,8,8] in r: float32[1,16,8,8] a = Neg@22(x) s = Add@22(a, r) y = Relu@22(s) out y`,
		`in x: float32[1,16,8,8] in kc: float32[16,1,1] a = Neg@22(x) y = PRelu@22(a, kc) out y`,
	} {
		b.Run(text[len(text)-30:], func(b *testing.B) {
			g := newGroup(b, replace(text))
			p, ok := Compile(simd.Best(), g.op, g.body.Nodes[0], 1)
			if !ok {
				b.Fatal("got no program")
			}
			data, scratch := make([]float32, 1024), make([]float32, p.Scratch())
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				for i := range 8 {
					t := Tile{Data: data[i*128:][:128], At: i * 128, Mode: Blocked, Block: 16}
					p.Run(g.call, &t, scratch)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())/8, "best-ns")
		})
	}
}
