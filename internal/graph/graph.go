// Package graph is the model in memory: values, nodes that compute values from values, and
// subgraphs. It knows nothing of files, of what an operator means, or of devices. Extents are
// counted in elements.
package graph

import "github.com/stowage-ml/stowage/tensor"

// ValueID is an index into Graph.Values; NoValue stands for an optional input or output that a
// node leaves out.
type ValueID int32

// NoValue is the absent value.
const NoValue ValueID = -1

// Value is a tensor that a graph computes, takes or holds.
type Value struct {
	Name string
	// Type is what the file declares; a zero DType and a nil Shape where it says nothing.
	Type
	// Const is the contents when they are fixed by the model.
	Const *tensor.Tensor
}

// Node computes its outputs from its inputs.
type Node struct {
	// Domain is empty for the standard operators.
	Domain, Op string
	// Version is the version of the domain's operator set that the model imports.
	Version int
	Name    string
	Inputs  []ValueID
	Outputs []ValueID
	Attrs   Attrs
}

// Capture names a value of the enclosing graph that a subgraph reads.
type Capture struct {
	// Outer is the value in the graph that holds the node, Inner the one in the subgraph.
	Outer, Inner ValueID
}

// Graph is a computation without cycles. Every value has one source: an input, a capture, a
// constant, or one output of one node; and nodes stand after those that they read from.
type Graph struct {
	Name     string
	Values   []Value
	Nodes    []*Node
	Inputs   []ValueID
	Outputs  []ValueID
	Captures []Capture
}

// AddValue appends a value and returns its id.
func (g *Graph) AddValue(v Value) ValueID {
	g.Values = append(g.Values, v)
	return ValueID(len(g.Values) - 1)
}

// ValueName returns a value's name, or "" for NoValue.
func (g *Graph) ValueName(id ValueID) string {
	if id == NoValue {
		return ""
	}
	return g.Values[id].Name
}

// Input returns the i-th input, or NoValue when the node has fewer.
func (n *Node) Input(i int) ValueID {
	if i < len(n.Inputs) {
		return n.Inputs[i]
	}
	return NoValue
}

// Label is how messages name the node: its operator and, where it has one, its name.
func (n *Node) Label() string {
	op := n.Op
	if n.Domain != "" {
		op = n.Domain + "." + n.Op
	}
	if n.Name == "" {
		return op
	}
	return op + " \"" + n.Name + "\""
}

// Bodies returns the node's subgraphs, in order of attribute name.
func (n *Node) Bodies() []*Graph {
	var out []*Graph
	for i := range n.Attrs {
		switch a := &n.Attrs[i]; a.Kind {
		case AttrGraph:
			out = append(out, a.Graph)
		case AttrGraphs:
			out = append(out, a.Graphs...)
		}
	}
	return out
}

// Reads returns every value that must exist before the node runs: its inputs that are present,
// then what its subgraphs capture. A value may appear more than once.
func (n *Node) Reads() []ValueID {
	return n.appendReads(make([]ValueID, 0, len(n.Inputs)))
}

// appendReads appends what Reads returns.
func (n *Node) appendReads(out []ValueID) []ValueID {
	for _, v := range n.Inputs {
		if v != NoValue {
			out = append(out, v)
		}
	}
	for _, b := range n.Bodies() {
		for _, c := range b.Captures {
			out = append(out, c.Outer)
		}
	}
	return out
}

// Readers returns, for each value of a graph, what of gives for the index of each node that reads it, in
// order: once for each time, and through subgraphs too.
func Readers[T any](g *Graph, of func(i int) T) [][]T {
	var buf []ValueID
	ends := make([]int32, len(g.Values)+1)
	for _, n := range g.Nodes {
		buf = n.appendReads(buf[:0])
		for _, v := range buf {
			ends[v+1]++
		}
	}
	for v := range g.Values {
		ends[v+1] += ends[v]
	}
	all, lists := make([]T, ends[len(g.Values)]), make([][]T, len(g.Values))
	for v := range lists {
		lists[v] = all[ends[v]:ends[v]:ends[v+1]]
	}
	for i, n := range g.Nodes {
		buf = n.appendReads(buf[:0])
		for _, v := range buf {
			lists[v] = append(lists[v], of(i))
		}
	}
	return lists
}
