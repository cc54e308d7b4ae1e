package twin

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Prepare describes a node whose inputs have these contents, and a call of it with outputs in fresh
// memory; constant says which inputs are known beforehand. Where an input is nil, the node has none; it
// overwrites the node's Inputs.
func Prepare(t testing.TB, n *graph.Node, in []*tensor.Tensor, constant func(int) bool) (*backend.Op, *backend.Call) {
	t.Helper()
	o, call, err := prepare(n, in, constant)
	if err != nil {
		t.Fatalf("%s: %v", n.Op, err)
	}
	return o, call
}

func prepare(n *graph.Node, in []*tensor.Tensor, constant func(int) bool) (*backend.Op, *backend.Call, error) {
	row := op.Lookup(n.Domain, n.Op)
	if row == nil {
		return nil, nil, fmt.Errorf("operator %s: no row", n.Op)
	}
	n.Inputs = make([]graph.ValueID, len(in))
	c := op.Ctx{Node: n, In: make([]op.Fact, len(in)), Out: make([]op.Fact, len(n.Outputs))}
	o := &backend.Op{Node: n, In: make([]backend.Arg, len(in)), Out: make([]backend.Arg, len(n.Outputs))}
	call := &backend.Call{In: make([]backend.View, len(in)), Out: make([]backend.View, len(n.Outputs))}
	for i, x := range in {
		n.Inputs[i] = graph.NoValue
		if x == nil {
			continue
		}
		n.Inputs[i] = graph.ValueID(i)
		c.In[i], call.In[i] = op.FactOf(x), backend.ViewOf(x)
		o.In[i] = backend.Arg{DType: x.DType(), Shape: x.Shape()}
		if constant(i) {
			o.In[i].Const = x
		}
	}
	if err := row.Infer(&c); err != nil {
		return nil, nil, err
	}
	for i, v := range n.Outputs {
		if v == graph.NoValue {
			continue
		}
		s, ok := c.Out[i].Shape.Concrete()
		if !ok {
			return nil, nil, fmt.Errorf("output %d: shape %v", i, c.Out[i].Shape)
		}
		o.Out[i] = backend.Arg{DType: c.Out[i].DType, Shape: s}
		call.Out[i].DType = c.Out[i].DType
		if err := call.Alloc(i, s); err != nil {
			return nil, nil, err
		}
	}
	return o, call, nil
}
