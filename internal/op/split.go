package op

import "github.com/stowage-ml/stowage/internal/graph"

// inferSplit divides one dimension: by a list of extents, from an attribute (through version 12)
// or an input; or else into as many parts as there are outputs, the last one smaller.
func inferSplit(c *Ctx) error {
	in := c.In[0].Shape
	for i := range c.Out {
		c.Set(i, c.In[0].DType, nil)
	}
	if in.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", 0, len(in))
	if err != nil {
		return err
	}
	sizes, err := c.splitSizes(in[axis])
	if err != nil {
		return err
	}
	for i := range c.Out {
		s := in.Clone()
		s[axis] = sizes[i]
		c.Set(i, c.In[0].DType, s)
	}
	if len(in) == 1 {
		c.splitValues(sizes)
	}
	return nil
}

// splitSizes returns the extent of each output along the axis, whose extent is d.
func (c *Ctx) splitSizes(d graph.Dim) ([]graph.Dim, error) {
	parts := int64(len(c.Out))
	list := c.dimsOf("split", 1)
	switch {
	case list == nil && c.Has(1):
		return unknownShape(len(c.Out)), nil
	case list == nil:
		return c.equalParts(d, c.Node.Attrs.Int("num_outputs", parts))
	case int64(len(list)) != parts:
		return nil, c.Errf("split: got %d parts, want %d like outputs", len(list), parts)
	}
	sum := graph.Known(0)
	for _, s := range list {
		if n, ok := s.Int(); ok && n < 0 {
			return nil, c.Errf("split: got %v, want no negative extents", graph.Shape(list))
		}
		sum = sum.Add(s)
	}
	if isNumber(sum) && isNumber(d) && !sum.Same(d) {
		return nil, c.Errf("split: got %v, want parts of the extent %v", graph.Shape(list), d)
	}
	return list, nil
}

func (c *Ctx) equalParts(d graph.Dim, parts int64) ([]graph.Dim, error) {
	if parts != int64(len(c.Out)) {
		return nil, c.Errf("num_outputs: got %d, want %d like outputs", parts, len(c.Out))
	}
	k := graph.Known(parts)
	n, known := d.Int()
	switch {
	case divides(d, parts):
		return repeated(d.Div(k), int(parts)), nil
	case c.Node.Version < 18 && known:
		return nil, c.Errf("split: got an extent of %d for %d outputs, want equal parts", n, parts)
	case c.Node.Version < 18:
		return repeated(d.Div(k), int(parts)), nil
	}
	out := unknownShape(int(parts))
	out[0] = d.CeilDiv(k)
	for i := range out {
		if size, ok := out[0].Int(); ok {
			out[i] = graph.Known(min(size, max(0, n-int64(i)*size)))
		}
	}
	return out, nil
}

// divides reports whether d is known to be a multiple of n.
func divides(d graph.Dim, n int64) bool {
	k := graph.Known(n)
	return d.Div(k).Mul(k).Same(d)
}

func (c *Ctx) splitValues(sizes []graph.Dim) {
	vals, ok := c.In[0].Dims()
	if !ok {
		return
	}
	for i, s := range sizes {
		n, known := s.Int()
		if !known || n > int64(len(vals)) {
			return
		}
		c.setValue(i, vals[:n])
		vals = vals[n:]
	}
}
