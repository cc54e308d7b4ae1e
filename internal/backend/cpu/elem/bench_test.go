package elem

import (
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// BenchmarkKernels reports GB/s of what is read and written, by the best level's first kernel.
func BenchmarkKernels(b *testing.B) {
	x, y := twin.Floats(1, 8, 64, 1024), twin.Floats(2, 8, 64, 1024)
	bools, _ := tensor.Zeros(tensor.Bool, x.Shape())
	row := twin.Floats(3, 1024)
	for _, c := range []struct {
		name string
		f    family
		node *graph.Node
		in   []*tensor.Tensor
	}{
		{"add", Chain, twin.Node("Add", 1), []*tensor.Tensor{x, y}},
		{"add row", Chain, twin.Node("Add", 1), []*tensor.Tensor{x, row}},
		{"add 8 columns", Chain, twin.Node("Add", 1), []*tensor.Tensor{twin.Floats(1, 65536, 8), twin.Floats(1, 8)}},
		{"exp", Chain, twin.Node("Exp", 1), []*tensor.Tensor{x}},
		{"gelu", Chain, twin.Node("Gelu", 1), []*tensor.Tensor{x}},
		{"softmax", Softmax, twin.Node("Softmax", 1), []*tensor.Tensor{x}},
		{"softmax of 2", Softmax, twin.Node("Softmax", 1), []*tensor.Tensor{twin.Floats(1, 200000, 2)}},
		{"layernorm", LayerNorm, twin.Node("LayerNormalization", 1), []*tensor.Tensor{x, row, row}},
		{"mean of rows", Reduce, at(11, twin.Node("ReduceMean", 1, twin.Ints("axes", 2))), []*tensor.Tensor{x}},
		{"mean of columns", Reduce, at(11, twin.Node("ReduceMean", 1, twin.Ints("axes", 1))), []*tensor.Tensor{x}},
		{"less", Compare, twin.Node("Less", 1), []*tensor.Tensor{x, y}},
		{"less than", Compare, twin.Node("Less", 1), []*tensor.Tensor{x, tensor.Scalar[float32](0)}},
		{"where", Where, twin.Node("Where", 1), []*tensor.Tensor{bools, x, tensor.Scalar[float32](0)}},
		{"bool to float", Cast, twin.Node("Cast", 1, twin.Int("to", int64(tensor.Float32))), []*tensor.Tensor{bools}},
		{"float to int64", Cast, twin.Node("Cast", 1, twin.Int("to", int64(tensor.Int64))), []*tensor.Tensor{x}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.f, &twin.Case{Node: c.node, In: c.in, Fed: all(len(c.in))}) })
	}
}

func benchmark(b *testing.B, f family, c *twin.Case) {
	o := opOf(b, c)
	cs, err := f(simd.Best(), o)
	if err != nil || len(cs) == 0 {
		b.Fatalf("got %d kernels and %v", len(cs), err)
	}
	call := &backend.Call{Scratch: make([]byte, cs[0].Scratch)}
	bytes := 0
	for _, x := range c.In {
		call.In = append(call.In, backend.ViewOf(x))
		bytes += len(x.Bytes())
	}
	for _, a := range o.Out {
		y, _ := tensor.Zeros(a.DType, a.Shape)
		call.Out = append(call.Out, backend.ViewOf(y))
		bytes += len(y.Bytes())
	}
	// The fastest call counts as well: others that share the machine do not disturb it.
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		if err := cs[0].Kernel(call); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(bytes)/float64(best.Nanoseconds()), "best-GB/s")
}
