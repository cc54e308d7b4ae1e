//go:build linux

package gemm

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/tensor"
)

// BenchmarkMatMul reports, by CPU time, GFLOP/s, their share of what a product in the first-level
// cache reaches in between, and GB/s of the operands and the result.
func BenchmarkMatMul(b *testing.B) {
	for _, s := range [][2]tensor.Shape{
		{{1024, 1024}, {1024, 1024}}, {{128, 384}, {384, 1536}}, {{128, 384}, {384, 384}}, {{128, 1536}, {1536, 384}},
		{{16, 384}, {384, 1536}}, {{4, 384}, {384, 1536}}, {{1, 384}, {384, 1536}}, {{1, 4096}, {4096, 4096}},
		{{8, 2048}, {2048, 2048}}, {{12, 128, 32}, {12, 32, 128}}, {{12, 128, 128}, {12, 128, 32}},
		{{8, 1, 64}, {8, 64, 128}}, {{1000, 1000}, {1000, 1}},
	} {
		for _, l := range simd.Levels()[1:] {
			for _, fixed := range []bool{false, true} {
				b.Run(fmt.Sprintf("%v/%v%v/const=%v", l, s[0], s[1], fixed), func(b *testing.B) {
					in := []*tensor.Tensor{noise(1, s[0]...), noise(2, s[1]...)}
					benchmark(b, l, MatMul, node("MatMul"), in, fixed)
				})
			}
		}
	}
}

// cpu returns the CPU time of the process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the floating-point operations a second of a product whose operands are in the
// first-level cache.
func peak(l simd.Level) float64 {
	m := gemm.Mul{M: gemm.TileRows(l), K: 128, N: gemm.Cols(l), LDA: 128, LDB: 128, LDC: gemm.Cols(l), Packed: true}
	m.A, m.B, m.C = make([]float32, m.M*m.K), make([]float32, m.K*m.N), make([]float32, m.M*m.N)
	start, n := cpu(), 0
	for ; cpu()-start < 5*time.Millisecond; n++ {
		for range 100 {
			m.Run(l)
		}
	}
	return float64(200*n*m.M*m.K*m.N) / (cpu() - start).Seconds()
}

func benchmark(b *testing.B, l simd.Level, f family, n *graph.Node, in []*tensor.Tensor, fixed bool) {
	o, call := twin.Prepare(b, n, in, func(i int) bool { return fixed && i > 0 })
	o.Threads = 1
	cs, err := f(l, o)
	if err != nil {
		b.Fatal(err)
	}
	call.Team = backend.NewTeam(1)
	call.Scratch = make([]byte, cs[0].Scratch)
	_ = cs[0].Kernel(call)
	top, best, runs := 0.0, time.Duration(1<<62), 0
	for b.Loop() {
		if runs%50 == 0 {
			b.StopTimer()
			top = max(top, peak(l))
			b.StartTimer()
		}
		runs++
		start, n := cpu(), 0
		for n == 0 || cpu()-start < 500*time.Microsecond {
			if err := cs[0].Kernel(call); err != nil {
				b.Fatal(err)
			}
			n++
		}
		best = min(best, (cpu()-start)/time.Duration(n))
	}
	p := ofMatMul(o)
	flops := 2 * float64(len(p.a)*p.m*p.n*p.k) / best.Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
	b.ReportMetric(flops/1e9, "GFLOP/s")
	b.ReportMetric(100*flops/top, "%peak")
	b.ReportMetric(float64(len(call.In[0].Data)+len(call.In[1].Data)+len(call.Out[0].Data))/best.Seconds()/1e9, "GB/s")
}
