//go:build linux

package quant

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// cpu returns the CPU time of the process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkQLinearConv reports, by CPU time, the time of a call and the operations a second, two for
// each multiplication.
func BenchmarkQLinearConv(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct{ ins, outs, size, kernel, stride, groups int64 }{
		{64, 64, 56, 3, 1, 1}, {64, 256, 56, 1, 1, 1}, {256, 512, 28, 1, 2, 1}, {512, 512, 7, 3, 1, 1}, {3, 64, 224, 7, 2, 1},
		{96, 96, 112, 3, 2, 96}, {144, 144, 56, 3, 1, 144}, {960, 960, 7, 3, 1, 960},
	} {
		pad := s.kernel / 2
		as := graph.Attrs{{Name: "group", Kind: graph.AttrInt, Int: s.groups},
			{Name: "pads", Kind: graph.AttrInts, Ints: []int64{pad, pad, pad, pad}},
			{Name: "strides", Kind: graph.AttrInts, Ints: []int64{s.stride, s.stride}}}
		in := []*tensor.Tensor{octets(r, tensor.Uint8, 1, s.ins, s.size, s.size), floats(r, 0.01, 0.1), octets(r, tensor.Uint8),
			octets(r, tensor.Int8, s.outs, s.ins/s.groups, s.kernel, s.kernel), floats(r, 0.01, 0.1, s.outs),
			tensor.Must(tensor.Shape{}, []int8{0}), floats(r, 1, 2), octets(r, tensor.Uint8)}
		for _, l := range simd.Levels()[1:] {
			b.Run(fmt.Sprintf("%v/%+v", l, s), func(b *testing.B) {
				o, call := twin.Prepare(b, node("QLinearConv", 1, as...), in, func(i int) bool { return i > 0 })
				cs, err := QLinearConv(l, o)
				if err != nil || len(cs) == 0 {
					b.Fatalf("got %d kernels, error %v", len(cs), err)
				}
				call.Team, call.Scratch = backend.NewTeam(1), make([]byte, cs[0].Scratch)
				best := time.Hour
				for b.Loop() {
					start := cpu()
					if err := cs[0].Kernel(call); err != nil {
						b.Fatal(err)
					}
					best = min(best, cpu()-start)
				}
				out := float64(len(call.Out[0].Data))
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
				b.ReportMetric(2*out*float64(s.ins/s.groups*s.kernel*s.kernel)/best.Seconds()/1e9, "GOP/s")
			})
		}
	}
}
