package window

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

// depthwise is a convolution of each channel with a kernel of its own.
type depthwise struct {
	*grid
	taps int
	// packed is the constant weights by block, tap and channel; nil when each call packs them. bias
	// is by block and channel.
	packed, bias []float32
}

// Conv returns the kernels for convolutions with as many groups as input and output channels.
func Conv(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	x, w := o.In[0], o.In[1]
	if x.DType != tensor.Float32 || len(x.Shape) < 3 || len(w.Shape) != len(x.Shape) || w.Shape[1] != 1 ||
		w.Shape[0] != x.Shape[1] || o.Node.Attrs.Int("group", 1) != x.Shape[1] {
		return nil, nil
	}
	g := newGrid(l, o, x.Shape, w.Shape[2:], convolve)
	if g == nil {
		return nil, nil
	}
	d := &depthwise{grid: g, taps: g.y.kernel * g.x.kernel}
	scratch := 0
	if w.Const != nil {
		d.packed = o.Consts.Get(w.Const, fmt.Sprintf("depthwise %d", g.block), func() any {
			p := make([]float32, d.weights())
			d.pack(p, tensor.Cast[float32](w.Const.Bytes()))
			return p
		}).([]float32)
	} else {
		scratch += d.weights()
	}
	if b := o.Arg(2); b.Const != nil {
		d.bias = o.Consts.Get(b.Const, fmt.Sprintf("blocks of %d", g.block), func() any {
			p := make([]float32, g.blocks*g.block)
			copy(p, tensor.Cast[float32](b.Const.Bytes()))
			return p
		}).([]float32)
	} else if b.Present() {
		scratch += g.blocks * g.block
	} else {
		d.bias = make([]float32, g.blocks*g.block)
	}
	b := backend.Layout(g.block)
	return []backend.Candidate{{Name: "depthwise", Source: source(l), Kernel: d.kernel(), Scratch: int64(4 * scratch),
		In: []backend.Layout{b, 0, 0}[:len(o.In)], Out: []backend.Layout{b},
		Flops: flopsOf(l, 0.5), Stream: streamOf(l, 0.7)}}, nil
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
	lo, hi := float32(math.Inf(-1)), float32(math.Inf(1))
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[0].Data)
		w, bias := d.operands(c)
		d.each(i, func(plane, y0, y1 int) {
			b := plane % d.blocks * d.block
			to := (plane*d.outPlane + y0*d.x.out) * d.block
			d.compute(dst[to:], src[plane*d.inPlane*d.block:], &w[b*d.taps], &bias[b], y0, y1, lo, hi)
		})
	}
	return func(c *backend.Call) error {
		w, bias := d.operands(c)
		if d.packed == nil {
			d.pack(w, tensor.Cast[float32](c.In[1].Data))
		}
		if d.bias == nil {
			clear(bias[copy(bias, tensor.Cast[float32](c.In[2].Data)):])
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
