package vec

import "math"

// lift applies a function of float64 to float32.
func lift(f func(float64) float64) func(dst, x []float32, a, b float32) {
	return func(dst, x []float32, _, _ float32) {
		x = x[:len(dst)]
		for i, v := range x {
			dst[i] = float32(f(float64(v)))
		}
	}
}

// lift2 applies a function of float64 with two parameters to float32.
func lift2(f func(x, a, b float64) float64) func(dst, x []float32, a, b float32) {
	return func(dst, x []float32, a, b float32) {
		x = x[:len(dst)]
		for i, v := range x {
			dst[i] = float32(f(float64(v), float64(a), float64(b)))
		}
	}
}

// plain applies a function of float32.
func plain(f func(x, a, b float32) float32) func(dst, x []float32, a, b float32) {
	return func(dst, x []float32, a, b float32) {
		x = x[:len(dst)]
		for i, v := range x {
			dst[i] = f(v, a, b)
		}
	}
}

var genericUnary = [NumUnary]func(dst, x []float32, a, b float32){
	Neg:         plain(func(x, _, _ float32) float32 { return -x }),
	Abs:         lift(math.Abs),
	Square:      plain(func(x, _, _ float32) float32 { return x * x }),
	Sqrt:        lift(math.Sqrt),
	Reciprocal:  plain(func(x, _, _ float32) float32 { return 1 / x }),
	Sign:        plain(sign),
	Floor:       lift(math.Floor),
	Ceil:        lift(math.Ceil),
	Round:       lift(math.RoundToEven),
	Exp:         lift(math.Exp),
	Log:         lift(math.Log),
	Tanh:        lift(math.Tanh),
	Sigmoid:     lift(sigmoid),
	Erf:         lift(math.Erf),
	Relu:        plain(func(x, _, _ float32) float32 { return atLeast(x, 0) }),
	LeakyRelu:   plain(func(x, a, _ float32) float32 { return prelu(x, a) }),
	Clip:        plain(func(x, a, b float32) float32 { return atMost(atLeast(x, a), b) }),
	HardSigmoid: plain(hardSigmoid),
	HardSwish:   plain(func(x, a, b float32) float32 { return x * hardSigmoid(x, a, b) }),
	Swish:       lift2(func(x, a, _ float64) float64 { return x * sigmoid(a*x) }),
	Elu:         lift2(elu),
	Celu:        lift2(celu),
	Softplus:    lift(softplus),
	Softsign:    lift(func(x float64) float64 { return x / (1 + math.Abs(x)) }),
	Mish:        lift(func(x float64) float64 { return x * math.Tanh(softplus(x)) }),
	Gelu:        lift(func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }),
	GeluTanh:    lift(geluTanh),
	Threshold:   plain(threshold),
	Shrink:      plain(shrink),
	Affine:      plain(func(x, a, b float32) float32 { return float32(x*a) + b }),
	Standardize: plain(func(x, a, b float32) float32 { return (x - a) * b }),
	Sin:         lift(math.Sin),
	Cos:         lift(math.Cos),
	Tan:         lift(math.Tan),
	Asin:        lift(math.Asin),
	Acos:        lift(math.Acos),
	Atan:        lift(math.Atan),
	Sinh:        lift(math.Sinh),
	Cosh:        lift(math.Cosh),
	Asinh:       lift(math.Asinh),
	Acosh:       lift(math.Acosh),
	Atanh:       lift(math.Atanh),
}

func sign(x, _, _ float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func hardSigmoid(x, a, b float32) float32 { return atLeast(atMost(float32(a*x)+b, 1), 0) }

func elu(x, a, b float64) float64 {
	if x < 0 {
		return a * math.Expm1(x)
	}
	return b * x
}

func celu(x, a, b float64) float64 {
	if x < 0 {
		return a * math.Expm1(b*x)
	}
	return x
}

// softplus is arranged so that the exponential does not overflow.
func softplus(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func threshold(x, a, _ float32) float32 {
	if x <= a {
		return 0
	}
	return x
}

func shrink(x, a, b float32) float32 {
	switch {
	case x < -a:
		return x + b
	case x > a:
		return x - b
	case x != x:
		return x
	}
	return 0
}
