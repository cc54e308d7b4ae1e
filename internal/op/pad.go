package op

import "github.com/stowage-ml/stowage/internal/graph"

// inferPad reads pads from an attribute (through version 10) or an input: for each axis how much
// to add before, then for each how much after; negative numbers take away.
func inferPad(c *Ctx) error {
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, nil)
	switch mode := c.Node.Attrs.Str("mode", "constant"); mode {
	case "constant", "reflect", "edge", "wrap":
	default:
		return c.Errf("mode: got %q, want constant, reflect, edge or wrap", mode)
	}
	if _, err := c.oneType(0, 2); err != nil {
		return err
	}
	if err := c.wantScalars(2); err != nil {
		return err
	}
	if in.Unranked() {
		return nil
	}
	pads := c.dimsOf("pads", 1)
	axes, given, known := c.IntsOf("axes", 3)
	if !known || pads == nil {
		c.Set(0, c.In[0].DType, unknownShape(len(in)))
		return nil
	}
	if !given {
		for i := range in {
			axes = append(axes, int64(i))
		}
	}
	list, err := c.Axes(axes, len(in))
	if err != nil {
		return err
	}
	if len(pads) != 2*len(list) {
		return c.Errf("pads: got %d numbers, want %d", len(pads), 2*len(list))
	}
	out := in.Clone()
	for i, a := range list {
		out[a] = in[a].Add(pads[i].Add(pads[i+len(list)]))
		if n, ok := out[a].Int(); ok && n < 0 {
			return c.Errf("pads: got %v for shape %v, want extents of 0 or more", graph.Shape(pads), in)
		}
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}
