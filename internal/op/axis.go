package op

import "github.com/stowage-ml/stowage/internal/graph"

// Axis returns the dimension that axis names in a tensor of the given rank: negative ones count
// from the last.
func (c *Ctx) Axis(axis int64, rank int) (int, error) {
	r := int64(rank)
	if axis < -r || axis >= r {
		return 0, c.Errf("axis: got %d, want one in [%d, %d]", axis, -r, r-1)
	}
	if axis < 0 {
		axis += r
	}
	return int(axis), nil
}

// AxisAttr is Axis of the attribute called name, with its default.
func (c *Ctx) AxisAttr(name string, def int64, rank int) (int, error) {
	return c.Axis(c.Node.Attrs.Int(name, def), rank)
}

// Axes is Axis of every member of a list; naming a dimension twice is an error.
func (c *Ctx) Axes(axes []int64, rank int) ([]int, error) {
	out := make([]int, len(axes))
	seen := make([]bool, rank)
	for i, a := range axes {
		n, err := c.Axis(a, rank)
		if err != nil {
			return nil, err
		}
		if seen[n] {
			return nil, c.Errf("axes: got %v, want each dimension once", axes)
		}
		seen[n] = true
		out[i] = n
	}
	return out, nil
}

// IntsOf returns a list that some versions of an operator read from the attribute called name
// and others from an input. given says that the node has it in one of the two places, known
// that its contents are known.
func (c *Ctx) IntsOf(name string, input int) (ns []int64, given, known bool) {
	if a := c.Node.Attrs.Get(name); a != nil && a.Kind == graph.AttrInts {
		return a.Ints, true, true
	}
	if !c.Has(input) {
		return nil, false, true
	}
	ns, known = c.Arg(input).Ints()
	return ns, true, known
}

// unknownShape returns a shape of the given rank with unknown extents.
func unknownShape(rank int) graph.Shape {
	s := make(graph.Shape, rank)
	for i := range s {
		s[i] = graph.Unknown()
	}
	return s
}
