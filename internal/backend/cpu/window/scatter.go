package window

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd/move"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// scatter is a transposed convolution from blocks to few row-major channels: the products of every
// input row with all weights, a lane for each output channel and tap, are added to where the taps lie.
type scatter struct {
	*transposed
	// lanes is output channels times taps, blocks how many pixels hold them.
	lanes, blocks int
	packed        []float32
	zero          []float32
	plain         []float32
	tile, tasks   int
}

// newScatter returns the candidate.
func newScatter(d *transposed, o *backend.Op) backend.Candidate {
	s := &scatter{transposed: d, lanes: d.outs * d.taps()}
	s.blocks = (s.lanes + d.block - 1) / d.block
	w := d.arg(o, 1).Const
	s.packed = o.Consts.Get(w, fmt.Sprintf("deconv lanes %d", d.block), func() any {
		p := o.Consts.Floats(s.blocks * d.ins * d.block)
		for i, v := range tensor.Cast[float32](w.Bytes()) {
			in, lane := i/s.lanes, i%s.lanes
			p[(lane/d.block*d.ins+in)*d.block+lane%d.block] = v
		}
		return p
	}).([]float32)
	s.zero, s.plain = make([]float32, d.block), biasOf(o, d.arg(o, 2), d.outs)
	s.tile = min(d.y.out, max(8*d.y.stride, 4*((d.y.kernel-1)*d.y.dilation+1)))
	s.tasks = d.images * ((d.y.out + s.tile - 1) / s.tile)
	in := make([]backend.Layout, len(o.In))
	in[d.in[0]] = backend.Layout(d.block)
	width := float64(s.lanes) / float64(s.blocks*d.block)
	return backend.Candidate{Name: "deconv-scatter", Source: source(d.level), Kernel: s.kernel(),
		Scratch: int64(4 * max(1, o.Threads) * s.worker()), In: in, Flops: flopsOf(d.level, 0.3*width),
		Stream: streamOf(d.level, 0.3)}
}

// worker is the floats of scratch memory of each worker: a row's products, the same by lane, and what
// follows needs.
func (s *scatter) worker() int {
	n := 2 * s.blocks * s.block * s.x.in
	if s.all != nil {
		n += s.all.Scratch()
	}
	return n
}

func (s *scatter) kernel() backend.Kernel {
	task := func(c *backend.Call, i, worker int) {
		perImage := (s.y.out + s.tile - 1) / s.tile
		image, y0 := i/perImage, i%perImage*s.tile
		y1 := min(y0+s.tile, s.y.out)
		area, inPlane := s.y.out*s.x.out, s.y.in*s.x.in*s.block
		dst := tensor.Cast[float32](c.Out[0].Data)[image*s.outs*area:][:s.outs*area]
		src := tensor.Cast[float32](c.In[s.in[0]].Data)[image*s.inBlocks()*inPlane:][:s.inBlocks()*inPlane]
		scratch := tensor.Cast[float32](c.Scratch)[worker*s.worker():][:s.worker()]
		for ch := range s.outs {
			fill(dst[ch*area+y0*s.x.out:][:(y1-y0)*s.x.out], s.plain[ch])
		}
		s.contribute(dst, src, scratch, y0, y1)
		if s.all == nil {
			return
		}
		for ch := range s.outs {
			at := ch*area + y0*s.x.out
			tile := prog.Tile{Data: dst[at:][:(y1-y0)*s.x.out], At: image*s.outs*area + at, Channel: ch, Mode: prog.OneChannel}
			s.all.Run(c, &tile, scratch[2*s.blocks*s.block*s.x.in:])
		}
	}
	return func(c *backend.Call) error { c.Par(s.tasks, task); return nil }
}

func fill(dst []float32, v float32) {
	for i := range dst {
		dst[i] = v
	}
}

// contribute adds to output rows y0 to y1 what reaches them.
func (s *scatter) contribute(dst, src, scratch []float32, y0, y1 int) {
	n := s.blocks * s.block * s.x.in
	products, lanes := scratch[:n], scratch[n:2*n]
	first := max(0, y0+s.y.begin-(s.y.kernel-1)*s.y.dilation) / s.y.stride
	for y := first; y < s.y.in && y*s.y.stride-s.y.begin < y1; y++ {
		s.multiply(products, src[y*s.x.in*s.block:])
		for b := range s.blocks {
			used := min(s.block, s.lanes-b*s.block)
			move.Transpose(s.level, words(lanes[b*s.block*s.x.in:]), words(products[b*s.block*s.x.in:]),
				move.Matrix{Rows: s.x.in, Cols: used, Fill: s.x.in, DstStride: s.x.in, SrcStride: s.block})
		}
		for i := range s.lanes {
			ch, ky, kx := i/s.taps(), i/s.x.kernel%s.y.kernel, i%s.x.kernel
			if at := y*s.y.stride - s.y.begin + ky*s.y.dilation; at >= y0 && at < y1 {
				s.add(dst[(ch*s.y.out+at)*s.x.out:][:s.x.out], lanes[i*s.x.in:][:s.x.in], kx*s.x.dilation-s.x.begin)
			}
		}
	}
}

// multiply computes the products of one input row with all weights.
func (s *scatter) multiply(dst, src []float32) {
	pixel := 4 * s.block
	for b := range s.blocks {
		d := loops.Dense{Dst: &dst[b*s.block*s.x.in], Src: &src[0], W: &s.packed[b*s.ins*s.block], N: s.x.in,
			DstStep: pixel, SrcStep: pixel, KH: 1, KW: 1, Channels: s.ins, SrcPlane: pixel * s.y.in * s.x.in,
			Bias: &s.zero[0], Lo: -infinite, Hi: infinite}
		loops.Products(s.level, &d)
	}
}

// add adds the products of one tap to every stride-th element from at on, as far as they are inside.
func (s *scatter) add(dst, products []float32, at int) {
	stride := s.x.stride
	if at < 0 {
		skip := (-at + stride - 1) / stride
		if skip >= len(products) {
			return
		}
		products, at = products[skip:], at+skip*stride
	}
	if at >= len(dst) {
		return
	}
	n := min(len(products), (len(dst)-1-at)/stride+1)
	if stride == 2 {
		dst = dst[at:]
		for i, v := range products[:n] {
			dst[2*i] += v
		}
		return
	}
	for _, v := range products[:n] {
		dst[at] += v
		at += stride
	}
}
