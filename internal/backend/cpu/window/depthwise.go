package window

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

// depthwise is a convolution of each channel with a kernel of its own.
type depthwise struct {
	*grid
	tail
	taps int
	// known is the weights when they are constant: the first call packs them, by block, tap and channel. bias
	// is by block and channel.
	known        *tensor.Tensor
	consts       *backend.Consts
	once         sync.Once
	packed, bias []float32
	// scratch is the floats of scratch memory for what each call packs.
	scratch int
}

// Conv returns the kernels for convolutions with as many groups as input and output channels.
func Conv(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return depthwiseOf(l, o, alone(o))
}

func depthwiseOf(l simd.Level, o *backend.Op, t tail) ([]backend.Candidate, error) {
	x, w := t.arg(o, 0), t.arg(o, 1)
	if x.DType != tensor.Float32 || len(x.Shape) < 3 || len(w.Shape) != len(x.Shape) || w.Shape[1] != 1 ||
		w.Shape[0] != x.Shape[1] || t.node.Attrs.Int("group", 1) != x.Shape[1] {
		return nil, nil
	}
	g := newGrid(l, l.Block(), t.node, x.Shape, w.Shape[2:], convolve, o.Threads)
	if g == nil {
		return nil, nil
	}
	d := &depthwise{grid: g, tail: t, taps: g.y.kernel * g.x.kernel}
	d.bind(o)
	plains := plainDepthwise(l, o, t, newGrid(l, 1, t.node, x.Shape, w.Shape[2:], convolve, o.Threads))
	in, ok := t.layouts(o, g.block)
	if !ok {
		return plains, nil
	}
	return append(plains, backend.Candidate{Name: "depthwise", Source: source(l), Kernel: d.kernel(),
		Scratch: int64(4 * (d.scratch + t.scratch(o))), In: in, Out: []backend.Layout{backend.Layout(g.block)},
		Flops: flopsOf(l, 0.5*g.width()), Stream: streamOf(l, g.width())}), nil
}

// bind takes the constant operands, and lays out scratch memory for the others.
func (d *depthwise) bind(o *backend.Op) {
	w, b := d.arg(o, 1), d.arg(o, 2)
	if d.known, d.consts = w.Const, o.Consts; w.Const == nil {
		d.scratch += d.weights()
	}
	d.bias = biasOf(o, b, d.blocks*d.block)
	if d.bias == nil {
		d.scratch += d.blocks * d.block
	}
}

// packKnown packs constant weights.
func (d *depthwise) packKnown() {
	d.packed = d.consts.Get(d.known, fmt.Sprintf("depthwise %d", d.block), func() any {
		p := d.consts.Floats(d.weights())
		d.pack(p, tensor.Cast[float32](d.known.Bytes()))
		return p
	}).([]float32)
}

// biasOf returns n biases, with 0 where no channel is; nil when only the call knows them.
func biasOf(o *backend.Op, b *backend.Arg, n int) []float32 {
	switch {
	case !b.Present():
		return make([]float32, n)
	case b.Const == nil:
		return nil
	}
	return o.Consts.Get(b.Const, fmt.Sprintf("%d biases", n), func() any {
		p := make([]float32, n)
		copy(p, tensor.Cast[float32](b.Const.Bytes()))
		return p
	}).([]float32)
}

// flopsOf is streamOf for the rate of multiply-adds.
func flopsOf(l simd.Level, assembly float64) float64 {
	if l == simd.AVX2 || l == simd.AVX512 {
		return assembly
	}
	return assembly / 12
}

// weights is the number of packed weights.
func (d *depthwise) weights() int { return d.blocks * d.block * d.taps }

// pack rearranges weights [channels, 1, taps] by block, tap and channel, with 0 where no channel is.
func (d *depthwise) pack(dst, w []float32) {
	for b := range d.blocks {
		ch := b * d.block
		n := min(d.block, d.channels-ch)
		move.Transpose(d.level, words(dst[ch*d.taps:]), words(w[ch*d.taps:]),
			move.Matrix{Rows: n, Cols: d.taps, Fill: d.block, DstStride: d.block, SrcStride: d.taps})
	}
}

func (d *depthwise) kernel() backend.Kernel {
	task := func(c *backend.Call, i, worker int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[d.in[0]].Data)
		w, bias := d.operands(c)
		d.each(i, func(plane, y0, y1 int) {
			b := plane % d.blocks * d.block
			at := (plane*d.outPlane + y0*d.x.out) * d.block
			to := dst[at:][:(y1-y0)*d.x.out*d.block]
			d.compute(to, src[plane*d.inPlane*d.block:], &w[b*d.taps], &bias[b], y0, y1, d.lo, d.hi)
			d.finish(c, to, at, b, d.block, d.scratch, worker)
		})
	}
	return func(c *backend.Call) error {
		if d.known != nil {
			d.once.Do(d.packKnown)
		}
		w, bias := d.operands(c)
		if d.known == nil {
			d.pack(w, tensor.Cast[float32](c.In[d.in[1]].Data))
		}
		if d.bias == nil {
			clear(bias[copy(bias, tensor.Cast[float32](c.In[d.in[2]].Data)):])
		}
		c.Par(d.tasks, task)
		return nil
	}
}

// operands returns the packed weights and biases, which are constant or in scratch.
func (d *depthwise) operands(c *backend.Call) (w, bias []float32) {
	w, bias = d.packed, d.bias
	scratch := tensor.Cast[float32](c.Scratch)
	if w == nil {
		w, scratch = scratch[:d.weights()], scratch[d.weights():]
	}
	if bias == nil {
		bias = scratch[:d.blocks*d.block]
	}
	return w, bias
}
