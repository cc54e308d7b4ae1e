package main

import (
	"fmt"
	"math"
	"strings"
)

// unaryFn is a function of one operand; name is that of its constant.
func unaryFn(name string, unroll int, f func(g *body, x val) val) fn {
	return fn{name: "un" + name, args: []string{"dst", "x", "a", "b"}, unroll: unroll, body: func(g *body) val {
		g.store(f(g, g.load(0)))
		return 0
	}}
}

// binaryFns are the three forms of a function of two operands.
func binaryFns(name string, f func(g *body, x, y val) val) []fn {
	vv := fn{name: "vv" + name, args: []string{"dst", "x", "y"}, unroll: 4, body: func(g *body) val {
		g.store(f(g, g.load(0), g.load(1)))
		return 0
	}}
	vp := fn{name: "vp" + name, args: []string{"dst", "x", "py"}, unroll: 4, body: func(g *body) val {
		g.store(f(g, g.load(0), g.inv("py")))
		return 0
	}}
	pv := fn{name: "pv" + name, args: []string{"dst", "px", "y"}, unroll: 4, body: func(g *body) val {
		g.store(f(g, g.inv("px"), g.load(0)))
		return 0
	}}
	return []fn{vv, vp, pv}
}

var unaries = []fn{
	unaryFn("Neg", 4, (*body).neg),
	unaryFn("Abs", 4, (*body).abs),
	unaryFn("Square", 4, func(g *body, x val) val { return g.mul(x, x) }),
	unaryFn("Sqrt", 2, (*body).sqrt),
	unaryFn("Reciprocal", 2, func(g *body, x val) val { return g.div(g.held(1), x) }),
	unaryFn("Sign", 2, func(g *body, x val) val {
		return g.sel(g.cmp(lt, x, g.k(0)), g.held(-1), g.sel(g.cmp(gt, x, g.k(0)), g.held(1), x))
	}),
	unaryFn("Floor", 4, func(g *body, x val) val { return g.round(x, 1) }),
	unaryFn("Ceil", 4, func(g *body, x val) val { return g.round(x, 2) }),
	unaryFn("Round", 4, func(g *body, x val) val { return g.round(x, 0) }),
	unaryFn("Exp", 2, (*body).exp),
	unaryFn("Log", 1, (*body).log),
	unaryFn("Tanh", 2, (*body).tanh),
	unaryFn("Sigmoid", 2, (*body).sigmoid),
	unaryFn("Erf", 1, (*body).erf),
	unaryFn("Relu", 4, func(g *body, x val) val { return g.maxx(g.held(0), x) }),
	unaryFn("LeakyRelu", 4, func(g *body, x val) val {
		return g.sel(g.cmp(lt, x, g.k(0)), g.mul(x, g.inv("a")), x)
	}),
	unaryFn("Clip", 4, func(g *body, x val) val { return g.minx(g.inv("b"), g.maxx(g.inv("a"), x)) }),
	unaryFn("HardSigmoid", 4, (*body).hardSigmoid),
	unaryFn("HardSwish", 4, func(g *body, x val) val { return g.mul(x, g.hardSigmoid(x)) }),
	unaryFn("Swish", 2, func(g *body, x val) val {
		return g.div(x, g.add(g.exp(g.neg(g.mul(x, g.inv("a")))), g.k(1)))
	}),
	unaryFn("Elu", 2, func(g *body, x val) val {
		return g.sel(g.cmp(lt, x, g.k(0)), g.mul(g.expm1(x), g.inv("a")), g.mul(x, g.inv("b")))
	}),
	unaryFn("Celu", 2, func(g *body, x val) val {
		return g.sel(g.cmp(lt, x, g.k(0)), g.mul(g.expm1(g.mul(x, g.inv("b"))), g.inv("a")), x)
	}),
	unaryFn("Softplus", 1, func(g *body, x val) val {
		return g.add(g.maxx(g.held(0), x), g.log1p(g.exp(g.or(x, g.bits(0x80000000)))))
	}),
	unaryFn("Softsign", 2, func(g *body, x val) val { return g.div(x, g.add(g.abs(x), g.k(1))) }),
	unaryFn("Mish", 1, (*body).mish),
	unaryFn("Gelu", 1, (*body).gelu),
	unaryFn("GeluTanh", 2, (*body).geluTanh),
	unaryFn("Threshold", 4, func(g *body, x val) val { return g.sel(g.cmp(le, x, g.inv("a")), g.held(0), x) }),
	unaryFn("Shrink", 2, func(g *body, x val) val {
		a, b := g.inv("a"), g.inv("b")
		inner := g.sel(g.cmp(unord, x, x), x, g.held(0))
		upper := g.sel(g.cmp(gt, x, a), g.sub(x, b), inner)
		return g.sel(g.cmp(lt, x, g.neg(a)), g.add(x, b), upper)
	}),
	unaryFn("Affine", 4, func(g *body, x val) val { return g.add(g.mul(x, g.inv("a")), g.inv("b")) }),
	unaryFn("Standardize", 4, func(g *body, x val) val { return g.mul(g.sub(x, g.inv("a")), g.inv("b")) }),
}

var binaries = [][]fn{
	binaryFns("Add", (*body).add),
	binaryFns("Sub", (*body).sub),
	binaryFns("Mul", (*body).mul),
	binaryFns("Div", (*body).div),
	binaryFns("Min", func(g *body, x, y val) val { return g.sel(g.cmp(unord, x, x), x, g.minx(x, y)) }),
	binaryFns("Max", func(g *body, x, y val) val { return g.sel(g.cmp(unord, x, x), x, g.maxx(x, y)) }),
	binaryFns("AtLeast", func(g *body, x, y val) val { return g.maxx(y, x) }),
	binaryFns("AtMost", func(g *body, x, y val) val { return g.minx(y, x) }),
	binaryFns("PRelu", func(g *body, x, y val) val { return g.sel(g.cmp(lt, x, g.k(0)), g.mul(x, y), x) }),
	binaryFns("And", (*body).and),
}

var inf = float32(math.Inf(1))

var (
	summing = fold{join: (*body).add, final: "VADDPS"}
	highest = fold{start: -inf, final: "VMAXPS", nan: true, join: func(g *body, acc, v val) val {
		return g.sel(g.cmp(unord, v, v), v, g.maxx(v, acc))
	}}
	lowest = fold{start: inf, final: "VMINPS", nan: true, join: func(g *body, acc, v val) val {
		return g.sel(g.cmp(unord, v, v), v, g.minx(v, acc))
	}}
)

var others = []fn{
	{name: "mulAdd", args: []string{"dst", "x", "y", "z"}, unroll: 4, body: func(g *body) val {
		g.store(g.add(g.mul(g.load(0), g.load(1)), g.load(2)))
		return 0
	}},
	{name: "mulAddP", args: []string{"dst", "x", "py", "pz"}, unroll: 4, body: func(g *body) val {
		g.store(g.add(g.mul(g.load(0), g.inv("py")), g.inv("pz")))
		return 0
	}},
	{name: "norm", args: []string{"dst", "x", "y", "z", "a", "b"}, unroll: 2, body: func(g *body) val {
		x := g.mul(g.sub(g.load(0), g.inv("a")), g.inv("b"))
		g.store(g.add(g.mul(x, g.load(1)), g.load(2)))
		return 0
	}},
	{name: "rmsNorm", args: []string{"dst", "x", "y", "b"}, unroll: 2, body: func(g *body) val {
		g.store(g.mul(g.mul(g.load(0), g.inv("b")), g.load(1)))
		return 0
	}},
	{name: "sum", args: []string{"x"}, unroll: 4, fold: &summing, body: func(g *body) val { return g.load(0) }},
	{name: "sumAbs", args: []string{"x"}, unroll: 4, fold: &summing, body: func(g *body) val { return g.abs(g.load(0)) }},
	{name: "sumSquares", args: []string{"x", "a"}, unroll: 4, fold: &summing, body: func(g *body) val {
		d := g.sub(g.load(0), g.inv("a"))
		return g.mul(d, d)
	}},
	{name: "dot", args: []string{"x", "y"}, unroll: 4, fold: &summing, body: func(g *body) val {
		return g.mul(g.load(0), g.load(1))
	}},
	{name: "maxOf", args: []string{"x"}, unroll: 4, fold: &highest, body: func(g *body) val { return g.load(0) }},
	{name: "minOf", args: []string{"x"}, unroll: 4, fold: &lowest, body: func(g *body) val { return g.load(0) }},
	{name: "expSum", args: []string{"dst", "x", "a"}, unroll: 2, fold: &summing, body: func(g *body) val {
		e := g.exp(g.sub(g.load(0), g.inv("a")))
		g.store(e)
		return e
	}},
}

var functions = all()

func all() []fn {
	out := append([]fn{}, unaries...)
	for _, fs := range binaries {
		out = append(out, fs...)
	}
	return append(out, others...)
}

// table returns the Go variable that holds the functions of an instruction set.
func table(s isa) string {
	var b strings.Builder
	fmt.Fprintf(&b, "var %s = filled(Funcs{\n", strings.ToLower(s.name))
	list := func(field, typ, prefix string, fs []fn) {
		fmt.Fprintf(&b, "\t%s: %s{\n", field, typ)
		for _, f := range fs {
			if name, ok := strings.CutPrefix(f.name, prefix); ok {
				fmt.Fprintf(&b, "\t\t%s: %s%s,\n", name, f.name, s.name)
			}
		}
		b.WriteString("\t},\n")
	}
	list("Unary", "[NumUnary]func(dst, x []float32, a, b float32)", "un", unaries)
	list("VV", "[NumBinary]func(dst, x, y []float32)", "vv", functions)
	list("VP", "[NumBinary]func(dst, x []float32, y *Pattern)", "vp", functions)
	list("PV", "[NumBinary]func(dst []float32, x *Pattern, y []float32)", "pv", functions)
	for _, f := range others {
		field := strings.Replace(strings.ToUpper(f.name[:1])+f.name[1:], "Rms", "RMS", 1)
		fmt.Fprintf(&b, "\t%s: %s%s,\n", field, f.name, s.name)
	}
	b.WriteString("})\n")
	return b.String()
}
