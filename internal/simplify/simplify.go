// Package simplify makes a graph smaller without changing what it computes: it works out what
// depends on constants alone, takes out nodes that only pass a value on, puts the branch that is
// always taken in the place of its If, and drops what no output needs. It does so in subgraphs
// too. It knows nothing of kernels (a caller lends it an evaluator), devices or memory. Sizes are
// in bytes, work in floating-point operations.
package simplify

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// Eval computes a node from its inputs' contents (nil for an absent one). It returns a tensor for
// each output that is present.
type Eval func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error)

// Limits bounds what constants may grow to, and says where they lie. A zero field stands for that of Default.
type Limits struct {
	// OutputBytes and Growth bound one node: it stays as it is when its outputs are larger than
	// OutputBytes and also larger than Growth times its inputs.
	OutputBytes, Growth int64
	// TotalBytes bounds the outputs of all folded nodes together.
	TotalBytes int64
	// FLOPs bounds the work of all folded nodes together.
	FLOPs float64
	// Memory gives so many bytes, at a multiple of 8, for a large constant; nil stands for the Go heap.
	Memory func(n int) []byte
}

// Default is what a model is given when it is opened: room for the largest weights that files
// describe by a fill rather than by contents, and about a second of work.
var Default = Limits{OutputBytes: 64 << 20, Growth: 4, TotalBytes: 1 << 30, FLOPs: 1e9}

// Simplify returns a graph that computes the same outputs, in the same order and under the same
// names, from the same inputs. g is not changed; what is the same in both is shared, and g itself
// is returned when there is nothing to do. A node that eval cannot compute stays as it is. It
// fails only on a graph that Validate refuses.
func Simplify(g *graph.Graph, eval Eval, lim Limits) (*graph.Graph, error) {
	s := &simplifier{eval: eval, lim: lim.withDefaults(), memo: map[string][]*tensor.Tensor{},
		settled: map[*graph.Value]bool{}, fills: map[fillOf][]byte{}, largest: map[fillOf]int64{}}
	out, err := s.graph(g)
	if err != nil {
		return nil, fmt.Errorf("simplify: %w", err)
	}
	return out, nil
}

func (l Limits) withDefaults() Limits {
	if l.OutputBytes == 0 {
		l.OutputBytes = Default.OutputBytes
	}
	if l.Growth == 0 {
		l.Growth = Default.Growth
	}
	if l.TotalBytes == 0 {
		l.TotalBytes = Default.TotalBytes
	}
	if l.FLOPs == 0 {
		l.FLOPs = Default.FLOPs
	}
	if l.Memory == nil {
		l.Memory = func(n int) []byte { return make([]byte, (n+15)&^15)[:n:n] }
	}
	return l
}

// simplifier is one call of Simplify: what is left to spend, over all subgraphs.
type simplifier struct {
	eval  Eval
	lim   Limits
	bytes int64
	flops float64
	// memo holds what was computed, by memoKey.
	memo map[string][]*tensor.Tensor
	// fills holds the largest memory that is filled with each number.
	// largest is the size of the largest that is expected.
	fills   map[fillOf][]byte
	largest map[fillOf]int64
	// settled holds the graphs in which nothing is left to do, by their first value: a graph that
	// only reads other values of its parent shares its values with the one before.
	settled map[*graph.Value]bool
}

// pass finds what it can change in a graph.
type pass func(s *simplifier, g *graph.Graph) (*graph.Patch, error)

// graph applies the passes in turn until none finds anything.
func (s *simplifier) graph(g *graph.Graph) (*graph.Graph, error) {
	if len(g.Values) == 0 || s.settled[&g.Values[0]] {
		return g, nil
	}
	passes := []pass{skipCopies, fold, inlineBranches, enterBodies, dropDead}
	for again := true; again; {
		again = false
		for _, find := range passes {
			p, err := find(s, g)
			if err != nil {
				return nil, err
			}
			if p == nil {
				continue
			}
			if g, err = graph.Apply(g, p); err != nil {
				return nil, err
			}
			if again = true; len(g.Values) == 0 {
				return g, nil
			}
		}
	}
	s.settled[&g.Values[0]] = true
	return g, nil
}

// dropDead finds out whether there is anything that no output needs; applying any patch drops it.
func dropDead(_ *simplifier, g *graph.Graph) (*graph.Patch, error) {
	needed := make([]bool, len(g.Values))
	for _, v := range g.Outputs {
		needed[v] = true
	}
	dead := false
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		live := false
		for _, v := range n.Outputs {
			live = live || v != graph.NoValue && needed[v]
		}
		if dead = dead || !live; !live {
			continue
		}
		for _, v := range n.Outputs {
			if v != graph.NoValue {
				needed[v] = true
			}
		}
		for _, v := range n.Reads() {
			needed[v] = true
		}
	}
	for _, v := range g.Inputs {
		needed[v] = true
	}
	for _, ok := range needed {
		dead = dead || !ok
	}
	if !dead {
		return nil, nil
	}
	return &graph.Patch{Name: "drop dead"}, nil
}

// enterBodies simplifies the subgraphs of every node, with what they capture of constants.
func enterBodies(s *simplifier, g *graph.Graph) (*graph.Patch, error) {
	p := &graph.Patch{Name: "enter bodies", Swap: map[*graph.Node]*graph.Node{}}
	for _, n := range g.Nodes {
		var attrs graph.Attrs
		for i := range n.Attrs {
			a := n.Attrs[i]
			changed, err := s.attr(g, &a)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.Label(), err)
			}
			if !changed {
				continue
			}
			if attrs == nil {
				attrs = append(attrs, n.Attrs...)
			}
			attrs[i] = a
		}
		if attrs != nil {
			by := *n
			by.Attrs = attrs
			p.Swap[n] = &by
		}
	}
	if len(p.Swap) == 0 {
		return nil, nil
	}
	return p, nil
}

// attr simplifies the subgraphs of an attribute; it reports whether any changed.
func (s *simplifier) attr(outer *graph.Graph, a *graph.Attr) (changed bool, err error) {
	switch a.Kind {
	case graph.AttrGraph:
		old := a.Graph
		a.Graph, err = s.body(outer, old)
		return a.Graph != old, err
	case graph.AttrGraphs:
		gs := append([]*graph.Graph{}, a.Graphs...)
		for i, old := range gs {
			if gs[i], err = s.body(outer, old); err != nil {
				return false, err
			}
			changed = changed || gs[i] != old
		}
		a.Graphs = gs
	}
	return changed, nil
}

func (s *simplifier) body(outer, b *graph.Graph) (*graph.Graph, error) {
	p := &graph.Patch{Name: "captured constants", Const: map[graph.ValueID]*tensor.Tensor{}}
	for _, c := range b.Captures {
		if t := outer.Values[c.Outer].Const; t != nil {
			p.Const[c.Inner] = t
		}
	}
	if len(p.Const) > 0 {
		var err error
		if b, err = graph.Apply(b, p); err != nil {
			return nil, err
		}
	}
	return s.graph(b)
}
