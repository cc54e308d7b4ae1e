package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// Operations for one element, by kind of arithmetic.
const (
	flopsPlain  = 1
	flopsFew    = 4
	flopsSeries = 16
)

// elementwise is the row of an operator with one input and an output of the same type and shape.
func elementwise(name string, flops float64) Row {
	return Row{Op: name, In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferSame, Work: perElement(flops), InPlace: []int{0},
		Elementwise: true}
}

// perElement returns work of the given number of operations for each output element.
func perElement(flops float64) func(*Ctx) Work {
	return func(c *Ctx) Work {
		w := moved(c)
		if n, ok := c.Out[0].Shape.Elements().Int(); ok {
			w.FLOPs = flops * float64(n)
		}
		return w
	}
}

// moved is the work of an operator that computes nothing: its operands' bytes.
func moved(c *Ctx) Work {
	var w Work
	for _, facts := range [][]Fact{c.In, c.Out} {
		for i := range facts {
			n, ok := facts[i].Shape.Elements().Int()
			if size, sok := facts[i].DType.ByteSize(n); ok && sok {
				w.Bytes += float64(size)
			}
		}
	}
	return w
}

// inferSame gives output 0 the type and shape of input 0.
func inferSame(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape.Clone())
	return nil
}

// inferTest gives output 0 the shape of input 0, and boolean elements.
func inferTest(c *Ctx) error {
	c.Set(0, tensor.Bool, c.In[0].Shape.Clone())
	return nil
}

// oneType returns the element type that all the given inputs (by default all) share.
func (c *Ctx) oneType(inputs ...int) (tensor.DType, error) {
	if len(inputs) == 0 {
		for i := range c.In {
			inputs = append(inputs, i)
		}
	}
	dt := tensor.Undefined
	for _, i := range inputs {
		switch got := c.Arg(i).DType; {
		case got == tensor.Undefined || got == dt:
		case dt == tensor.Undefined:
			dt = got
		default:
			return dt, c.Errf("input %d: got %v, want %v like the inputs before it", i, got, dt)
		}
	}
	return dt, nil
}

// wantScalars fails when one of the given inputs is known not to have exactly one element.
func (c *Ctx) wantScalars(inputs ...int) error {
	for _, i := range inputs {
		s := c.Arg(i).Shape
		if n, ok := s.Elements().Int(); ok && c.Has(i) && n != 1 {
			return c.Errf("input %d: got shape %v, want a scalar", i, s)
		}
	}
	return nil
}

// inferBroadcast gives output 0 the type that all inputs share, and the shape they broadcast to.
func inferBroadcast(c *Ctx) error {
	dt, err := c.oneType()
	if err != nil {
		return err
	}
	return c.setBroadcast(dt)
}

// setBroadcast gives output 0 a type, and the shape that all inputs broadcast to.
func (c *Ctx) setBroadcast(dt tensor.DType) error {
	shapes := make([]graph.Shape, len(c.In))
	for i := range c.In {
		shapes[i] = c.In[i].Shape
	}
	s, err := c.Broadcast(shapes...)
	if err != nil {
		return err
	}
	c.Set(0, dt, s)
	return nil
}

// following is an inference that also follows the contents, element by element.
func following(infer func(*Ctx) error, f func(args []graph.Dim) graph.Dim) func(*Ctx) error {
	return func(c *Ctx) error {
		if err := infer(c); err != nil {
			return err
		}
		c.follow(f)
		return nil
	}
}
