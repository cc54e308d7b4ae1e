// Package conv offers dense convolutions, alone or with the elementwise operators behind them:
// direct, over a few pixels times a few blocks of output channels at a time, for inputs and outputs
// that are blocked or row-major. Convolutions of one channel in each group are not its concern.
// Sizes are in elements of float32.
package conv

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// revision changes with the kernels' code.
const revision = 1

// Conv offers the kernels of operator Conv, for each layout of input and output that its channels
// have: none for other types than float32, for unknown shapes, and for more than two spatial axes
// that windows move along.
func Conv(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	at := operands{x: 0, w: 1, bias: -1}
	if o.Arg(2).Present() {
		at.bias = 2
	}
	if len(o.In) < 2 || len(o.In) > 3 || len(o.Out) != 1 {
		return nil, nil
	}
	return offer(l, o, o.Node, at, [2]finish{unbounded, unbounded}, channelsOf(o, &graph.Graph{}, at)), nil
}

// Fused offers the kernels of a group whose first node is a Conv and whose others are elementwise.
func Fused(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	body := prog.Body(o.Node)
	if body == nil || len(body.Nodes) == 0 || len(body.Inputs) != len(o.In) || len(o.Out) != 1 {
		return nil, nil
	}
	anchor := body.Nodes[0]
	if anchor.Domain != "" || anchor.Op != "Conv" {
		return nil, nil
	}
	at := operands{slices.Index(body.Inputs, anchor.Input(0)), slices.Index(body.Inputs, anchor.Input(1)), -1}
	if anchor.Input(2) != graph.NoValue {
		at.bias = slices.Index(body.Inputs, anchor.Input(2))
		if at.bias < 0 {
			return nil, nil
		}
	}
	if at.x < 0 || at.w < 0 {
		return nil, nil
	}
	if ws := o.In[at.w].Shape; len(ws) < 2 || ws[1] == 1 && ws[0] > 1 && ws[0] == anchor.Attrs.Int("group", 1) {
		return nil, nil
	}
	m := channelsOf(o, body, at)
	f, ok := finishes(l, o, body, m.next-1)
	if !ok {
		return nil, nil
	}
	return offer(l, o, anchor, at, f, m), nil
}

// operands says which of the node's inputs are the convolution's; bias is −1 when there is none.
type operands struct{ x, w, bias int }

// offer returns a kernel for each pair of layouts that does. f is what is done to the convolution's
// results, as m maps them, where these are row-major, and where they are blocked.
func offer(l simd.Level, o *backend.Op, anchor *graph.Node, at operands, f [2]finish, m channelMap) (
	out []backend.Candidate) {
	for _, i := range []int{at.x, at.w, max(at.bias, 0)} {
		if o.In[i].DType != tensor.Float32 {
			return nil
		}
	}
	s, ok := shapeOf(anchor, &o.In[at.x], &o.In[at.w], &o.Out[0])
	if !ok || o.Out[0].DType != tensor.Float32 || s.ins == 1 && s.outs == 1 && s.groups > 1 {
		return nil
	}
	if at.bias >= 0 {
		if bs := o.In[at.bias].Shape; len(bs) != 1 || bs[0] != int64(s.groups*s.outs) {
			return nil
		}
	}
	b := l.Block()
	for _, v := range [...]struct {
		name    string
		in, out bool
	}{{"conv-blocked", true, true}, {"conv-first", false, true}, {"conv-last", true, false}, {"conv-plain", false, false}} {
		if s.groups > 1 && (v.in && s.ins%b != 0 || v.out && s.outs%b != 0) {
			continue
		}
		tail := &f[0]
		if v.out {
			tail = &f[1]
		}
		// An operand of the tail has the layout of the output; it may be the convolution's input too.
		if v.in != v.out && slices.Contains(tail.full, at.x) {
			continue
		}
		p := newPlan(l, s, v.in, v.out, o.Threads)
		p.bind(o, at, tail, m)
		if w, pays := newWinograd(p, max(1, o.Threads)); pays {
			out = append(out, w.candidate(o))
		}
		out = append(out, p.candidate(v.name, o))
	}
	return out
}

// bind takes the operands that are known, and lays out scratch memory.
func (p *plan) bind(o *backend.Op, at operands, f *finish, m channelMap) {
	p.at, p.finish, p.consts = at, *f, o.Consts
	p.constW = o.In[at.w].Const
	p.scale, p.shift, p.scaleKey = m.scale, m.shift, m.key
	p.packing, p.tasks = p.packTask, p.task
	if p.constW == nil {
		p.atBias = p.groups * p.blocks * p.blockW
	}
	p.atWorker = p.atBias
	if at.bias >= 0 && p.shift == nil {
		p.atWorker += round(p.groups * p.blocks * p.b)
	}
	if p.copied {
		p.atStage = round(ceil(p.ins, p.lanes) * p.planeX)
	}
	p.atTail = p.atStage
	if p.staged {
		p.atTail += round(p.bandH * p.bandW * p.widest())
	}
	p.perWorker = p.atTail
	if f.rest != nil {
		p.perWorker += round(f.rest.Scratch())
	}
	if p.constW == nil {
		p.perWorker = max(p.perWorker, round(p.blockW))
	}
}

// round makes a size a multiple of 64 bytes.
func round(n int) int { return ceil(n, 16) * 16 }

// form names the order of the packed weights.
func (p *plan) form() string {
	return fmt.Sprintf("conv %d/%d/%d%s", p.b, p.order, p.groups, p.scaleKey)
}

// candidate describes the kernel.
func (p *plan) candidate(name string, o *backend.Op) backend.Candidate {
	source := p.level.String()
	if p.level == simd.Generic {
		source = "go"
	}
	c := backend.Candidate{Name: name, Source: source, Kernel: p.run, Revision: revision, Flops: p.efficiency(), Stream: 1,
		Scratch: 4 * int64(p.atWorker+max(1, o.Threads)*p.perWorker)}
	c.In = make([]backend.Layout, len(o.In))
	if p.lanes > 1 {
		c.In[p.at.x] = backend.Layout(p.b)
	}
	if !p.staged {
		c.Out = []backend.Layout{backend.Layout(p.b)}
		for _, i := range p.full {
			c.In[i] = backend.Layout(p.b)
		}
	}
	others := []int{p.at.x, p.at.w, p.at.bias}
	if p.rest != nil {
		others = append(others, p.rest.Full()...)
	}
	if !p.staged && len(p.chunks) == 1 && p.plus >= 0 && !slices.Contains(others, p.plus) {
		// Each tile adds what is in the place of its outputs before it writes them, and only once.
		c.Over = []int{p.plus}
	}
	c.Extra = p.extra()
	return c
}

// What moving elements costs, in multiply-adds that tiles would do meanwhile: for each row and element of
// a copy, and for each element that is transposed.
const (
	copyRow     = 1000
	copyElement = 12
	turnElement = 24
)

// extra is the cost of copying inputs and transposing outputs.
func (p *plan) extra() (e backend.Extra) {
	if p.copied {
		planes := float64(p.batch * p.groups * ceil(p.ins, p.lanes) * p.parts)
		rows := planes * float64(p.h.in*ceil(p.w.out, p.bandW))
		e.Flops += 2 * rows * (copyRow + copyElement*float64(p.lanes*p.w.in))
		e.Bytes += 8 * rows * float64(p.lanes*p.w.in)
	}
	if p.staged {
		n := float64(p.batch * p.groups * p.outs * p.h.out * p.w.out)
		e.Flops += 2 * n * turnElement
		e.Bytes += 8 * n
	}
	return e
}

// efficiency is the share of the peak rate that the tiles reach.
func (p *plan) efficiency() float64 {
	if p.level == simd.Generic {
		return 0.05
	}
	return 0.9 * float64(p.rowPixels()*p.outs) / float64(p.b) / 2 / p.cycles
}
