package op

import "github.com/stowage-ml/stowage/internal/graph"

var unaryRows = []Row{
	elementwise("Abs", flopsPlain),
	{Op: "Neg", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: following(inferSame, negValue), InPlace: []int{0},
		Elementwise: true},
	elementwise("Sign", flopsPlain),
	elementwise("Floor", flopsPlain),
	elementwise("Ceil", flopsPlain),
	elementwise("Round", flopsPlain),
	elementwise("Sqrt", flopsFew),
	elementwise("Exp", flopsSeries),
	elementwise("Log", flopsSeries),
	elementwise("Reciprocal", flopsFew),
	elementwise("Sin", flopsSeries),
	elementwise("Cos", flopsSeries),
	elementwise("Tan", flopsSeries),
	elementwise("Asin", flopsSeries),
	elementwise("Acos", flopsSeries),
	elementwise("Atan", flopsSeries),
	elementwise("Sinh", flopsSeries),
	elementwise("Cosh", flopsSeries),
	elementwise("Tanh", flopsSeries),
	elementwise("Asinh", flopsSeries),
	elementwise("Acosh", flopsSeries),
	elementwise("Atanh", flopsSeries),
	elementwise("Erf", flopsSeries),
	elementwise("Relu", flopsPlain),
	elementwise("LeakyRelu", flopsPlain),
	elementwise("Sigmoid", flopsSeries),
	elementwise("HardSigmoid", flopsFew),
	elementwise("HardSwish", flopsFew),
	elementwise("Softplus", flopsSeries),
	elementwise("Softsign", flopsFew),
	elementwise("Elu", flopsSeries),
	elementwise("Selu", flopsSeries),
	elementwise("Celu", flopsSeries),
	elementwise("Gelu", flopsSeries),
	elementwise("Mish", 2*flopsSeries),
	elementwise("Swish", flopsSeries),
	elementwise("ThresholdedRelu", flopsPlain),
	elementwise("Shrink", flopsPlain),
	{Op: "Not", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: following(inferSame, notValue), InPlace: []int{0},
		Elementwise: true},
	elementwise("BitwiseNot", flopsPlain),
	{Op: "IsNaN", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferTest, Work: perElement(flopsPlain), Elementwise: true},
	{Op: "IsInf", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferTest, Work: perElement(flopsPlain), Elementwise: true},
	{Op: "Clip", In: Arity{1, 3}, Out: Arity{1, 1}, Infer: inferClip, Work: perElement(2), InPlace: []int{0},
		Elementwise: true},
}

func negValue(args []graph.Dim) graph.Dim { return mulValue(args[0], graph.Known(-1)) }

func notValue(args []graph.Dim) graph.Dim {
	if n, ok := args[0].Int(); ok {
		return truth(n == 0)
	}
	return graph.Unknown()
}

func inferClip(c *Ctx) error {
	if _, err := c.oneType(); err != nil {
		return err
	}
	if err := c.wantScalars(1, 2); err != nil {
		return err
	}
	return inferSame(c)
}

func isNumber(d graph.Dim) bool {
	_, ok := d.Int()
	return ok
}
