package main

import "math"

// Exponentials follow Cody and Waite: x = n·ln 2 + r with |r| ≤ ln 2/2, and eˣ = 2ⁿ·eʳ. The
// polynomials here are minimax fits (Remez's algorithm), rounded to float32; each has its error
// before rounding, relative to the function that it is for.
var (
	// (eʳ−1−r)/r² for |r| ≤ 0.3467: 2⁻²⁸.
	expCoefs = []float32{0.49999994, 0.166665211, 0.041668389, 0.00836873055, 0.00138145708}
	// (log(1+f)−f+f²/2)/f³ for −1/4 ≤ f ≤ 1/2: 2⁻³⁰.
	logCoefs = []float32{0.333333403, -0.250001639, 0.199996054, -0.166552961, 0.142762393, -0.127277792, 0.117006615,
		-0.0911619216, 0.0376729295}
	// (log(1+t)−t)/t² for 0 ≤ t ≤ 1: 2⁻³⁰.
	log1pCoefs = []float32{-0.499999881, 0.333326906, -0.249885798, 0.198979318, -0.161293373, 0.124671265, -0.0830741301,
		0.0419814102, -0.013631504, 0.00207295222}
	// (erf(x)−x)/x in terms of x² for |x| ≤ 1: 2⁻²⁹.
	erfCoefs = []float32{0.128379166, -0.37612626, 0.112835854, -0.0268538129, 0.00518832775, -0.000801019371,
		7.85386146e-05}
	// log(1−erf(x)) for 1 ≤ x ≤ 4: 2⁻²⁹ of erf(x).
	erfcCoefs = []float32{-0.000341523293, -1.12708914, -0.638144851, -0.103106752, 0.0218380634, -0.00294765807,
		0.000186379169}
)

const (
	log2e = 1.44269504
	ln2hi = 0.693147182
	ln2lo = -1.90465430e-9
)

// reduced returns n and eʳ−1 for x.
func (g *body) reduced(x val) (n, p val) {
	n = g.round(g.mul(x, g.k(log2e)), 0)
	r := g.fnma(n, g.k(ln2hi), x)
	r = g.fnma(n, g.k(ln2lo), r)
	q := g.poly(r, expCoefs...)
	return n, g.fma(g.mul(r, r), q, r)
}

// scaled is p·2ⁿ for an integer n that may take the result below or beyond all numbers.
func (g *body) scaled(p, n val) val {
	if g.avx512 {
		return g.three("VSCALEFPS", p, n)
	}
	i := g.toInt(n)
	h := g.shift("VPSRAD", i, 1)
	l := g.subi(i, h)
	return g.mul(g.mul(p, g.power(h)), g.power(l))
}

// power is 2ⁱ for −126 ≤ i ≤ 127.
func (g *body) power(i val) val { return g.shift("VPSLLD", g.addi(i, g.bits(127)), 23) }

// exp keeps a NaN: the limits are the operands that yield to one.
func (g *body) exp(x val) val {
	x = g.minx(g.held(89), g.maxx(g.held(-104), x))
	n, p := g.reduced(x)
	return g.scaled(g.add(p, g.k(1)), n)
}

// expm1 is eˣ−1 for x ≤ 80.
func (g *body) expm1(x val) val {
	x = g.minx(g.held(80), g.maxx(g.held(-25), x))
	n, p := g.reduced(x)
	s := g.power(g.toInt(n))
	return g.fma(p, s, g.sub(s, g.k(1)))
}

// tanh is (e²ˣ−1)/(e²ˣ+1) of |x|, with the sign of x.
func (g *body) tanh(x val) val {
	a := g.minx(g.held(10), g.abs(x))
	e := g.expm1(g.add(a, a))
	return g.or(g.div(e, g.add(e, g.k(2))), g.and(x, g.bits(0x80000000)))
}

// sigmoid is e/(1+e) for x < 0 and 1/(1+e) above, where e is the exponential of −|x|.
func (g *body) sigmoid(x val) val {
	e := g.exp(g.or(x, g.bits(0x80000000)))
	return g.div(g.sel(g.cmp(lt, x, g.k(0)), e, g.held(1)), g.add(e, g.k(1)))
}

func (g *body) hardSigmoid(x val) val {
	y := g.add(g.mul(x, g.inv("a")), g.inv("b"))
	return g.maxx(g.held(0), g.minx(g.held(1), y))
}

// mish is x·tanh(log(1+eˣ)) = x·u/(u+2) with u = eˣ·(eˣ+2).
func (g *body) mish(x val) val {
	e := g.exp(g.minx(g.held(20), x))
	u := g.mul(e, g.add(e, g.k(2)))
	return g.mul(x, g.div(u, g.add(u, g.k(2))))
}

// parts returns the sign bits, |x| up to 4, erf(|x|)/|x|−1 for where |x| < 1 and 1−erf(|x|) for
// elsewhere, and where that is.
func (g *body) erfParts(x val) (sign, a, low, high, small val) {
	sign = g.and(x, g.bits(0x80000000))
	a = g.minx(g.held(4), g.abs(x))
	low = g.poly(g.mul(a, a), erfCoefs...)
	n, p := g.reduced(g.poly(a, erfcCoefs...))
	high = g.mul(g.add(p, g.k(1)), g.power(g.toInt(n)))
	return sign, a, low, high, g.cmp(lt, a, g.k(1))
}

func (g *body) erf(x val) val {
	sign, a, low, high, small := g.erfParts(x)
	return g.or(g.sel(small, g.fma(a, low, a), g.sub(g.held(1), high)), sign)
}

// gelu is x/2·(1+erf(x/√2)).
func (g *body) gelu(x val) val {
	sign, a, low, high, small := g.erfParts(g.mul(x, g.k(float32(math.Sqrt2/2))))
	e := g.or(g.sel(small, g.fma(a, low, a), g.sub(g.held(1), high)), sign)
	return g.mul(g.mul(x, g.k(0.5)), g.add(e, g.k(1)))
}

// geluTanh is x·sigmoid(2u), where u is the argument of the tangent.
func (g *body) geluTanh(x val) val {
	c := 2 * math.Sqrt(2/math.Pi)
	u := g.fma(g.mul(x, x), g.k(float32(-c*0.044715)), g.k(float32(-c)))
	return g.div(x, g.add(g.exp(g.mul(u, x)), g.k(1)))
}

// log1p is log(1+t) for 0 ≤ t ≤ 1.
func (g *body) log1p(t val) val { return g.fma(g.mul(t, t), g.poly(t, log1pCoefs...), t) }

// split returns e and m with x = m·2ᵉ and 3/4 ≤ m < 3/2, for positive numbers.
func (g *body) split(x val) (e, m val) {
	if g.avx512 {
		m = g.shift("VGETMANTPS", x, 3)
		e = g.emit(ins{kind: one, op: "VGETEXPPS", a: x}, info{})
		return g.sel(g.cmp(lt, m, g.k(1)), g.add(e, g.k(1)), e), m
	}
	small := g.cmp(lt, x, g.bits(0x00800000))
	x = g.sel(small, g.mul(x, g.k(1<<23)), x)
	base := g.sel(small, g.held(127+23), g.held(127))
	e = g.sub(g.toFloat(g.shift("VPSRLD", x, 23)), base)
	m = g.or(g.and(x, g.bits(0x007fffff)), g.bits(0x3f800000))
	upper := g.cmp(notLess, m, g.k(1.5))
	return g.sel(upper, g.add(e, g.k(1)), e), g.sel(upper, g.mul(m, g.k(0.5)), m)
}

func (g *body) log(x val) val {
	e, m := g.split(x)
	f := g.sub(m, g.k(1))
	s := g.mul(f, f)
	y := g.mul(g.mul(f, s), g.poly(f, logCoefs...))
	y = g.fma(e, g.k(ln2lo), y)
	y = g.fnma(s, g.held(0.5), y)
	y = g.fma(e, g.k(ln2hi), g.add(f, y))
	y = g.sel(g.cmp(notLess, x, g.k(inf)), x, y)
	y = g.sel(g.cmp(lt, x, g.k(0)), g.held(float32(math.NaN())), y)
	return g.sel(g.cmp(eq, x, g.k(0)), g.held(-inf), y)
}
