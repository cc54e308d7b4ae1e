package opencl

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/probe"
	"github.com/stowage-ml/stowage/tensor"
)

// finish waits for all that the device was asked for.
func finish(t testing.TB, d *Device) {
	t.Helper()
	if err := d.lib.status(clFinish, d.queue); err != nil {
		t.Fatal(err)
	}
}

// machinePeak is how many operations in a ns multiply-adds on all processors do.
func machinePeak() float64 {
	const n = 40000
	var group sync.WaitGroup
	start := time.Now()
	for range runtime.NumCPU() {
		group.Go(func() { probe.FMA(simd.Best(), 1, 1, n) })
	}
	group.Wait()
	all := float64(2 * n * probe.Sums(simd.Best()) * runtime.NumCPU())
	return all / float64(time.Since(start).Nanoseconds())
}

// BenchmarkGemm multiplies matrices of 1024 × 1024.
func BenchmarkGemm(b *testing.B) {
	d := first(b)
	const n = 1024
	f := make([]float32, n*n)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range f {
		f[i] = r.Float32()
	}
	x := tensor.Must(tensor.Shape{n, n}, f)
	a := backend.Arg{DType: tensor.Float32, Shape: x.Shape()}
	o := &backend.Op{Node: &graph.Node{Op: "MatMul", Version: 13}, In: []backend.Arg{a, a}, Out: []backend.Arg{a}}
	ks, err := d.Backend().Candidates(o)
	if err != nil || len(ks) == 0 {
		b.Fatal(ks, err)
	}
	mem, err := d.Alloc(3*4*n*n + ks[0].Scratch)
	if err != nil {
		b.Fatal(err)
	}
	defer mem.Free()
	if err := d.Upload(mem, 0, x.Bytes()); err != nil {
		b.Fatal(err)
	}
	if err := d.Upload(mem, 4*n*n, x.Bytes()); err != nil {
		b.Fatal(err)
	}
	view := func(at int64) backend.View {
		return backend.View{DType: tensor.Float32, Shape: x.Shape(), Mem: mem, Offset: at}
	}
	c := &backend.Call{In: []backend.View{view(0), view(4 * n * n)}, Out: []backend.View{view(8 * n * n)}, ScratchMem: mem,
		ScratchOffset: 12 * n * n}
	run := func() {
		if err := d.Run(ks[0].Kernel, c); err != nil {
			b.Fatal(err)
		}
	}
	run()
	finish(b, d)
	b.ResetTimer()
	best, peak := math.MaxFloat64, 0.0
	for b.Loop() {
		start := time.Now()
		run()
		finish(b, d)
		best = min(best, float64(time.Since(start).Nanoseconds()))
		b.StopTimer()
		peak = max(peak, machinePeak())
		b.StartTimer()
	}
	b.ReportMetric(2*n*n*n/best, "GFLOP/s")
	b.ReportMetric(peak, "peak-GFLOP/s")
	b.ReportMetric(100*2*n*n*n/best/peak, "%")
}
