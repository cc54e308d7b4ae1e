package prog

import (
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// lowering is a node on its way to steps.
type lowering struct {
	*compiler
	n *graph.Node
}

// has reports whether the node has input i.
func (c *lowering) has(i int) bool { return c.n.Input(i) != graph.NoValue }

// in returns input i.
func (c *lowering) in(i int) (source, bool) { return c.operand(c.n.Input(i)) }

// attr returns a float attribute.
func (c *lowering) attr(name string, def float32) float32 { return c.n.Attrs.Float(name, def) }

// lower is what translates a node; ok is false when it cannot.
type lower = func(c *lowering) (s source, ok bool)

var lowerings = map[string]lower{
	"Add": pair(vec.Add), "Sub": pair(vec.Sub), "Mul": pair(vec.Mul), "Div": pair(vec.Div), "PRelu": pair(vec.PRelu),
	"Min": chain(vec.Min), "Max": chain(vec.Max), "Sum": chain(vec.Add), "Mean": lowerMean,
	"Pow":     lowerPow,
	"Neg":     plain(vec.Neg),
	"Abs":     plain(vec.Abs),
	"Sqrt":    plain(vec.Sqrt),
	"Sign":    plain(vec.Sign),
	"Floor":   plain(vec.Floor),
	"Ceil":    plain(vec.Ceil),
	"Round":   plain(vec.Round),
	"Exp":     plain(vec.Exp),
	"Log":     plain(vec.Log),
	"Tanh":    plain(vec.Tanh),
	"Sigmoid": plain(vec.Sigmoid),
	"Erf":     plain(vec.Erf),
	"Relu":    plain(vec.Relu),
	"Mish":    plain(vec.Mish),
	"Sin":     plain(vec.Sin), "Cos": plain(vec.Cos), "Tan": plain(vec.Tan),
	"Asin": plain(vec.Asin), "Acos": plain(vec.Acos), "Atan": plain(vec.Atan),
	"Sinh": plain(vec.Sinh), "Cosh": plain(vec.Cosh),
	"Asinh": plain(vec.Asinh), "Acosh": plain(vec.Acosh), "Atanh": plain(vec.Atanh),
	"Reciprocal":         plain(vec.Reciprocal),
	"Softplus":           plain(vec.Softplus),
	"Softsign":           plain(vec.Softsign),
	"LeakyRelu":          with(vec.LeakyRelu, param{"alpha", 0.01}, param{}),
	"HardSigmoid":        with(vec.HardSigmoid, param{"alpha", 0.2}, param{"beta", 0.5}),
	"ThresholdedRelu":    with(vec.Threshold, param{"alpha", 1}, param{}),
	"Shrink":             with(vec.Shrink, param{"lambd", 0.5}, param{"bias", 0}),
	"Swish":              with(vec.Swish, param{"alpha", 1}, param{}),
	"Elu":                with(vec.Elu, param{"alpha", 1}, param{"", 1}),
	"HardSwish":          with(vec.HardSwish, param{"", 1. / 6}, param{"", 0.5}),
	"Selu":               lowerSelu,
	"Celu":               lowerCelu,
	"Gelu":               lowerGelu,
	"Clip":               lowerClip,
	"Identity":           func(c *lowering) (source, bool) { return c.in(0) },
	"Cast":               lowerCast,
	"BatchNormalization": lowerBatchNorm,
}

// plain is the lowering of an operator that is one function without parameters.
func plain(f vec.Unary) lower { return with(f, param{}, param{}) }

// param is an attribute and its default; without a name it is a constant.
type param struct {
	name string
	def  float32
}

// with is the lowering of an operator that is one function.
func with(f vec.Unary, a, b param) lower {
	return func(c *lowering) (source, bool) {
		x, ok := c.in(0)
		if !ok {
			return x, false
		}
		return c.unary(f, x, c.attr(a.name, a.def), c.attr(b.name, b.def)), true
	}
}

func pair(f vec.Binary) lower {
	return func(c *lowering) (source, bool) {
		x, ok := c.in(0)
		y, yok := c.in(1)
		if !ok || !yok {
			return x, false
		}
		return c.binary(f, x, y), true
	}
}

func chain(f vec.Binary) lower {
	return func(c *lowering) (source, bool) {
		s, ok := c.in(0)
		for i := 1; i < len(c.n.Inputs) && ok; i++ {
			var x source
			if x, ok = c.in(i); ok {
				s = c.binary(f, s, x)
			}
		}
		return s, ok
	}
}

func lowerMean(c *lowering) (source, bool) {
	s, ok := chain(vec.Add)(c)
	if !ok {
		return s, false
	}
	return c.binary(vec.Div, s, c.number(float32(len(c.n.Inputs)))), true
}

// lowerPow does the common exponents without logarithms.
func lowerPow(c *lowering) (source, bool) {
	x, ok := c.in(0)
	if !ok || !c.has(1) {
		return x, false
	}
	e, known := c.exponent()
	y, yok := c.in(1)
	switch {
	case known && e == 1:
		return x, true
	case known && e == 2:
		return c.unary(vec.Square, x, 0, 0), true
	case known && e == 3:
		x = c.wide(x)
		return c.binary(vec.Mul, c.unary(vec.Square, x, 0, 0), x), true
	case known && e == 0.5:
		return c.unary(vec.Sqrt, x, 0, 0), true
	case known && e == -1:
		return c.unary(vec.Reciprocal, x, 0, 0), true
	case known && !yok:
		y, yok = c.number(float32(e)), true
	}
	if !yok {
		return x, false
	}
	return c.binary(vec.Pow, x, y), true
}

// exponent returns the exponent when it is one known number of a common type.
func (c *lowering) exponent() (e float64, ok bool) {
	t := c.facts[c.n.Input(1)].Const
	if t == nil || t.Len() != 1 {
		return 0, false
	}
	switch t.DType() {
	case tensor.Float32:
		return float64(tensor.Cast[float32](t.Bytes())[0]), true
	case tensor.Float64:
		return tensor.Cast[float64](t.Bytes())[0], true
	case tensor.Int64:
		return float64(tensor.Cast[int64](t.Bytes())[0]), true
	case tensor.Int32:
		return float64(tensor.Cast[int32](t.Bytes())[0]), true
	}
	return 0, false
}

func lowerSelu(c *lowering) (source, bool) {
	x, ok := c.in(0)
	if !ok {
		return x, false
	}
	gamma := c.attr("gamma", 1.05070102214813232421875)
	return c.unary(vec.Elu, x, c.attr("alpha", 1.67326319217681884765625)*gamma, gamma), true
}

func lowerCelu(c *lowering) (source, bool) {
	x, ok := c.in(0)
	alpha := c.attr("alpha", 1)
	if !ok || !(alpha > 0) {
		return x, false
	}
	return c.unary(vec.Celu, x, alpha, 1/alpha), true
}

func lowerGelu(c *lowering) (source, bool) {
	if c.n.Attrs.Str("approximate", "none") == "tanh" {
		return plain(vec.GeluTanh)(c)
	}
	return plain(vec.Gelu)(c)
}

func lowerCast(c *lowering) (source, bool) {
	if tensor.DType(c.n.Attrs.Int("to", 0)) != tensor.Float32 {
		return source{}, false
	}
	return c.in(0)
}

// lowerClip makes one function of limits that are known.
func lowerClip(c *lowering) (source, bool) {
	x, ok := c.in(0)
	if !ok {
		return x, false
	}
	limits := [2]float32{float32(math.Inf(-1)), float32(math.Inf(1))}
	var given [2]source
	for i, name := range []string{"min", "max"} {
		if a := c.n.Attrs.Get(name); a != nil && a.Kind == graph.AttrFloat && a.Float == a.Float {
			limits[i] = a.Float
		}
		if !c.has(1 + i) {
			continue
		}
		y, ok := c.in(1 + i)
		if !ok {
			return x, false
		}
		v, known := c.value(y)
		switch {
		case !known:
			given[i] = y
			limits[i] = float32(math.Inf(2*i - 1))
		case v == v:
			limits[i] = v
		default:
			limits[i] = float32(math.Inf(2*i - 1))
		}
	}
	if given[0].from != nowhere {
		x = c.binary(vec.AtLeast, x, given[0])
	}
	if given[0].from == nowhere || !math.IsInf(float64(limits[1]), 1) {
		x = c.unary(vec.Clip, x, limits[0], limits[1])
	}
	if given[1].from != nowhere {
		x = c.binary(vec.AtMost, x, given[1])
	}
	return x, true
}

// lowerBatchNorm makes a scale and a shift for each channel of constant statistics.
func lowerBatchNorm(c *lowering) (source, bool) {
	x, ok := c.in(0)
	shape := c.o.Out[0].Shape
	if !ok || c.axis != 1 || len(shape) < 2 || !c.sized(c.n.Input(0)) || c.n.Attrs.Int("training_mode", 0) != 0 {
		return x, false
	}
	var params [4][]float32
	for i := range params {
		f := &c.facts[c.n.Input(1+i)]
		if f.Const == nil || f.DType != tensor.Float32 || int64(f.Const.Len()) != shape[1] {
			return x, false
		}
		params[i] = tensor.Cast[float32](f.Const.Bytes())
	}
	scale, shift := make([]float32, shape[1]), make([]float32, shape[1])
	epsilon := float64(c.attr("epsilon", 1e-5))
	for i := range scale {
		s := float64(params[0][i]) / math.Sqrt(float64(params[3][i])+epsilon)
		scale[i], shift[i] = float32(s), float32(float64(params[1][i])-float64(params[2][i])*s)
	}
	y := c.binary(vec.Mul, x, c.small(small{data: scale, channel: true}))
	return c.binary(vec.Add, y, c.small(small{data: shift, channel: true})), true
}
