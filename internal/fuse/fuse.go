// Package fuse rewrites a graph so that fewer, larger nodes compute the same outputs: constants of
// one node move into another's, known patterns become one operator, moves of data that cancel out
// go, and runs of nodes whose intermediate results nothing else reads become one Fused node whose
// body holds them. It knows nothing of kernels, devices or memory; what is known of types and
// shapes comes from its caller. Extents are in elements, sizes in bytes.
package fuse

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// Infer returns what is known of every value of a graph, given the facts of its inputs and captures. old is
// nil, or what Infer has returned for a graph of which this one is what a patch that is Sparse has made: it
// may be changed and returned again.
type Infer func(g *graph.Graph, known map[graph.ValueID]op.Fact, old Facts) (Facts, error)

// Facts is what is known of the values of a graph.
type Facts interface {
	// Fact returns what is known of a value that is not absent.
	Fact(v graph.ValueID) *op.Fact
}

// Options says how a graph is rewritten.
type Options struct {
	// Infer is asked anew whenever the graph has changed; nil means that nothing is known but what
	// constants say.
	Infer Infer
	// In holds the facts of the graph's inputs, in order.
	In []op.Fact
	// Off lists, by name, the rules that are not applied; "all" stands for every one.
	Off []string
	// FoldBytes bounds the new constants that folding makes; 0 means 1 GiB.
	FoldBytes int64
}

// All is the name that stands for every rule.
const All = "all"

const defaultFoldBytes = 1 << 30

// rule finds what it can change in a graph, and writes it into the finder's patch.
type rule struct {
	name string
	find func(*finder)
}

// rules is in the order of application: what simplifies comes before what groups.
var rules = []rule{
	{"identity", findIdentities},
	{"onehot", findOneHot},
	{"pad", findPads},
	{"gather", findGather},
	{"norm", findNorms},
	{"gelu", findGelu},
	{"affine", findAffine},
	{"weights", findScaled},
	{"attention", findAttention},
	{"integer", findInteger},
	{"quantised", findQuantised},
	{"dequantised", findDequantised},
	{"anchor", findAnchors},
	{"chain", findChains},
}

// Rules returns the names of all rules, in the order in which they are applied.
func Rules() []string {
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].name
	}
	return names
}

// CheckOff fails when a name is not one of a rule, or All.
func CheckOff(names []string) error {
	for _, n := range names {
		if n != All && !slices.Contains(Rules(), n) {
			return fmt.Errorf("fuse: rule: got %q, want %q or one of %q", n, All, Rules())
		}
	}
	return nil
}

// Fuse returns a graph that computes the same outputs, in the same order and under the same names,
// from the same inputs; the numbers differ by what another order of roundings makes. g is not
// changed; what is the same in both is shared, and g itself is returned when there is nothing to
// do. It fails only on a graph that graph.Validate refuses.
func Fuse(g *graph.Graph, o Options) (*graph.Graph, error) {
	if o.FoldBytes == 0 {
		o.FoldBytes = defaultFoldBytes
	}
	known := map[graph.ValueID]op.Fact{}
	for i, v := range g.Inputs {
		if i < len(o.In) {
			known[v] = o.In[i]
		}
	}
	r := &rewriter{o: o, left: o.FoldBytes}
	for i := range rules {
		if !slices.Contains(o.Off, rules[i].name) && !slices.Contains(o.Off, All) {
			r.rules = append(r.rules, &rules[i])
		}
	}
	out, err := r.graph(g, known)
	if err != nil {
		return nil, fmt.Errorf("fuse: %w", err)
	}
	return out, nil
}

// rewriter is one call of Fuse.
type rewriter struct {
	o     Options
	rules []*rule
	// left is what may still be spent on new constants.
	left int64
	// spare is memory that rules borrow: see lend.
	spare []float64
}

// maxRounds bounds how often a graph is gone over, should rules ever undo each other.
const maxRounds = 1000

// graph rewrites the subgraphs of a graph, then the graph itself.
func (r *rewriter) graph(g *graph.Graph, known map[graph.ValueID]op.Fact) (*graph.Graph, error) {
	f := newFinder(r, g, known)
	if err := r.bodies(f); err != nil {
		return nil, err
	}
	f, _, err := r.apply(f)
	if err != nil {
		return nil, err
	}
	rounds := 0
	for again := true; again && rounds < maxRounds; {
		again = false
		for _, rule := range r.rules {
			for changed := true; changed && rounds < maxRounds; rounds++ {
				f.patch.Name = rule.name
				rule.find(f)
				if f, changed, err = r.apply(f); err != nil {
					return nil, err
				}
				again = again || changed
			}
		}
	}
	if f.g == g {
		return g, nil
	}
	return graph.Apply(f.g, &graph.Patch{Name: "compact", Reuse: true})
}

// apply applies what was found; changed is false when that is nothing.
func (r *rewriter) apply(f *finder) (next *finder, changed bool, err error) {
	if f.patch.Empty() {
		f.patch = &graph.Patch{}
		return f, false, nil
	}
	f.patch.Sparse, f.patch.Reuse = true, f.own
	g, err := graph.Apply(f.g, f.patch)
	if err != nil {
		return nil, false, err
	}
	known := make(map[graph.ValueID]op.Fact, len(f.known))
	for i, v := range f.g.Inputs {
		if fact, ok := f.known[v]; ok {
			known[g.Inputs[i]] = fact
		}
	}
	outer := map[graph.ValueID]op.Fact{}
	for _, c := range f.g.Captures {
		outer[c.Outer] = f.known[c.Inner]
	}
	for _, c := range g.Captures {
		known[c.Inner] = outer[c.Outer]
	}
	next = newFinder(r, g, known)
	next.own, next.old = true, f.old
	if f.facts != nil {
		next.old = f.facts
	}
	return next, true, nil
}

// bodies rewrites the subgraphs of control nodes.
func (r *rewriter) bodies(f *finder) error {
	f.patch.Name = "bodies"
	for _, n := range f.g.Nodes {
		if row := op.Lookup(n.Domain, n.Op); row == nil || !row.Control {
			continue
		}
		var attrs graph.Attrs
		for i := range n.Attrs {
			a := n.Attrs[i]
			if a.Kind != graph.AttrGraph {
				continue
			}
			b, err := r.graph(a.Graph, f.captured(a.Graph))
			if err != nil {
				return fmt.Errorf("node %s: %w", n.Label(), err)
			}
			if b == a.Graph {
				continue
			}
			if attrs == nil {
				attrs = slices.Clone(n.Attrs)
			}
			attrs[i].Graph = b
		}
		if attrs != nil {
			by := *n
			by.Attrs = attrs
			f.swap(n, &by)
		}
	}
	return nil
}
