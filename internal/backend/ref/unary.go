package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
)

var unaryKernels = checkedAll([]entry{
	{op: "Abs", types: []types{numbers}, make: mapped(func(*graph.Node) unary {
		return unary{f: math.Abs, i: absInt, u: func(x uint64) uint64 { return x }}
	})},
	{op: "Neg", types: []types{signed | floats}, make: mapped(func(*graph.Node) unary {
		return unary{f: func(x float64) float64 { return -x }, i: func(x int64) int64 { return -x }}
	})},
	{op: "Sign", types: []types{numbers}, make: mapped(func(*graph.Node) unary {
		return unary{f: signFloat, i: signInt, u: func(x uint64) uint64 { return min(x, 1) }}
	})},
	{op: "Floor", types: []types{floats}, make: plain(math.Floor)},
	{op: "Ceil", types: []types{floats}, make: plain(math.Ceil)},
	{op: "Round", types: []types{floats}, make: plain(math.RoundToEven)},
	{op: "Sqrt", types: []types{floats}, make: plain(math.Sqrt)},
	{op: "Exp", types: []types{floats}, make: plain(math.Exp)},
	{op: "Log", types: []types{floats}, make: plain(math.Log)},
	{op: "Reciprocal", types: []types{floats}, make: plain(func(x float64) float64 { return 1 / x })},
	{op: "Sin", types: []types{floats}, make: plain(math.Sin)},
	{op: "Cos", types: []types{floats}, make: plain(math.Cos)},
	{op: "Tan", types: []types{floats}, make: plain(math.Tan)},
	{op: "Asin", types: []types{floats}, make: plain(math.Asin)},
	{op: "Acos", types: []types{floats}, make: plain(math.Acos)},
	{op: "Atan", types: []types{floats}, make: plain(math.Atan)},
	{op: "Sinh", types: []types{floats}, make: plain(math.Sinh)},
	{op: "Cosh", types: []types{floats}, make: plain(math.Cosh)},
	{op: "Tanh", types: []types{floats}, make: plain(math.Tanh)},
	{op: "Asinh", types: []types{floats}, make: plain(math.Asinh)},
	{op: "Acosh", types: []types{floats}, make: plain(math.Acosh)},
	{op: "Atanh", types: []types{floats}, make: plain(math.Atanh)},
	{op: "Erf", types: []types{numbers}, make: mapped(erf)},
	{op: "Relu", types: []types{signed | floats}, make: mapped(relu)},
	{op: "LeakyRelu", types: []types{floats}, make: mapped(leakyRelu)},
	{op: "Sigmoid", types: []types{floats}, make: plain(sigmoid)},
	{op: "HardSigmoid", types: []types{floats}, make: mapped(hardSigmoid)},
	{op: "HardSwish", types: []types{floats}, make: plain(hardSwish)},
	{op: "Softplus", types: []types{floats}, make: plain(softplus)},
	{op: "Softsign", types: []types{floats}, make: plain(func(x float64) float64 { return x / (1 + math.Abs(x)) })},
	{op: "Elu", types: []types{floats}, make: mapped(elu)},
	{op: "Selu", types: []types{floats}, make: mapped(selu)},
	{op: "Celu", types: []types{floats}, make: mapped(celu)},
	{op: "Gelu", types: []types{floats}, make: mapped(gelu)},
	{op: "Mish", types: []types{floats}, make: plain(func(x float64) float64 { return x * math.Tanh(softplus(x)) })},
	{op: "Swish", types: []types{floats}, make: mapped(swish)},
	{op: "ThresholdedRelu", types: []types{floats}, make: mapped(thresholdedRelu)},
	{op: "Shrink", types: []types{numbers}, make: mapped(shrink)},
	{op: "Not", types: []types{bools}, make: makeNot},
	{op: "BitwiseNot", types: []types{integers}, make: mapped(func(*graph.Node) unary {
		return unary{i: func(x int64) int64 { return ^x }, u: func(x uint64) uint64 { return ^x }}
	})},
	{op: "IsNaN", types: []types{floats}, make: makeIsNaN},
	{op: "IsInf", types: []types{floats}, make: makeIsInf},
	{op: "Clip", types: []types{numbers}, make: makeClip},
})

func absInt(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

func signInt(x int64) int64 { return min(max(x, -1), 1) }

// signFloat keeps a NaN.
func signFloat(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case x == 0:
		return 0
	}
	return x
}

// erf of an integer is cut off towards zero.
func erf(*graph.Node) unary {
	return unary{
		f: math.Erf,
		i: func(x int64) int64 { return int64(math.Erf(float64(x))) },
		u: func(x uint64) uint64 { return uint64(math.Erf(float64(x))) },
	}
}

func relu(*graph.Node) unary {
	return unary{
		f: func(x float64) float64 {
			if x < 0 {
				return 0
			}
			return x
		},
		i: func(x int64) int64 { return max(x, 0) },
		run32: func(dst, src []float32) {
			for i, x := range src {
				if x < 0 {
					x = 0
				}
				dst[i] = x
			}
		},
	}
}

func leakyRelu(n *graph.Node) unary {
	alpha := n.Attrs.Float("alpha", 0.01)
	return unary{
		f: func(x float64) float64 {
			if x < 0 {
				return x * float64(alpha)
			}
			return x
		},
		run32: func(dst, src []float32) {
			for i, x := range src {
				if x < 0 {
					x *= alpha
				}
				dst[i] = x
			}
		},
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus is log(1+eˣ), arranged so that the exponential does not overflow.
func softplus(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

func hardSwish(x float64) float64 { return x * max(0, min(1, x/6+0.5)) }

func hardSigmoid(n *graph.Node) unary {
	alpha, beta := float64(n.Attrs.Float("alpha", 0.2)), float64(n.Attrs.Float("beta", 0.5))
	return unary{f: func(x float64) float64 { return max(0, min(1, alpha*x+beta)) }}
}

func elu(n *graph.Node) unary {
	alpha := float64(n.Attrs.Float("alpha", 1))
	return unary{f: func(x float64) float64 {
		if x < 0 {
			return alpha * math.Expm1(x)
		}
		return x
	}}
}

func selu(n *graph.Node) unary {
	alpha := float64(n.Attrs.Float("alpha", 1.67326319217681884765625))
	gamma := float64(n.Attrs.Float("gamma", 1.05070102214813232421875))
	return unary{f: func(x float64) float64 {
		if x <= 0 {
			return gamma * alpha * math.Expm1(x)
		}
		return gamma * x
	}}
}

func celu(n *graph.Node) unary {
	alpha := float64(n.Attrs.Float("alpha", 1))
	return unary{f: func(x float64) float64 { return max(0, x) + min(0, alpha*math.Expm1(x/alpha)) }}
}

func gelu(n *graph.Node) unary {
	if n.Attrs.Str("approximate", "none") == "tanh" {
		return unary{f: func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}}
	}
	return unary{f: func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }}
}

func swish(n *graph.Node) unary {
	alpha := float64(n.Attrs.Float("alpha", 1))
	return unary{f: func(x float64) float64 { return x * sigmoid(alpha*x) }}
}

func thresholdedRelu(n *graph.Node) unary {
	alpha := float64(n.Attrs.Float("alpha", 1))
	return unary{f: func(x float64) float64 {
		if x > alpha || math.IsNaN(x) {
			return x
		}
		return 0
	}}
}

func shrink(n *graph.Node) unary {
	lambd, bias := float64(n.Attrs.Float("lambd", 0.5)), float64(n.Attrs.Float("bias", 0))
	f := func(x float64) float64 {
		switch {
		case x < -lambd:
			return x + bias
		case x > lambd:
			return x - bias
		case math.IsNaN(x):
			return x
		}
		return 0
	}
	return unary{
		f: f,
		i: func(x int64) int64 { return toInt(f(float64(x))) },
		u: func(x uint64) uint64 { return uint64(toInt(f(float64(x)))) },
	}
}

func makeNot(*backend.Op) (prepared, error) {
	return run(func(c *backend.Call) error {
		for i, x := range c.In[0].Data {
			c.Out[0].Data[i] = bit(x == 0)
		}
		return nil
	})
}

func makeIsNaN(o *backend.Op) (prepared, error) { return run(testKernel(o.In[0].DType, math.IsNaN)) }

func makeIsInf(o *backend.Op) (prepared, error) {
	negative := o.Node.Attrs.Int("detect_negative", 1) != 0
	positive := o.Node.Attrs.Int("detect_positive", 1) != 0
	return run(testKernel(o.In[0].DType, func(x float64) bool {
		return positive && math.IsInf(x, 1) || negative && math.IsInf(x, -1)
	}))
}
