package stowage

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// inner starts the body of a control node.
func (s *randomScope) inner(kind string) *randomScope {
	s.bodies++
	return &randomScope{randomModel: s.randomModel, g: testkit.NewGraph(fmt.Sprintf("%s%d", kind, s.bodies)),
		vals: slices.Clone(s.vals), depth: s.depth + 1}
}

const maxNesting = 3

// flag returns a condition: an input, or computed.
func (s *randomScope) flag() string {
	if v, ok := s.find(func(v anyValue) bool { return v.dt == tensor.Bool && len(v.shape) == 0 }); ok {
		return v.name
	}
	if s.r.IntN(8) == 0 {
		return s.g.Const(tensor.Scalar(s.r.IntN(2) == 0))
	}
	v, ok := s.find(isFloat)
	if !ok {
		return s.inputs[len(s.inputs)-1].name
	}
	sum := s.g.Node("Cast", []string{s.g.Node("ReduceSum", []string{v.name}, testkit.Int("keepdims", 0))},
		testkit.Int("to", int64(tensor.Float32)))
	return s.g.Node("Greater", []string{sum, s.g.Const(tensor.Scalar[float32](0))})
}

// addIf adds branches that grow on their own and return values of the same type and rank: made
// there, captured, or constant.
func addIf(s *randomScope) {
	if s.depth >= maxNesting {
		return
	}
	then, other := s.inner("then"), s.inner("else")
	then.grow(s.r.IntN(7))
	other.grow(s.r.IntN(7))
	var outs []anyValue
	for range 1 + s.r.IntN(3) {
		a := then.any()
		b, ok := other.find(func(v anyValue) bool { return v.dt == a.dt && len(v.shape) == len(a.shape) })
		if !ok {
			b = other.constant(a.dt, s.shape(len(a.shape)))
		}
		then.g.OutputOf(a.name, testkit.Type{})
		other.g.OutputOf(b.name, testkit.Type{})
		out := s.fresh(a.dt, a.shape, len(a.shape) > 0)
		if a.fits(b) {
			out = a
		}
		outs = append(outs, out)
	}
	s.nodes("If", []string{s.flag()}, outs, testkit.Body("then_branch", then.g), testkit.Body("else_branch", other.g))
}

// addLoop adds a loop: some carried values keep their shape, some grow, some are swapped, passed
// on, or replaced by what lies outside.
func addLoop(s *randomScope) {
	if s.depth >= maxNesting {
		return
	}
	b := s.inner("body")
	in := []string{s.g.Const(tensor.Scalar(s.r.Int64N(4))), ""}
	iter, more := b.g.InputOf(b.g.NewName("i"), testkit.Type{}), b.g.InputOf(b.g.NewName("c"), testkit.Type{})
	b.vals = append(b.vals, anyValue{name: iter, dt: tensor.Int64}, anyValue{name: more, dt: tensor.Bool})
	var carried, outs []anyValue
	for range 1 + s.r.IntN(3) {
		v := s.any()
		in = append(in, v.name)
		c := v
		if s.r.IntN(3) == 0 && len(v.shape) > 0 {
			c = s.fresh(v.dt, v.shape, true)
		}
		c.name = b.g.InputOf(b.g.NewName("carried"), testkit.Type{})
		carried, b.vals = append(carried, c), append(b.vals, c)
	}
	b.grow(1 + s.r.IntN(7))
	switch s.r.IntN(4) {
	case 0:
		less := b.g.Node("Less", []string{iter, b.g.Const(tensor.Scalar(s.r.Int64N(3)))})
		b.g.OutputOf(less, testkit.Type{})
	case 1:
		b.g.OutputOf(b.g.Const(tensor.Scalar(true)), testkit.Type{})
	default:
		b.g.OutputOf(more, testkit.Type{})
	}
	for _, c := range carried {
		next, ok := b.find(func(v anyValue) bool {
			return v.fits(c) || c.free && v.dt == c.dt && len(v.shape) == len(c.shape)
		})
		if !ok {
			next = c
		}
		b.g.OutputOf(next.name, testkit.Type{})
		if c.free {
			c = s.fresh(c.dt, c.shape, true)
		}
		outs = append(outs, c)
	}
	for range s.r.IntN(3) {
		if v, ok := b.find(static); ok {
			b.g.OutputOf(v.name, testkit.Type{})
			outs = append(outs, s.fresh(v.dt, slices.Insert(slices.Clone(v.shape), 0, 2), true))
		}
	}
	s.nodes("Loop", in, outs, testkit.Body("body", b.g))
}
