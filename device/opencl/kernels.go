package opencl

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// kernels offers a device's kernels.
type kernels struct{ d *Device }

var _ backend.Backend = kernels{}

// Name implements backend.Backend.
func (kernels) Name() string { return prefix }

// Supports implements backend.Backend.
func (kernels) Supports(n *graph.Node, in, _ []tensor.DType) error {
	if op.IsFused(n) {
		return nil
	}
	if familyOf(n) == nil {
		return fmt.Errorf("opencl: operator %s: no kernel", n.Op)
	}
	return nil
}

// maker adds the tasks of a node; false where it has no kernel for such operands.
type maker func(b *builder, n *graph.Node, in, out []*value) bool

// family is a maker and what its kernels are good for.
type family struct {
	name string
	make maker
	// flops and stream are shares of a processor's rates.
	flops, stream float64
}

// builder collects the tasks of a node.
type builder struct {
	d       *Device
	tasks   []*task
	scratch int64
	consts  *backend.Consts
}

// temp is a value in scratch memory.
func (b *builder) temp(dtype tensor.DType, shape tensor.Shape) *value {
	n := product(shape) * int64(dtype.Bits()/8)
	v := &value{dtype: dtype, shape: shape, at: operand{in: scratch, offset: b.scratch, bytes: n}}
	const align = 256
	b.scratch = (b.scratch + n + align - 1) / align * align
	return v
}

// Candidates implements backend.Backend: one kernel, or none.
func (k kernels) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	row := op.Lookup(o.Node.Domain, o.Node.Op)
	if row == nil || row.Control || k.d.Lost() {
		return nil, nil
	}
	in, ok := values(o.In, input)
	out, okOut := values(o.Out, output)
	if !ok || !okOut {
		return nil, nil
	}
	b := &builder{d: k.d, consts: o.Consts}
	f := familyOf(o.Node)
	switch {
	case f == nil:
		return nil, nil
	case f == &fusedFamily && !makeFused(b, o.Node, in, out), f != &fusedFamily && !f.make(b, o.Node, in, out):
		return nil, nil
	}
	for _, t := range b.tasks {
		t.prog = k.d.programs.get(t.source)
	}
	return []backend.Candidate{{Name: f.name, Source: prefix, Kernel: sequence(b.tasks), Scratch: b.scratch,
		Flops: f.flops, Stream: f.stream, Revision: 1}}, nil
}

// values describes the operands of a node; ok is false where one is not for kernels: of strings, of
// an unknown shape, or too large for numbers of 32 bits.
func values(args []backend.Arg, in place) (out []*value, ok bool) {
	for i := range args {
		a := &args[i]
		v := &value{dtype: a.DType, shape: a.Shape, data: a.Const, at: operand{in: in, i: i}}
		if a.Present() {
			n, counted := a.Shape.Elements()
			if a.Shape == nil || !counted || n > math.MaxInt32/2 || a.DType.Bits() < 8 || a.DType == tensor.String {
				return nil, false
			}
			v.at.bytes = n * int64(a.DType.Bits()/8)
		}
		out = append(out, v)
	}
	return out, true
}

// familyOf returns what makes an operator's kernels, or nil.
func familyOf(n *graph.Node) *family {
	if op.IsFused(n) {
		return &fusedFamily
	}
	if n.Domain != "" {
		return nil
	}
	if f := makers[n.Op]; f != nil {
		return f
	}
	if expressible(n.Op) {
		return &elementwise
	}
	return nil
}

// expressible reports whether an operator may be a member of a chain.
func expressible(name string) bool {
	_, sloped := slopes[name]
	switch name {
	case "Where", "Cast", "Not", "IsNaN", "Gelu", "Clip", "Pow":
		return true
	}
	return sloped || plainUnary[name] != "" || folds[name] != "" || compares[name] != "" || logic[name] != ""
}

var elementwise = family{"elementwise", makeElementwise, 0.1, 0.6}

// makeElementwise makes a chain of one node.
func makeElementwise(b *builder, n *graph.Node, in, out []*value) bool {
	if len(out) != 1 && (len(out) < 2 || out[1].present()) {
		return false
	}
	ch := &chain{reads: map[int]*value{}, last: len(in)}
	m := member{node: n, out: len(in)}
	for i, v := range in {
		if !v.present() {
			m.in = append(m.in, -1)
			continue
		}
		ch.reads[i] = v
		m.in = append(m.in, i)
	}
	ch.members = []member{m}
	return b.chainTask(ch, out[0])
}
