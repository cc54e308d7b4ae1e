package gemm

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
)

// Fused returns the kernels for groups that begin with MatMul or Gemm and go on with elementwise
// operators. A first addition of a vector along the columns, and a limit behind it, take no time:
// the inner loop does both.
func Fused(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	body := prog.Body(o.Node)
	if body == nil || len(body.Nodes) == 0 || len(body.Inputs) != len(o.In) || len(o.Out) != 1 || o.Out[0].Shape == nil {
		return nil, nil
	}
	anchor := body.Nodes[0]
	inner, inputs := anchorOp(o, body)
	if inner == nil {
		return nil, nil
	}
	var p *product
	switch anchor.Op {
	case "MatMul":
		p = ofMatMul(inner)
	case "Gemm":
		p = ofGemm(inner)
	}
	if p == nil {
		return nil, nil
	}
	p.left, p.right = inputs[0], inputs[1]
	if p.c >= 0 {
		p.c = inputs[p.c]
	}
	if !p.follow(l, o, body) {
		return nil, nil
	}
	return p.candidates(l, o), nil
}

// anchorOp describes a body's first node as if it stood alone, and says which of the group's
// inputs its own are; nil when others than the group's inputs are read.
func anchorOp(o *backend.Op, body *graph.Graph) (inner *backend.Op, inputs []int) {
	anchor := body.Nodes[0]
	if anchor.Domain != "" || anchor.Op != "MatMul" && anchor.Op != "Gemm" {
		return nil, nil
	}
	inner = &backend.Op{Node: anchor, Out: o.Out, Threads: o.Threads, Consts: o.Consts}
	for _, v := range anchor.Inputs {
		i := slices.Index(body.Inputs, v)
		if v == graph.NoValue {
			inner.In = append(inner.In, backend.Arg{})
		} else if i < 0 {
			return nil, nil
		} else {
			inner.In = append(inner.In, o.In[i])
		}
		inputs = append(inputs, i)
	}
	return inner, inputs
}

// follow makes the program of what stands behind the anchor.
func (p *product) follow(l simd.Level, o *backend.Op, body *graph.Graph) bool {
	axis := len(o.Out[0].Shape) - 1
	if axis < 0 || int(o.Out[0].Shape[axis]) != p.n {
		return false
	}
	var chain *prog.Program
	ok := false
	if i := p.bias(o, body); i >= 0 {
		if chain, ok = prog.Compile(l, o, body.Nodes[1], axis); ok {
			p.c, p.beta, p.cCol = i, 1, 1
		}
	}
	if !ok {
		if chain, ok = prog.Compile(l, o, body.Nodes[0], axis); !ok {
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

// bias returns the input that the second node adds to each row of the product; −1 when it does
// something else.
func (p *product) bias(o *backend.Op, body *graph.Graph) int {
	if p.c >= 0 || p.n < 2 || len(body.Nodes) < 2 {
		return -1
	}
	n := body.Nodes[1]
	if n.Domain != "" || n.Op != "Add" || len(n.Inputs) != 2 {
		return -1
	}
	v := n.Inputs[0]
	if v == body.Nodes[0].Outputs[0] {
		v = n.Inputs[1]
	} else if n.Inputs[1] != body.Nodes[0].Outputs[0] {
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
