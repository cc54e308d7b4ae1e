package fuse

import (
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// pattern collects the nodes of a formula that is spelled out, from its result upwards.
type pattern struct {
	f *finder
	// members are indices of nodes.
	members []int
}

// at returns the node that computes v, when it is one of the named operators, and adds it.
func (p *pattern) at(v graph.ValueID, ops ...string) *graph.Node {
	i := p.f.maker(v, ops...)
	if i < 0 || soleOutput(p.f.g.Nodes[i]) == graph.NoValue {
		return nil
	}
	for _, m := range p.members {
		if m == i {
			return p.f.g.Nodes[i]
		}
	}
	p.members = append(p.members, i)
	return p.f.g.Nodes[i]
}

// with returns the operand of a node beside a constant of one number, and that number; ok is false
// when neither operand is such a constant.
func (f *finder) with(n *graph.Node) (other graph.ValueID, c float32, ok bool) {
	if c, ok = f.scalar(n.Inputs[1]); ok {
		return n.Inputs[0], c, true
	}
	c, ok = f.scalar(n.Inputs[0])
	return n.Inputs[1], c, ok
}

// other returns the operand of a node of two that is not v; NoValue when v is neither or both.
func other(n *graph.Node, v graph.ValueID) graph.ValueID {
	switch {
	case len(n.Inputs) != 2 || n.Inputs[0] == n.Inputs[1]:
	case n.Inputs[0] == v:
		return n.Inputs[1]
	case n.Inputs[1] == v:
		return n.Inputs[0]
	}
	return graph.NoValue
}

// square returns what node v is the square of; NoValue when it is none.
func (p *pattern) square(v graph.ValueID) graph.ValueID {
	n := p.at(v, "Pow", "Mul")
	switch {
	case n == nil:
	case n.Op == "Mul" && n.Inputs[0] == n.Inputs[1]:
		return n.Inputs[0]
	case n.Op == "Pow" && isNumber(p.f.constant(n.Inputs[1]), 2):
		return n.Inputs[0]
	}
	return graph.NoValue
}

// isNumber reports whether t is one element of a common type that equals x.
func isNumber(t *tensor.Tensor, x float64) bool {
	if t == nil || t.Len() != 1 {
		return false
	}
	switch t.DType() {
	case tensor.Float32:
		return float64(tensor.Cast[float32](t.Bytes())[0]) == x
	case tensor.Int64:
		return float64(tensor.Cast[int64](t.Bytes())[0]) == x
	case tensor.Int32:
		return float64(tensor.Cast[int32](t.Bytes())[0]) == x
	}
	return false
}

// mean returns what node v is the mean of over the last dims, which it keeps, and how many they
// are; NoValue when it is none.
func (p *pattern) mean(v graph.ValueID) (x graph.ValueID, dims int) {
	n := p.at(v, "ReduceMean")
	if n == nil || n.Attrs.Int("keepdims", 1) != 1 {
		return graph.NoValue, 0
	}
	axes := n.Attrs.Ints("axes", nil)
	if a := p.f.constant(n.Input(1)); a != nil && a.DType() == tensor.Int64 {
		axes = tensor.Cast[int64](a.Bytes())
	}
	rank := int64(len(p.f.fact(n.Inputs[0]).Shape))
	seen := map[int64]bool{}
	for _, a := range axes {
		if a >= 0 {
			a -= rank
		}
		if a >= 0 || a < -int64(len(axes)) {
			return graph.NoValue, 0
		}
		seen[a] = true
	}
	if len(seen) == 0 || len(seen) != len(axes) {
		return graph.NoValue, 0
	}
	return n.Inputs[0], len(axes)
}

// deviation returns v and ε of node v = √(v + ε); NoValue when it is no such node.
func (p *pattern) deviation(v graph.ValueID) (variance graph.ValueID, epsilon float32) {
	n := p.at(v, "Sqrt")
	if n == nil {
		return graph.NoValue, 0
	}
	if n = p.at(n.Inputs[0], "Add"); n == nil {
		return graph.NoValue, 0
	}
	variance, epsilon, ok := p.f.with(n)
	if !ok || !(epsilon >= 0) {
		return graph.NoValue, 0
	}
	return variance, epsilon
}

// quotient returns a and b of node v = a/√b, which may be spelled a·(1/√b), and b's ε.
func (p *pattern) quotient(v graph.ValueID) (a, b graph.ValueID, epsilon float32) {
	n := p.at(v, "Div", "Mul")
	if n == nil {
		return graph.NoValue, graph.NoValue, 0
	}
	if n.Op == "Div" {
		b, epsilon = p.deviation(n.Inputs[1])
		return n.Inputs[0], b, epsilon
	}
	for k, u := range n.Inputs {
		q := &pattern{f: p.f}
		r := q.at(u, "Reciprocal", "Div")
		root := graph.NoValue
		switch {
		case r == nil:
		case r.Op == "Reciprocal":
			root = r.Inputs[0]
		case isNumber(p.f.constant(r.Inputs[0]), 1):
			root = r.Inputs[1]
		}
		if root == graph.NoValue {
			continue
		}
		if b, epsilon = q.deviation(root); b != graph.NoValue {
			p.members = append(p.members, q.members...)
			return n.Inputs[1-k], b, epsilon
		}
	}
	return graph.NoValue, graph.NoValue, 0
}

// findNorms puts LayerNormalization and RMSNormalization in the place of what spells them out.
func findNorms(f *finder) {
	for i, n := range f.g.Nodes {
		if !f.taken[i] && isOp(n, "Div", "Mul") && soleOutput(n) != graph.NoValue {
			f.layerNorm(n)
		}
	}
}

// layerNorm matches (x − mean)/√(mean((x − mean)²) + ε), and x/√(mean(x²) + ε), at the node that
// computes the quotient, with the scale and shift that may follow.
func (f *finder) layerNorm(n *graph.Node) {
	p := &pattern{f: f}
	d, variance, epsilon := p.quotient(n.Outputs[0])
	if d == graph.NoValue || variance == graph.NoValue {
		return
	}
	sq, dims := p.mean(variance)
	if sq == graph.NoValue {
		return
	}
	base := p.square(sq)
	if base == graph.NoValue {
		return
	}
	x, ok := p.centred(base, d, dims)
	by := &graph.Node{Op: "LayerNormalization", Version: 17}
	if !ok {
		if base != d {
			return
		}
		x = d
		by = &graph.Node{Op: "RMSNormalization", Version: 23}
	}
	shape := f.fact(x).Shape
	if f.fact(x).DType != tensor.Float32 || len(shape) < dims {
		return
	}
	p.finish(n, by, x, shape[len(shape)-dims:], epsilon)
}

// centred returns x when base and d are both x less its mean over the last dims.
func (p *pattern) centred(base, d graph.ValueID, dims int) (x graph.ValueID, ok bool) {
	q := &pattern{f: p.f}
	for k, v := range []graph.ValueID{base, d} {
		n := q.at(v, "Sub")
		if n == nil {
			return graph.NoValue, false
		}
		of, m := q.mean(n.Inputs[1])
		if of == graph.NoValue || of != n.Inputs[0] || m != dims || k > 0 && of != x {
			return graph.NoValue, false
		}
		x = of
	}
	for _, m := range q.members {
		p.at(p.f.g.Nodes[m].Outputs[0], p.f.g.Nodes[m].Op)
	}
	return x, true
}

// finish puts node by in the place of the pattern, whose quotient n is, together with a scale and
// a shift behind it that have the normalised dims' shape.
func (p *pattern) finish(n, by *graph.Node, x graph.ValueID, dims graph.Shape, epsilon float32) {
	f := p.f
	last := n
	var scale, shift graph.ValueID = graph.NoValue, graph.NoValue
	if v, r := f.scaleBehind(last, dims, "Mul"); v != graph.NoValue {
		scale, last = v, r
		p.members = append(p.members, f.source[r.Outputs[0]])
	}
	if by.Op == "LayerNormalization" {
		if v, r := f.scaleBehind(last, dims, "Add"); v != graph.NoValue {
			shift, last = v, r
			p.members = append(p.members, f.source[r.Outputs[0]])
		}
	}
	p.members = sorted(p.members)
	if !f.closed(p.members) || !f.frugal(p.members) {
		return
	}
	if scale == graph.NoValue {
		c, ok := ones(dims)
		if !ok {
			return
		}
		scale = f.addConst(f.g.ValueName(last.Outputs[0])+"/scale", c)
	}
	by.Name = last.Name
	by.Inputs, by.Outputs = []graph.ValueID{x, scale}, last.Outputs
	if shift != graph.NoValue {
		by.Inputs = append(by.Inputs, shift)
	}
	by.Attrs = graph.Attrs{{Name: "axis", Kind: graph.AttrInt, Int: -int64(len(dims))},
		{Name: "epsilon", Kind: graph.AttrFloat, Float: epsilon}}
	for _, m := range p.members {
		if f.g.Nodes[m] != last {
			f.remove(f.g.Nodes[m])
		}
	}
	f.swap(last, by)
}

// scaleBehind returns the float32 constant that the one reader of a node adds or multiplies, and
// the reader, when the constant has the normalised dims' shape or is one number for the last dim.
func (f *finder) scaleBehind(n *graph.Node, dims graph.Shape, opName string) (graph.ValueID, *graph.Node) {
	i := f.soleReader(n.Outputs[0])
	if i < 0 || !isOp(f.g.Nodes[i], opName) || soleOutput(f.g.Nodes[i]) == graph.NoValue {
		return graph.NoValue, nil
	}
	v := other(f.g.Nodes[i], n.Outputs[0])
	if f.floats(v) == nil || !sameShape(graph.Of(f.constant(v).Shape()...), dims) {
		return graph.NoValue, nil
	}
	return v, f.g.Nodes[i]
}

// ones returns a constant of ones; ok is false when the shape is not known, or is large.
func ones(dims graph.Shape) (t *tensor.Tensor, ok bool) {
	s, ok := dims.Concrete()
	if !ok {
		return nil, false
	}
	n, ok := s.Elements()
	if !ok || n > 1<<16 {
		return nil, false
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = 1
	}
	return tensor.Must(s, data), true
}

// findGelu puts Gelu in the place of x·½·(1 + erf(x/√2)), in whatever order its factors stand.
func findGelu(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || !isOp(n, "Erf") || soleOutput(n) == graph.NoValue || f.fact(n.Outputs[0]).DType != tensor.Float32 {
			continue
		}
		p := &pattern{f: f, members: []int{i}}
		arg := p.at(n.Inputs[0], "Div", "Mul")
		if arg == nil {
			continue
		}
		x, c, ok := f.with(arg)
		want := math.Sqrt2
		if arg.Op == "Mul" {
			want = 1 / want
		}
		if !ok || arg.Op == "Div" && x != arg.Inputs[0] || math.Abs(float64(c)/want-1) > 1e-6 {
			continue
		}
		p.product(n, x)
	}
}

// product matches what follows the error function: its sum with one, times x and a half.
func (p *pattern) product(n *graph.Node, x graph.ValueID) {
	f := p.f
	last := p.follow(n, "Add")
	if last == nil {
		return
	}
	if _, c, ok := f.with(last); !ok || c != 1 {
		return
	}
	half, times := false, false
	for !half || !times {
		from := last.Outputs[0]
		if last = p.follow(last, "Mul"); last == nil {
			return
		}
		v := other(last, from)
		c, isScalar := f.scalar(v)
		q := &pattern{f: f}
		switch m := q.at(v, "Mul"); {
		case v == graph.NoValue:
			return
		case v == x && !times:
			times = true
		case isScalar && c == 0.5 && !half:
			half = true
		case m != nil && !half && !times:
			u, c, ok := f.with(m)
			if !ok || c != 0.5 || u != x {
				return
			}
			half, times = true, true
			p.members = append(p.members, q.members...)
		default:
			return
		}
	}
	p.members = sorted(p.members)
	if !f.closed(p.members) || !f.frugal(p.members) {
		return
	}
	for _, m := range p.members {
		if f.g.Nodes[m] != last {
			f.remove(f.g.Nodes[m])
		}
	}
	f.swap(last, &graph.Node{Op: "Gelu", Version: 20, Name: last.Name, Inputs: []graph.ValueID{x}, Outputs: last.Outputs})
}

// follow returns the one reader of a node, when it is one of the named operators, and adds it.
func (p *pattern) follow(n *graph.Node, ops ...string) *graph.Node {
	i := p.f.soleReader(n.Outputs[0])
	if i < 0 || !isOp(p.f.g.Nodes[i], ops...) || soleOutput(p.f.g.Nodes[i]) == graph.NoValue {
		return nil
	}
	p.members = append(p.members, i)
	return p.f.g.Nodes[i]
}
