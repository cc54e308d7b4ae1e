package window

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// plain is windows of stride 1 along rows, over row-major planes: as many neighbours as a block has
// channels are computed side by side, in the loops for blocks.
type plain struct {
	*grid
	lanes int
}

// newPlain returns nil unless rows are long enough.
func newPlain(l simd.Level, g *grid) *plain {
	p := &plain{g, l.Block()}
	if g == nil || g.x.stride != 1 || g.x.out < 2*p.lanes {
		return nil
	}
	return p
}

// share is about which part of the outputs are computed side by side.
func (p *plain) share() float64 {
	n := 0
	for i := range p.cols {
		if p.cols[i].n >= p.lanes {
			n += p.cols[i].n
		}
	}
	return float64(n) / float64(p.x.out)
}

// weighting is what a window's taps are weighted and bounded with. The weights of a tap, and the bias,
// are as often as there are lanes.
type weighting struct {
	w, bias []float32
	lo, hi  float32
}

// compute writes rows y0 to y1 of one plane.
func (p *plain) compute(dst, src []float32, k *weighting, y0, y1 int) {
	s := loops.Strip{Lo: k.lo, Hi: k.hi, WRow: 4 * p.lanes * p.x.kernel, SrcRow: 4 * p.x.in * p.y.dilation,
		SrcCol: 4 * p.x.dilation, DstStep: 4 * p.lanes, SrcStep: 4 * p.lanes}
	if k.bias != nil {
		s.Bias = &k.bias[0]
	}
	for i := range p.rows {
		r := &p.rows[i]
		for y := max(y0, r.from); y < min(y1, r.from+r.n); y++ {
			at := r.at + (y-r.from)*p.y.stride
			for j := range p.cols {
				p.run(&s, dst[(y-y0)*p.x.out:], src, k, r, &p.cols[j], at)
			}
		}
	}
}

// run computes the outputs of one row that have the same taps; at is the row that the first tap
// reads.
func (p *plain) run(s *loops.Strip, dst, src []float32, k *weighting, r, c *span, at int) {
	s.KH, s.KW = r.taps, c.taps
	s.Scale = 1 / float32(max(1, r.count*c.count))
	from := at*p.x.in + c.at
	if r.taps == 0 || c.taps == 0 {
		from = 0
	}
	var w *float32
	if k.w != nil {
		w = &k.w[(r.first*p.x.kernel+c.first)*p.lanes]
	}
	if c.n < p.lanes || r.taps == 0 || c.taps == 0 {
		for i := range c.n {
			dst[c.from+i] = p.one(s, src, w, from+i, k)
		}
		return
	}
	s.W = w
	s.Dst, s.Src, s.N, s.Times = &dst[c.from], &src[from], c.n/p.lanes, 1
	p.strip(s)
	if rest := c.n % p.lanes; rest > 0 {
		back := c.n - p.lanes
		s.Dst, s.Src, s.N, s.Times = &dst[c.from+back], &src[from+back], 1, 1
		p.strip(s)
	}
}

// one computes a single output, whose first tap is element from of src.
func (p *plain) one(s *loops.Strip, src []float32, w *float32, from int, k *weighting) float32 {
	v := float32(0)
	switch {
	case p.loop == largest:
		v = -infinite
	case k.bias != nil:
		v = k.bias[0]
	}
	if s.KH == 0 || s.KW == 0 {
		from = 0
	}
	for y := range s.KH {
		for x := range s.KW {
			t := src[from+(y*p.y.dilation)*p.x.in+x*p.x.dilation]
			switch p.loop {
			case largest:
				if t > v {
					v = t
				}
			case average:
				v += t
			default:
				v += t * *(*float32)(unsafe.Add(unsafe.Pointer(w), y*s.WRow+4*p.lanes*x))
			}
		}
	}
	switch {
	case p.loop == average:
		v *= s.Scale
	case p.loop == convolve && v < k.lo:
		v = k.lo
	case p.loop == convolve && v > k.hi:
		v = k.hi
	}
	return v
}

// plainPool returns the candidate for pools over row-major planes; nil when there is none.
func plainPool(l simd.Level, g *grid, name string) []backend.Candidate {
	p := newPlain(l, g)
	if p == nil {
		return nil
	}
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[0].Data)
		p.each(i, func(plane, y0, y1 int) {
			p.compute(dst[plane*p.outPlane+y0*p.x.out:], src[plane*p.inPlane:][:p.inPlane], &weighting{}, y0, y1)
		})
	}
	return []backend.Candidate{{Name: name, Source: source(l),
		Kernel: func(c *backend.Call) error { c.Par(p.tasks, task); return nil },
		Flops:  flopsOf(l, 0.12*p.share()*p.share()), Stream: streamOf(l, 0.6)}}
}

// plainDepthwise returns the candidate for a depthwise convolution of row-major planes; nil when
// there is none.
func plainDepthwise(l simd.Level, o *backend.Op, t tail, g *grid) []backend.Candidate {
	p := newPlain(l, g)
	if p == nil {
		return nil
	}
	d := &plainConv{plain: p, tail: t, taps: g.y.kernel * g.x.kernel}
	return []backend.Candidate{{Name: "depthwise", Source: source(l), Kernel: d.kernel(),
		Scratch: int64(4 * max(1, o.Threads) * d.scratch()), Flops: flopsOf(l, 0.18*p.share()*p.share()),
		Stream: streamOf(l, 0.6)}}
}

// plainConv is a depthwise convolution of row-major planes.
type plainConv struct {
	*plain
	tail
	taps int
}

// scratch is the floats of scratch memory of each worker: its plane's weights and bias in all
// lanes, and what follows needs.
func (d *plainConv) scratch() int {
	n := (d.taps + 1) * d.lanes
	if d.rest != nil {
		n += d.rest.Scratch()
	}
	return n
}

func (d *plainConv) kernel() backend.Kernel {
	task := func(c *backend.Call, i, worker int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[d.in[0]].Data)
		scratch := tensor.Cast[float32](c.Scratch)[worker*d.scratch():][:d.scratch()]
		n := d.taps * d.lanes
		k := weighting{scratch[:n], scratch[n : n+d.lanes], d.lo, d.hi}
		last := -1
		d.each(i, func(plane, y0, y1 int) {
			if plane != last {
				d.spread(c, &k, plane%d.channels)
				last = plane
			}
			at := plane*d.outPlane + y0*d.x.out
			to := dst[at:][:(y1-y0)*d.x.out]
			d.compute(to, src[plane*d.inPlane:][:d.inPlane], &k, y0, y1)
			if d.rest != nil {
				tile := prog.Tile{Data: to, At: at, Channel: plane % d.channels, Mode: prog.OneChannel}
				d.rest.Run(c, &tile, scratch[n+d.lanes:])
			}
		})
	}
	return func(c *backend.Call) error { c.Par(d.tasks, task); return nil }
}

// spread puts a channel's weights and bias into all lanes.
func (d *plainConv) spread(c *backend.Call, k *weighting, ch int) {
	for t, v := range tensor.Cast[float32](c.In[d.in[1]].Data)[ch*d.taps:][:d.taps] {
		fill(k.w[t*d.lanes:][:d.lanes], v)
	}
	v := float32(0)
	if len(d.in) > 2 && d.in[2] >= 0 {
		v = tensor.Cast[float32](c.In[d.in[2]].Data)[ch]
	}
	fill(k.bias, v)
}
