package stowage

import (
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

// unaries lists the operators of one operand and the attributes that they may have.
var unaries = map[string][]string{
	"Abs": nil, "Acos": nil, "Acosh": nil, "Asin": nil, "Asinh": nil, "Atan": nil, "Atanh": nil, "Ceil": nil,
	"Celu": {"alpha"}, "Cos": nil, "Cosh": nil, "Elu": {"alpha"}, "Erf": nil, "Exp": nil, "Floor": nil,
	"Gelu": nil, "HardSigmoid": {"alpha", "beta"}, "HardSwish": nil, "LeakyRelu": {"alpha"}, "Log": nil, "Mish": nil,
	"Neg": nil, "Reciprocal": nil, "Relu": nil, "Round": nil, "Selu": {"alpha", "gamma"}, "Shrink": {"lambd", "bias"},
	"Sigmoid": nil, "Sign": nil, "Sin": nil, "Sinh": nil, "Softplus": nil, "Softsign": nil, "Sqrt": nil,
	"Swish": {"alpha"},
	"Tan":   nil, "Tanh": nil, "ThresholdedRelu": {"alpha"},
}

// unaryNames lists the keys of unaries, so that draws do not depend on the order of a map.
var unaryNames = func() []string {
	var out []string
	for name := range unaries {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}()

func unaryCase(c *opCase) []string {
	op := pick(c, unaryNames...)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float16)
	t := c.random(dt, c.shape(c.r.IntN(5), 5000)...)
	if dt == tensor.Float32 && c.chance(3) {
		for i := range tensor.Cast[float32](t.Bytes()) {
			tensor.Cast[float32](t.Bytes())[i] *= pick[float32](c, 1, 10, 0.01, 1e9, 1e30)
		}
	}
	var kv []any
	for _, a := range unaries[op] {
		if c.chance(2) {
			kv = append(kv, a, pick(c, 0.2, 1.5, 0.01, 3.0))
		}
	}
	if op == "Gelu" && c.chance(2) {
		kv = append(kv, "approximate", "tanh")
	}
	return c.add(op, []string{c.feed(t)}, 1, kv...)
}

func binaryCase(c *opCase) []string {
	s := c.shape(c.r.IntN(6), 5000)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float16)
	op := pick(c, "Add", "Sub", "Mul", "Div", "Add", "Mul", "Max", "Min", "Pow", "PRelu", "Sum", "Mean",
		"Equal", "Greater",
		"Less", "GreaterOrEqual", "LessOrEqual", "Mod", "Clip")
	a, b := s, c.broadcast(s)
	if c.chance(4) && op != "PRelu" {
		a = c.broadcast(s)
	}
	x, y := c.random(dt, a...), c.random(dt, b...)
	if c.chance(3) && c.opset >= 8 {
		copy(y.Bytes(), x.Bytes()) // some elements are equal
	}
	in := []string{c.feed(x), c.either(y)}
	if c.chance(3) && op != "PRelu" && op != "Clip" {
		slices.Reverse(in)
	}
	switch op {
	case "Clip":
		if c.opset < 11 {
			return c.add(op, in[:1], 1, "min", -0.5, "max", 0.75)
		}
		in = append(in[:1], pick(c, "", c.either(c.random(dt))), c.either(c.random(dt)))
	case "Mod":
		return c.add(op, in, 1, "fmod", int64(1))
	case "Max", "Min", "Sum", "Mean":
		for range c.r.IntN(3) {
			in = append(in, c.either(c.random(dt, c.broadcast(s)...)))
		}
	}
	return c.add(op, in, 1)
}

var whole = []tensor.DType{tensor.Int64, tensor.Int64, tensor.Int32, tensor.Int32, tensor.Uint8, tensor.Int8,
	tensor.Uint16,
	tensor.Int16, tensor.Uint32, tensor.Uint64}

func wholeCase(c *opCase) []string {
	s := c.shape(c.r.IntN(5), 3000)
	op := pick(c, "Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "Xor", "Not", "Equal", "Less",
		"Greater", "Abs", "Neg",
		"Sign", "Relu", "BitwiseAnd", "Clip", "Mod", "LessOrEqual", "GreaterOrEqual")
	dt := whole[c.r.IntN(len(whole))]
	if op == "And" || op == "Or" || op == "Xor" || op == "Not" || op == "Equal" && c.chance(3) {
		dt = tensor.Bool
	}
	x, y := c.random(dt, s...), c.random(dt, c.broadcast(s)...)
	switch op {
	case "Not", "Abs", "Neg", "Sign", "Relu":
		return c.add(op, []string{c.feed(x)}, 1)
	case "Clip":
		return c.add(op, []string{c.feed(x), c.either(c.random(dt)), c.either(c.random(dt))}, 1)
	case "Div", "Mod":
		size := dt.Bits() / 8
		for i := range y.Len() {
			y.Bytes()[i*size] |= 1
		}
	}
	in := []string{c.feed(x), c.either(y)}
	if c.chance(3) && op != "Div" && op != "Mod" {
		slices.Reverse(in)
	}
	return c.add(op, in, 1)
}

func castCase(c *opCase) []string {
	types := append([]tensor.DType{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float16,
		tensor.BFloat16, tensor.Bool}, whole...)
	x := c.random(pick(c, types...), c.shape(c.r.IntN(4), 3000)...)
	if x.DType().IsFloat() && c.special { // what does not fit in an integer is not said to become anything
		c.special = false
		x = c.random(x.DType(), x.Shape()...)
	}
	return c.add("Cast", []string{c.feed(x)}, 1, "to", int64(pick(c, types...)))
}

func whereCase(c *opCase) []string {
	s := c.shape(1+c.r.IntN(4), 3000)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Int64, tensor.Bool, tensor.Float64, tensor.Uint8,
		tensor.Float16, tensor.String)
	return c.add("Where", []string{c.either(c.random(tensor.Bool, c.broadcast(s)...)), c.feed(c.random(dt,
		c.broadcast(s)...)),
		c.either(c.random(dt, c.broadcast(s)...))}, 1)
}

func softmaxCase(c *opCase) []string {
	s := c.shape(1+c.r.IntN(4), 6000)
	x := c.random(pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64), s...)
	if x.DType() == tensor.Float32 && c.chance(3) {
		for i := range tensor.Cast[float32](x.Bytes()) {
			tensor.Cast[float32](x.Bytes())[i] *= pick[float32](c, 30, 100)
		}
	}
	op := pick(c, "Softmax", "Softmax", "LogSoftmax", "Hardmax")
	if c.chance(3) {
		return c.add(op, []string{c.feed(x)}, 1)
	}
	axis := c.axis(len(s))
	if c.opset < 11 {
		axis = c.r.Int64N(int64(len(s)))
	}
	return c.add(op, []string{c.feed(x)}, 1, "axis", axis)
}

func normCase(c *opCase) []string {
	s := c.shape(2+c.r.IntN(4), 6000)
	x := c.fedFloats(s...)
	vec := func() string { return c.floats(s[1]) }
	switch op := pick(c, "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization",
		"LayerNormalization", "RMSNormalization", "LpNormalization", "LRN", "MeanVarianceNormalization"); op {
	case "BatchNormalization":
		return c.add(op, []string{x, vec(), vec(), vec(), c.positive(s[1])}, 1, "epsilon", 1e-3)
	case "InstanceNormalization":
		return c.add(op, []string{x, vec(), vec()}, 1)
	case "GroupNormalization":
		g := int64(1)
		for d := int64(1); d <= s[1]; d++ {
			if s[1]%d == 0 && c.chance(2) {
				g = d
			}
		}
		if c.opset < 21 {
			return c.add(op, []string{x, c.floats(g), c.floats(g)}, 1, "num_groups", g)
		}
		return c.add(op, []string{x, vec(), vec()}, 1, "num_groups", g)
	case "LpNormalization":
		return c.add(op, []string{x}, 1, "axis", c.axis(len(s)), "p", 1+c.r.Int64N(2))
	case "LRN":
		return c.add(op, []string{x}, 1, "size", 1+c.r.Int64N(6), "bias", 1.5, "alpha", 0.3, "beta", pick(c,
			0.75, 0.5, 1.0, 0.6))
	case "MeanVarianceNormalization":
		return c.add(op, []string{x}, 1, "axes", []int64{0, int64(len(s)) - 1})
	default:
		return scaledNorm(c, op, x, s)
	}
}

// scaledNorm adds a normalisation over the last dimensions.
func scaledNorm(c *opCase, op, x string, s []int64) []string {
	axis := c.axis(len(s))
	from := axis
	if from < 0 {
		from += int64(len(s))
	}
	in := []string{x, c.floats(c.broadcast(s[from:])...)}
	if op == "RMSNormalization" {
		return c.add(op, in, 1, "axis", axis)
	}
	if c.chance(2) {
		in = append(in, c.floats(s[from:]...))
	}
	return c.add(op, in, pick(c, 1, 1, 3), "axis", axis, "epsilon", pick(c, 1e-5, 0.1))
}

func reduceCase(c *opCase) []string {
	s := c.shape(c.r.IntN(6), 8000)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Int32, tensor.Int64,
		tensor.Float64)
	op := pick(c, "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
		"ReduceSumSquare",
		"ReduceLogSum", "ReduceLogSumExp", "ReduceSum", "ReduceMean")
	if c.opset >= 12 && (op == "ReduceMax" || op == "ReduceMin") && c.chance(5) {
		dt = pick(c, tensor.Int8, tensor.Uint8)
	}
	var axes []int64
	for a := range len(s) {
		if c.chance(2) {
			if axes = append(axes, int64(a)); c.chance(2) && c.opset >= 11 {
				axes[len(axes)-1] -= int64(len(s))
			}
		}
	}
	c.r.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	in, kv := []string{c.feed(c.random(dt, s...))}, []any{}
	switch asInput := c.opset >= 18 || op == "ReduceSum" && c.opset >= 13; {
	case asInput && (len(axes) > 0 || c.chance(2)):
		in = append(in, c.ints(axes...))
	case !asInput && len(axes) > 0:
		kv = append(kv, "axes", axes)
	}
	if c.opset >= 18 && c.chance(3) {
		kv = append(kv, "noop_with_empty_axes", int64(1))
	}
	if c.chance(2) {
		kv = append(kv, "keepdims", c.r.Int64N(2))
	}
	return c.add(op, in, 1, kv...)
}

func argCase(c *opCase) []string {
	s := c.shape(1+c.r.IntN(4), 6000)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Int32, tensor.Int8, tensor.Float64)
	kv := []any{"axis", c.axis(len(s)), "keepdims", c.r.Int64N(2)}
	if c.opset >= 12 && c.chance(2) {
		kv = append(kv, "select_last_index", int64(1))
	}
	x := c.random(dt, s...)
	if dt == tensor.Float32 && c.chance(2) { // ties
		for i, v := range tensor.Cast[float32](x.Bytes()) {
			if v == v && v < 1e9 && v > -1e9 {
				tensor.Cast[float32](x.Bytes())[i] = float32(int(2 * v))
			}
		}
	}
	return c.add(pick(c, "ArgMax", "ArgMin"), []string{c.feed(x)}, 1, kv...)
}
