package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// finder is a graph that a rule looks at, and the patch that it writes.
type finder struct {
	r     *rewriter
	g     *graph.Graph
	known map[graph.ValueID]op.Fact
	patch *graph.Patch
	// source is the index of the node that computes a value, or −1; readers are the indices of the
	// nodes that read it, once for each time, also through their subgraphs, in order.
	source  []int
	readers [][]int
	isOut   []bool
	// taken marks the nodes that the patch already changes.
	taken []bool
	// facts is nil until it is asked for; old is that of a graph before this one, which counts no more then.
	facts, old Facts
	// own says that the graph is nobody else's.
	own bool
}

func newFinder(r *rewriter, g *graph.Graph, known map[graph.ValueID]op.Fact) *finder {
	f := &finder{r: r, g: g, known: known, patch: &graph.Patch{}, source: make([]int, len(g.Values)),
		isOut: make([]bool, len(g.Values)), taken: make([]bool, len(g.Nodes))}
	for i := range f.source {
		f.source[i] = -1
	}
	for i, n := range g.Nodes {
		for _, v := range n.Outputs {
			if v != graph.NoValue {
				f.source[v] = i
			}
		}
	}
	f.readers = graph.Readers(g, func(i int) int { return i })
	for _, v := range g.Outputs {
		f.isOut[v] = true
	}
	return f
}

// fact returns what is known of a value; never nil.
func (f *finder) fact(v graph.ValueID) *op.Fact {
	if v == graph.NoValue {
		return &op.Fact{}
	}
	if f.facts == nil {
		f.facts = f.infer()
	}
	return f.facts.Fact(v)
}

func (f *finder) infer() Facts {
	old := f.old
	f.old = nil
	if _, few := old.(constants); few {
		old = nil
	}
	if f.r.o.Infer != nil {
		if facts, err := f.r.o.Infer(f.g, f.known, old); err == nil {
			return facts
		}
	}
	return constants{f.g}
}

// constants knows nothing but what constants say.
type constants struct{ g *graph.Graph }

// Fact implements Facts.
func (c constants) Fact(v graph.ValueID) *op.Fact {
	if t := c.g.Values[v].Const; t != nil {
		fact := op.FactOf(t)
		return &fact
	}
	return &op.Fact{}
}

// captured returns the facts of what a subgraph captures.
func (f *finder) captured(b *graph.Graph) map[graph.ValueID]op.Fact {
	known := map[graph.ValueID]op.Fact{}
	for _, c := range b.Captures {
		known[c.Inner] = *f.fact(c.Outer)
	}
	return known
}

// constant returns the contents of a value that is constant, else nil.
func (f *finder) constant(v graph.ValueID) *tensor.Tensor {
	if v == graph.NoValue {
		return nil
	}
	return f.g.Values[v].Const
}

// floats returns the elements of a constant of float32, else nil.
func (f *finder) floats(v graph.ValueID) []float32 {
	t := f.constant(v)
	if t == nil || t.DType() != tensor.Float32 {
		return nil
	}
	return tensor.Cast[float32](t.Bytes())
}

// scalar returns the value of a constant of one float32.
func (f *finder) scalar(v graph.ValueID) (x float32, ok bool) {
	if e := f.floats(v); len(e) == 1 {
		return e[0], true
	}
	return 0, false
}

// maker returns the index of the node that computes a value as its first output, when it is one of
// the named standard operators and the patch does not change it yet; else −1.
func (f *finder) maker(v graph.ValueID, ops ...string) int {
	if v == graph.NoValue || f.source[v] < 0 {
		return -1
	}
	i := f.source[v]
	if n := f.g.Nodes[i]; f.taken[i] || n.Outputs[0] != v || !isOp(n, ops...) {
		return -1
	}
	return i
}

// isOp reports whether the node is one of the named standard operators.
func isOp(n *graph.Node, ops ...string) bool {
	if n.Domain != "" {
		return false
	}
	for _, o := range ops {
		if n.Op == o {
			return true
		}
	}
	return false
}

// private reports whether a value is read exactly once, by a node's input, and is no output.
func (f *finder) private(v graph.ValueID) bool { return len(f.readers[v]) == 1 && !f.isOut[v] }

// soleReader returns the index of the one node that reads a private value, unless the patch
// changes it; else −1.
func (f *finder) soleReader(v graph.ValueID) int {
	if v == graph.NoValue || !f.private(v) || f.taken[f.readers[v][0]] {
		return -1
	}
	return f.readers[v][0]
}

// soleOutput returns the node's output when it has one, else NoValue.
func soleOutput(n *graph.Node) graph.ValueID {
	out := graph.NoValue
	for i, v := range n.Outputs {
		switch {
		case v == graph.NoValue:
		case i > 0:
			return graph.NoValue
		default:
			out = v
		}
	}
	return out
}

// swap puts a node in another's place.
func (f *finder) swap(n, by *graph.Node) {
	if f.patch.Swap == nil {
		f.patch.Swap = map[*graph.Node]*graph.Node{}
	}
	f.patch.Swap[n] = by
	f.take(n)
}

// replace makes v be read in a value's place.
func (f *finder) replace(old, v graph.ValueID) {
	if f.patch.Replace == nil {
		f.patch.Replace = map[graph.ValueID]graph.ValueID{}
	}
	f.patch.Replace[old] = v
}

// remove drops nodes that nothing may read any more.
func (f *finder) remove(nodes ...*graph.Node) {
	f.patch.Remove = append(f.patch.Remove, nodes...)
	f.take(nodes...)
}

// take marks nodes as changed by the patch.
func (f *finder) take(nodes ...*graph.Node) {
	for _, n := range nodes {
		i := f.source[anyOutput(n)]
		f.taken[i] = true
	}
}

// anyOutput returns the first output that is present.
func anyOutput(n *graph.Node) graph.ValueID {
	for _, v := range n.Outputs {
		if v != graph.NoValue {
			return v
		}
	}
	panic("BUG: fuse: a node without outputs: " + n.Label())
}

// addConst adds a constant to the patch.
func (f *finder) addConst(name string, t *tensor.Tensor) graph.ValueID {
	return f.patch.NewValue(f.g, graph.Value{Name: name, Const: t,
		Type: graph.Type{DType: t.DType(), Shape: graph.Of(t.Shape()...)}})
}

// afford reports whether new constants of that many bytes are within bounds, and counts them.
func (f *finder) afford(bytes int64) bool {
	if bytes > f.r.left {
		return false
	}
	f.r.left -= bytes
	return true
}

// sameShape reports whether two values are known to have one shape.
func (f *finder) sameShape(a, b graph.ValueID) bool {
	return sameShape(f.fact(a).Shape, f.fact(b).Shape)
}

func sameShape(a, b graph.Shape) bool {
	if a.Unranked() || b.Unranked() || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) {
			return false
		}
	}
	return true
}

// sorted returns indices in ascending order, each once.
func sorted(ids []int) []int {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}
