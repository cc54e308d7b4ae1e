package window

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	loops "github.com/stowage-ml/stowage/internal/simd/window"
	"github.com/stowage-ml/stowage/tensor"
)

// reached is a run of outputs of a transposed convolution along one axis, a stride apart, that the
// same taps reach.
type reached struct {
	// The outputs are from, from+stride and so on, n of them.
	from, n int
	// The first of the taps is tap, and reads input at for the first output.
	tap, taps, at int
}

// reach is how a transposed convolution lies along one axis. From one tap of an output to the next the
// tap's number grows by tapStep, and the input's falls by back.
type reach struct {
	axis
	tapStep, back int
	runs          []reached
}

func reachOf(a *op.Axis) reach {
	r := reach{axis: axisOf(a)}
	g := gcd(r.stride, r.dilation)
	r.tapStep, r.back = r.stride/g, r.dilation/g
	for phase := range min(r.stride, r.out) {
		for o := phase; o < r.out; o += r.stride {
			tap, taps, at := r.of(o)
			if n := len(r.runs) - 1; n >= 0 && o > phase && r.runs[n].tap == tap && r.runs[n].taps == taps {
				r.runs[n].n++
				continue
			}
			r.runs = append(r.runs, reached{from: o, n: 1, tap: tap, taps: taps, at: at})
		}
	}
	return r
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// of returns the taps that reach output o, and the input that the first of them reads.
func (r *reach) of(o int) (tap, taps, at int) {
	first := 0
	for first < r.tapStep && (o+r.begin-first*r.dilation)%r.stride != 0 {
		first++
	}
	if first == r.tapStep || first >= r.kernel {
		return 0, 0, 0
	}
	all := (r.kernel-first-1)/r.tapStep + 1
	in := (o + r.begin - first*r.dilation) / r.stride
	if o+r.begin < first*r.dilation {
		return 0, 0, 0
	}
	lo := max(0, (in-r.in+r.back)/r.back)
	hi := min(all, in/r.back+1)
	if in < r.in {
		lo = 0
	}
	if lo >= hi {
		return 0, 0, 0
	}
	return first + lo*r.tapStep, hi - lo, in - lo*r.back
}

// transposed is a transposed convolution of one group between tensors in blocks.
type transposed struct {
	tail
	level                    simd.Level
	block, images, ins, outs int
	// each says that every channel is a group of its own.
	each bool
	y, x reach
	// rows says, for each output row, what reaches it.
	rows        []reached
	tile, tasks int
	packed      []float32
	bias        []float32
}

// ConvTranspose returns the kernels for transposed convolutions with constant weights, of one group, or
// of one channel in each group.
func ConvTranspose(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	return transposedOf(l, o, alone(o))
}

func transposedOf(l simd.Level, o *backend.Op, t tail) ([]backend.Candidate, error) {
	d := newTransposed(l, o, t)
	if d == nil {
		return nil, nil
	}
	if d.each {
		return d.depthwise(o), nil
	}
	var out []backend.Candidate
	in, ok := t.layouts(o, d.block)
	if ok {
		d.pack(o)
		width := float64(d.outs) / float64(d.outBlocks()*d.block)
		out = append(out, backend.Candidate{Name: "deconv", Source: source(l), Kernel: d.kernel(),
			Scratch: int64(4 * t.scratch(o)), In: in, Out: []backend.Layout{backend.Layout(d.block)},
			Flops: flopsOf(l, 0.5*width), Stream: streamOf(l, 0.6)})
	}
	if d.outs < d.block {
		out = append(out, newScatter(d, o))
	}
	return out, nil
}

// newTransposed returns nil for what the package has no loops for.
func newTransposed(l simd.Level, o *backend.Op, t tail) *transposed {
	x, w, b := t.arg(o, 0), t.arg(o, 1), t.arg(o, 2)
	if x.DType != tensor.Float32 || len(x.Shape) < 3 || len(x.Shape) > 4 || w.Const == nil || o.Out[0].Shape == nil ||
		b.Present() && b.Const == nil {
		return nil
	}
	groups := t.node.Attrs.Int("group", 1)
	each := groups == x.Shape[1] && groups > 1 && w.Shape[1] == 1
	if groups != 1 && !each {
		return nil
	}
	axes, err := op.TransposedWindows(t.node.Attrs, graph.Of(x.Shape[2:]...), graph.Of(w.Shape[2:]...))
	if err != nil {
		return nil
	}
	d := &transposed{tail: t, level: l, block: l.Block(), images: int(x.Shape[0]), ins: int(x.Shape[1]),
		outs: int(w.Shape[1] * groups), each: each, x: reachOf(&axes[len(axes)-1])}
	one := graph.Known(1)
	d.y = reachOf(&op.Axis{In: one, Kernel: one, Out: one, Begin: graph.Known(0), Stride: 1, Dilation: 1})
	if len(axes) == 2 {
		d.y = reachOf(&axes[0])
	}
	if d.images*d.ins*d.outs*d.y.in*d.x.in*d.y.out*d.x.out == 0 {
		return nil
	}
	for i := range d.y.out {
		tap, taps, at := d.y.of(i)
		d.rows = append(d.rows, reached{from: i, n: 1, tap: tap, taps: taps, at: at})
	}
	d.tile = max(1, tileBytes/(4*d.block*d.x.out))
	work := int64(d.images*d.outBlocks()*d.block) * int64(d.y.out*d.x.out)
	if !each {
		work *= int64(d.ins)
	}
	d.tasks = min(taskCount(work, o.Threads), d.images*d.outBlocks()*d.y.out)
	return d
}

func (d *transposed) outBlocks() int { return (d.outs + d.block - 1) / d.block }

func (d *transposed) inBlocks() int { return (d.ins + d.block - 1) / d.block }

// taps is the number of weights of a pair of channels.
func (d *transposed) taps() int { return d.y.kernel * d.x.kernel }

// pack rearranges weights [ins, outs, taps] by block of outs, tap, in and out.
func (d *transposed) pack(o *backend.Op) {
	w, taps := d.arg(o, 1).Const, d.taps()
	d.packed = o.Consts.Get(w, fmt.Sprintf("deconv %d", d.block), func() any {
		p := o.Consts.Floats(d.outBlocks() * taps * d.ins * d.block)
		from := tensor.Cast[float32](w.Bytes())
		for i := range d.ins {
			for c := range d.outs {
				for t := range taps {
					p[((c/d.block*taps+t)*d.ins+i)*d.block+c%d.block] = from[(i*d.outs+c)*taps+t]
				}
			}
		}
		return p
	}).([]float32)
	d.bias = biasOf(o, d.arg(o, 2), d.outBlocks()*d.block)
}

func (d *transposed) kernel() backend.Kernel {
	task := func(c *backend.Call, i, worker int) {
		dst, src := tensor.Cast[float32](c.Out[0].Data), tensor.Cast[float32](c.In[d.in[0]].Data)
		outPlane, inPlane := d.y.out*d.x.out*d.block, d.y.in*d.x.in*d.block
		tiles(d.images*d.outBlocks(), d.y.out, d.tile, d.tasks, i, func(plane, y0, y1 int) {
			at, b := plane*outPlane+y0*d.x.out*d.block, plane%d.outBlocks()
			to := dst[at:][:(y1-y0)*d.x.out*d.block]
			image := plane / d.outBlocks()
			d.compute(to, src[image*d.inBlocks()*inPlane:], b, y0, y1)
			d.finish(c, to, at, b*d.block, d.block, 0, worker)
		})
	}
	return func(c *backend.Call) error { c.Par(d.tasks, task); return nil }
}

// compute writes rows y0 to y1 of a block of output channels of an image that src starts with.
func (d *transposed) compute(dst, src []float32, b, y0, y1 int) {
	pixel, taps := 4*d.block, d.taps()
	weights := d.packed[b*taps*d.ins*d.block:][:taps*d.ins*d.block]
	s := loops.Dense{DstStep: pixel * d.x.stride, SrcStep: pixel, SrcRow: -pixel * d.x.in * d.y.back,
		SrcCol: -pixel * d.x.back, WRow: pixel * d.ins * d.x.kernel * d.y.tapStep, WCol: pixel * d.ins * d.x.tapStep,
		Channels: d.ins, SrcPlane: pixel * d.y.in * d.x.in, Bias: &d.bias[b*d.block], Lo: d.lo, Hi: d.hi}
	for y := y0; y < y1; y++ {
		r := &d.rows[y]
		for i := range d.x.runs {
			c := &d.x.runs[i]
			s.N, s.KH, s.KW = c.n, r.taps, c.taps
			s.Dst = &dst[((y-y0)*d.x.out+c.from)*d.block]
			s.Src = &src[(r.at*d.x.in+c.at)*d.block]
			s.W = &weights[(r.tap*d.x.kernel+c.tap)*d.ins*d.block]
			loops.Products(d.level, &s)
		}
	}
}
