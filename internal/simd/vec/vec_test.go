package vec

import (
	"fmt"
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/simd"
)

// ulps is the distance of two numbers in units of the last place of want.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case w != w:
		if got != got {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0):
		if got == w {
			return 0
		}
		// The rounding of what is next to infinity is an error of one unit.
		w = float32(math.Copysign(math.MaxFloat32, want))
		if got == w || math.Abs(want) < math.MaxFloat32*(1+1e-6) && float64(got) == math.Copysign(math.Inf(1), want) {
			return 1
		}
		return math.Inf(1)
	}
	a := float32(math.Abs(float64(w)))
	unit := float64(math.Nextafter32(a, float32(math.Inf(1)))) - float64(a)
	return math.Abs(float64(got)-want) / unit
}

// sample returns float32s of all sizes and signs: each step-th pattern of bits, and what lies
// around the numbers where functions change.
func sample(step uint32) []float32 {
	var out []float32
	for b := uint32(0); ; b += step {
		out = append(out, math.Float32frombits(b))
		if b > math.MaxUint32-step {
			break
		}
	}
	for _, x := range []float32{0, 1, 0.5, 2, 0.75, 1.5, 4, 6, 88.7, 89, -87.3, -88, -103.9, -104, 9, 10, 20, 1e-38, 1e-45,
		3.4e38, float32(math.Inf(1)), float32(math.NaN())} {
		for i := range uint32(32) {
			for _, d := range []uint32{i, -i} {
				out = append(out, math.Float32frombits(math.Float32bits(x)+d), -math.Float32frombits(math.Float32bits(x)+d))
			}
		}
	}
	return out
}

// bounded lists functions whose error is so many units of the last place. Errors of less than
// floor, or of less than limit times the operand, do not count.
var bounded = []struct {
	f            Unary
	a, b         float32
	bound        float64
	floor, limit float64
	exact        func(x float64) float64
}{
	{f: Exp, bound: 2, exact: math.Exp},
	{f: Log, bound: 2, exact: math.Log},
	{f: Tanh, bound: 4, exact: math.Tanh},
	{f: Sigmoid, bound: 4, exact: sigmoid},
	{f: Erf, bound: 4, exact: math.Erf},
	{f: Elu, a: 1.5, b: 1.25, bound: 4, exact: func(x float64) float64 { return elu(x, 1.5, 1.25) }},
	{f: Celu, a: 2, b: 0.5, bound: 4, exact: func(x float64) float64 { return celu(x, 2, 0.5) }},
	{f: Softplus, bound: 4, exact: softplus},
	{f: Mish, bound: 6, floor: 0x1p-119, exact: func(x float64) float64 { return x * math.Tanh(softplus(x)) }},
	{f: Swish, a: 1, bound: 4, floor: 0x1p-119, exact: func(x float64) float64 { return x * sigmoid(x) }},
	{f: Softsign, bound: 2, exact: func(x float64) float64 { return x / (1 + math.Abs(x)) }},
	{f: Gelu, bound: 0.5, limit: 0x1p-22, exact: func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }},
	{f: GeluTanh, bound: 0.5, limit: 0x1p-22, exact: geluTanh},
	{f: Sqrt, bound: 0.5, exact: math.Sqrt},
	{f: Reciprocal, bound: 0.5, exact: func(x float64) float64 { return 1 / x }},
}

func TestFunctionsKeepTheirBounds(t *testing.T) {
	step := uint32(10007)
	if testing.Short() {
		step = 65521
	}
	x := sample(step)
	got := make([]float32, len(x))
	for _, l := range simd.Levels() {
		for _, c := range bounded {
			For(l).Unary[c.f](got, x, c.a, c.b)
			worst, at := 0.0, 0
			for i, v := range x {
				want := c.exact(float64(v))
				e := ulps(got[i], want)
				if math.Abs(float64(got[i])-want) <= c.floor+c.limit*math.Abs(float64(v)) {
					e = 0
				}
				if e > worst {
					worst, at = e, i
				}
			}
			t.Logf("%v %d: %.3f units at %v", l, c.f, worst, x[at])
			if worst > c.bound {
				t.Errorf("%v: function %d of %v (%#x): got %v, want %v within %v units: is %v", l, c.f, x[at],
					math.Float32bits(x[at]), got[at], c.exact(float64(x[at])), c.bound, worst)
			}
		}
	}
}

// same reports whether two results are the same but for the kind of NaN and the sign of zero.
func same(a, b float32) bool { return a == b || a != a && b != b }

func TestExactFunctionsAreTheSameOnAllLevels(t *testing.T) {
	x := sample(65521)
	got, want := make([]float32, len(x)), make([]float32, len(x))
	for _, l := range simd.Levels() {
		for _, f := range []Unary{Neg, Abs, Square, Sqrt, Reciprocal, Sign, Floor, Ceil, Round, Relu, LeakyRelu, Clip, HardSigmoid,
			HardSwish, Threshold, Shrink, Affine, Standardize} {
			For(l).Unary[f](got, x, 0.25, 0.75)
			generic.Unary[f](want, x, 0.25, 0.75)
			for i := range x {
				if !same(got[i], want[i]) {
					t.Errorf("%v: function %d of %v: got %v, want %v", l, f, x[i], got[i], want[i])
					break
				}
			}
		}
	}
}

// guarded is a slice of n elements between sentinels.
func guarded(n int) (all, middle []float32) {
	all = make([]float32, n+64)
	for i := range all {
		all[i] = 12345
	}
	return all, all[32 : 32+n : 32+n]
}

func intact(t *testing.T, what string, all []float32, n int) {
	t.Helper()
	for i, v := range all {
		if (i < 32 || i >= 32+n) && v != 12345 {
			t.Errorf("%s: wrote outside at %d of %d", what, i-32, n)
			return
		}
	}
}

func TestLengthsOfAllKindsAreCovered(t *testing.T) {
	for _, l := range simd.Levels() {
		for n := range 140 {
			testLength(t, l, n)
		}
	}
}

// lengths is the operands of one length.
type lengths struct {
	t       *testing.T
	l       simd.Level
	x, y, z []float32
	p, q    Pattern
	// all is the memory around dst.
	all, dst, want []float32
}

// testLength runs every function on n elements.
func testLength(t *testing.T, l simd.Level, n int) {
	c := &lengths{t: t, l: l, want: make([]float32, n)}
	_, c.x = guarded(n)
	_, c.y = guarded(n)
	_, c.z = guarded(n)
	c.all, c.dst = guarded(n)
	for i := range c.x {
		c.x[i], c.y[i], c.z[i] = float32(i%23)/4-2.5, float32(i%19)/8+0.25, float32(i%7)-3
	}
	for i := range c.p {
		c.p[i], c.q[i] = float32(i)/8-1, float32(i)/16
	}
	c.elements(For(l))
	c.several(For(l))
}

// check compares, and makes the result rubbish again.
func (c *lengths) check(what string, k int) {
	c.t.Helper()
	what = fmt.Sprintf("%v: %s %d of %d", c.l, what, k, len(c.want))
	intact(c.t, what, c.all, len(c.want))
	for i, w := range c.want {
		d := math.Abs(float64(c.dst[i] - w))
		if !(d <= 2e-6*(1+math.Abs(float64(w)))) && !same(c.dst[i], w) {
			c.t.Errorf("%s: element %d: got %v, want %v", what, i, c.dst[i], w)
			return
		}
		c.dst[i] = 12345
	}
}

// elements runs the functions of one operand and of two.
func (c *lengths) elements(f *Funcs) {
	for k := range f.Unary {
		f.Unary[k](c.dst, c.x, 0.5, 0.25)
		generic.Unary[k](c.want, c.x, 0.5, 0.25)
		c.check("unary", k)
	}
	for k := range f.VV {
		if Binary(k) == Pow {
			continue
		}
		f.VV[k](c.dst, c.x, c.y)
		generic.VV[k](c.want, c.x, c.y)
		c.check("vv", k)
		f.VP[k](c.dst, c.y, &c.p)
		generic.VP[k](c.want, c.y, &c.p)
		c.check("vp", k)
		f.PV[k](c.dst, &c.p, c.y)
		generic.PV[k](c.want, &c.p, c.y)
		c.check("pv", k)
	}
}

// several runs the other functions.
func (c *lengths) several(f *Funcs) {
	f.MulAdd(c.dst, c.x, c.y, c.z)
	generic.MulAdd(c.want, c.x, c.y, c.z)
	c.check("mulAdd", 0)
	f.MulAddP(c.dst, c.x, &c.p, &c.q)
	generic.MulAddP(c.want, c.x, &c.p, &c.q)
	c.check("mulAddP", 0)
	f.Norm(c.dst, c.x, c.y, c.z, 0.5, 2)
	generic.Norm(c.want, c.x, c.y, c.z, 0.5, 2)
	c.check("norm", 0)
	f.RMSNorm(c.dst, c.x, c.y, 2)
	generic.RMSNorm(c.want, c.x, c.y, 2)
	c.check("rmsNorm", 0)
	got := f.ExpSum(c.dst, c.x, 1)
	sum := generic.ExpSum(c.want, c.x, 1)
	c.check("expSum", 0)
	testFolds(c.t, c.l, c.x, c.y, got, sum)
}

func testFolds(t *testing.T, l simd.Level, x, y []float32, expGot, expWant float32) {
	t.Helper()
	f := For(l)
	for i, c := range [][2]float32{
		{expGot, expWant}, {f.Sum(x), generic.Sum(x)}, {f.SumAbs(x), generic.SumAbs(x)},
		{f.SumSquares(x, 0.5), generic.SumSquares(x, 0.5)}, {f.Dot(x, y), generic.Dot(x, y)},
		{f.MaxOf(x), generic.MaxOf(x)}, {f.MinOf(x), generic.MinOf(x)},
	} {
		if d := math.Abs(float64(c[0] - c[1])); d > 1e-5*(1+math.Abs(float64(c[1]))) && c[0] != c[1] {
			t.Errorf("%v: fold %d of %d: got %v, want %v", l, i, len(x), c[0], c[1])
		}
	}
}

func TestFoldsKeepANaN(t *testing.T) {
	for _, l := range simd.Levels() {
		f := For(l)
		for n := 1; n < 70; n++ {
			for i := range n {
				x := make([]float32, n)
				x[i] = float32(math.NaN())
				for k, v := range []float32{f.MaxOf(x), f.MinOf(x), f.Sum(x), f.SumSquares(x, 1), f.Dot(x, x)} {
					if v == v {
						t.Fatalf("%v: fold %d of %d, NaN at %d: got %v", l, k, n, i, v)
					}
				}
			}
		}
	}
}
