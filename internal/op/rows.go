package op

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
)

// byRow lists the operators that work on each index of the first axis of their first input by
// itself, whatever their attributes, when they have one output. Their other inputs count whole.
var byRow = []string{"AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool",
	"GlobalLpPool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "LpPool", "MaxPool",
	"SpaceToDepth"}

// SplitsByRow reports whether row i of each output, which is what has index i on the first axis,
// depends on row i of some inputs alone, and on other inputs as a whole; rows says which inputs are
// of the first kind. All of these, and the outputs, have the same number of rows. Facts need
// known shapes.
func SplitsByRow(n *graph.Node, in, out []Fact) (rows []bool, ok bool) {
	r := Lookup(n.Domain, n.Op)
	if r == nil || r.Random || r.Control || r.Dynamic || len(out) == 0 {
		return nil, false
	}
	count, ok := rowsOf(&out[0])
	if !ok {
		return nil, false
	}
	rows = make([]bool, len(in))
	switch {
	case IsFused(n):
		ok = bodyByRow(n, in, rows, count)
	case r.Elementwise:
		ok = elementsByRow(n, in, &out[0], rows)
	case r.Joins || r.Parts:
		ok = pieceByRow(n, r, &out[0], rows)
	default:
		rows[0] = true
		ok = n.Domain == "" && slices.Contains(byRow, n.Op) && len(n.Outputs) == 1
	}
	if !ok || !slices.Contains(rows, true) {
		return nil, false
	}
	for i, sliced := range rows {
		if k, known := rowsOf(&in[i]); sliced && (!known || k != count) {
			return nil, false
		}
	}
	for i := range out {
		if k, known := rowsOf(&out[i]); n.Outputs[i] != graph.NoValue && (!known || k != count) {
			return nil, false
		}
	}
	return rows, true
}

// rowsOf returns the extent of the first axis of a value of rank 2 or more.
func rowsOf(f *Fact) (n int64, ok bool) {
	if len(f.Shape) < 2 {
		return 0, false
	}
	return f.Shape[0].Int()
}

// elementsByRow marks the inputs that are not broadcast along the output's first axis.
func elementsByRow(n *graph.Node, in []Fact, out *Fact, rows []bool) bool {
	for i, v := range n.Inputs {
		if v == graph.NoValue || len(in[i].Shape) < len(out.Shape) {
			continue
		}
		if len(in[i].Shape) > len(out.Shape) {
			return false
		}
		k, known := in[i].Shape[0].Int()
		if !known {
			return false
		}
		all, _ := out.Shape[0].Int()
		rows[i] = k == all
	}
	// What has one row where the output has one counts as a row of its own: slicing it changes nothing.
	return true
}

// pieceByRow is for concatenations and splits along another axis than the first.
func pieceByRow(n *graph.Node, r *Row, out *Fact, rows []bool) bool {
	axis := n.Attrs.Int("axis", 0)
	if axis < 0 {
		axis += int64(len(out.Shape))
	}
	for i := range rows {
		rows[i] = r.Joins || i == 0
	}
	return axis > 0
}

// bodyByRow follows the rows of a fused node's inputs through its body.
func bodyByRow(n *graph.Node, in []Fact, rows []bool, count int64) bool {
	g := n.Attrs.Graph("body")
	facts, err := BodyFacts(g, in)
	if err != nil {
		return false
	}
	// kind is 0 for values not met yet, 1 for those in rows and 2 for those that count whole.
	kind := make([]uint8, len(g.Values))
	mark := func(v graph.ValueID, k uint8) bool {
		ok := kind[v] == 0 || kind[v] == k
		kind[v] = k
		return ok
	}
	var c Ctx
	for _, m := range g.Nodes {
		c.fill(m, facts)
		sub, ok := SplitsByRow(m, c.In, c.Out)
		if !ok {
			return false
		}
		for i, v := range m.Inputs {
			if v == graph.NoValue {
				continue
			}
			k := uint8(2)
			if sub[i] {
				k = 1
			}
			if !mark(v, k) {
				return false
			}
		}
		for _, v := range m.Outputs {
			if k, ok := rowsOf(&facts[v]); !mark(v, 1) || !ok || k != count {
				return false
			}
		}
	}
	for i, v := range g.Inputs {
		rows[i] = kind[v] == 1
	}
	return true
}
