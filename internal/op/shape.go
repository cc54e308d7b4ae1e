package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var shapeRows = []Row{
	{Op: "Identity", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferIdentity, View: true, Work: moved},
	{Op: "Shape", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferShape, Work: noWork},
	{Op: "Size", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferSize, Work: noWork},
	{Op: "Reshape", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferReshape, View: true, Contents: []int{1}, Work: moved},
	{Op: "Squeeze", In: Arity{1, 2}, Out: Arity{1, 1}, Infer: inferSqueeze, View: true, Contents: []int{1}, Work: moved},
	{Op: "Unsqueeze", In: Arity{1, 2}, Out: Arity{1, 1}, Infer: inferUnsqueeze, View: true, Contents: []int{1},
		Work: moved},
	{Op: "Flatten", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferFlatten, View: true, Work: moved},
	{Op: "ConstantOfShape", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferConstantOfShape, Contents: []int{0},
		Work: moved},
	{Op: "Expand", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferExpand, Contents: []int{1}, Work: moved},
	{Op: "Range", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferRange, Contents: []int{0, 1, 2}, Work: moved},
	{Op: "EyeLike", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferEyeLike, Work: moved},
}

// noWork is the work of what looks only at shapes.
func noWork(*Ctx) Work { return Work{} }

func inferIdentity(c *Ctx) error {
	c.Out[0] = c.In[0]
	return nil
}

func inferShape(c *Ctx) error {
	s := c.In[0].Shape
	if s.Unranked() {
		c.Set(0, tensor.Int64, graph.Shape{graph.Unknown()})
		return nil
	}
	clamp := func(i int64) int64 {
		if i < 0 {
			i += int64(len(s))
		}
		return min(max(i, 0), int64(len(s)))
	}
	start := clamp(c.Node.Attrs.Int("start", 0))
	end := max(start, clamp(c.Node.Attrs.Int("end", int64(len(s)))))
	c.Set(0, tensor.Int64, graph.Of(end-start))
	c.setValue(0, append([]graph.Dim{}, s[start:end]...))
	return nil
}

func inferSize(c *Ctx) error {
	c.Set(0, tensor.Int64, graph.Shape{})
	c.setValue(0, []graph.Dim{c.In[0].Shape.Elements()})
	return nil
}

// keepValue copies what is known of the contents of input 0 to output 0: for operators that
// change the shape alone.
func (c *Ctx) keepValue() {
	if vals, ok := c.In[0].Dims(); ok {
		c.setValue(0, vals)
	}
}

func inferSqueeze(c *Ctx) error {
	in := c.In[0].Shape
	axes, given, known := c.IntsOf("axes", 1)
	c.Set(0, c.In[0].DType, nil)
	switch {
	case !known:
		if n, ok := c.listLen(1); ok && !in.Unranked() && n <= len(in) {
			c.Set(0, c.In[0].DType, unknownShape(len(in)-n))
		}
		return nil
	case in.Unranked():
		return nil
	}
	drop := make([]bool, len(in))
	if !given {
		for i, d := range in {
			if !isNumber(d) {
				return nil
			}
			drop[i] = d.Is(1)
		}
	}
	list, err := c.Axes(axes, len(in))
	if err != nil {
		return err
	}
	for _, a := range list {
		if n, ok := in[a].Int(); ok && n != 1 {
			return c.Errf("axes: got %v, want dimensions of extent 1 in %v", axes, in)
		}
		drop[a] = true
	}
	out := graph.Shape{}
	for i, d := range in {
		if !drop[i] {
			out = append(out, d)
		}
	}
	c.Set(0, c.In[0].DType, out)
	c.keepValue()
	return nil
}

// listLen returns the length of an input that is a list.
func (c *Ctx) listLen(i int) (int, bool) {
	s := c.Arg(i).Shape
	if len(s) != 1 {
		return 0, false
	}
	n, ok := s[0].Int()
	return int(n), ok && n >= 0 && n <= tensor.MaxRank
}

func inferUnsqueeze(c *Ctx) error {
	in := c.In[0].Shape
	axes, given, known := c.IntsOf("axes", 1)
	c.Set(0, c.In[0].DType, nil)
	switch {
	case !given:
		return c.Errf("axes: got none, want a list")
	case !known:
		if n, ok := c.listLen(1); ok && !in.Unranked() {
			c.Set(0, c.In[0].DType, unknownShape(len(in)+n))
		}
		return nil
	case in.Unranked():
		return nil
	case len(in)+len(axes) > tensor.MaxRank:
		return c.Errf("axes: got %d for a tensor of rank %d, want at most rank %d", len(axes), len(in), tensor.MaxRank)
	}
	list, err := c.Axes(axes, len(in)+len(axes))
	if err != nil {
		return err
	}
	isNew := make([]bool, len(in)+len(axes))
	for _, a := range list {
		isNew[a] = true
	}
	out := make(graph.Shape, 0, len(isNew))
	next := 0
	for _, n := range isNew {
		if n {
			out = append(out, graph.Known(1))
			continue
		}
		out = append(out, in[next])
		next++
	}
	c.Set(0, c.In[0].DType, out)
	c.keepValue()
	return nil
}

func inferFlatten(c *Ctx) error {
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, unknownShape(2))
	if in.Unranked() {
		return nil
	}
	axis, r := c.Node.Attrs.Int("axis", 1), int64(len(in))
	if axis < -r || axis > r {
		return c.Errf("axis: got %d, want one in [%d, %d]", axis, -r, r)
	}
	if axis < 0 {
		axis += r
	}
	c.Set(0, c.In[0].DType, graph.Shape{in[:axis].Elements(), in[axis:].Elements()})
	return nil
}

// shapeFrom returns the shape that input i lists; nil when not even the rank is known.
func (c *Ctx) shapeFrom(i int) (graph.Shape, error) {
	dims, ok := c.In[i].Dims()
	if !ok {
		n, ok := c.listLen(i)
		if !ok {
			return nil, nil
		}
		return unknownShape(n), nil
	}
	if len(dims) > tensor.MaxRank {
		return nil, c.Errf("shape: got %d dimensions, want at most %d", len(dims), tensor.MaxRank)
	}
	out := make(graph.Shape, len(dims))
	for j, d := range dims {
		out[j] = d
		if n, known := d.Int(); known && n < 0 {
			return nil, c.Errf("shape: got %v, want no negative extents", graph.Shape(dims))
		} else if !d.NonNegative() {
			out[j] = graph.Unknown()
		}
	}
	return out, nil
}

func inferConstantOfShape(c *Ctx) error {
	dt := tensor.Float32
	value := c.Node.Attrs.Tensor("value")
	if value != nil {
		dt = value.DType()
		if value.Len() != 1 {
			return c.Errf("value: got %d elements, want 1", value.Len())
		}
	}
	s, err := c.shapeFrom(0)
	if err != nil {
		return err
	}
	c.Set(0, dt, s)
	if n, ok := s.Elements().Int(); ok && n <= MaxValue && value != nil {
		f := FactOf(value)
		if one, ok := f.Dims(); ok {
			c.setValue(0, repeated(one[0], int(n)))
		}
	}
	return nil
}

func repeated(d graph.Dim, n int) []graph.Dim {
	out := make([]graph.Dim, n)
	for i := range out {
		out[i] = d
	}
	return out
}

func inferExpand(c *Ctx) error {
	target, err := c.shapeFrom(1)
	if err != nil {
		return err
	}
	s, err := c.Broadcast(c.In[0].Shape, target)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, s)
	to, ok := s.Concrete()
	vals, from, vok := contents(&c.In[0])
	if n, nok := to.Elements(); ok && vok && nok && n <= MaxValue {
		out := make([]graph.Dim, n)
		for i := range out {
			out[i] = vals[broadcastIndex(i, from, to)]
		}
		c.setValue(0, out)
	}
	return nil
}

func inferEyeLike(c *Ctx) error {
	in := c.In[0].Shape
	if !in.Unranked() && len(in) != 2 {
		return c.Errf("input: got shape %v, want a matrix", in)
	}
	dt := c.In[0].DType
	if c.Node.Attrs.Get("dtype") != nil {
		n := c.Node.Attrs.Int("dtype", 0)
		if dt = tensor.DType(n); n < 0 || n > 255 || !dt.Valid() {
			return c.Errf("dtype: got %d, want the number of an element type", n)
		}
	}
	c.Set(0, dt, in.Clone())
	return nil
}
