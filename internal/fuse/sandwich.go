package fuse

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// findQuantised fuses each convolution whose operands are dequantised and whose result is quantised
// with both, and with a limit in between, so that kernels can compute in integers. Weights must be
// constants of 8 bits. A DequantizeLinear that others read too is copied for the convolution.
func findQuantised(f *finder) {
	for i, q := range f.g.Nodes {
		if f.taken[i] || !isOp(q, "QuantizeLinear") || !f.isOctet(q.Outputs[0]) {
			continue
		}
		members := []int{i}
		v := q.Inputs[0]
		if k := f.maker(v, "Relu", "Clip"); k >= 0 && f.private(v) && f.limitsConstantly(f.g.Nodes[k]) {
			members, v = append(members, k), f.g.Nodes[k].Inputs[0]
		}
		k := f.maker(v, "Conv")
		if k < 0 || !f.private(v) {
			continue
		}
		conv := f.g.Nodes[k]
		x, w := f.maker(conv.Inputs[0], "DequantizeLinear"), f.maker(conv.Inputs[1], "DequantizeLinear")
		if x < 0 || w < 0 || x == w || !f.isOctet(f.g.Nodes[x].Inputs[0]) || !f.isOctet(f.g.Nodes[w].Inputs[0]) ||
			f.constant(f.g.Nodes[w].Inputs[0]) == nil {
			continue
		}
		if members = sorted(append(members, k, x, w)); f.ownOperands(k, x, w) && f.closed(members) && f.frugal(members) {
			f.fuse(members)
		}
	}
}

// isOctet reports whether a value is of 8-bit integers.
func (f *finder) isOctet(v graph.ValueID) bool {
	dt := f.fact(v).DType
	return dt == tensor.Int8 || dt == tensor.Uint8
}

// limitsConstantly reports whether a Relu or Clip has no limits but constants.
func (f *finder) limitsConstantly(n *graph.Node) bool {
	for _, v := range n.Inputs[1:] {
		if _, ok := f.scalar(v); v != graph.NoValue && !ok {
			return false
		}
	}
	return true
}

// ownOperands reports whether a convolution is the only one that reads what nodes x and w compute; if
// not, it gives it copies of them.
func (f *finder) ownOperands(conv, x, w int) bool {
	n := f.g.Nodes[conv]
	if f.private(n.Inputs[0]) && f.private(n.Inputs[1]) {
		return true
	}
	by := *n
	by.Inputs = append([]graph.ValueID{}, n.Inputs...)
	for k, i := range []int{x, w} {
		if f.private(n.Inputs[k]) {
			continue
		}
		dq := *f.g.Nodes[i]
		by.Inputs[k] = f.patch.NewValue(f.g, graph.Value{Name: f.g.ValueName(n.Inputs[k]) + "/" + f.g.ValueName(n.Outputs[0]),
			Type: f.g.Values[n.Inputs[k]].Type})
		dq.Outputs = []graph.ValueID{by.Inputs[k]}
		f.patch.Insert = append(f.patch.Insert, &dq)
	}
	f.swap(n, &by)
	return false
}
