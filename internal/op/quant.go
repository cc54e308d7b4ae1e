package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var quantRows = []Row{
	{Op: "QuantizeLinear", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferQuantize, Work: workQuant},
	{Op: "DequantizeLinear", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferDequantize, Work: workQuant},
	{Op: "DynamicQuantizeLinear", In: Arity{1, 1}, Out: Arity{3, 3}, Infer: inferDynamicQuantize, Work: workQuant},
}

// inferQuantize takes the type from the zero point or from output_dtype; uint8 without either.
func inferQuantize(c *Ctx) error {
	dt := c.Arg(2).DType
	want, err := c.dtypeAttr("output_dtype", tensor.Undefined)
	if err != nil {
		return err
	}
	switch {
	case !c.Has(2) && want != tensor.Undefined:
		dt = want
	case !c.Has(2):
		dt = tensor.Uint8
	case dt != tensor.Undefined && want != tensor.Undefined && dt != want:
		return c.Errf("output_dtype: got %v, want %v like the zero point", want, dt)
	}
	narrow := dt.IsInt() && dt.Bits() <= 16 || dt.IsFloat() && dt.Bits() <= 8 && dt != tensor.Float8E8M0
	if dt != tensor.Undefined && !narrow {
		return c.Errf("output type: got %v, want an integer of at most 16 bits or a float of at most 8 with a sign", dt)
	}
	c.Set(0, dt, c.In[0].Shape.Clone())
	return c.scales()
}

// inferDequantize takes the type from output_dtype or from the scale.
func inferDequantize(c *Ctx) error {
	dt, err := c.dtypeAttr("output_dtype", c.In[1].DType)
	if err != nil {
		return err
	}
	if dt != tensor.Undefined && (!dt.IsFloat() || dt.Bits() < 16) {
		return c.Errf("output type: got %v, want a float of at least 16 bits", dt)
	}
	c.Set(0, dt, c.In[0].Shape.Clone())
	if _, err = c.oneType(0, 2); err != nil {
		return err
	}
	return c.scales()
}

// dtypeAttr reads an attribute that names an element type; 0 or none is def.
func (c *Ctx) dtypeAttr(name string, def tensor.DType) (tensor.DType, error) {
	n := c.Node.Attrs.Int(name, 0)
	switch {
	case n == 0:
		return def, nil
	case n < 0 || n > 255 || !tensor.DType(n).Valid():
		return def, c.Errf("%s: got %d, want an element type", name, n)
	}
	return tensor.DType(n), nil
}

// scales checks the shapes of scale and zero point: one for all elements, one for each index of
// the axis, or one for each block along the axis.
func (c *Ctx) scales() error {
	x, s := c.In[0].Shape, c.In[1].Shape
	if z := c.Arg(2).Shape; !s.Unranked() && !(single(z) && single(s)) {
		if err := c.wantShape(2, "zero point", s); err != nil {
			return err
		}
	}
	block := c.Node.Attrs.Int("block_size", 0)
	if block < 0 {
		return c.Errf("block_size: got %d, want at least 0", block)
	}
	if x.Unranked() || s.Unranked() || single(s) && block == 0 {
		return nil
	}
	axis, err := c.AxisAttr("axis", 1, len(x))
	if err != nil {
		return err
	}
	if block == 0 {
		return c.wantVector(1, "scale", x[axis])
	}
	want := x.Clone()
	want[axis] = x[axis].CeilDiv(graph.Known(block))
	return c.wantShape(1, "scale", want)
}

// single reports whether a shape is known to be that of a scalar or of a vector of one element.
func single(s graph.Shape) bool { return !s.Unranked() && (len(s) == 0 || len(s) == 1 && s[0].Is(1)) }

func inferDynamicQuantize(c *Ctx) error {
	c.Set(0, tensor.Uint8, c.In[0].Shape.Clone())
	c.Set(1, tensor.Float32, graph.Of())
	c.Set(2, tensor.Uint8, graph.Of())
	return nil
}

// workQuant counts a division or product, a rounding and an addition.
func workQuant(c *Ctx) Work { return working(c, 3*elementsOf(c.In[0].Shape)) }
