package gemm

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// Fused returns the kernels for groups that begin with MatMul or Gemm and go on with elementwise
// operators. A first addition of a vector along the columns, and a limit behind it, take no time:
// the inner loop does both.
func Fused(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	body := prog.Body(o.Node)
	if body == nil || len(body.Nodes) == 0 || len(body.Inputs) != len(o.In) || len(o.Out) != 1 || o.Out[0].Shape == nil {
		return nil, nil
	}
	a := anchorOf(o, body)
	if a == nil {
		return nil, nil
	}
	var p *product
	switch a.node.Op {
	case "MatMul":
		p = ofMatMul(a.op)
	case "Gemm":
		p = ofGemm(a.op)
	}
	if p == nil {
		return nil, nil
	}
	p.left, p.right = a.inputs[0], a.inputs[1]
	if p.c >= 0 {
		p.c = a.inputs[p.c]
	}
	if a.dequantise != nil && !p.quantised(o, body, a) {
		return nil, nil
	}
	if !p.follow(l, o, body, a.at) {
		return nil, nil
	}
	return p.candidates(l, o), nil
}

// anchor is the product of a group.
type anchor struct {
	node *graph.Node
	// at is its place among the nodes.
	at int
	// op describes it as if it stood alone, and inputs says which of the group's inputs its own are.
	op     *backend.Op
	inputs []int
	// dequantise and transpose make its right operand, if they are there; first says that the latter comes
	// first.
	dequantise, transpose *graph.Node
	first                 bool
}

// anchorOf finds a group's product; nil when the group begins otherwise.
func anchorOf(o *backend.Op, body *graph.Graph) *anchor {
	a := &anchor{}
	for a.at = 0; a.at < len(body.Nodes); a.at++ {
		n := body.Nodes[a.at]
		switch {
		case n.Domain != "":
			return nil
		case n.Op == "DequantizeLinear" && a.dequantise == nil:
			a.dequantise = n
		case n.Op == "Transpose" && a.transpose == nil:
			a.transpose, a.first = n, a.dequantise == nil
		case n.Op == "MatMul" || n.Op == "Gemm":
			a.node = n
			return a.describe(o, body)
		default:
			return nil
		}
	}
	return nil
}

// describe fills in what the product reads; nil when that is neither the group's nor dequantised.
func (a *anchor) describe(o *backend.Op, body *graph.Graph) *anchor {
	if a.dequantise == nil && a.transpose != nil {
		return nil
	}
	a.op = &backend.Op{Node: a.node, Out: o.Out, Threads: o.Threads, Consts: o.Consts}
	for i, v := range a.node.Inputs {
		at := slices.Index(body.Inputs, v)
		switch {
		case v == graph.NoValue:
			a.op.In = append(a.op.In, backend.Arg{})
		case at >= 0:
			a.op.In = append(a.op.In, o.In[at])
		case i == 1 && a.dequantise != nil:
			a.op.In = append(a.op.In, backend.Arg{DType: tensor.Float32, Shape: a.shape(o, body)})
		default:
			return nil
		}
		a.inputs = append(a.inputs, at)
	}
	return a
}

// shape returns the shape of the right operand that the group dequantises; nil when it is not that.
func (a *anchor) shape(o *backend.Op, body *graph.Graph) tensor.Shape {
	chain := []*graph.Node{a.dequantise}
	if a.transpose != nil && a.first {
		chain = []*graph.Node{a.transpose, a.dequantise}
	} else if a.transpose != nil {
		chain = append(chain, a.transpose)
	}
	at := slices.Index(body.Inputs, chain[0].Inputs[0])
	if at < 0 || len(o.In[at].Shape) != 2 {
		return nil
	}
	for i, n := range chain {
		reader := a.node.Inputs[1]
		if i+1 < len(chain) {
			reader = chain[i+1].Inputs[0]
		}
		if n.Outputs[0] != reader {
			return nil
		}
	}
	s := o.In[at].Shape
	if a.transpose == nil {
		return s
	}
	if p := a.transpose.Attrs.Ints("perm", nil); p != nil && !slices.Equal(p, []int64{1, 0}) {
		return nil
	}
	return tensor.Shape{s[1], s[0]}
}

// quantised makes the right operand of the product a quantised one.
func (p *product) quantised(o *backend.Op, body *graph.Graph, a *anchor) bool {
	// axis is the dimension of the columns where the scales apply.
	axis := 1
	if p.transB {
		axis = 0
	}
	if a.transpose != nil && !a.first {
		axis = 1 - axis
	}
	var inputs []int
	for _, v := range a.dequantise.Inputs {
		inputs = append(inputs, slices.Index(body.Inputs, v))
	}
	if a.first {
		inputs[0] = slices.Index(body.Inputs, a.transpose.Inputs[0])
	}
	if a.inputs[0] < 0 || len(inputs) < 2 {
		return false
	}
	if p.octets = octetsOf(o, a.dequantise, inputs, axis, p.n); p.octets == nil {
		return false
	}
	if a.transpose != nil {
		p.transB, p.ldb = !p.transB, int(o.In[p.octets.data].Shape[1])
	}
	p.right = p.octets.data
	return true
}

// follow makes the program of what stands behind the anchor.
func (p *product) follow(l simd.Level, o *backend.Op, body *graph.Graph, at int) bool {
	axis := len(o.Out[0].Shape) - 1
	if axis < 0 || int(o.Out[0].Shape[axis]) != p.n {
		return false
	}
	var chain *prog.Program
	ok := false
	if i := p.bias(o, body, at); i >= 0 {
		if chain, ok = prog.Compile(l, o, body.Nodes[at+1], axis); ok {
			p.c, p.beta, p.cCol = i, 1, 1
		}
	}
	if !ok {
		if chain, ok = prog.Compile(l, o, body.Nodes[at], axis); !ok {
			return false
		}
	}
	p.lo, p.hi, p.chain = chain.Clamp()
	p.clamp = p.lo > negInf || p.hi < posInf
	if p.chain != nil && p.chain.Empty() {
		p.chain = nil
	}
	return true
}

// bias returns the input that the node behind the product, which is the one at at, adds to each row
// of it; −1 when it does something else.
func (p *product) bias(o *backend.Op, body *graph.Graph, at int) int {
	if p.c >= 0 || p.n < 2 || len(body.Nodes) < at+2 {
		return -1
	}
	n := body.Nodes[at+1]
	if n.Domain != "" || n.Op != "Add" || len(n.Inputs) != 2 {
		return -1
	}
	v := n.Inputs[0]
	if v == body.Nodes[at].Outputs[0] {
		v = n.Inputs[1]
	} else if n.Inputs[1] != body.Nodes[at].Outputs[0] {
		return -1
	}
	i := slices.Index(body.Inputs, v)
	if i < 0 || !floats(&o.In[i]) || dimAt(o.In[i].Shape, len(o.In[i].Shape)-1) != p.n {
		return -1
	}
	if e, ok := count(o.In[i].Shape); !ok || e != p.n {
		return -1
	}
	return i
}
