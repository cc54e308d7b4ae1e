package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// randomRows lists what draws numbers. Dropout does so only in training.
var randomRows = []Row{
	{Op: "Dropout", In: Arity{1, 3}, Out: Arity{1, 2}, Infer: inferDropout, Work: moved, Random: true, InPlace: []int{0}},
	{Op: "RandomUniform", In: Arity{0, 0}, Out: Arity{1, 1}, Infer: inferRandom, Work: perElement(flopsFew), Random: true},
	{Op: "RandomNormal", In: Arity{0, 0}, Out: Arity{1, 1}, Infer: inferRandom, Work: perElement(flopsSeries),
		Random: true},
	{Op: "RandomUniformLike", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferRandomLike, Work: perElement(flopsFew),
		Random: true},
	{Op: "RandomNormalLike", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferRandomLike, Work: perElement(flopsSeries),
		Random: true},
	{Op: "Bernoulli", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferRandomLike, Work: perElement(flopsFew), Random: true},
	{Op: "Multinomial", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferMultinomial, Work: perElement(flopsSeries),
		Random: true},
}

func inferDropout(c *Ctx) error {
	if err := c.wantScalars(1, 2); err != nil {
		return err
	}
	if err := inferSame(c); err != nil {
		return err
	}
	mask := tensor.Bool
	if c.Node.Version < 10 {
		mask = c.In[0].DType
	}
	c.Set(1, mask, c.In[0].Shape.Clone())
	return nil
}

func inferRandom(c *Ctx) error {
	dt, err := c.dtypeAttr("dtype", tensor.Float32)
	if err != nil {
		return err
	}
	shape := c.Node.Attrs.Ints("shape", nil)
	if len(shape) > tensor.MaxRank {
		return c.Errf("shape: got %d dimensions, want at most %d", len(shape), tensor.MaxRank)
	}
	c.Set(0, dt, graph.Of(shape...))
	return nil
}

func inferRandomLike(c *Ctx) error {
	dt, err := c.dtypeAttr("dtype", c.In[0].DType)
	if err != nil {
		return err
	}
	c.Set(0, dt, c.In[0].Shape.Clone())
	return nil
}

func inferMultinomial(c *Ctx) error {
	dt, err := c.dtypeAttr("dtype", tensor.Int32)
	if err != nil {
		return err
	}
	n := c.Node.Attrs.Int("sample_size", 1)
	if s := c.In[0].Shape; n < 0 || !s.Unranked() && len(s) != 2 {
		return c.Errf("got a sample_size of %d from shape %v, want 0 or more from a matrix", n, s)
	}
	c.Set(0, dt, graph.Shape{graph.Unknown(), graph.Known(n)})
	if s := c.In[0].Shape; !s.Unranked() {
		c.Out[0].Shape[0] = s[0]
	}
	return nil
}
