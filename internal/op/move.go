package op

import "github.com/stowage-ml/stowage/internal/graph"

var moveRows = []Row{
	{Op: "Transpose", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferTranspose, Work: moved},
	{Op: "Concat", In: Arity{1, -1}, Out: Arity{1, 1}, Infer: inferConcat, Work: moved, Joins: true},
	{Op: "Split", In: Arity{1, 2}, Out: Arity{1, -1}, Infer: inferSplit, Contents: []int{1}, Work: moved, Parts: true},
	{Op: "Slice", In: Arity{1, 5}, Out: Arity{1, 1}, Infer: inferSlice, Contents: []int{1, 2, 3, 4}, Work: written},
	{Op: "Pad", In: Arity{1, 4}, Out: Arity{1, 1}, Infer: inferPad, Contents: []int{1, 3}, Work: moved},
	{Op: "Tile", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferTile, Contents: []int{1}, Work: written},
	{Op: "Trilu", In: Arity{1, 2}, Out: Arity{1, 1}, Infer: inferTrilu, Work: moved, InPlace: []int{0}},
	{Op: "ReverseSequence", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferReverseSequence, Work: moved},
	{Op: "DepthToSpace", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferDepthToSpace, Work: moved},
	{Op: "SpaceToDepth", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferSpaceToDepth, Work: moved},
	{Op: "CenterCropPad", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferCenterCropPad, Contents: []int{1}, Work: moved},
}

// written is the work of an operator that reads only what it writes.
func written(c *Ctx) Work {
	n, ok := c.Out[0].Shape.Elements().Int()
	size, sok := c.Out[0].DType.ByteSize(n)
	if !ok || !sok {
		return Work{}
	}
	return Work{Bytes: 2 * float64(size)}
}

func inferTranspose(c *Ctx) error {
	in := c.In[0].Shape
	perm := c.Node.Attrs.Ints("perm", nil)
	c.Set(0, c.In[0].DType, nil)
	if in.Unranked() {
		if perm != nil {
			c.Set(0, c.In[0].DType, unknownShape(len(perm)))
		}
		return nil
	}
	out := make(graph.Shape, len(in))
	if perm == nil {
		for i, d := range in {
			out[len(in)-1-i] = d
		}
	} else {
		list, err := c.Axes(perm, len(in))
		if err != nil || len(list) != len(in) {
			return c.Errf("perm: got %v, want a permutation of %d dimensions", perm, len(in))
		}
		for i, p := range list {
			out[i] = in[p]
		}
	}
	c.Set(0, c.In[0].DType, out)
	if len(in) <= 1 {
		c.keepValue()
	}
	return nil
}

func inferConcat(c *Ctx) error {
	dt, err := c.oneType()
	if err != nil {
		return err
	}
	rank := -1
	for i := range c.In {
		if s := c.In[i].Shape; !s.Unranked() {
			if rank >= 0 && len(s) != rank {
				return c.Errf("input %d: got shape %v, want rank %d like the inputs before it", i, s, rank)
			}
			rank = len(s)
		}
	}
	c.Set(0, dt, nil)
	if rank < 0 {
		return nil
	}
	axis, err := c.AxisAttr("axis", 1, rank)
	if err != nil {
		return err
	}
	out, err := c.concatShape(rank, axis)
	if err != nil {
		return err
	}
	c.Set(0, dt, out)
	if rank == 1 {
		c.concatValues()
	}
	return nil
}

// concatShape adds up the extents along axis; all others must be equal.
func (c *Ctx) concatShape(rank, axis int) (graph.Shape, error) {
	out := unknownShape(rank)
	out[axis] = graph.Known(0)
	for i := range c.In {
		s := c.In[i].Shape
		if s.Unranked() {
			out[axis] = graph.Unknown()
			continue
		}
		for d := range s {
			if d == axis {
				out[d] = out[d].Add(s[d])
				continue
			}
			m, ok := agree(out[d], s[d])
			if !ok {
				return nil, c.Errf("input %d: got shape %v, want %v at dimension %d like the inputs before it", i, s, out[d], d)
			}
			out[d] = m
		}
	}
	return out, nil
}

// agree joins two extents that must be equal; ok is false when they are known to differ. The one
// of which more is known stands.
func agree(a, b graph.Dim) (graph.Dim, bool) {
	switch {
	case isNumber(a) && isNumber(b):
		return a, a.Same(b)
	case isNumber(b) || a.IsUnknown():
		return b, true
	}
	return a, true
}

func (c *Ctx) concatValues() {
	var all []graph.Dim
	for i := range c.In {
		vals, _, ok := contents(&c.In[i])
		if !ok {
			return
		}
		all = append(all, vals...)
	}
	c.setValue(0, all)
}

func inferTile(c *Ctx) error {
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, nil)
	if in.Unranked() {
		if n, ok := c.listLen(1); ok {
			c.Set(0, c.In[0].DType, unknownShape(n))
		}
		return nil
	}
	out := unknownShape(len(in))
	if repeats, ok := c.In[1].Dims(); ok {
		if len(repeats) != len(in) {
			return c.Errf("repeats: got %d, want %d", len(repeats), len(in))
		}
		for i, r := range repeats {
			if n, known := r.Int(); known && n < 0 {
				return c.Errf("repeats: got %d, want 0 or more", n)
			}
			if r.NonNegative() {
				out[i] = in[i].Mul(r)
			}
		}
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}

func inferTrilu(c *Ctx) error {
	if s := c.In[0].Shape; !s.Unranked() && len(s) < 2 {
		return c.Errf("input: got shape %v, want at least two dimensions", s)
	}
	if err := c.wantScalars(1); err != nil {
		return err
	}
	return inferSame(c)
}

func inferReverseSequence(c *Ctx) error {
	if s := c.In[0].Shape; !s.Unranked() {
		batch, time := c.Node.Attrs.Int("batch_axis", 1), c.Node.Attrs.Int("time_axis", 0)
		if list, err := c.Axes([]int64{batch, time}, len(s)); err != nil {
			return err
		} else if list[0]+list[1] != 1 {
			return c.Errf("batch_axis and time_axis: got %d and %d, want the first two dimensions", batch, time)
		} else if n, ok := agree(s[list[0]], c.In[1].Shape.Elements()); !ok {
			return c.Errf("sequence_lens: got shape %v, want %v numbers", c.In[1].Shape, n)
		}
	}
	return inferSame(c)
}

// blockOf returns the attribute blocksize, and fails unless the input has four dimensions.
func (c *Ctx) blockOf() (int64, error) {
	b := c.Node.Attrs.Int("blocksize", 0)
	if b <= 0 || b > 1<<20 {
		return 0, c.Errf("blocksize: got %d, want a positive number", b)
	}
	if s := c.In[0].Shape; !s.Unranked() && len(s) != 4 {
		return 0, c.Errf("input: got shape %v, want four dimensions", s)
	}
	return b, nil
}

func inferDepthToSpace(c *Ctx) error {
	b, err := c.blockOf()
	if err != nil {
		return err
	}
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, unknownShape(4))
	if in.Unranked() {
		return nil
	}
	if n, ok := in[1].Int(); ok && n%(b*b) != 0 {
		return c.Errf("input: got %d channels, want a multiple of %d", n, b*b)
	}
	k := graph.Known(b)
	c.Set(0, c.In[0].DType, graph.Shape{in[0], in[1].Div(graph.Known(b * b)), in[2].Mul(k), in[3].Mul(k)})
	return nil
}

func inferSpaceToDepth(c *Ctx) error {
	b, err := c.blockOf()
	if err != nil {
		return err
	}
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, unknownShape(4))
	if in.Unranked() {
		return nil
	}
	for i := 2; i < 4; i++ {
		if n, ok := in[i].Int(); ok && n%b != 0 {
			return c.Errf("input: got shape %v, want height and width that are multiples of %d", in, b)
		}
	}
	k := graph.Known(b)
	c.Set(0, c.In[0].DType, graph.Shape{in[0], in[1].Mul(graph.Known(b * b)), in[2].Div(k), in[3].Div(k)})
	return nil
}

func inferCenterCropPad(c *Ctx) error {
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, nil)
	if in.Unranked() {
		return nil
	}
	axes := c.Node.Attrs.Ints("axes", nil)
	if axes == nil {
		for i := range in {
			axes = append(axes, int64(i))
		}
	}
	list, err := c.Axes(axes, len(in))
	if err != nil {
		return err
	}
	target, err := c.shapeFrom(1)
	if err != nil {
		return err
	}
	if target != nil && len(target) != len(list) {
		return c.Errf("shape: got %v, want %d extents", target, len(list))
	}
	out := in.Clone()
	for i, a := range list {
		out[a] = graph.Unknown()
		if target != nil {
			out[a] = target[i]
		}
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}
