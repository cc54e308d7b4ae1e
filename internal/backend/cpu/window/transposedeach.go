package window

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// place returns where the weights of a tap are among those of its axis: the taps that reach the same
// output follow each other.
func (r *reach) place(tap int) int {
	return tap%r.tapStep*r.each() + tap/r.tapStep
}

// each is the most taps that reach one output.
func (r *reach) each() int { return (r.kernel + r.tapStep - 1) / r.tapStep }

// places is how many places the taps of an axis take.
func (r *reach) places() int { return r.tapStep * r.each() }

// depthwise returns the candidate for a transposed convolution of each channel with a kernel of its
// own.
func (d *transposed) depthwise(o *backend.Op) []backend.Candidate {
	in, ok := d.layouts(o, d.block)
	if !ok {
		return nil
	}
	w := d.arg(o, 1).Const
	how := fmt.Sprintf("depthwise deconv %d/%d/%d", d.block, d.y.tapStep, d.x.tapStep)
	d.packed = o.Consts.Get(w, how, func() any { return d.packEach(tensor.Cast[float32](w.Bytes())) }).([]float32)
	d.bias = biasOf(o, d.arg(o, 2), d.outBlocks()*d.block)
	width := float64(d.outs) / float64(d.outBlocks()*d.block)
	return []backend.Candidate{{Name: "deconv-depthwise", Source: source(d.level), Kernel: d.eachKernel(),
		Scratch: int64(4 * d.scratch(o)), In: in, Out: []backend.Layout{backend.Layout(d.block)},
		Flops: flopsOf(d.level, 0.2*width), Stream: streamOf(d.level, 0.7*width)}}
}

// packEach rearranges weights [channels, 1, taps] by block, place and channel.
func (d *transposed) packEach(w []float32) []float32 {
	area := d.y.places() * d.x.places()
	p := make([]float32, d.outBlocks()*area*d.block)
	for ch := range d.outs {
		for y := range d.y.kernel {
			for x := range d.x.kernel {
				at := d.y.place(y)*d.x.places() + d.x.place(x)
				p[(ch/d.block*area+at)*d.block+ch%d.block] = w[(ch*d.y.kernel+y)*d.x.kernel+x]
			}
		}
	}
	return p
}

func (d *transposed) eachKernel() backend.Kernel {
	task := func(c *backend.Call, i, worker int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[d.in[0]].Data)
		outPlane, inPlane := d.y.out*d.x.out*d.block, d.y.in*d.x.in*d.block
		tiles(d.images*d.outBlocks(), d.y.out, d.tile, d.tasks, i, func(plane, y0, y1 int) {
			at, b := plane*outPlane+y0*d.x.out*d.block, plane%d.outBlocks()
			to := dst[at:][:(y1-y0)*d.x.out*d.block]
			d.computeEach(to, src[plane*inPlane:][:inPlane], b, y0, y1)
			d.finish(c, to, at, b*d.block, d.block, 0, worker)
		})
	}
	return func(c *backend.Call) error { c.Par(d.tasks, task); return nil }
}

// computeEach writes rows y0 to y1 of one plane.
func (d *transposed) computeEach(dst, src []float32, b, y0, y1 int) {
	pixel, area := 4*d.block, d.y.places()*d.x.places()
	weights := d.packed[b*area*d.block:][:area*d.block]
	s := loops.Strip{DstStep: pixel * d.x.stride, SrcStep: pixel, SrcRow: -pixel * d.x.in * d.y.back,
		SrcCol: -pixel * d.x.back, WRow: pixel * d.x.places(), Bias: &d.bias[b*d.block], Lo: d.lo, Hi: d.hi}
	for y := y0; y < y1; y++ {
		r := &d.rows[y]
		for i := range d.x.runs {
			c := &d.x.runs[i]
			s.N, s.Times, s.KH, s.KW = c.n, 1, r.taps, c.taps
			s.Dst = &dst[((y-y0)*d.x.out+c.from)*d.block]
			s.Src = &src[(r.at*d.x.in+c.at)*d.block]
			s.W = &weights[(d.y.place(r.tap)*d.x.places()+d.x.place(c.tap))*d.block]
			loops.Conv(d.level, &s)
		}
	}
}
