package onnx

import (
	"errors"
	"strings"
)

// order returns the indices of the nodes in an order in which each follows those it reads from,
// or nil when the file's own order will do; nodes move no further than they must. It takes time
// in proportion to the nodes and what they read.
func (s *scope) order(nodes []Node) ([]int32, error) {
	sorted := true
	for i := range nodes {
		err := s.reads(&nodes[i], func(from int32) { sorted = sorted && from < int32(i) })
		if err != nil {
			return nil, err
		}
	}
	if sorted {
		return nil, nil
	}
	if err := s.im.spend(int64(len(nodes)) * 64); err != nil {
		return nil, err
	}
	d := &dfs{s: s, nodes: nodes, state: make([]byte, len(nodes))}
	for i := range nodes {
		if err := d.visit(int32(i)); err != nil {
			return nil, err
		}
	}
	return d.out, nil
}

// reads calls f with the index of every node of this scope that n, or a subgraph of n, reads
// from.
func (s *scope) reads(n *Node, f func(int32)) error {
	see := func(name string) {
		if p := s.syms[name]; p != nil && !p.done {
			f(p.node)
		}
	}
	for _, name := range n.Inputs {
		see(name)
	}
	for i := range n.Attrs {
		for g := range n.Attrs[i].graphs {
			free, err := s.im.freeNames(g)
			if err != nil {
				return err
			}
			for _, name := range free {
				see(name)
			}
		}
	}
	return nil
}

// graphs yields the subgraphs of an attribute.
func (a *Attribute) graphs(yield func(*Graph) bool) {
	if a.Ref != "" {
		return
	}
	if a.Graph != nil && a.Type == attrGraph && !yield(a.Graph) {
		return
	}
	if a.Lists == nil || a.Type != attrGraphs {
		return
	}
	for i := range a.Lists.Graphs {
		if !yield(&a.Lists.Graphs[i]) {
			return
		}
	}
}

// freeNames returns the names that a graph reads but does not define, each once.
func (im *importer) freeNames(g *Graph) ([]string, error) {
	if free, ok := im.free[g]; ok {
		return free, nil
	}
	known := map[string]bool{"": true}
	for i := range g.Inputs {
		known[g.Inputs[i].Name] = true
	}
	for i := range g.Inits {
		known[g.Inits[i].Name] = true
	}
	for i := range g.Sparse {
		known[g.Sparse[i].Values.Name] = true
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Outputs {
			known[name] = true
		}
	}
	free, err := im.collect(g, known)
	im.free[g] = free
	return free, err
}

// collect returns what g reads beyond the known names, which it adds to.
func (im *importer) collect(g *Graph, known map[string]bool) (free []string, err error) {
	see := func(name string) {
		if !known[name] {
			known[name] = true
			free = append(free, name)
		}
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Inputs {
			see(name)
		}
		for j := range g.Nodes[i].Attrs {
			for sub := range g.Nodes[i].Attrs[j].graphs {
				names, err := im.freeNames(sub)
				if err != nil {
					return nil, err
				}
				for _, name := range names {
					see(name)
				}
			}
		}
	}
	for i := range g.Outputs {
		see(g.Outputs[i].Name)
	}
	return free, im.spend(int64(len(free)) * 64)
}

// dfs is a depth-first walk from readers to what they read.
type dfs struct {
	s     *scope
	nodes []Node
	// state is 0 before a node is met, 1 while it is on the stack, 2 when it is in out.
	state []byte
	stack []visit
	out   []int32
}

// visit is a node on the stack, and the nodes it reads from that are still to be looked at.
type visit struct {
	node int32
	todo []int32
}

func (d *dfs) push(i int32) error {
	v := visit{node: i}
	err := d.s.reads(&d.nodes[i], func(from int32) {
		if d.state[from] != 2 {
			v.todo = append(v.todo, from)
		}
	})
	d.state[i] = 1
	d.stack = append(d.stack, v)
	return err
}

// visit adds node i to out, after all that it reads from.
func (d *dfs) visit(i int32) error {
	if d.state[i] != 0 {
		return nil
	}
	if err := d.push(i); err != nil {
		return err
	}
	for len(d.stack) > 0 {
		top := &d.stack[len(d.stack)-1]
		if len(top.todo) == 0 {
			d.state[top.node] = 2
			d.out = append(d.out, top.node)
			d.stack = d.stack[:len(d.stack)-1]
			continue
		}
		from := top.todo[0]
		top.todo = top.todo[1:]
		switch d.state[from] {
		case 0:
			if err := d.push(from); err != nil {
				return err
			}
		case 1:
			return d.cycle(from)
		}
	}
	return nil
}

// cycle names the nodes on the stack from the given one up: each reads from the next, and the
// last from the first.
func (d *dfs) cycle(from int32) error {
	const most = 8
	at := len(d.stack) - 1
	for d.stack[at].node != from {
		at--
	}
	var names []string
	for i, v := range d.stack[at:] {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, label(&d.nodes[v.node]))
	}
	return errors.New("the nodes form a cycle, each reading from the next: " + strings.Join(names, ", "))
}
