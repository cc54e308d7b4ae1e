package attention

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// Fused returns the kernels for groups that spell attention out: a product of scores, a scale, a
// mask that is added, a Softmax over the last dimension and a product with the values, with
// transpositions before and behind. Scale, mask and transpositions may be missing.
func Fused(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	body := o.Node.Attrs.Graph("body")
	if body == nil || len(o.Out) != 1 || o.Out[0].Shape == nil || len(body.Inputs) != len(o.In) ||
		!slices.ContainsFunc(body.Nodes, func(n *graph.Node) bool { return n.Op == "Softmax" }) {
		return nil, nil
	}
	_, facts, err := o.Body()
	if err != nil {
		return nil, err
	}
	r := &reader{o: o, body: body, facts: facts, a: &attention{scale: 1, valid: -1}}
	if !r.read() {
		return nil, nil
	}
	return []backend.Candidate{r.a.candidate(l, o)}, nil
}

// reader finds attention in a body.
type reader struct {
	o     *backend.Op
	body  *graph.Graph
	facts []op.Fact
	a     *attention
	// used counts the nodes that are understood.
	used int
}

// maker returns the node that computes v, if it is one of the named operators, and counts it.
func (r *reader) maker(v graph.ValueID, ops ...string) *graph.Node {
	for _, n := range r.body.Nodes {
		if n.Domain == "" && n.Outputs[0] == v && slices.Contains(ops, n.Op) {
			r.used++
			return n
		}
	}
	return nil
}

// shape returns the shape of a float32 value; nil for others.
func (r *reader) shape(v graph.ValueID) tensor.Shape {
	s, ok := r.facts[v].Shape.Concrete()
	if !ok || r.facts[v].DType != tensor.Float32 {
		return nil
	}
	return s
}

// read understands the body from its output upwards; false when it is anything else.
func (r *reader) read() bool {
	out := r.body.Outputs[0]
	last := r.maker(out, "Transpose")
	if last != nil {
		out = last.Inputs[0]
	}
	values := r.maker(out, "MatMul")
	if values == nil {
		return false
	}
	soft := r.maker(values.Inputs[0], "Softmax")
	if soft == nil || !r.lastAxis(soft) {
		return false
	}
	full := r.shape(soft.Inputs[0])
	v := soft.Inputs[0]
	r.a.mask.input = -1
	if add := r.maker(v, "Add"); add != nil {
		if v = r.masked(add, full); v == graph.NoValue {
			return false
		}
	}
	if n := r.maker(v, "Mul", "Div"); n != nil {
		if v = r.scaled(n); v == graph.NoValue {
			return false
		}
	}
	scores := r.maker(v, "MatMul")
	if scores == nil || !r.shape(v).Equal(full) || !r.extents(full, r.shape(out)) {
		return false
	}
	return r.operands(scores, values, full) && r.result(last, r.shape(out)) && r.used == len(r.body.Nodes)
}

// lastAxis reports whether a Softmax works on lines along the last of at least two dims.
func (r *reader) lastAxis(n *graph.Node) bool {
	s := r.shape(n.Inputs[0])
	if len(s) < 2 {
		return false
	}
	axis, err := op.SoftmaxAxis(n, len(s))
	return err == nil && axis == len(s)-1
}

// masked returns the operand of an Add that is computed, and notes the other as the mask.
func (r *reader) masked(n *graph.Node, full tensor.Shape) graph.ValueID {
	for k, m := range n.Inputs {
		i := slices.Index(r.body.Inputs, m)
		v := n.Inputs[1-k]
		if i < 0 || slices.Contains(r.body.Inputs, v) || r.shape(m) == nil {
			continue
		}
		s, ok := spread(r.shape(m), full)
		if !ok {
			return graph.NoValue
		}
		rank := len(full)
		lead, ok := leading(s[:rank-2])
		if !ok {
			return graph.NoValue
		}
		r.a.mask = mask{matrix: matrix{input: i, lead: lead, row: s[rank-2], col: s[rank-1]}, keys: int(full[rank-1])}
		return v
	}
	return graph.NoValue
}

// leading pads the steps of leading dimensions in front; ok is false when there are too many.
func leading(s []int) (out steps, ok bool) {
	if len(s) > leads {
		return out, false
	}
	copy(out[leads-len(s):], s)
	return out, true
}

// scaled returns the operand of a node that is multiplied or divided by a constant of one number,
// and notes the number.
func (r *reader) scaled(n *graph.Node) graph.ValueID {
	for k, c := range n.Inputs {
		f := &r.facts[c]
		if f.Const == nil || f.Const.Len() != 1 || f.DType != tensor.Float32 || n.Op == "Div" && k == 0 {
			continue
		}
		r.a.scale = tensor.Cast[float32](f.Const.Bytes())[0]
		if n.Op == "Div" {
			r.a.scale = 1 / r.a.scale
		}
		return n.Inputs[1-k]
	}
	return graph.NoValue
}

// extents notes the extents of the scores and the result; false when the values' leading dims
// spread the scores.
func (r *reader) extents(scores, out tensor.Shape) bool {
	rank := len(scores)
	if len(out) != rank || !out[:rank-1].Equal(scores[:rank-1]) {
		return false
	}
	r.a.dims = steps{1, 1, 1, 1}
	if rank-2 > leads {
		return false
	}
	r.a.units = 1
	for i, d := range scores[:rank-2] {
		r.a.dims[leads-(rank-2)+i] = int(d)
		r.a.units *= int(d)
	}
	r.a.rows, r.a.keys, r.a.width = int(scores[rank-2]), int(scores[rank-1]), int(out[rank-1])
	return true
}

// operands notes where queries, keys and values are.
func (r *reader) operands(scores, values *graph.Node, full tensor.Shape) bool {
	a := r.a
	q, qs, ok := r.view(scores.Inputs[0], full)
	if !ok || q.col != 1 {
		return false
	}
	a.q, a.size = q, int(qs[len(qs)-1])
	k, _, kok := r.view(scores.Inputs[1], full)
	v, _, vok := r.view(values.Inputs[1], full)
	// The product has the keys as columns.
	k.row, k.col = k.col, k.row
	if !kok || !vok || k.row != 1 && k.col != 1 || v.row != 1 && v.col != 1 || a.size == 0 {
		return false
	}
	a.segments[1] = segment{n: a.keys, k: k, v: v}
	return true
}

// view returns where a value's matrices are, for the leading dims of the scores, and its shape: it
// is an input of the group, or the transpose of one.
func (r *reader) view(v graph.ValueID, full tensor.Shape) (m matrix, s tensor.Shape, ok bool) {
	var perm []int64
	if n := r.maker(v, "Transpose"); n != nil {
		rank := len(r.shape(n.Inputs[0]))
		perm = n.Attrs.Ints("perm", reversed(rank))
		v = n.Inputs[0]
	}
	m.input = slices.Index(r.body.Inputs, v)
	from := r.shape(v)
	if m.input < 0 || len(from) < 2 || len(from) > len(full) {
		return m, nil, false
	}
	dense, _ := spread(from, from)
	s, by := from, dense
	if perm != nil {
		s, by = make(tensor.Shape, len(from)), make([]int, len(from))
		for i, p := range perm {
			s[i], by[i] = from[p], dense[p]
		}
	}
	return r.matrixOf(m.input, s, by, full)
}

func reversed(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(n - 1 - i)
	}
	return out
}

// matrixOf lays a value's leading dims along those of the scores.
func (r *reader) matrixOf(input int, s tensor.Shape, by []int, full tensor.Shape) (matrix, tensor.Shape, bool) {
	rank := len(s)
	m := matrix{input: input, row: by[rank-2], col: by[rank-1]}
	if s[rank-1] == 1 {
		// The step along a dim of one element does not matter.
		m.col = 1
	}
	base := len(full) - rank
	at := make([]int, len(full)-2)
	for i := range rank - 2 {
		switch s[i] {
		case full[base+i]:
			at[base+i] = by[i]
		case 1:
		default:
			return m, nil, false
		}
	}
	lead, ok := leading(at)
	m.lead = lead
	return m, s, ok
}

// result notes where the results are: out is their shape before a transposition by n, if any.
func (r *reader) result(n *graph.Node, out tensor.Shape) bool {
	rank := len(out)
	by, _ := spread(out, out)
	if n != nil {
		final := r.o.Out[0].Shape
		dense, _ := spread(final, final)
		for i, p := range n.Attrs.Ints("perm", reversed(rank)) {
			by[p] = dense[i]
		}
	}
	m, _, ok := r.matrixOf(0, out, by, out)
	r.a.y = m
	return ok && m.col == 1
}
