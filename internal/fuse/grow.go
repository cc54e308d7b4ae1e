package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// elementwise lists the operators that are worth computing together with what they read, on
// float32.
var elementwise = map[string]bool{
	"Abs": true, "Acos": true, "Acosh": true, "Add": true, "Asin": true, "Asinh": true, "Atan": true, "Atanh": true,
	"Ceil": true, "Celu": true, "Clip": true, "Cos": true, "Cosh": true, "Div": true, "Elu": true, "Erf": true,
	"Exp": true, "Floor": true, "Gelu": true, "HardSigmoid": true, "HardSwish": true, "LeakyRelu": true, "Log": true,
	"Max": true, "Mean": true, "Min": true, "Mish": true, "Mul": true, "Neg": true, "PRelu": true, "Pow": true,
	"Reciprocal": true, "Relu": true, "Round": true, "Selu": true, "Shrink": true, "Sigmoid": true, "Sign": true,
	"Sin": true, "Sinh": true, "Softplus": true, "Softsign": true, "Sqrt": true, "Sub": true, "Sum": true,
	"Swish": true, "Tan": true, "Tanh": true, "ThresholdedRelu": true,
}

// isElementwise reports whether node i is one of the listed operators, all on float32, that the
// patch does not change.
func (f *finder) isElementwise(i int) bool {
	n := f.g.Nodes[i]
	if f.taken[i] || n.Domain != "" || !elementwise[n.Op] || soleOutput(n) == graph.NoValue {
		return false
	}
	if f.fact(n.Outputs[0]).DType != tensor.Float32 {
		return false
	}
	for i, v := range n.Inputs {
		exponent := n.Op == "Pow" && i == 1 && f.constant(v) != nil && f.constant(v).Len() == 1
		if v != graph.NoValue && f.fact(v).DType != tensor.Float32 && !exponent {
			return false
		}
	}
	return true
}

// maxMembers bounds the nodes of one group.
const maxMembers = 32

// group is a set of nodes that grows towards what reads from it.
type group struct {
	f       *finder
	members []int
	// may reports whether a node may join.
	may func(i int) bool
	// feeds reports whether the node that computes a value for the group alone may join with the
	// node that reads it; nil when none may.
	feeds func(v graph.ValueID) bool
}

// grow adds readers for as long as that can end with one value leaving the group, and returns the
// largest set on the way that can be fused, in order; nil when there is none of two nodes or more.
func (gr *group) grow() []int {
	var best []int
	for len(gr.members) < maxMembers {
		leaving := gr.leaving()
		if len(leaving) == 1 && len(gr.members) > 1 && gr.f.closed(gr.members) && gr.f.frugal(gr.members) {
			best = slices.Clone(gr.members)
		}
		next := -1
		for _, v := range leaving {
			if gr.f.isOut[v] {
				return best
			}
			for _, r := range gr.f.readers[v] {
				if !slices.Contains(gr.members, r) && (next < 0 || r < next) {
					next = r
				}
			}
		}
		if next < 0 || !gr.may(next) {
			return best
		}
		gr.add(next)
	}
	return best
}

func (gr *group) add(i int) {
	gr.members = append(gr.members, i)
	for _, v := range gr.f.g.Nodes[i].Inputs {
		if gr.feeds != nil && v != graph.NoValue && !gr.makes(v) && gr.f.source[v] >= 0 && gr.f.private(v) && gr.feeds(v) {
			gr.members = append(gr.members, gr.f.source[v])
		}
	}
	slices.Sort(gr.members)
}

// leaving lists the values that members compute and that others read.
func (gr *group) leaving() []graph.ValueID {
	var out []graph.ValueID
	for _, i := range gr.members {
		for _, v := range gr.f.g.Nodes[i].Outputs {
			if v == graph.NoValue {
				continue
			}
			outside := func(r int) bool { return !slices.Contains(gr.members, r) }
			if gr.f.isOut[v] || slices.ContainsFunc(gr.f.readers[v], outside) {
				out = append(out, v)
			}
		}
	}
	return out
}

// makes reports whether a member computes the value.
func (gr *group) makes(v graph.ValueID) bool {
	return v != graph.NoValue && gr.f.source[v] >= 0 && slices.Contains(gr.members, gr.f.source[v])
}

// findAnchors fuses each convolution and matrix product with the elementwise nodes behind it. What
// such a node reads beside the group's values is of the result's shape, or has one element, or one
// for each channel. Later nodes come first, so that a sum of two branches joins
// the branch that is computed last.
func findAnchors(f *finder) {
	for i := len(f.g.Nodes) - 1; i >= 0; i-- {
		n := f.g.Nodes[i]
		if f.taken[i] || !isOp(n, "Conv", "ConvTranspose", "MatMul", "Gemm") || soleOutput(n) == graph.NoValue {
			continue
		}
		out := f.fact(n.Outputs[0])
		if out.DType != tensor.Float32 || out.Shape.Unranked() {
			continue
		}
		axis := len(out.Shape) - 1
		if isOp(n, "Conv", "ConvTranspose") {
			axis = 1
		}
		gr := &group{f: f, members: []int{i}}
		gr.may = func(r int) bool { return f.isElementwise(r) && gr.joinsAnchor(r, n.Outputs[0], axis) }
		if best := gr.grow(); best != nil {
			f.fuse(best)
		}
	}
}

// joinsAnchor reports whether the operands of a node allow it behind an anchor whose result is at
// and has its channels along axis.
func (gr *group) joinsAnchor(i int, at graph.ValueID, axis int) bool {
	f := gr.f
	shape := f.fact(at).Shape
	for k, v := range f.g.Nodes[i].Inputs {
		switch {
		case v == graph.NoValue:
		case gr.makes(v):
			// A slope is broadcast to what it scales, never the other way.
			if f.g.Nodes[i].Op == "PRelu" && k != 0 {
				return false
			}
		case spreads(f.fact(v).Shape, shape, axis):
		case f.sameShape(v, at):
		default:
			return false
		}
	}
	return true
}

// perChannel reports whether a tensor has one element, or one for each index along an axis of a
// value of the given shape, and is broadcast to it.
func perChannel(s tensor.Shape, to graph.Shape, axis int) bool {
	if len(s) > len(to) {
		return false
	}
	for j, n := range s {
		k := len(to) - len(s) + j
		if n != 1 && (k != axis || !to[k].Is(n)) {
			return false
		}
	}
	return true
}

// spreads is perChannel for a value whose extents may be known by name only.
func spreads(s, to graph.Shape, axis int) bool {
	if s.Unranked() || len(s) > len(to) {
		return false
	}
	for j, d := range s {
		k := len(to) - len(s) + j
		if !d.Is(1) && (k != axis || !to[k].Same(d)) {
			return false
		}
	}
	return true
}

// findChains fuses runs of elementwise nodes of one shape; what they read beside each other is
// broadcast to that shape.
func findChains(f *finder) {
	for i := range f.g.Nodes {
		if !f.isElementwise(i) {
			continue
		}
		out := f.g.Nodes[i].Outputs[0]
		if f.fact(out).Shape.Unranked() {
			continue
		}
		gr := &group{f: f, members: []int{i}}
		gr.may = func(r int) bool { return f.isElementwise(r) && gr.keepsShape(r, out) }
		best := gr.grow()
		if best == nil {
			gr.members = []int{i}
		} else {
			gr.members = best
		}
		if gr.absorb(); len(gr.members) > 1 {
			f.fuse(gr.members)
		}
	}
}

// keepsShape reports whether a node's output is known to have the shape of at.
func (gr *group) keepsShape(i int, at graph.ValueID) bool {
	f := gr.f
	n := f.g.Nodes[i]
	if f.sameShape(n.Outputs[0], at) {
		return true
	}
	// Where extents are unknown the shape is kept if nothing else can change it.
	rank := len(f.fact(at).Shape)
	for k, v := range n.Inputs {
		switch {
		case v == graph.NoValue:
		case gr.makes(v) && (n.Op != "PRelu" || k == 0):
		case f.fact(v).Shape.Elements().Is(1) && len(f.fact(v).Shape) <= rank:
		default:
			return false
		}
	}
	return true
}

// absorb adds the elementwise nodes of the group's shape whose results only the group reads.
func (gr *group) absorb() {
	f := gr.f
	for again := true; again && len(gr.members) < maxMembers; {
		again = false
		for _, i := range gr.members {
			for _, v := range f.g.Nodes[i].Inputs {
				if v == graph.NoValue || gr.makes(v) || f.source[v] < 0 {
					continue
				}
				s := f.source[v]
				last := f.g.Nodes[gr.members[len(gr.members)-1]]
				if !f.isElementwise(s) || !f.sameShape(v, last.Outputs[0]) {
					continue
				}
				with := append([]int{s}, gr.members...)
				slices.Sort(with)
				if f.closed(with) && f.frugal(with) {
					gr.members, again = with, true
					break
				}
			}
			if again {
				break
			}
		}
	}
}
