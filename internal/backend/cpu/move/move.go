// Package move has the CPU's kernels for operators that only move elements: each becomes a few boxes
// of elements that are copied from one place to another, in row-major order or between blocks of
// channels. It knows nothing of what elements stand for. Strides and offsets count elements.
package move

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	inner "github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

// side is where one dimension of a move goes on one side: along an axis, from off on, in steps. An
// axis of −1 stands for no movement.
type side struct{ axis, off, step int }

// along goes along a whole axis.
func along(axis int) side { return side{axis, 0, 1} }

var still = side{axis: -1}

// dim is one dimension of a move.
type dim struct {
	n        int
	dst, src side
}

// What a part reads in place of an input: the element that fills, or zero.
const (
	fill = -1 - iota
	zero
)

// part is a box of elements that goes from an input, or from fill, to an output.
type part struct {
	in, out int
	dims    []dim
}

// mover is an operator as a list of moves.
type mover struct {
	name  string
	level simd.Level
	op    *backend.Op
	size  int
	parts []part
	// fill is the element that constant padding consists of; zero stands for no channel.
	fill, zero []byte
}

// newMover returns nil when elements are not whole bytes.
func newMover(l simd.Level, o *backend.Op, name string) *mover {
	dt := o.In[0].DType
	size := dt.Bits() / 8
	if dt == tensor.String || dt.Bits()%8 != 0 || size == 0 || size&(size-1) != 0 {
		return nil
	}
	for i := range o.Out {
		if o.Out[i].Shape == nil || o.Out[i].DType != dt {
			return nil
		}
	}
	return &mover{name: name, level: l, op: o, size: size, fill: make([]byte, 16), zero: make([]byte, 16)}
}

// add adds a move.
func (m *mover) add(in, out int, dims ...dim) {
	m.parts = append(m.parts, part{in: in, out: out, dims: dims})
}

// blocked is which operands of a candidate lie in blocks.
type blocked struct{ in, out bool }

// candidates returns a kernel for each way to lay out the operands that the moves allow. Inputs whose
// index is less than data have a layout; constants among them are row-major.
func (m *mover) candidates(data int, ways ...blocked) []backend.Candidate {
	var out []backend.Candidate
	for _, w := range append([]blocked{{}}, ways...) {
		if c, ok := m.candidate(data, w); ok {
			out = append(out, c)
		}
	}
	return out
}

func (m *mover) candidate(data int, w blocked) (backend.Candidate, bool) {
	o, b := m.op, backend.Layout(m.level.Block())
	c := backend.Candidate{Name: m.name, Source: "go"}
	if m.level != simd.Generic {
		c.Source = m.level.String()
	}
	if w.in {
		c.In = make([]backend.Layout, len(o.In))
		any := false
		for i := range min(data, len(o.In)) {
			if o.In[i].Const == nil {
				c.In[i], any = b, true
			}
		}
		if !any {
			return c, false
		}
	}
	if w.out {
		c.Out = make([]backend.Layout, len(o.Out))
		for i := range c.Out {
			c.Out[i] = b
		}
	}
	work, ok := m.work(&c)
	if !ok {
		return c, false
	}
	c.Kernel, c.Stream = work.kernel(m), work.stream
	return c, true
}

// step is one box of a kernel.
type step struct {
	box     *inner.Box
	in, out int
}

// task is a range of a step's units: part of parts.
type task struct{ step, part, parts int }

// work is what a kernel does.
type work struct {
	steps  []step
	tasks  []task
	stream float64
}

// share is how many bytes of output are worth a task of their own.
const share = 64 << 10

// work makes the boxes of the moves for a candidate's layouts.
func (m *mover) work(c *backend.Candidate) (*work, bool) {
	w := &work{}
	o := m.op
	for i := range m.parts {
		p := &m.parts[i]
		dst, ok := formOf(&o.Out[p.out], layoutAt(c.Out, p.out))
		src := form{}
		if p.in >= 0 && ok {
			src, ok = formOf(&o.In[p.in], layoutAt(c.In, p.in))
		}
		if !ok {
			return nil, false
		}
		boxes, ok := boxesOf(p.dims, dst, src)
		if !ok {
			return nil, false
		}
		for _, b := range boxes {
			w.steps = append(w.steps, step{b, p.in, p.out})
		}
	}
	for i := range o.Out {
		f, ok := formOf(&o.Out[i], layoutAt(c.Out, i))
		if !ok {
			return nil, false
		}
		if b := f.padding(); b != nil {
			w.steps = append(w.steps, step{b, zero, i})
		}
	}
	w.cut(m, max(1, o.Threads))
	return w, true
}

func layoutAt(ls []backend.Layout, i int) backend.Layout {
	if ls == nil {
		return backend.RowMajor
	}
	return ls[i]
}

// cut makes tasks of the steps, and estimates how fast they are.
func (w *work) cut(m *mover, threads int) {
	bytes, time := 0, 0.0
	for i := range w.steps {
		n := w.steps[i].box.Elements() * m.size
		bytes += n
		time += float64(n) / w.steps[i].box.Speed(m.level, m.size)
	}
	w.stream = 0.95
	if time > 0 {
		w.stream *= float64(bytes) / time
	}
	for i := range w.steps {
		parts := 1
		if threads > 1 {
			b := w.steps[i].box
			parts = max(1, min(b.Elements()*m.size/share, b.Units(), 4*threads))
		}
		for k := range parts {
			w.tasks = append(w.tasks, task{i, k, parts})
		}
	}
	if threads == 1 || bytes < 2*share {
		w.tasks = nil
	}
}

func (w *work) kernel(m *mover) backend.Kernel {
	switch m.size {
	case 1:
		return kernelOf[uint8](w, m)
	case 2:
		return kernelOf[uint16](w, m)
	case 4:
		return kernelOf[uint32](w, m)
	case 8:
		return kernelOf[uint64](w, m)
	}
	return kernelOf[complex128](w, m)
}

func kernelOf[T inner.Word](w *work, m *mover) backend.Kernel {
	do := func(c *backend.Call, s *step, part, parts int) {
		var src []byte
		switch s.in {
		case fill:
			src = m.fill
		case zero:
			src = m.zero
		default:
			src = c.In[s.in].Data
		}
		n := s.box.Units()
		inner.Copy(m.level, s.box, tensor.Cast[T](c.Out[s.out].Data), tensor.Cast[T](src), n*part/parts, n*(part+1)/parts)
	}
	each := func(c *backend.Call, i, _ int) {
		t := &w.tasks[i]
		do(c, &w.steps[t.step], t.part, t.parts)
	}
	return func(c *backend.Call) error {
		if w.tasks != nil {
			c.Par(len(w.tasks), each)
			return nil
		}
		for i := range w.steps {
			do(c, &w.steps[i], 0, 1)
		}
		return nil
	}
}
