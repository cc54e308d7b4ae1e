package stowage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// Binding is a run whose inputs and outputs are fixed memory: each Run reads the input tensors
// as they are then, overwrites the output tensors, and, on the CPU, allocates nothing once the
// shapes have been seen. An output's memory must not overlap an input's. A Binding is not safe for concurrent
// use; make one for each goroutine.
type Binding struct {
	s     *Session
	views []backend.View
	out   []*tensor.Tensor
	// mine marks the outputs that the binding allocates, and may allocate again.
	mine []bool
	outs boundOutputs
}

// boundOutputs gives outputs the memory of a binding.
type boundOutputs struct{ b *Binding }

// Bind checks inputs, and the outputs' names, types and fixed extents, once; extents that follow from
// the inputs are checked in Run. Outputs that are left out are allocated on the first Run, and found
// through Binding.Output.
func (s *Session) Bind(in, out map[string]*tensor.Tensor) (*Binding, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	b := &Binding{s: s, views: make([]backend.View, len(s.inputs)), out: make([]*tensor.Tensor, len(s.outputs)),
		mine: make([]bool, len(s.outputs))}
	b.outs.b = b
	if err := s.feed(in, b.views); err != nil {
		return nil, err
	}
	for i := range s.outputs {
		t := out[s.outputs[i].name]
		b.out[i], b.mine[i] = t, t == nil
		if want := s.outputs[i].dtype; t != nil && t.DType() != want {
			return nil, fmt.Errorf("stowage: output %q: got %v, want %v", s.outputs[i].name, t, want)
		}
		if want := s.outputInfo(i); t != nil && !couldBe(want.Dims, t.Shape()) {
			return nil, fmt.Errorf("stowage: output %q: got %v, want %v", s.outputs[i].name, t, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if !slices.ContainsFunc(s.outputs, func(p port) bool { return p.name == name }) {
			return nil, fmt.Errorf("stowage: output %q: no such output, want one of %q", name, names(s.model.outputs))
		}
	}
	return b, nil
}

// outputInfo returns what is known of the session's output i.
func (s *Session) outputInfo(i int) Info {
	at := slices.IndexFunc(s.model.outputs, func(o Info) bool { return o.Name == s.outputs[i].name })
	return s.model.outputs[at]
}

// couldBe reports whether a shape agrees with what is known of it.
func couldBe(known []Dim, s tensor.Shape) bool {
	if known == nil {
		return true
	}
	if len(known) != len(s) {
		return false
	}
	for i, d := range known {
		if d.Size >= 0 && d.Size != s[i] {
			return false
		}
	}
	return true
}

// Run executes the bound model. A bound output whose shape is not the one that the inputs give
// is an error.
func (b *Binding) Run(ctx context.Context) error {
	l, err := b.s.lane(ctx)
	if err != nil {
		return err
	}
	err = b.s.run(ctx, l, b.views, &b.outs)
	b.s.lanes <- l
	return err
}

// Place implements exec.Outputs.
func (o *boundOutputs) Place(i int, dt tensor.DType, shape tensor.Shape) (backend.View, error) {
	b := o.b
	t := b.out[i]
	if t != nil && t.Shape().Equal(shape) && t.DType() == dt {
		return backend.ViewOf(t), nil
	}
	if !b.mine[i] {
		return backend.View{}, fmt.Errorf("output %q: got %v to write to, want %v%v", b.s.outputs[i].name, t, dt, shape)
	}
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		return backend.View{}, fmt.Errorf("output %q: %w", b.s.outputs[i].name, err)
	}
	b.out[i] = t
	return backend.ViewOf(t), nil
}

// Output returns a bound output, or nil when there is none of that name, or it is left to Run
// to allocate and there has been no Run.
func (b *Binding) Output(name string) *tensor.Tensor {
	for i := range b.s.outputs {
		if b.s.outputs[i].name == name {
			return b.out[i]
		}
	}
	return nil
}
