package simplify

import (
	"github.com/stowage-ml/stowage/internal/graph"
)

// inlineBranches puts the branch that is taken in the place of every If whose condition is a
// constant.
func inlineBranches(_ *simplifier, g *graph.Graph) (*graph.Patch, error) {
	p := &graph.Patch{Name: "inline branches", Replace: map[graph.ValueID]graph.ValueID{}}
	for _, n := range g.Nodes {
		if n.Domain != "" || n.Op != "If" || n.Input(0) == graph.NoValue {
			continue
		}
		var taken *graph.Graph
		switch cond := g.Values[n.Inputs[0]].Const; {
		case isBool(cond, true):
			taken = n.Attrs.Graph("then_branch")
		case isBool(cond, false):
			taken = n.Attrs.Graph("else_branch")
		}
		if taken != nil && len(taken.Inputs) == 0 && len(taken.Outputs) >= len(n.Outputs) {
			inline(g, p, n, taken)
		}
	}
	if len(p.Remove) == 0 {
		return nil, nil
	}
	return p, nil
}

// inline copies a subgraph without inputs into the graph of the node that holds it.
func inline(g *graph.Graph, p *graph.Patch, n *graph.Node, b *graph.Graph) {
	ids := make([]graph.ValueID, len(b.Values))
	for i := range ids {
		ids[i] = graph.NoValue
	}
	for _, c := range b.Captures {
		ids[c.Inner] = c.Outer
	}
	for i := range ids {
		if ids[i] == graph.NoValue {
			ids[i] = p.NewValue(g, b.Values[i])
		}
	}
	outside := func(v graph.ValueID) graph.ValueID { return ids[v] }
	for _, m := range b.Nodes {
		p.Insert = append(p.Insert, m.Rewire(outside, outside))
	}
	for i, v := range n.Outputs {
		if v != graph.NoValue {
			p.Replace[v] = ids[b.Outputs[i]]
		}
	}
	p.Remove = append(p.Remove, n)
}
