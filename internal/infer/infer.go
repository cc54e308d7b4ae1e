// Package infer finds the type, the shape and, where they follow from shapes and constants, the
// contents of every value of a graph. It works on symbolic extents and on numbers alike, and
// knows nothing of kernels (a caller may lend it an evaluator), devices or memory. Extents are
// in elements.
package infer

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Eval computes a node from known inputs (nil for an absent one).
type Eval func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error)

// Inferrer infers the values of one graph, node by node, in the graph's order.
type Inferrer struct {
	g     *graph.Graph
	facts []op.Fact
	// scratch is the context of the node that is being inferred.
	scratch op.Ctx
	// Eval, when set, computes nodes whose inputs' contents are all known and whose outputs
	// have at most op.MaxValue elements.
	Eval Eval
	// Declared makes what the file declares fill in what inference leaves unknown. It is for
	// showing a model; a plan must not rest on a file's word.
	Declared bool
	// Warn, when set, is told where a file's declarations contradict what is inferred.
	Warn func(string)
	// Visit, when set, is called for every node, subgraphs included, once its facts are known, which
	// it must not keep. A loop's body may be visited more than once.
	Visit func(n *graph.Node, in, out []op.Fact)
}

// New returns an inferrer that knows the graph's constants.
func New(g *graph.Graph) *Inferrer {
	inf := &Inferrer{g: g, facts: make([]op.Fact, len(g.Values))}
	for i := range g.Values {
		if t := g.Values[i].Const; t != nil {
			inf.facts[i] = op.FactOf(t)
		}
	}
	return inf
}

// Follow makes the inferrer one for a graph that has grown out of its own: values keep their ids, and what is
// known of them, and more may have been added.
func (inf *Inferrer) Follow(g *graph.Graph) {
	inf.g = g
	for i := len(inf.facts); i < len(g.Values); i++ {
		var f op.Fact
		if t := g.Values[i].Const; t != nil {
			f = op.FactOf(t)
		}
		inf.facts = append(inf.facts, f)
	}
}

// Set supplies the fact of an input, a capture, or any value that is computed elsewhere.
func (inf *Inferrer) Set(v graph.ValueID, f op.Fact) { inf.facts[v] = f }

// Fact returns what is known of a value; the zero Fact for graph.NoValue.
func (inf *Inferrer) Fact(v graph.ValueID) *op.Fact {
	if v == graph.NoValue {
		return &op.Fact{}
	}
	return &inf.facts[v]
}

// All infers every node of the graph in order and stops at the first error.
func (inf *Inferrer) All() error {
	for _, n := range inf.g.Nodes {
		if err := inf.Node(n); err != nil {
			return err
		}
	}
	return nil
}

// Node infers one node from the facts of what it reads. A node whose operator has no row
// leaves its outputs as the file declares them.
func (inf *Inferrer) Node(n *graph.Node) error {
	c := inf.fill(&inf.scratch, n)
	if r := op.Lookup(n.Domain, n.Op); r != nil {
		if err := r.CheckArity(n); err != nil {
			return fmt.Errorf("infer: node %s: %w", n.Label(), err)
		}
		if err := r.Infer(c); err != nil {
			return fmt.Errorf("infer: node %s: %w", n.Label(), err)
		}
		if err := inf.evaluate(n, r, c); err != nil {
			return fmt.Errorf("infer: node %s: %w", n.Label(), err)
		}
	}
	for i, v := range n.Outputs {
		if v == graph.NoValue {
			continue
		}
		inf.facts[v] = c.Out[i]
		inf.merge(v)
		if err := checkShape(c.Out[i].Shape); err != nil {
			return fmt.Errorf("infer: node %s: output %q: %w", n.Label(), inf.g.Values[v].Name, err)
		}
		c.Out[i] = inf.facts[v]
	}
	if inf.Visit != nil {
		inf.Visit(n, c.In, c.Out)
	}
	return nil
}

// Ctx returns the node with its inputs' facts, and its outputs' as far as they are known.
func (inf *Inferrer) Ctx(n *graph.Node) *op.Ctx {
	return inf.fill(&op.Ctx{}, n)
}

// fill sets c to what Ctx returns, in the memory that it has.
func (inf *Inferrer) fill(c *op.Ctx, n *graph.Node) *op.Ctx {
	in, out := c.In[:0], slices.Grow(c.Out[:0], len(n.Outputs))[:len(n.Outputs)]
	clear(out)
	for _, v := range n.Inputs {
		in = append(in, *inf.Fact(v))
	}
	*c = op.Ctx{Node: n, In: in, Out: out, Body: c.Body}
	if c.Body == nil {
		c.Body = inf.body
	}
	return c
}

func (inf *Inferrer) body(g *graph.Graph, in []op.Fact) ([]op.Fact, error) {
	if len(in) != len(g.Inputs) {
		return nil, fmt.Errorf("body %q: got %d inputs, want %d", g.Name, len(in), len(g.Inputs))
	}
	sub := New(g)
	sub.Eval, sub.Declared, sub.Warn, sub.Visit = inf.Eval, inf.Declared, inf.Warn, inf.Visit
	for i, v := range g.Inputs {
		sub.facts[v] = in[i]
	}
	for _, c := range g.Captures {
		sub.facts[c.Inner] = inf.facts[c.Outer]
	}
	if err := sub.All(); err != nil {
		return nil, err
	}
	out := make([]op.Fact, len(g.Outputs))
	for i, v := range g.Outputs {
		out[i] = *sub.Fact(v)
	}
	return out, nil
}

// evaluate fills in the contents of the outputs when all inputs are known.
func (inf *Inferrer) evaluate(n *graph.Node, r *op.Row, c *op.Ctx) error {
	if inf.Eval == nil || r.Random || r.Control || r.Dynamic || len(n.Inputs) == 0 || known(c.Out) || !small(c.Out) {
		return nil
	}
	in := make([]*tensor.Tensor, len(c.In))
	for i := range c.In {
		if n.Inputs[i] == graph.NoValue {
			continue
		}
		if in[i] = Contents(&c.In[i]); in[i] == nil {
			return nil
		}
	}
	out, err := inf.Eval(n, in)
	if err != nil {
		return err
	}
	for i, t := range out {
		if t != nil {
			c.Out[i] = op.FactOf(t)
		}
	}
	return nil
}

// known reports whether the contents of all facts are known.
func known(fs []op.Fact) bool {
	for i := range fs {
		if !Known(&fs[i]) {
			return false
		}
	}
	return true
}

// Known reports whether every element of the value is known.
func Known(f *op.Fact) bool {
	if f.Const != nil {
		return true
	}
	_, ok := f.Ints()
	return ok
}

func small(fs []op.Fact) bool {
	for i := range fs {
		n, ok := fs[i].Shape.Elements().Int()
		if !ok || n > op.MaxValue {
			return false
		}
	}
	return true
}

// Contents returns the value as a tensor when every element is known, else nil.
func Contents(f *op.Fact) *tensor.Tensor {
	if f.Const != nil {
		return f.Const
	}
	ns, ok := f.Ints()
	shape, sok := f.Shape.Concrete()
	if !ok || !sok {
		return nil
	}
	t, err := tensor.Zeros(f.DType, shape)
	if err != nil || t.Len() != len(ns) {
		return nil
	}
	switch f.DType {
	case tensor.Int64:
		copy(tensor.Cast[int64](t.Bytes()), ns)
	case tensor.Int32:
		d := tensor.Cast[int32](t.Bytes())
		for i, n := range ns {
			d[i] = int32(n)
		}
	case tensor.Bool:
		for i, n := range ns {
			if n != 0 {
				t.Bytes()[i] = 1
			}
		}
	default:
		return nil
	}
	return t
}

// merge fills gaps of a fact from the file's declaration and reports contradictions.
func (inf *Inferrer) merge(v graph.ValueID) {
	f, decl := &inf.facts[v], &inf.g.Values[v].Type
	if f.DType == tensor.Undefined {
		f.DType = decl.DType
	}
	if inf.Warn != nil && decl.DType != tensor.Undefined && f.DType != decl.DType {
		inf.Warn(fmt.Sprintf("value %q: the file declares %v, inferred %v", inf.g.Values[v].Name, decl.DType, f.DType))
	}
	if decl.Shape == nil {
		return
	}
	if f.Shape == nil {
		if inf.Declared {
			f.Shape = decl.Shape
		}
		return
	}
	if inf.Warn != nil && contradicts(f.Shape, decl.Shape) {
		inf.Warn(fmt.Sprintf("value %q: the file declares shape %v, inferred %v",
			inf.g.Values[v].Name, decl.Shape, f.Shape))
		return
	}
	if !inf.Declared || len(decl.Shape) != len(f.Shape) {
		return
	}
	for i, d := range f.Shape {
		if d.IsUnknown() && !decl.Shape[i].IsUnknown() {
			f.Shape = f.Shape.Clone()
			f.Shape[i] = decl.Shape[i]
		}
	}
}

func contradicts(a, b graph.Shape) bool {
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		x, xok := a[i].Int()
		y, yok := b[i].Int()
		if xok && yok && x != y {
			return true
		}
	}
	return false
}

// checkShape refuses shapes that no tensor can have.
func checkShape(s graph.Shape) error {
	if len(s) > tensor.MaxRank {
		return fmt.Errorf("shape %v: got rank %d, want at most %d", s, len(s), tensor.MaxRank)
	}
	for i, d := range s {
		if n, ok := d.Int(); ok && n < 0 {
			return fmt.Errorf("shape %v: dim %d: got %d, want at least 0", s, i, n)
		}
	}
	if s.IsConcrete() {
		if n, ok := s.Counted(); !ok || n > 1<<56 {
			return fmt.Errorf("shape %v: the number of elements overflows", s)
		}
	}
	return nil
}
