package op

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// Domain is that of the operators that passes make; no file's nodes are in it.
const Domain = "stowage"

// Fused is the operator that holds other nodes, to be run as one. Its attribute "body" is a graph
// without captures whose inputs and outputs are the node's, one to one and all present, and whose
// nodes are the ones that were fused. The body holds no constants: they are inputs.
const Fused = "Fused"

// fusedRow is no part of the table, since it looks up the rows of the body's nodes there.
func fusedRow() *Row {
	return &Row{Domain: Domain, Op: Fused, In: Arity{1, -1}, Out: Arity{1, -1}, Infer: inferFused, Work: workFused,
		InPlaceOf: fusedInPlace}
}

// IsFused reports whether the node is a Fused one.
func IsFused(n *graph.Node) bool { return n.Domain == Domain && n.Op == Fused }

// BodyFacts infers a body without captures and control nodes, and returns the facts of all its
// values. in has a fact for each of its inputs, of which graph.NoValue is an absent one.
func BodyFacts(g *graph.Graph, in []Fact) ([]Fact, error) {
	if len(in) != len(g.Inputs) {
		return nil, fmt.Errorf("body: got %d inputs, want %d", len(g.Inputs), len(in))
	}
	facts := make([]Fact, len(g.Values))
	for i := range g.Values {
		if t := g.Values[i].Const; t != nil {
			facts[i] = FactOf(t)
		}
	}
	for i, v := range g.Inputs {
		if v != graph.NoValue {
			facts[v] = in[i]
		}
	}
	c := &Ctx{}
	for _, n := range g.Nodes {
		c.fill(n, facts)
		r := Lookup(n.Domain, n.Op)
		if r == nil {
			return nil, fmt.Errorf("body: node %s: unknown operator", n.Label())
		}
		if err := r.CheckArity(n); err != nil {
			return nil, fmt.Errorf("body: node %s: %w", n.Label(), err)
		}
		if err := r.Infer(c); err != nil {
			return nil, fmt.Errorf("body: node %s: %w", n.Label(), err)
		}
		for i, v := range n.Outputs {
			if v != graph.NoValue {
				facts[v] = c.Out[i]
			}
		}
	}
	return facts, nil
}

// fill makes c that of a node of a body, in the memory that it has.
func (c *Ctx) fill(n *graph.Node, facts []Fact) {
	in, out := c.In[:0], c.Out[:0]
	for _, v := range n.Inputs {
		in = append(in, factAt(facts, v))
	}
	for _, v := range n.Outputs {
		out = append(out, factAt(facts, v))
	}
	*c = Ctx{Node: n, In: in, Out: out}
}

// factAt returns a value's fact; the zero Fact for graph.NoValue.
func factAt(facts []Fact, v graph.ValueID) Fact {
	if v == graph.NoValue {
		return Fact{}
	}
	return facts[v]
}

func inferFused(c *Ctx) error {
	g, err := c.attrBody("body")
	if err != nil {
		return err
	}
	if err := c.plainBody(g); err != nil {
		return err
	}
	facts, err := BodyFacts(g, c.In)
	if err != nil {
		return err
	}
	for i, v := range g.Outputs {
		c.Out[i] = facts[v]
	}
	return nil
}

// plainBody checks what Fused asks of its body beside that its nodes can be inferred.
func (c *Ctx) plainBody(g *graph.Graph) error {
	if len(g.Outputs) != len(c.Out) || len(g.Inputs) != len(c.In) || len(g.Captures) > 0 {
		return c.Errf("body: got %d inputs, %d outputs and %d captures, want %d, %d and none",
			len(g.Inputs), len(g.Outputs), len(g.Captures), len(c.In), len(c.Out))
	}
	if slices.Contains(c.Node.Inputs, graph.NoValue) || slices.Contains(c.Node.Outputs, graph.NoValue) {
		return c.Errf("got an absent operand, want all present")
	}
	written := make([]bool, len(g.Values))
	for _, n := range g.Nodes {
		if r := Lookup(n.Domain, n.Op); r == nil || r.Control || r.Dynamic || r.Random {
			return c.Errf("body: node %s: got an operator that cannot be fused", n.Label())
		}
		for _, v := range n.Outputs {
			if v != graph.NoValue {
				written[v] = true
			}
		}
	}
	for _, v := range g.Outputs {
		if !written[v] {
			return c.Errf("body: output %q: got no node, or two outputs, that it is of", g.ValueName(v))
		}
		written[v] = false
	}
	return nil
}

// workFused is the work of the body's nodes, on what the node itself reads and writes.
func workFused(c *Ctx) Work {
	flops := 0.0
	if g := c.Node.Attrs.Graph("body"); g != nil && len(g.Inputs) == len(c.In) {
		facts, err := BodyFacts(g, c.In)
		if err != nil {
			return working(c, 0)
		}
		var m Ctx
		for _, n := range g.Nodes {
			m.fill(n, facts)
			flops += Lookup(n.Domain, n.Op).WorkOf(&m).FLOPs
		}
	}
	return working(c, flops)
}

// WorkOf returns the node's work: what Work says, or one operation for each output element.
func (r *Row) WorkOf(c *Ctx) Work {
	if r.Work == nil {
		return perElement(flopsPlain)(c)
	}
	return r.Work(c)
}

// fusedInPlace lists the inputs that the output may overwrite: of a body whose nodes are all
// elementwise, those of the output's type. An input that is as large as the output is then read
// at the same index only; but the last node, which writes the output, must allow it too.
func fusedInPlace(n *graph.Node) []int {
	g := n.Attrs.Graph("body")
	if g == nil || len(g.Nodes) == 0 || len(g.Outputs) != 1 {
		return nil
	}
	for _, m := range g.Nodes {
		if r := Lookup(m.Domain, m.Op); r == nil || !r.Elementwise {
			return nil
		}
	}
	last := g.Nodes[len(g.Nodes)-1]
	if last.Outputs[0] != g.Outputs[0] {
		return nil
	}
	dt := g.Values[g.Outputs[0]].DType
	var out []int
	for i, v := range g.Inputs {
		if dt != tensor.Undefined && g.Values[v].DType == dt && MayOverwrite(last, v) {
			out = append(out, i)
		}
	}
	return out
}

// MayOverwrite reports whether the node's first output may overwrite what it reads of v: nothing,
// or one input that its row lists.
func MayOverwrite(n *graph.Node, v graph.ValueID) bool {
	over := Lookup(n.Domain, n.Op).Overwrites(n)
	reads := 0
	for i, in := range n.Inputs {
		if in != v {
			continue
		}
		if reads++; reads > 1 || !slices.Contains(over, i) {
			return false
		}
	}
	return true
}
