package graph

import (
	"fmt"

	"github.com/stowage-ml/stowage/tensor"
)

// Validate checks everything that the package promises of a graph and of the subgraphs in it:
// ids are in range; every value has one source and a name that no other value of the graph has;
// nodes stand after those that they read from, through their subgraphs too; captures name values
// of the enclosing graph, and the outermost graph has none; attributes are in order of name, each
// once, with the contents that their kind needs. It returns the first fault that it finds.
func Validate(g *Graph) error {
	if g == nil {
		return fmt.Errorf("graph: got no graph")
	}
	if n := len(g.Captures); n > 0 {
		return fmt.Errorf("graph: got %d captures outside a subgraph, want none", n)
	}
	if err := validate(g, 0); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// checker is a graph being checked. ready holds the values that exist before the node at hand,
// sourced those that will exist after the last.
type checker struct {
	g       *Graph
	depth   int
	ready   []bool
	sourced []bool
}

func validate(g *Graph, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("got more than %d subgraphs inside one another", maxNesting)
	}
	c := &checker{g: g, depth: depth, ready: make([]bool, len(g.Values)), sourced: make([]bool, len(g.Values))}
	if err := c.names(); err != nil {
		return err
	}
	if err := c.sources(); err != nil {
		return err
	}
	for i, n := range g.Nodes {
		if err := c.node(n); err != nil {
			return fmt.Errorf("node %d, %s: %w", i, n.Label(), err)
		}
	}
	for i, id := range g.Outputs {
		if !g.has(id) {
			return fmt.Errorf("output %d: got value %d of %d", i, id, len(g.Values))
		}
	}
	return nil
}

func (c *checker) names() error {
	seen := make(map[string]ValueID, len(c.g.Values))
	for i := range c.g.Values {
		name := c.g.Values[i].Name
		if old, ok := seen[name]; ok {
			return fmt.Errorf("values %d and %d: got the name %q for both", old, i, name)
		}
		if name == "" {
			return fmt.Errorf("value %d: got no name", i)
		}
		seen[name] = ValueID(i)
	}
	return nil
}

// sources checks that every value has one source, and marks those that exist before any node.
func (c *checker) sources() error {
	for i := range c.g.Values {
		if c.g.Values[i].Const != nil {
			c.sourced[i], c.ready[i] = true, true
		}
	}
	for i, id := range c.g.Inputs {
		if err := c.source(id, true); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i, k := range c.g.Captures {
		if err := c.source(k.Inner, true); err != nil {
			return fmt.Errorf("capture %d: %w", i, err)
		}
	}
	for i, n := range c.g.Nodes {
		if n == nil {
			return fmt.Errorf("node %d: got no node", i)
		}
		for j, id := range n.Outputs {
			if id == NoValue {
				continue
			}
			if err := c.source(id, false); err != nil {
				return fmt.Errorf("node %d, %s: output %d: %w", i, n.Label(), j, err)
			}
		}
	}
	for i, ok := range c.sourced {
		if !ok {
			return fmt.Errorf("value %q: got no source", c.g.Values[i].Name)
		}
	}
	return nil
}

func (c *checker) source(id ValueID, ready bool) error {
	switch {
	case !c.g.has(id):
		return fmt.Errorf("got value %d of %d", id, len(c.g.Values))
	case c.sourced[id]:
		return fmt.Errorf("value %q: got a second source", c.g.Values[id].Name)
	}
	c.sourced[id], c.ready[id] = true, ready
	return nil
}

func (c *checker) node(n *Node) error {
	if n.Op == "" {
		return fmt.Errorf("got no operator")
	}
	for i, id := range n.Inputs {
		if id == NoValue {
			continue
		}
		if err := c.read(id); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i := range n.Attrs {
		if i > 0 && n.Attrs[i-1].Name >= n.Attrs[i].Name {
			return fmt.Errorf("attribute %q: got it after %q, want ascending names", n.Attrs[i].Name, n.Attrs[i-1].Name)
		}
		if err := c.attr(&n.Attrs[i]); err != nil {
			return fmt.Errorf("attribute %q: %w", n.Attrs[i].Name, err)
		}
	}
	for _, id := range n.Outputs {
		if id != NoValue {
			c.ready[id] = true
		}
	}
	return nil
}

func (c *checker) read(id ValueID) error {
	switch {
	case !c.g.has(id):
		return fmt.Errorf("got value %d of %d", id, len(c.g.Values))
	case !c.ready[id]:
		return fmt.Errorf("value %q: got a read before the node that computes it", c.g.Values[id].Name)
	}
	return nil
}

func (c *checker) attr(a *Attr) error {
	switch a.Kind {
	case AttrTensor:
		return present(a.Tensor)
	case AttrTensors:
		return present(a.Tensors...)
	case AttrGraph:
		return c.body(a.Graph)
	case AttrGraphs:
		for _, b := range a.Graphs {
			if err := c.body(b); err != nil {
				return err
			}
		}
	case AttrInt, AttrFloat, AttrString, AttrInts, AttrFloats, AttrStrings, AttrSparse, AttrType:
	default:
		return fmt.Errorf("got kind %d", a.Kind)
	}
	return nil
}

func present(ts ...*tensor.Tensor) error {
	for _, t := range ts {
		if t == nil {
			return fmt.Errorf("got no tensor")
		}
	}
	return nil
}

// body checks a subgraph and that what it captures exists before the node that holds it.
func (c *checker) body(b *Graph) error {
	if b == nil {
		return fmt.Errorf("got no graph")
	}
	for i, k := range b.Captures {
		if err := c.read(k.Outer); err != nil {
			return fmt.Errorf("subgraph %q: capture %d: %w", b.Name, i, err)
		}
	}
	if err := validate(b, c.depth+1); err != nil {
		return fmt.Errorf("subgraph %q: %w", b.Name, err)
	}
	return nil
}
