package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var normRows = []Row{
	{Op: "BatchNormalization", In: Arity{5, 5}, Out: Arity{1, 5}, Infer: inferBatchNorm, Work: workNorm,
		InPlace: []int{0}},
	{Op: "InstanceNormalization", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferInstanceNorm, Work: workNorm,
		InPlace: []int{0}},
	{Op: "GroupNormalization", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferGroupNorm, Work: workNorm,
		InPlace: []int{0}},
	{Op: "LayerNormalization", In: Arity{2, 3}, Out: Arity{1, 3}, Infer: inferLayerNorm, Work: workNorm,
		InPlace: []int{0}},
	{Op: "RMSNormalization", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferRMSNorm, Work: workNorm,
		InPlace: []int{0}},
	{Op: "LRN", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferLRN, Work: workLRN},
	{Op: "LpNormalization", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferLpNorm, Work: workNorm,
		InPlace: []int{0}},
	{Op: "MeanVarianceNormalization", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferMeanVariance, Work: workNorm,
		InPlace: []int{0}},
}

// channels returns the extent of dim 1, the channels of an image.
func (c *Ctx) channels() (graph.Dim, error) {
	s := c.In[0].Shape
	switch {
	case s.Unranked():
		return graph.Unknown(), nil
	case len(s) < 2:
		return graph.Unknown(), c.Errf("input: got %v, want [batch, channels, spatial...]", s)
	}
	return s[1], nil
}

// Statistics are those of the input by default; with outputs beside the first (up to version 13)
// or with training_mode (from 14 on) they are the batch's own.
func inferBatchNorm(c *Ctx) error {
	x := &c.In[0]
	c.Set(0, x.DType, x.Shape.Clone())
	if c.Node.Version >= 14 && len(c.Out) > 1 && c.Node.Attrs.Int("training_mode", 0) == 0 {
		return c.Errf("outputs: got %d without training_mode, want 1", len(c.Out))
	}
	stats := graph.Shape{graph.Unknown()}
	switch s := x.Shape; {
	case c.Node.Version < 9 && c.Node.Attrs.Int("spatial", 1) == 0 && len(s) > 1:
		stats = s[1:].Clone()
	case len(s) == 1:
		stats = graph.Of(1)
	case !s.Unranked():
		n, err := c.channels()
		if err != nil {
			return err
		}
		stats = graph.Shape{n}
	}
	for i, what := range []string{"scale", "bias", "mean", "variance"} {
		if err := c.wantShape(1+i, what, stats); err != nil {
			return err
		}
	}
	for i := 1; i < len(c.Out); i++ {
		c.Set(i, c.In[3].DType, stats)
	}
	return nil
}

func inferInstanceNorm(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape.Clone())
	n, err := c.channels()
	if err != nil {
		return err
	}
	if err := c.wantVector(1, "scale", n); err != nil {
		return err
	}
	return c.wantVector(2, "bias", n)
}

// Scale and bias are one for each group up to version 20, one for each channel from 21 on.
func inferGroupNorm(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape.Clone())
	n, err := c.channels()
	if err != nil {
		return err
	}
	groups := c.Node.Attrs.Int("num_groups", 0)
	if ch, ok := n.Int(); groups < 1 || ok && ch%groups != 0 {
		return c.Errf("num_groups: got %d, want a divisor of the %v channels", groups, n)
	}
	if c.Node.Version < 21 {
		n = graph.Known(groups)
	}
	if err := c.wantVector(1, "scale", n); err != nil {
		return err
	}
	return c.wantVector(2, "bias", n)
}

// normAxis returns the first of the dims that are normalised together; known is false when the
// rank is not known.
func (c *Ctx) normAxis() (axis int, known bool, err error) {
	s := c.In[0].Shape
	if s.Unranked() {
		return 0, false, nil
	}
	axis, err = c.AxisAttr("axis", -1, len(s))
	return axis, err == nil, err
}

// inferLayerNorm gives the mean and the inverse deviation one element for each normalised part.
func inferLayerNorm(c *Ctx) error {
	s := c.In[0].Shape
	stash, err := c.dtypeAttr("stash_type", tensor.Float32)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, s.Clone())
	c.Set(1, stash, nil)
	c.Set(2, stash, nil)
	if stash != tensor.Float32 && stash != tensor.Float64 && stash != tensor.Float16 && stash != tensor.BFloat16 {
		return c.Errf("stash_type: got %v, want a floating-point type", stash)
	}
	axis, known, err := c.normAxis()
	if err != nil || !known {
		return err
	}
	stats := s.Clone()
	for i := axis; i < len(stats); i++ {
		stats[i] = graph.Known(1)
	}
	c.Set(1, stash, stats)
	c.Set(2, stash, stats)
	if err := c.wantSpread(1, "scale", s); err != nil {
		return err
	}
	return c.wantSpread(2, "bias", s)
}

func inferRMSNorm(c *Ctx) error {
	c.Set(0, c.In[1].DType, c.In[0].Shape.Clone())
	_, known, err := c.normAxis()
	if err != nil || !known {
		return err
	}
	return c.wantSpread(1, "scale", c.In[0].Shape)
}

// wantSpread checks that input i, when present, broadcasts to a shape.
func (c *Ctx) wantSpread(i int, what string, to graph.Shape) error {
	s := c.Arg(i).Shape
	bad := len(s) > len(to)
	for j := 0; j < len(s) && !bad; j++ {
		bad = !s[j].Is(1) && clash(s[j], to[len(to)-len(s)+j])
	}
	if bad {
		return c.Errf("%s: got shape %v, want one that broadcasts to %v", what, s, to)
	}
	return nil
}

func inferLRN(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape.Clone())
	if size := c.Node.Attrs.Int("size", 0); size < 1 {
		return c.Errf("size: got %d, want at least 1", size)
	}
	_, err := c.channels()
	return err
}

func inferLpNorm(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape.Clone())
	if p := c.Node.Attrs.Int("p", 2); p != 1 && p != 2 {
		return c.Errf("p: got %d, want 1 or 2", p)
	}
	_, _, err := c.normAxis()
	return err
}

func inferMeanVariance(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape.Clone())
	if s := c.In[0].Shape; !s.Unranked() {
		_, err := c.Axes(c.Node.Attrs.Ints("axes", []int64{0, 2, 3}), len(s))
		return err
	}
	return nil
}

// workNorm counts a mean, a variance, a scale and a shift.
func workNorm(c *Ctx) Work { return working(c, 6*elementsOf(c.Out[0].Shape)) }

func workLRN(c *Ctx) Work {
	return working(c, (2*float64(c.Node.Attrs.Int("size", 1))+20)*elementsOf(c.Out[0].Shape))
}
