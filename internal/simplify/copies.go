package simplify

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// dropoutInputs is the version of the standard operators from which Dropout is told by an input,
// no longer by the version alone, whether it is training.
const dropoutInputs = 12

// skipCopies takes out the nodes that pass their first input on: Identity, and Dropout outside
// training. A node stays where it stands between an output's name and a value that cannot have
// that name: an input, a capture, or another output.
func skipCopies(_ *simplifier, g *graph.Graph) (*graph.Patch, error) {
	p := &graph.Patch{Name: "skip copies", Replace: map[graph.ValueID]graph.ValueID{}}
	// fixed marks the values whose names cannot change, or already do.
	fixed, isOutput := make([]bool, len(g.Values)), make([]bool, len(g.Values))
	for _, v := range g.Outputs {
		fixed[v], isOutput[v] = true, true
	}
	for _, v := range g.Inputs {
		fixed[v] = true
	}
	for _, c := range g.Captures {
		fixed[c.Inner] = true
	}
	readers := countReads(g)
	for _, n := range g.Nodes {
		if !passesOn(g, n, readers) {
			continue
		}
		from, to := n.Inputs[0], n.Outputs[0]
		if by, ok := p.Replace[from]; ok {
			from = by
		}
		if isOutput[to] && g.Values[from].Const == nil {
			if fixed[from] {
				continue
			}
			fixed[from] = true
		}
		p.Replace[to] = from
	}
	if len(p.Replace) == 0 {
		return nil, nil
	}
	return p, nil
}

// countReads counts how often each value is read, by nodes, subgraphs and outputs.
func countReads(g *graph.Graph) []int {
	reads := make([]int, len(g.Values))
	for _, v := range g.Outputs {
		reads[v]++
	}
	for _, n := range g.Nodes {
		for _, v := range n.Reads() {
			reads[v]++
		}
	}
	return reads
}

// passesOn reports whether the node's first output is its first input, and its other outputs are
// not read.
func passesOn(g *graph.Graph, n *graph.Node, readers []int) bool {
	if n.Domain != "" || n.Input(0) == graph.NoValue || len(n.Outputs) == 0 || n.Outputs[0] == graph.NoValue {
		return false
	}
	if slices.ContainsFunc(n.Outputs[1:], func(v graph.ValueID) bool { return v != graph.NoValue && readers[v] > 0 }) {
		return false
	}
	switch n.Op {
	case "Identity":
		return true
	case "Dropout":
		training := n.Input(2)
		return n.Version < dropoutInputs || training == graph.NoValue || isBool(g.Values[training].Const, false)
	}
	return false
}

// isBool reports whether t is one known truth value, b.
func isBool(t *tensor.Tensor, b bool) bool {
	return t != nil && t.DType() == tensor.Bool && t.Len() == 1 && (t.Bytes()[0] != 0) == b
}
