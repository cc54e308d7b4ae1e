package window

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// BenchmarkDepthwise reports the rate of multiply-adds, two operations each.
func BenchmarkDepthwise(b *testing.B) {
	for _, c := range []struct{ c, h, k, s int64 }{
		{32, 112, 3, 1}, {96, 112, 3, 2}, {144, 56, 3, 1}, {192, 28, 3, 1}, {384, 14, 3, 1}, {576, 14, 3, 2}, {960, 7, 3, 1},
		{120, 28, 5, 1}, {672, 7, 5, 1},
	} {
		p := c.k / 2
		n := twin.Node("Conv", 1, twin.Int("group", c.c), twin.Ints("pads", p, p, p, p), twin.Ints("strides", c.s, c.s))
		o := opOf(b, n, twin.Floats(1, 1, c.c, c.h, c.h), twin.Floats(2, c.c, 1, c.k, c.k), twin.Floats(3, c.c))
		out := o.Out[0].Shape
		flops := 2 * float64(out[1]*out[2]*out[3]*c.k*c.k)
		bench(b, fmt.Sprintf("%d×%d² k%d s%d", c.c, c.h, c.k, c.s), Conv, o, flops)
	}
}

func BenchmarkPools(b *testing.B) {
	for _, c := range []struct{ c, h, k, s int64 }{{64, 112, 3, 2}, {192, 28, 3, 1}, {128, 56, 2, 2}} {
		attrs := []graph.Attr{twin.Ints("strides", c.s, c.s), twin.Ints("kernel_shape", c.k, c.k)}
		for name, f := range map[string]family{"MaxPool": MaxPool, "AveragePool": AveragePool} {
			o := opOf(b, twin.Node(name, 1, slices.Clone(attrs)...), twin.Floats(1, 1, c.c, c.h, c.h))
			out := o.Out[0].Shape
			bench(b, fmt.Sprintf("%s %d×%d² k%d s%d", name, c.c, c.h, c.k, c.s), f, o, float64(out[1]*out[2]*out[3]*c.k*c.k))
		}
	}
}

// opOf returns what a kernel for a node is made for: all inputs but the first are constant.
func opOf(b *testing.B, n *graph.Node, in ...*tensor.Tensor) *backend.Op {
	b.Helper()
	o, _ := twin.Prepare(b, n, in, func(i int) bool { return i > 0 })
	o.Threads = 1
	return o
}

// bench runs the candidates of every level.
func bench(b *testing.B, name string, f family, o *backend.Op, flops float64) {
	for _, l := range simd.Levels() {
		ks, err := f(l, o)
		if err != nil || len(ks) == 0 {
			b.Fatal(name, len(ks), err)
		}
		for i := range ks {
			b.Run(fmt.Sprintf("%s/%s %s", name, ks[i].Name, ks[i].Source), func(b *testing.B) {
				benchOne(b, &ks[i], o, flops)
			})
		}
	}
}

func benchOne(b *testing.B, k *backend.Candidate, o *backend.Op, flops float64) {
	c := &backend.Call{Scratch: make([]byte, k.Scratch)}
	bytes := 0
	for j := range o.In {
		v := backend.View{DType: o.In[j].DType, Shape: o.In[j].Shape}
		if j > 0 {
			v.Data = o.In[j].Const.Bytes()
		} else {
			v.Data = make([]byte, layoutOf(k.In).Bytes(v.DType, v.Shape))
			bytes += len(v.Data)
		}
		c.In = append(c.In, v)
	}
	for j := range o.Out {
		v := backend.View{DType: o.Out[j].DType, Shape: o.Out[j].Shape}
		v.Data = make([]byte, layoutOf(k.Out).Bytes(v.DType, v.Shape))
		bytes += len(v.Data)
		c.Out = append(c.Out, v)
	}
	for b.Loop() {
		if err := k.Kernel(c); err != nil {
			b.Fatal(err)
		}
	}
	if flops > 0 {
		b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	}
	b.ReportMetric(float64(bytes)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
}

// layoutOf returns the layout of the first operand.
func layoutOf(ls []backend.Layout) backend.Layout {
	if ls == nil {
		return backend.RowMajor
	}
	return ls[0]
}
