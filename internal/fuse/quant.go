package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// findInteger fuses products and convolutions of integers with the conversion to float32 behind
// them, the elementwise nodes behind that, the product of the scales, and the quantisation of the
// operand when nothing else reads it.
func findInteger(f *finder) {
	for i := len(f.g.Nodes) - 1; i >= 0; i-- {
		n := f.g.Nodes[i]
		if f.taken[i] || !isOp(n, "MatMulInteger", "ConvInteger") || soleOutput(n) == graph.NoValue {
			continue
		}
		shape := f.fact(n.Outputs[0]).Shape
		if shape.Unranked() {
			continue
		}
		axis := len(shape) - 1
		if n.Op == "ConvInteger" {
			axis = 1
		}
		gr := &group{f: f, members: []int{i}}
		gr.may = func(r int) bool {
			if m := f.g.Nodes[r]; !f.taken[r] && isOp(m, "Cast") && m.Inputs[0] == n.Outputs[0] {
				return tensor.DType(m.Attrs.Int("to", 0)) == tensor.Float32
			}
			return f.isElementwise(r) && gr.joinsAnchor(r, n.Outputs[0], axis)
		}
		gr.feeds = func(v graph.ValueID) bool {
			return f.isElementwise(f.source[v]) && spreads(f.fact(v).Shape, shape, axis)
		}
		if best := gr.grow(); best != nil {
			gr.members = best
			gr.takeSources()
			f.fuse(gr.members)
		}
	}
}

// takeSources adds the DynamicQuantizeLinear nodes whose results only the group reads.
func (gr *group) takeSources() {
	f := gr.f
	for _, i := range gr.members {
		for _, v := range f.g.Nodes[i].Inputs {
			if v != graph.NoValue && f.source[v] >= 0 && !gr.makes(v) &&
				isOp(f.g.Nodes[f.source[v]], "DynamicQuantizeLinear") {
				gr.tryWith(f.source[v])
			}
		}
	}
}

// tryWith adds a node if the group can still be fused.
func (gr *group) tryWith(i int) {
	with := sorted(append(slices.Clone(gr.members), i))
	if gr.f.closed(with) && gr.f.frugal(with) {
		gr.members = with
	}
}

// findGather makes a Gather from dequantised constants gather first and dequantise what it got,
// when one scale and zero point serve all elements.
func findGather(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || !isOp(n, "Gather") {
			continue
		}
		k := f.maker(n.Inputs[0], "DequantizeLinear")
		if k < 0 {
			continue
		}
		dq := f.g.Nodes[k]
		scale := f.constant(dq.Inputs[1])
		if f.constant(dq.Inputs[0]) == nil || scale == nil || scale.Len() != 1 || len(scale.Shape()) > 0 ||
			dq.Input(2) != graph.NoValue && f.constant(dq.Inputs[2]) == nil {
			continue
		}
		rows := f.patch.NewValue(f.g, graph.Value{Name: f.g.ValueName(n.Outputs[0]) + "/quantized",
			Type: graph.Type{DType: f.constant(dq.Inputs[0]).DType()}})
		first, then := *n, *dq
		first.Inputs = slices.Clone(n.Inputs)
		first.Inputs[0], first.Outputs = dq.Inputs[0], []graph.ValueID{rows}
		then.Inputs = slices.Clone(dq.Inputs)
		then.Inputs[0], then.Outputs = rows, n.Outputs
		f.patch.Insert = append(f.patch.Insert, &first)
		f.swap(n, &then)
	}
}
