package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

type dims2 = func(a, b graph.Dim) graph.Dim

var binaryRows = []Row{
	arithmetic("Add", flopsPlain, addValue),
	arithmetic("Sub", flopsPlain, subValue),
	arithmetic("Mul", flopsPlain, mulValue),
	arithmetic("Div", flopsFew, divValue),
	arithmetic("Mod", flopsFew, modValue),
	{Op: "Pow", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferPow, Work: perElement(flopsSeries), InPlace: []int{0},
		Elementwise: true},
	arithmetic("BitShift", flopsPlain, nil),
	arithmetic("BitwiseAnd", flopsPlain, nil),
	arithmetic("BitwiseOr", flopsPlain, nil),
	arithmetic("BitwiseXor", flopsPlain, nil),
	arithmetic("And", flopsPlain, andValue),
	arithmetic("Or", flopsPlain, orValue),
	arithmetic("Xor", flopsPlain, knownOnly(func(x, y int64) bool { return x != y })),
	comparison("Equal", equalValue),
	comparison("Less", knownOnly(func(x, y int64) bool { return x < y })),
	comparison("LessOrEqual", knownOnly(func(x, y int64) bool { return x <= y })),
	comparison("Greater", knownOnly(func(x, y int64) bool { return x > y })),
	comparison("GreaterOrEqual", knownOnly(func(x, y int64) bool { return x >= y })),
	variadic("Min", minValue),
	variadic("Max", maxValue),
	variadic("Sum", nil),
	variadic("Mean", nil),
	{Op: "Where", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: following(inferWhere, whereValue), Work: moved,
		InPlace: []int{1, 2}, Elementwise: true},
	{Op: "PRelu", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferPRelu, InPlace: []int{0}, Elementwise: true},
}

// arithmetic is the row of an operator of two operands of one type; f, when it is not nil,
// follows the contents.
func arithmetic(name string, flops float64, f dims2) Row {
	r := Row{Op: name, In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferBroadcast, Work: perElement(flops),
		InPlace: []int{0, 1}, Elementwise: true}
	if f != nil {
		r.Infer = following(inferBroadcast, fold(f))
	}
	return r
}

func comparison(name string, f dims2) Row {
	infer := func(c *Ctx) error {
		if _, err := c.oneType(); err != nil {
			return err
		}
		return c.setBroadcast(tensor.Bool)
	}
	return Row{Op: name, In: Arity{2, 2}, Out: Arity{1, 1}, Infer: following(infer, fold(f)), Elementwise: true}
}

func variadic(name string, f dims2) Row {
	work := func(c *Ctx) Work { return perElement(float64(max(1, len(c.In)-1)))(c) }
	r := Row{Op: name, In: Arity{1, -1}, Out: Arity{1, 1}, Infer: inferBroadcast, Work: work, InPlace: []int{0},
		Elementwise: true}
	if f != nil {
		r.Infer = following(inferBroadcast, fold(f))
	}
	return r
}

// inferPow lets the exponent have a type of its own; the result has the base's.
func inferPow(c *Ctx) error { return c.setBroadcast(c.In[0].DType) }

func inferWhere(c *Ctx) error {
	dt, err := c.oneType(1, 2)
	if err != nil {
		return err
	}
	if cond := c.In[0].DType; cond != tensor.Undefined && cond != tensor.Bool {
		return c.Errf("condition: got %v, want bool", cond)
	}
	return c.setBroadcast(dt)
}

// inferPRelu: the slope is broadcast to the first input, never the other way.
func inferPRelu(c *Ctx) error {
	if _, err := c.oneType(); err != nil {
		return err
	}
	x, slope := c.In[0].Shape, c.In[1].Shape
	if !x.Unranked() && !slope.Unranked() {
		s, err := c.Broadcast(x, slope)
		if err != nil {
			return err
		}
		if len(s) != len(x) {
			return c.Errf("slope: got shape %v, want one that broadcasts to %v", slope, x)
		}
	}
	return inferSame(c)
}
