package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// findDequantised fuses each matrix product with the DequantizeLinear of constants, and perhaps the
// Transpose, that makes its right operand and that nothing else reads, so that the operand is never
// in memory as float32; and with the elementwise nodes behind it.
func findDequantised(f *finder) {
	for i := len(f.g.Nodes) - 1; i >= 0; i-- {
		n := f.g.Nodes[i]
		if f.taken[i] || !isOp(n, "MatMul", "Gemm") || soleOutput(n) == graph.NoValue {
			continue
		}
		out := f.fact(n.Outputs[0])
		if out.DType != tensor.Float32 || out.Shape.Unranked() {
			continue
		}
		made := f.dequantised(n.Inputs[1])
		if made == nil {
			continue
		}
		axis := len(out.Shape) - 1
		gr := &group{f: f, members: sorted(append(made, i))}
		gr.may = func(r int) bool { return f.isElementwise(r) && gr.joinsAnchor(r, n.Outputs[0], axis) }
		if best := gr.grow(); best != nil {
			f.fuse(best)
		}
	}
}

// dequantised returns the nodes that make a matrix of float32 of 8-bit constants: a DequantizeLinear,
// and a Transpose before or behind it. Nil when it is made otherwise, or others read it.
func (f *finder) dequantised(v graph.ValueID) []int {
	var made []int
	dequantise := false
	for len(made) < 2 {
		i := f.maker(v, "DequantizeLinear", "Transpose")
		if i < 0 || !f.private(v) || dequantise && f.g.Nodes[i].Op == "DequantizeLinear" {
			break
		}
		made = append(made, i)
		dequantise = dequantise || f.g.Nodes[i].Op == "DequantizeLinear"
		v = f.g.Nodes[i].Inputs[0]
	}
	data := f.constant(v)
	if !dequantise || data == nil || len(data.Shape()) != 2 ||
		data.DType() != tensor.Int8 && data.DType() != tensor.Uint8 {
		return nil
	}
	return slices.Clip(made)
}
