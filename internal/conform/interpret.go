// Package conform holds what tests compare the runtime with: an interpreter that runs a graph
// node by node in fresh memory, without plans, arenas, aliases or stages. It knows nothing of
// files. Imported by tests only.
package conform

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// Interpreter runs graphs with the kernels of one backend.
type Interpreter struct{ Backend backend.Backend }

// Run computes the graph's outputs, in order, from its inputs, in order.
func (p Interpreter) Run(g *graph.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return p.graph(g, in, nil)
}

func (p Interpreter) graph(g *graph.Graph, in, captured []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if len(in) != len(g.Inputs) {
		return nil, fmt.Errorf("conform: graph %q: got %d inputs, want %d", g.Name, len(in), len(g.Inputs))
	}
	vals := make([]*tensor.Tensor, len(g.Values))
	for i := range g.Values {
		vals[i] = g.Values[i].Const
	}
	for i, v := range g.Inputs {
		vals[v] = in[i]
	}
	for i, c := range g.Captures {
		vals[c.Inner] = captured[i]
	}
	for _, n := range g.Nodes {
		args := pick(vals, n.Inputs)
		out, err := p.node(n, args, vals)
		if err != nil {
			return nil, fmt.Errorf("conform: node %s: %w", n.Label(), err)
		}
		for i, v := range n.Outputs {
			if v != graph.NoValue {
				vals[v] = out[i]
			}
		}
	}
	return pick(vals, g.Outputs), nil
}

func pick(vals []*tensor.Tensor, ids []graph.ValueID) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(ids))
	for i, v := range ids {
		if v != graph.NoValue {
			out[i] = vals[v]
		}
	}
	return out
}

func (p Interpreter) node(n *graph.Node, in, vals []*tensor.Tensor) ([]*tensor.Tensor, error) {
	switch n.Op {
	case "If":
		name := "else_branch"
		if in[0].Bytes()[0] != 0 {
			name = "then_branch"
		}
		return p.body(n.Attrs.Graph(name), nil, vals)
	case "Loop":
		return p.loop(n, in, vals)
	case "Scan":
		return p.scan(n, in, vals)
	}
	return plan.Eval(p.Backend, n, in)
}

func (p Interpreter) body(g *graph.Graph, in, vals []*tensor.Tensor) ([]*tensor.Tensor, error) {
	captured := make([]*tensor.Tensor, len(g.Captures))
	for i, c := range g.Captures {
		captured[i] = vals[c.Outer]
	}
	return p.graph(g, in, captured)
}

func (p Interpreter) loop(n *graph.Node, in, vals []*tensor.Tensor) ([]*tensor.Tensor, error) {
	body := n.Attrs.Graph("body")
	trips, cond := int64(1<<62), true
	if in[0] != nil {
		trips = tensor.Cast[int64](in[0].Bytes())[0]
	}
	if len(in) > 1 && in[1] != nil {
		cond = in[1].Bytes()[0] != 0
	}
	carried := append([]*tensor.Tensor{}, in[2:]...)
	scans := make([][]*tensor.Tensor, len(body.Outputs)-1-len(carried))
	for t := int64(0); t < trips && cond; t++ {
		args := append([]*tensor.Tensor{tensor.Scalar(t), tensor.Scalar(cond)}, carried...)
		out, err := p.body(body, args, vals)
		if err != nil {
			return nil, err
		}
		cond = out[0].Bytes()[0] != 0
		carried = append([]*tensor.Tensor{}, out[1:1+len(carried)]...)
		for j := range scans {
			scans[j] = append(scans[j], out[1+len(carried)+j])
		}
	}
	for j, parts := range scans {
		if len(parts) == 0 {
			return nil, fmt.Errorf("scan output %d: a loop without iterations has no shape to give it", j)
		}
		stacked, err := stack(parts)
		if err != nil {
			return nil, err
		}
		carried = append(carried, stacked)
	}
	return carried, nil
}

func stack(parts []*tensor.Tensor) (*tensor.Tensor, error) {
	var data []byte
	for _, t := range parts {
		data = append(data, t.Bytes()...)
	}
	shape := append(tensor.Shape{int64(len(parts))}, parts[0].Shape()...)
	return tensor.FromBytes(parts[0].DType(), shape, data)
}
