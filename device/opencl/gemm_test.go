package opencl

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// first opens the first device, or leaves the test out.
func first(t testing.TB) *Device {
	t.Helper()
	os.Setenv("STOWAGE_OPENCL_CACHE", os.TempDir()+"/stowage-opencl-test")
	d, err := shared.Open("opencl:0")
	if err != nil {
		t.Skip(err)
	}
	return d.(*Device)
}

var shared = &driver{}

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
	d.lib.status(clFinish, d.queue)
	b.ResetTimer()
	for b.Loop() {
		run()
		d.lib.status(clFinish, d.queue)
	}
	b.ReportMetric(2*n*n*n/(float64(b.Elapsed().Nanoseconds())/float64(b.N)), "GFLOP/s")
}
