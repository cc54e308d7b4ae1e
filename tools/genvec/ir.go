package main

import "math"

// isa is an instruction set.
type isa struct {
	name string
	// lanes is the number of float32 in a register, reg the letter of its registers.
	lanes int
	reg   string
	// temps is how many registers code may use; the tail's mask, if it is in one, comes after them.
	temps  int
	avx512 bool
}

var isas = []isa{
	{name: "AVX2", lanes: 8, reg: "Y", temps: 15},
	{name: "AVX512", lanes: 16, reg: "Z", temps: 32, avx512: true},
	{name: "NEON", lanes: 4, temps: 31},
}

// arch is the architecture as Go names it.
func (s isa) arch() string {
	if s.lanes == 4 {
		return "arm64"
	}
	return "amd64"
}

// kind is what an instruction does.
type kind uint8

const (
	load kind = iota
	store
	three
	fma
	fnma
	one
	imm
	cmp
	sel
	// set changes the invariant b to a: an accumulator.
	set
)

// val names a value of a body: the result of one instruction, an invariant, or a constant.
type val int

// ins is an instruction on values. op is its mnemonic without the suffixes of operands.
type ins struct {
	kind    kind
	op      string
	dst     val
	a, b, c val
	n       int
}

// info is what is known of a value.
type info struct {
	constant bool
	bits     uint32
	mask     bool
	// invariant names what is loaded before the loop: a parameter, a pattern, or a constant.
	invariant string
}

// body is the code for one register of elements.
type body struct {
	isa
	code []ins
	vals []info
	// consts and invs find values that are used again.
	consts map[uint32]val
	invs   map[string]val
	// tail says that a register is not full: tailMask is set where it is.
	tail bool
}

func newBody(s isa, tail bool) *body {
	return &body{isa: s, consts: map[uint32]val{}, invs: map[string]val{}, tail: tail}
}

func (g *body) value(i info) val {
	g.vals = append(g.vals, i)
	return val(len(g.vals) - 1)
}

func (g *body) emit(i ins, to info) val {
	i.dst = g.value(to)
	g.code = append(g.code, i)
	return i.dst
}

// bits is a constant by its bits, k by its value.
func (g *body) bits(b uint32) val {
	v, ok := g.consts[b]
	if !ok {
		v = g.value(info{constant: true, bits: b})
		g.consts[b] = v
	}
	return v
}

func (g *body) k(x float32) val { return g.bits(math.Float32bits(x)) }

// inv is something that a register holds all through the loop: "a" or "b" for a parameter, "p1"
// for the pattern that is operand 1, "=" and bits for a constant.
func (g *body) inv(name string) val {
	v, ok := g.invs[name]
	if !ok {
		v = g.value(info{invariant: name})
		g.invs[name] = v
	}
	return v
}

// only is v where there are elements, else x.
func (g *body) only(v val, x float32) val {
	if !g.tail {
		return v
	}
	return g.sel(g.inv("tail"), v, g.held(x))
}

// held is a constant in a register.
func (g *body) held(x float32) val {
	return g.inv("=" + constName(math.Float32bits(x)))
}

func (g *body) load(i int) val { return g.emit(ins{kind: load, n: i}, info{}) }
func (g *body) store(v val)    { g.code = append(g.code, ins{kind: store, a: v, dst: -1}) }

func (g *body) three(op string, a, b val) val {
	return g.emit(ins{kind: three, op: op, a: a, b: b}, info{})
}

func (g *body) add(a, b val) val  { return g.three("VADDPS", a, b) }
func (g *body) sub(a, b val) val  { return g.three("VSUBPS", a, b) }
func (g *body) mul(a, b val) val  { return g.three("VMULPS", a, b) }
func (g *body) div(a, b val) val  { return g.three("VDIVPS", a, b) }
func (g *body) and(a, b val) val  { return g.three("VANDPS", a, b) }
func (g *body) or(a, b val) val   { return g.three("VORPS", a, b) }
func (g *body) xor(a, b val) val  { return g.three("VXORPS", a, b) }
func (g *body) addi(a, b val) val { return g.three("VPADDD", a, b) }
func (g *body) subi(a, b val) val { return g.three("VPSUBD", a, b) }

// maxx is a where a > b, else b; minx is a where a < b, else b: a NaN in either gives b.
func (g *body) maxx(a, b val) val { return g.three("VMAXPS", a, b) }
func (g *body) minx(a, b val) val { return g.three("VMINPS", a, b) }

// fma is a·b+c, fnma c−a·b, rounded once.
func (g *body) fma(a, b, c val) val  { return g.emit(ins{kind: fma, a: a, b: b, c: c}, info{}) }
func (g *body) fnma(a, b, c val) val { return g.emit(ins{kind: fnma, a: a, b: b, c: c}, info{}) }

func (g *body) sqrt(a val) val { return g.emit(ins{kind: one, op: "VSQRTPS", a: a}, info{}) }
func (g *body) toInt(a val) val {
	return g.emit(ins{kind: one, op: "VCVTPS2DQ", a: a}, info{})
}
func (g *body) toFloat(a val) val {
	return g.emit(ins{kind: one, op: "VCVTDQ2PS", a: a}, info{})
}

// round goes to an integer: the nearest (0), below (1), above (2).
func (g *body) round(a val, mode int) val {
	op := "VROUNDPS"
	if g.avx512 {
		op = "VRNDSCALEPS"
	}
	return g.emit(ins{kind: imm, op: op, a: a, n: mode | 8}, info{})
}

func (g *body) shift(op string, a val, n int) val {
	return g.emit(ins{kind: imm, op: op, a: a, n: n}, info{})
}

// Predicates of cmp; all but the last are false for a NaN.
const (
	lt    = 0x11
	le    = 0x12
	unord = 0x03
	gt    = 0x1e
	// notLess is true for a NaN as well.
	notLess = 0x15
	eq      = 0x00
)

func (g *body) cmp(pred int, a, b val) val {
	return g.emit(ins{kind: cmp, op: "VCMPPS", a: a, b: b, n: pred}, info{mask: true})
}

// sel is a where the mask m is set, else b.
func (g *body) sel(m, a, b val) val { return g.emit(ins{kind: sel, a: a, b: b, c: m}, info{}) }

// poly is c[0] + c[1]·x + …, by Horner's rule.
func (g *body) poly(x val, c ...float32) val {
	p := g.fma(x, g.k(c[len(c)-1]), g.k(c[len(c)-2]))
	for i := len(c) - 3; i >= 0; i-- {
		p = g.fma(p, x, g.k(c[i]))
	}
	return p
}

func (g *body) abs(x val) val { return g.and(x, g.bits(0x7fffffff)) }
func (g *body) neg(x val) val { return g.xor(x, g.bits(0x80000000)) }
