package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var poolRows = []Row{
	{Op: "MaxPool", In: Arity{1, 1}, Out: Arity{1, 2}, Infer: inferPool, Work: workPool},
	{Op: "AveragePool", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferPool, Work: workPool},
	{Op: "LpPool", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferLpPool, Work: workPool},
	{Op: "GlobalAveragePool", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferGlobalPool, Work: workScan},
	{Op: "GlobalMaxPool", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferGlobalPool, Work: workScan},
	{Op: "GlobalLpPool", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferLpGlobalPool, Work: workScan},
	{Op: "MaxUnpool", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferMaxUnpool, Contents: []int{2}},
}

func inferPool(c *Ctx) error {
	x := &c.In[0]
	c.Set(0, x.DType, nil)
	c.Set(1, tensor.Int64, nil)
	given := c.Node.Attrs.Ints("kernel_shape", nil)
	if len(given) == 0 {
		return c.Errf("kernel_shape: missing")
	}
	if x.Shape.Unranked() {
		return nil
	}
	if len(x.Shape) < 3 {
		return c.Errf("input: got %v, want [batch, channels, spatial...]", x.Shape)
	}
	axes, err := Windows(c.Node.Attrs, x.Shape[2:], graph.Of(given...))
	if err != nil {
		return err
	}
	c.Set(0, x.DType, spatialShape(x.Shape[0], x.Shape[1], axes))
	c.Set(1, tensor.Int64, spatialShape(x.Shape[0], x.Shape[1], axes))
	return nil
}

func inferLpPool(c *Ctx) error {
	if err := c.wantNorm(); err != nil {
		return err
	}
	return inferPool(c)
}

// wantNorm checks the order p of a norm.
func (c *Ctx) wantNorm() error {
	if p := c.Node.Attrs.Int("p", 2); p < 1 {
		return c.Errf("p: got %d, want at least 1", p)
	}
	return nil
}

func inferGlobalPool(c *Ctx) error {
	x := &c.In[0]
	if x.Shape.Unranked() {
		c.Set(0, x.DType, nil)
		return nil
	}
	if len(x.Shape) < 2 {
		return c.Errf("input: got %v, want [batch, channels, spatial...]", x.Shape)
	}
	out := x.Shape.Clone()
	for i := 2; i < len(out); i++ {
		out[i] = graph.Known(1)
	}
	c.Set(0, x.DType, out)
	return nil
}

func inferLpGlobalPool(c *Ctx) error {
	if err := c.wantNorm(); err != nil {
		return err
	}
	return inferGlobalPool(c)
}

func inferMaxUnpool(c *Ctx) error {
	x := &c.In[0]
	c.Set(0, x.DType, nil)
	if x.Shape.Unranked() {
		return nil
	}
	if len(x.Shape) < 3 {
		return c.Errf("input: got %v, want [batch, channels, spatial...]", x.Shape)
	}
	if err := c.wantShape(1, "indices", x.Shape); err != nil {
		return err
	}
	kernel := c.Node.Attrs.Ints("kernel_shape", nil)
	if len(kernel) != len(x.Shape)-2 {
		return c.Errf("kernel_shape: got %d values, want %d", len(kernel), len(x.Shape)-2)
	}
	axes, err := TransposedWindows(c.Node.Attrs, x.Shape[2:], graph.Of(kernel...))
	if err != nil {
		return err
	}
	out := spatialShape(x.Shape[0], x.Shape[1], axes)
	if c.Has(2) {
		if out, err = c.unpooled(out); err != nil {
			return err
		}
	}
	c.Set(0, x.DType, out)
	return nil
}

// unpooled returns the shape that input 2 asks for; unknown extents when it is not known yet.
func (c *Ctx) unpooled(plain graph.Shape) (graph.Shape, error) {
	dims, ok := c.In[2].Dims()
	if !ok {
		out := make(graph.Shape, len(plain))
		for i := range out {
			out[i] = graph.Unknown()
		}
		return out, nil
	}
	if len(dims) != len(plain) {
		return nil, c.Errf("output_shape: got %v, want %d extents", dims, len(plain))
	}
	for i, d := range dims {
		if n, ok := d.Int(); ok && n < 0 || i < 2 && clash(d, plain[i]) {
			return nil, c.Errf("output_shape: got %v, want the batch and channels of %v and extents of at least 0",
				dims, plain)
		}
	}
	return dims, nil
}

// workPool counts one operation for each element of each window.
func workPool(c *Ctx) Work {
	flops := elementsOf(c.Out[0].Shape)
	for _, k := range c.Node.Attrs.Ints("kernel_shape", nil) {
		flops *= float64(k)
	}
	return working(c, flops)
}

// workScan counts one operation for each input element.
func workScan(c *Ctx) Work { return working(c, elementsOf(c.In[0].Shape)) }
