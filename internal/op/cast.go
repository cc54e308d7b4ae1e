package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var castRows = []Row{
	{Op: "Cast", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferCast, Elementwise: true},
	{Op: "CastLike", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferCastLike},
	{Op: "BitCast", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferBitCast, View: true, Work: moved},
}

// target returns the type that the attribute "to" names.
func (c *Ctx) target() (tensor.DType, error) {
	to := c.Node.Attrs.Int("to", 0)
	if to < 0 || to > 255 || !tensor.DType(to).Valid() {
		return tensor.Undefined, c.Errf("to: got %d, want the number of an element type", to)
	}
	return tensor.DType(to), nil
}

func inferCast(c *Ctx) error {
	to, err := c.target()
	if err != nil {
		return err
	}
	c.castTo(to)
	return nil
}

func inferCastLike(c *Ctx) error {
	if to := c.In[1].DType; to != tensor.Undefined {
		c.castTo(to)
		return nil
	}
	c.Set(0, tensor.Undefined, c.In[0].Shape.Clone())
	return nil
}

// castTo sets output 0 to input 0 as another type, and follows whole numbers.
func (c *Ctx) castTo(to tensor.DType) {
	in := &c.In[0]
	c.Set(0, to, in.Shape.Clone())
	vals, ok := in.Dims()
	if !ok || in.DType.IsFloat() {
		return
	}
	if to == tensor.Bool {
		bools := make([]graph.Dim, len(vals))
		for i, v := range vals {
			bools[i] = graph.Unknown()
			if n, known := v.Int(); known {
				bools[i] = truth(n != 0)
			}
		}
		vals = bools
	}
	c.setValue(0, vals)
}

func inferBitCast(c *Ctx) error {
	to, err := c.target()
	if err != nil {
		return err
	}
	if from := c.In[0].DType; from != tensor.Undefined && from.Bits() != to.Bits() {
		return c.Errf("to: got %v of %d bits, want %d bits like %v", to, to.Bits(), from.Bits(), from)
	}
	c.Set(0, to, c.In[0].Shape.Clone())
	return nil
}
