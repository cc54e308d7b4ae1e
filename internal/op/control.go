package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var controlRows = []Row{
	{Op: "If", In: Arity{1, 1}, Out: Arity{1, -1}, Infer: inferIf, Control: true, Work: moved},
	{Op: "Loop", In: Arity{2, -1}, Out: Arity{1, -1}, Infer: inferLoop, Control: true, Work: moved},
	{Op: "Scan", In: Arity{1, -1}, Out: Arity{1, -1}, Infer: inferScan, Control: true, Work: moved},
}

// attrBody returns the subgraph called name.
func (c *Ctx) attrBody(name string) (*graph.Graph, error) {
	g := c.Node.Attrs.Graph(name)
	if g == nil {
		return nil, c.Errf("attribute %s: got none, want a graph", name)
	}
	return g, nil
}

// flag returns the value of a boolean tensor of one element, when it is known.
func (f *Fact) flag() (value, known bool) {
	ns, ok := f.Ints()
	return ok && len(ns) == 1 && ns[0] != 0, ok && len(ns) == 1
}

// inferIf takes the facts of the branch that will run, or what both branches agree on. A branch
// that can never be right leaves the other one.
func inferIf(c *Ctx) error {
	then, err := c.attrBody("then_branch")
	if err != nil {
		return err
	}
	other, err := c.attrBody("else_branch")
	if err != nil {
		return err
	}
	if taken, known := c.In[0].flag(); known {
		if !taken {
			then = other
		}
		return c.branch(then, c.Out)
	}
	a, b := make([]Fact, len(c.Out)), make([]Fact, len(c.Out))
	aerr, berr := c.branch(then, a), c.branch(other, b)
	switch {
	case aerr != nil && berr != nil:
		return aerr
	case aerr != nil:
		copy(c.Out, bare(b))
		return nil
	case berr != nil:
		copy(c.Out, bare(a))
		return nil
	}
	for i := range c.Out {
		if c.Out[i], err = c.join(a[i], b[i]); err != nil {
			return c.Errf("output %d of the two branches: %w", i, err)
		}
	}
	return nil
}

// branch infers a body without inputs.
func (c *Ctx) branch(g *graph.Graph, out []Fact) error {
	got, err := c.body(g, nil, len(out))
	copy(out, got)
	return err
}

// body infers a subgraph and checks how many outputs it has.
func (c *Ctx) body(g *graph.Graph, in []Fact, outputs int) ([]Fact, error) {
	if c.Body == nil {
		return nil, c.Errf("body %q: there is nothing to infer it with", g.Name)
	}
	out, err := c.Body(g, in)
	if err == nil && len(out) != outputs {
		return nil, c.Errf("body %q: got %d outputs, want %d", g.Name, len(out), outputs)
	}
	return out, err
}

// bare returns facts without contents.
func bare(fs []Fact) []Fact {
	out := make([]Fact, len(fs))
	for i, f := range fs {
		out[i] = Fact{DType: f.DType, Shape: f.Shape}
	}
	return out
}

// join returns what holds whichever of two facts holds: their type, and the extents that they
// share.
func (c *Ctx) join(a, b Fact) (Fact, error) {
	out := Fact{DType: a.DType}
	switch {
	case a.DType == tensor.Undefined:
		out.DType = b.DType
	case b.DType != tensor.Undefined && b.DType != a.DType:
		return out, c.Errf("got %v and %v, want one type", a.DType, b.DType)
	}
	if a.Shape.Unranked() || b.Shape.Unranked() || len(a.Shape) != len(b.Shape) {
		return out, nil
	}
	out.Shape = make(graph.Shape, len(a.Shape))
	for i, d := range a.Shape {
		out.Shape[i] = d
		if !d.Same(b.Shape[i]) {
			out.Shape[i] = graph.Unknown()
		}
	}
	return out, nil
}

// settle finds facts for what one iteration hands to the next that hold before and after every
// iteration: it starts with the initial ones and gives up extents that the body changes. step
// infers the body and returns all its outputs, of which the carried ones begin at first.
func (c *Ctx) settle(initial []Fact, first int, step func(carried []Fact) ([]Fact, error)) (
	carried, out []Fact, err error) {
	carried = bare(initial)
	for {
		if out, err = step(carried); err != nil {
			return nil, nil, err
		}
		changed := false
		for i := range carried {
			next, err := c.join(carried[i], out[first+i])
			if err != nil {
				return nil, nil, c.Errf("carried value %d before and after the body: %w", i, err)
			}
			changed = changed || next.DType != carried[i].DType || !sameExtents(next.Shape, carried[i].Shape)
			carried[i] = next
		}
		if !changed {
			return carried, out, nil
		}
	}
}

// sameExtents reports whether two shapes say the same; two unknown extents do.
func sameExtents(a, b graph.Shape) bool {
	if a.Unranked() != b.Unranked() || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) && !(a[i].IsUnknown() && b[i].IsUnknown()) {
			return false
		}
	}
	return true
}

// inferLoop: the body takes the iteration number, the condition (true whenever it runs) and the
// carried values, and returns the condition, the carried values and one element of each scan
// output.
func inferLoop(c *Ctx) error {
	g, err := c.attrBody("body")
	if err != nil {
		return err
	}
	n := max(len(c.In)-2, 0)
	scans := len(g.Outputs) - 1 - n
	if scans < 0 || len(c.Out) > n+scans || len(g.Inputs) != 2+n {
		return c.Errf("body: got %d inputs and %d outputs for %d carried values, want %d and at least %d",
			len(g.Inputs), len(g.Outputs), n, 2+n, 1+n)
	}
	head := []Fact{{DType: tensor.Int64, Shape: graph.Shape{}}, FactOf(tensor.Scalar(true))}
	carried, out, err := c.settle(c.In[len(c.In)-n:], 1, func(carried []Fact) ([]Fact, error) {
		return c.body(g, append(append([]Fact{}, head...), carried...), 1+n+scans)
	})
	if err != nil {
		return err
	}
	trips := c.loopTrips(&out[0])
	if trips.Is(0) {
		carried = c.In[len(c.In)-n:]
	}
	for i := range c.Out {
		if i < n {
			c.Out[i] = carried[i]
			continue
		}
		c.Set(i, out[1+i].DType, stacked(out[1+i].Shape, 0, trips))
	}
	return nil
}

// loopTrips returns how often a loop runs, given the condition that its body returns.
func (c *Ctx) loopTrips(again *Fact) graph.Dim {
	trips := graph.Unknown()
	if m, ok := c.Arg(0).Dims(); ok && len(m) == 1 {
		trips = maxValue(m[0], graph.Known(0))
	}
	begins, known := true, true
	if c.Has(1) {
		begins, known = c.In[1].flag()
	}
	stays, sure := again.flag()
	switch {
	case known && !begins, trips.Is(0):
		return graph.Known(0)
	case known && sure && stays:
		return trips
	}
	return graph.Unknown()
}

// stacked returns the shape of n elements put side by side along a new dimension.
func stacked(s graph.Shape, axis int, n graph.Dim) graph.Shape {
	if s.Unranked() {
		return nil
	}
	out := append(graph.Shape{}, s[:axis]...)
	return append(append(out, n), s[axis:]...)
}
