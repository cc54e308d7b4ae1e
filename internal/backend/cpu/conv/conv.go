// Package conv offers dense convolutions: direct, over a few pixels times a few blocks of output
// channels at a time, for inputs and outputs that are blocked or row-major. Convolutions of
// one channel in each group are not its concern. Sizes are in elements of float32.
package conv

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// revision changes with the kernels' code.
const revision = 1

// Conv offers the kernels of operator Conv, for each layout of input and output that its channels
// have: none for other types than float32, for unknown shapes, and for more than two spatial axes
// that windows move along.
func Conv(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) < 2 || len(o.In) > 3 || len(o.Out) != 1 {
		return nil, nil
	}
	for i := range o.In {
		if o.In[i].Present() && o.In[i].DType != tensor.Float32 {
			return nil, nil
		}
	}
	s, ok := shapeOf(o.Node, &o.In[0], &o.In[1], &o.Out[0])
	if !ok || s.ins == 1 && s.outs == 1 && s.groups > 1 {
		return nil, nil
	}
	b := l.Block()
	if bias := o.Arg(2); bias.Present() && (len(bias.Shape) != 1 || bias.Shape[0] != int64(s.groups*s.outs)) {
		return nil, nil
	}
	var out []backend.Candidate
	for _, v := range [...]struct {
		name    string
		in, out bool
	}{{"conv-blocked", true, true}, {"conv-first", false, true}, {"conv-last", true, false}, {"conv-plain", false, false}} {
		if s.groups > 1 && (v.in && s.ins%b != 0 || v.out && s.outs%b != 0) {
			continue
		}
		p := newPlan(l, s, v.in, v.out, o.Threads)
		p.bind(o)
		out = append(out, p.candidate(v.name, o))
	}
	return out, nil
}

// bind takes the operands that are known, and lays out scratch memory.
func (p *plan) bind(o *backend.Op) {
	p.constW, p.constB, p.consts = o.In[1].Const, o.Arg(2).Const, o.Consts
	p.hasBias = o.Arg(2).Present()
	p.packing, p.tasks = p.packTask, p.task
	if p.constW == nil {
		p.constB = nil
		p.atBias = p.groups * p.blocks * p.blockW
	}
	p.atWorker = p.atBias
	if p.hasBias && p.constB == nil {
		p.atWorker += round(p.groups * p.blocks * p.b)
	}
	if p.copied {
		p.atStage = round(ceil(p.ins, p.lanes) * p.planeX)
	}
	p.perWorker = p.atStage
	if p.staged {
		p.perWorker += round(p.bandH * p.bandW * p.widest())
	}
}

// round makes a size a multiple of 64 bytes.
func round(n int) int { return ceil(n, 16) * 16 }

// form names the order of the packed weights.
func (p *plan) form() string { return fmt.Sprintf("conv %d/%d/%d", p.b, p.order, p.groups) }

// candidate describes the kernel.
func (p *plan) candidate(name string, o *backend.Op) backend.Candidate {
	source := p.level.String()
	if p.level == simd.Generic {
		source = "go"
	}
	c := backend.Candidate{Name: name, Source: source, Kernel: p.run, Revision: revision, Flops: p.efficiency(), Stream: 0.5,
		Scratch: 4 * int64(p.atWorker+max(1, o.Threads)*p.perWorker)}
	if p.lanes > 1 {
		c.In = make([]backend.Layout, len(o.In))
		c.In[0] = backend.Layout(p.b)
	}
	if !p.staged {
		c.Out = []backend.Layout{backend.Layout(p.b)}
	}
	if p.copied {
		c.Extra.Bytes += 8 * float64(p.batch*p.groups*p.ins*p.h.in*p.w.in)
	}
	if p.staged {
		c.Extra.Bytes += 8 * float64(p.batch*p.groups*p.outs*p.h.out*p.w.out)
	}
	return c
}

// efficiency is the share of the peak rate that the tiles reach.
func (p *plan) efficiency() float64 {
	if p.level != simd.AVX512 && p.level != simd.AVX2 {
		return 0.05
	}
	_, cost := cuts(p.level, p.blocks, p.rowPixels())
	return 0.9 * float64(p.rowPixels()*p.outs) / float64(p.b) / 2 / cost
}
