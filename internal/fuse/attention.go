package fuse

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// findAttention fuses softmax(q·kᵀ·scale + mask)·v: the two products and what lies between them,
// with the transpositions of the operands and of the result that nothing else reads.
func findAttention(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || !isOp(n, "Softmax") || soleOutput(n) == graph.NoValue {
			continue
		}
		shape := f.fact(n.Outputs[0]).Shape
		axis := n.Attrs.Int("axis", defaultAxis(n.Version))
		if len(shape) < 2 || axis != -1 && axis != int64(len(shape)-1) || f.fact(n.Outputs[0]).DType != tensor.Float32 {
			continue
		}
		core, scores := f.attentionCore(i)
		if core == nil {
			continue
		}
		ends := f.transposes(scores, f.g.Nodes[core[len(core)-1]])
		for _, members := range [][]int{sorted(append(ends, core...)), core} {
			if f.closed(members) && f.frugal(members) {
				f.fuse(members)
				break
			}
		}
	}
}

// defaultAxis is the axis of a Softmax that does not say.
func defaultAxis(version int) int64 {
	if version < 13 {
		return 1
	}
	return -1
}

// attentionCore returns the nodes from the product of scores, which it returns too, through the
// Softmax at index i to the product with the values; nil when they are not there.
func (f *finder) attentionCore(i int) (core []int, scores *graph.Node) {
	n := f.g.Nodes[i]
	last := f.soleReader(n.Outputs[0])
	if last < 0 || !isOp(f.g.Nodes[last], "MatMul") || f.g.Nodes[last].Inputs[0] != n.Outputs[0] {
		return nil, nil
	}
	core = []int{i, last}
	// at steps up to what computes v, when only this formula reads it.
	up := func(v graph.ValueID, ops ...string) *graph.Node {
		k := f.maker(v, ops...)
		if k < 0 || !f.private(v) {
			return nil
		}
		core = append(core, k)
		return f.g.Nodes[k]
	}
	v := n.Inputs[0]
	if add := up(v, "Add"); add != nil {
		v = f.madeBy(add, "MatMul", "Mul", "Div")
	}
	if scale := up(v, "Mul", "Div"); scale != nil {
		other, _, ok := f.with(scale)
		if !ok || scale.Op == "Div" && other != scale.Inputs[0] {
			return nil, nil
		}
		v = other
	}
	if scores = up(v, "MatMul"); scores == nil {
		return nil, nil
	}
	return sorted(core), scores
}

// madeBy returns the first input of a node that one of the named operators computes for it alone;
// NoValue when there is none.
func (f *finder) madeBy(n *graph.Node, ops ...string) graph.ValueID {
	for _, v := range n.Inputs {
		if f.maker(v, ops...) >= 0 && f.private(v) {
			return v
		}
	}
	return graph.NoValue
}

// transposes returns the indices of the transpositions before the two products and behind the
// second that only these read or feed.
func (f *finder) transposes(scores, values *graph.Node) []int {
	var out []int
	for _, v := range []graph.ValueID{scores.Inputs[0], scores.Inputs[1], values.Inputs[1]} {
		if i := f.maker(v, "Transpose"); i >= 0 && f.private(v) {
			out = append(out, i)
		}
	}
	if i := f.soleReader(values.Outputs[0]); i >= 0 && isOp(f.g.Nodes[i], "Transpose") {
		out = append(out, i)
	}
	return out
}
