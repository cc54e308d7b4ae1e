package elem

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// Chain returns the kernels for an elementwise operator on float32, and for a fused group of such.
func Chain(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.Out) != 1 || !isFloat(&o.Out[0]) || !prog.Knows(o.Node) {
		return nil, nil
	}
	var out []backend.Candidate
	if w, ok := newWalk(o.Out[0].Shape, o.In); ok {
		if c, ok := gridOf(l, o, w); ok {
			out = append(out, c)
		} else if p, ok := prog.Runs(l, o, w.one); ok {
			out = append(out, rowsOf(l, o, p, w))
		}
	}
	p, ok := prog.Compile(l, o, nil, 1)
	if !ok || len(o.Out[0].Shape) < 2 {
		return out, nil
	}
	if len(out) == 0 {
		out = append(out, planesOf(l, o, p))
	}
	return append(out, blocksOf(l, o, p)...), nil
}

// rows runs a program over the rows of a walk.
type rows struct {
	p   *prog.Program
	w   *walk
	cut cut
}

// chain is a candidate that runs a program.
func chain(l simd.Level, o *backend.Op, p *prog.Program, tasks int, task func(c *backend.Call, i, worker int)) (
	c backend.Candidate) {
	c = made(l, "elementwise", 0.3, 0.8)
	c.Scratch = 4 * int64(p.Scratch()) * int64(max(o.Threads, 1))
	c.Kernel = func(c *backend.Call) error {
		c.Par(tasks, task)
		return nil
	}
	return c
}

// scratch returns a worker's part of the scratch memory.
func scratch(c *backend.Call, p *prog.Program, worker int) []float32 {
	n := p.Scratch()
	return tensor.Cast[float32](c.Scratch)[worker*n:][:n]
}

func rowsOf(l simd.Level, o *backend.Op, p *prog.Program, w *walk) backend.Candidate {
	r := &rows{p, w, newCut(w.rows, w.n, p.Steps(), 16, o.Threads)}
	return chain(l, o, p, r.cut.tasks, r.task)
}

func (r *rows) task(c *backend.Call, i, worker int) {
	first, last, from, to := r.cut.task(i)
	out, mem := floats(&c.Out[0]), scratch(c, r.p, worker)
	var at place
	in := prog.Borrow()
	r.w.seek(&at, first)
	for row := first; row < last; row++ {
		for k, one := range r.w.one {
			in[k] = floats(&c.In[k])[at.at[k]:]
			if !one {
				in[k] = in[k][from:]
			}
		}
		r.p.RunOn(out[row*r.w.n+from:row*r.w.n+to], in, mem)
		r.w.next(&at)
	}
	prog.Return(in)
}

// planes runs a program over the planes of a tensor, each of one channel, or, where those are
// single elements, over its rows of channels.
type planes struct {
	p        *prog.Program
	channels int
	cut      cut
	mode     prog.Mode
}

func planesOf(l simd.Level, o *backend.Op, p *prog.Program) backend.Candidate {
	s := o.Out[0].Shape
	r := &planes{p: p, channels: int(s[1])}
	n, inner := count(s[:2]), count(s[2:])
	if inner == 1 {
		n, inner, r.mode = int(s[0]), int(s[1]), prog.Vector
	}
	r.cut = newCut(n, inner, p.Steps(), 16, o.Threads)
	return chain(l, o, p, r.cut.tasks, r.task)
}

func (r *planes) task(c *backend.Call, i, worker int) {
	first, last, from, to := r.cut.task(i)
	out, mem := floats(&c.Out[0]), scratch(c, r.p, worker)
	for row := first; row < last; row++ {
		at := row*r.cut.n + from
		t := prog.Tile{Data: out[at : at+to-from], At: at, Channel: row % r.channels, Mode: r.mode}
		if r.mode == prog.Vector {
			t.Channel = from
		}
		r.p.Run(c, &t, mem)
	}
}

// blocks runs a program over the blocks of a tensor whose channels are blocked.
type blocks struct {
	p   *prog.Program
	cut cut
	// block is the number of channels of a block, perImage that of an image's blocks; 0 when no
	// operand and no place without a channel asks which channels are where.
	block, perImage int
}

// blocksOf returns the kernels that work on blocked operands. Those with one element for each
// channel are the same blocked as not, but for what comes after the last channel: a kernel takes
// either.
func blocksOf(l simd.Level, o *backend.Op, p *prog.Program) []backend.Candidate {
	s, b := o.Out[0].Shape, l.Block()
	if !backend.Layout(b).Fits(tensor.Float32, s) {
		return nil
	}
	r := &blocks{p: p, block: b, perImage: (int(s[1]) + b - 1) / b}
	n := int(s[0]) * r.perImage
	r.cut = cut{}
	if s[0] == 1 && len(s) > 2 {
		r.cut = newSpread(n, s[2:], b, p.Steps(), o.Threads)
	}
	if inner := count(s[2:]) * b; !r.cut.across {
		if !p.PerChannel() && int(s[1])%b == 0 {
			n, inner, r.perImage = 1, n*inner, 0
		}
		r.cut = newCut(n, inner, p.Steps(), 16, o.Threads)
	}
	c := chain(l, o, p, r.cut.tasks, r.task)
	c.Out = []backend.Layout{backend.Layout(b)}
	c.In = make([]backend.Layout, len(o.In))
	for _, i := range p.Full() {
		if o.In[i].Const != nil {
			return nil
		}
		c.In[i] = backend.Layout(b)
	}
	out := []backend.Candidate{c}
	more := slices.Clone(c.In)
	for _, i := range p.Channels() {
		if len(o.In[i].Shape) == len(s) {
			more[i] = backend.Layout(b)
		}
	}
	if !slices.Equal(more, c.In) {
		c.In = more
		out = append(out, c)
	}
	return out
}

func (r *blocks) task(c *backend.Call, i, worker int) {
	first, last, from, to := r.cut.task(i)
	out, mem := floats(&c.Out[0]), scratch(c, r.p, worker)
	for row := first; row < last; row++ {
		at := row*r.cut.n + from
		t := prog.Tile{Data: out[at : at+to-from], At: at}
		if r.perImage > 0 {
			t.Mode, t.Block, t.Channel = prog.Blocked, r.block, row%r.perImage*r.block
		}
		r.p.Run(c, &t, mem)
	}
}
