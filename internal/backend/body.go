package backend

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// opBody is a node's body with what is known of its values.
type opBody struct {
	of    *Op
	graph *graph.Graph
	facts []op.Fact
	err   error
}

// Body returns what a node computes as a graph whose inputs are the node's, one to one (absent ones are
// graph.NoValue), with the facts of its values: the body of a fused node, or a graph of the node alone, which
// has ids of its own. It is worked out once: operands must not change any more. Neither may be changed.
func (o *Op) Body() (*graph.Graph, []op.Fact, error) {
	if o.body == nil || o.body.of != o {
		b := &opBody{of: o, graph: bodyOf(o.Node)}
		b.facts, b.err = o.facts(b.graph)
		o.body = b
	}
	return o.body.graph, o.body.facts, o.body.err
}

// bodyOf returns the graph of a fused node, or one that holds nothing but the node, whose values are numbered
// in the order in which it names them.
func bodyOf(n *graph.Node) *graph.Graph {
	if op.IsFused(n) {
		return n.Attrs.Graph("body")
	}
	all := make([]graph.ValueID, 0, len(n.Inputs)+len(n.Outputs))
	all = append(append(all, n.Inputs...), n.Outputs...)
	next := graph.ValueID(0)
	for i, v := range all {
		if v == graph.NoValue {
			continue
		}
		all[i] = next
		for j, w := range n.Inputs {
			if j < i && w == v {
				all[i] = all[j]
				break
			}
		}
		if all[i] == next {
			next++
		}
	}
	m := *n
	m.Inputs, m.Outputs = all[:len(n.Inputs):len(n.Inputs)], all[len(n.Inputs):]
	return &graph.Graph{Nodes: []*graph.Node{&m}, Inputs: m.Inputs, Outputs: m.Outputs, Values: make([]graph.Value, next)}
}

// facts infers the values of a body.
func (o *Op) facts(g *graph.Graph) ([]op.Fact, error) {
	if g == nil || len(g.Inputs) != len(o.In) {
		return nil, fmt.Errorf("body: got %d operands, want one for each of its inputs", len(o.In))
	}
	in := make([]op.Fact, len(o.In))
	for i := range o.In {
		a := &o.In[i]
		if a.Const != nil {
			in[i] = op.FactOf(a.Const)
		} else if a.Present() {
			in[i] = op.Fact{DType: a.DType, Shape: graph.Of(a.Shape...)}
		}
	}
	return op.BodyFacts(g, in)
}
