package vec

import "math"

// generic is the functions in Go. Those that are not exact are computed in float64 and rounded.
var generic = Funcs{
	Unary: genericUnary, VV: genericVV, VP: genericVP, PV: genericPV,
	MulAdd: mulAdd, MulAddP: mulAddP,
	Sum: sum, SumAbs: sumAbs, SumSquares: sumSquares, Dot: dot, MaxOf: maxOf, MinOf: minOf, ExpSum: expSum,
	Norm: norm, RMSNorm: rmsNorm,
}

func mulAdd(dst, x, y, z []float32) {
	x, y, z = x[:len(dst)], y[:len(dst)], z[:len(dst)]
	for i := range dst {
		dst[i] = float32(x[i]*y[i]) + z[i]
	}
}

func mulAddP(dst, x []float32, y, z *Pattern) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = float32(x[i]*y[i&15]) + z[i&15]
	}
}

func norm(dst, x, y, z []float32, a, b float32) {
	x, y, z = x[:len(dst)], y[:len(dst)], z[:len(dst)]
	for i := range dst {
		dst[i] = float32((x[i]-a)*b*y[i]) + z[i]
	}
}

func rmsNorm(dst, x, y []float32, b float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] * b * y[i]
	}
}

// fold adds up what f makes of the elements, in float64.
func fold(n int, f func(i int) float64) float32 {
	s := 0.0
	for i := range n {
		s += f(i)
	}
	return float32(s)
}

func sum(x []float32) float32 {
	return fold(len(x), func(i int) float64 { return float64(x[i]) })
}

func sumAbs(x []float32) float32 {
	return fold(len(x), func(i int) float64 { return math.Abs(float64(x[i])) })
}

func sumSquares(x []float32, a float32) float32 {
	return fold(len(x), func(i int) float64 {
		d := float64(x[i] - a)
		return d * d
	})
}

func dot(x, y []float32) float32 {
	y = y[:len(x)]
	return fold(len(x), func(i int) float64 { return float64(x[i]) * float64(y[i]) })
}

func maxOf(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func minOf(x []float32) float32 {
	m := float32(math.Inf(1))
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

func expSum(dst, x []float32, a float32) float32 {
	x = x[:len(dst)]
	s := 0.0
	for i, v := range x {
		e := float32(math.Exp(float64(v - a)))
		dst[i] = e
		s += float64(e)
	}
	return float32(s)
}
