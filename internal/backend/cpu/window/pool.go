package window

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// MaxPool returns the kernels for maxima of windows, without their positions.
func MaxPool(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.Out) > 1 && o.Out[1].Present() {
		return nil, nil
	}
	return pool(l, o, "maxpool", largest)
}

// AveragePool returns the kernels for means of windows.
func AveragePool(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return pool(l, o, "averagepool", average)
}

func pool(l simd.Level, o *backend.Op, name string, what loop) ([]backend.Candidate, error) {
	if o.In[0].DType != tensor.Float32 {
		return nil, nil
	}
	kernel := o.Node.Attrs.Ints("kernel_shape", nil)
	g := newGrid(l, l.Block(), o.Node, o.In[0].Shape, kernel, what, o.Threads)
	if g == nil {
		return nil, nil
	}
	flat := newGrid(l, 1, o.Node, o.In[0].Shape, kernel, what, o.Threads)
	out := append(newSliding(g, o.Threads, name), newSliding(flat, o.Threads, name)...)
	if g.y.kernel*g.x.kernel > most {
		return out, nil
	}
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[0].Data)
		g.each(i, func(plane, y0, y1 int) {
			to := dst[(plane*g.outPlane+y0*g.x.out)*g.block:][:(y1-y0)*g.x.out*g.block]
			g.compute(to, src[plane*g.inPlane*g.block:], nil, nil, y0, y1, 0, 0)
			g.settle(to, plane)
		})
	}
	b := []backend.Layout{backend.Layout(g.block)}
	out = append(out, plainPool(l, flat, name)...)
	return append(out, backend.Candidate{Name: name, Source: source(l), In: b, Out: b,
		Kernel: func(c *backend.Call) error { c.Par(g.tasks, task); return nil },
		Flops:  flopsOf(l, 0.25*g.width()), Stream: streamOf(l, g.width())}), nil
}
