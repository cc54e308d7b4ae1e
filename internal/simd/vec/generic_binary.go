package vec

import "math"

// vv applies f to pairs of elements.
func vv(f func(x, y float32) float32) func(dst, x, y []float32) {
	return func(dst, x, y []float32) {
		x, y = x[:len(dst)], y[:len(dst)]
		for i := range dst {
			dst[i] = f(x[i], y[i])
		}
	}
}

func vp(f func(x, y float32) float32) func(dst, x []float32, y *Pattern) {
	return func(dst, x []float32, y *Pattern) {
		x = x[:len(dst)]
		for i := range dst {
			dst[i] = f(x[i], y[i&15])
		}
	}
}

func pv(f func(x, y float32) float32) func(dst []float32, x *Pattern, y []float32) {
	return func(dst []float32, x *Pattern, y []float32) {
		y = y[:len(dst)]
		for i := range dst {
			dst[i] = f(x[i&15], y[i])
		}
	}
}

func add(x, y float32) float32 { return x + y }
func sub(x, y float32) float32 { return x - y }
func mul(x, y float32) float32 { return x * y }
func div(x, y float32) float32 { return x / y }

func least(x, y float32) float32 { return min(x, y) }
func most(x, y float32) float32  { return max(x, y) }

func atLeast(x, y float32) float32 {
	if x < y {
		return y
	}
	return x
}

func atMost(x, y float32) float32 {
	if x > y {
		return y
	}
	return x
}

func pow(x, y float32) float32 { return float32(math.Pow(float64(x), float64(y))) }

func prelu(x, y float32) float32 {
	if x < 0 {
		return x * y
	}
	return x
}

func and(x, y float32) float32 {
	return math.Float32frombits(math.Float32bits(x) & math.Float32bits(y))
}

// The four operations have loops of their own, which compilers unroll.
var genericVV = [NumBinary]func(dst, x, y []float32){
	Add: func(dst, x, y []float32) {
		x, y = x[:len(dst)], y[:len(dst)]
		for i := range dst {
			dst[i] = x[i] + y[i]
		}
	},
	Sub: func(dst, x, y []float32) {
		x, y = x[:len(dst)], y[:len(dst)]
		for i := range dst {
			dst[i] = x[i] - y[i]
		}
	},
	Mul: func(dst, x, y []float32) {
		x, y = x[:len(dst)], y[:len(dst)]
		for i := range dst {
			dst[i] = x[i] * y[i]
		}
	},
	Div: func(dst, x, y []float32) {
		x, y = x[:len(dst)], y[:len(dst)]
		for i := range dst {
			dst[i] = x[i] / y[i]
		}
	},
	Min: vv(least), Max: vv(most), AtLeast: vv(atLeast), AtMost: vv(atMost), Pow: vv(pow), PRelu: vv(prelu), And: vv(and),
}

var genericVP = [NumBinary]func(dst, x []float32, y *Pattern){
	Add: vp(add), Sub: vp(sub), Mul: vp(mul), Div: vp(div), Min: vp(least), Max: vp(most),
	AtLeast: vp(atLeast), AtMost: vp(atMost), Pow: vp(pow), PRelu: vp(prelu), And: vp(and),
}

var genericPV = [NumBinary]func(dst []float32, x *Pattern, y []float32){
	Add: pv(add), Sub: pv(sub), Mul: pv(mul), Div: pv(div), Min: pv(least), Max: pv(most),
	AtLeast: pv(atLeast), AtMost: pv(atMost), Pow: pv(pow), PRelu: pv(prelu), And: pv(and),
}
