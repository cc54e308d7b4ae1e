package main

import "fmt"

// Encodings of the vector instructions, for four float32 or int32 in a register: Go's assembler
// lacks most of them. Rd is bits 0 to 4, Rn 5 to 9, Rm 16 to 20 (Arm Architecture Reference Manual,
// C7.2).
const (
	neonMla  = 0x4e20cc00
	neonMls  = 0x4ea0cc00
	neonGt   = 0x6ea0e400
	neonGe   = 0x6e20e400
	neonEq   = 0x4e20e400
	neonOrr  = 0x4ea01c00
	neonBsl  = 0x6e601c00
	neonNot  = 0x6e205800
	neonDup  = 0x4e040400
	neonLane = 0x4d40c800
)

// neonThree are the instructions of two operands that have one of their own.
var neonThree = map[string]uint32{"VADDPS": 0x4e20d400, "VSUBPS": 0x4ea0d400, "VMULPS": 0x6e20dc00, "VDIVPS": 0x6e20fc00,
	"VANDPS": 0x4e201c00, "VORPS": neonOrr, "VXORPS": 0x6e201c00, "VPADDD": 0x4ea08400, "VPSUBD": 0x6ea08400}

var neonOne = map[string]uint32{"VSQRTPS": 0x6ea1f800, "VCVTPS2DQ": 0x4e21a800, "VCVTDQ2PS": 0x4e21d800}

// neonRound are the roundings to the nearest integer, the one below and the one above.
var neonRound = [3]uint32{0x4e218800, 0x4e219800, 0x4ea18800}

// neon writes a body for ARM's Advanced SIMD.
type neon struct{ *emission }

func (e *neon) run() { e.each(e.step) }

// word writes an instruction with its registers.
func (w *writer) word(code uint32, d, n, m int, what string) {
	w.line("WORD $0x%08x // %s V%d, V%d, V%d", code|uint32(m)<<16|uint32(n)<<5|uint32(d), what, d, n, m)
}

// in returns the register of a value; constants that no register holds are loaded into a
// temporary, which the caller releases.
func (e *neon) in(v val) (r int, temp bool) {
	if !e.isConst(v) {
		return e.place(v), false
	}
	name := "=" + constName(e.vals[v].bits)
	if h := e.held[name]; h != nil {
		return h[0], false
	}
	r = e.take()
	e.constant(e.vals[v].bits, r)
	return r, true
}

// constant loads a constant from the table that R4 points to.
func (e *neon) constant(bits uint32, r int) {
	e.w.consts[bits] = true
	e.w.line("FMOVQ %s(R4), F%d", constOffset(bits), r)
}

// constOffset stands for the offset of a constant in the table, which is known at the end.
func constOffset(bits uint32) string { return fmt.Sprintf("@%08x@", bits) }

func (e *neon) release(r int, temp bool) {
	if temp {
		e.free[r] = true
	}
}

func (e *neon) step(i int, s ins) {
	switch s.kind {
	case load, store:
		e.move(i, s)
	case three:
		e.three(i, s)
	case fma:
		e.fused(i, s, neonMla, "FMLA")
	case fnma:
		e.fused(i, s, neonMls, "FMLS")
	case one, imm:
		a, temp := e.in(s.a)
		e.release(a, temp)
		e.dies(i, s.a)
		r := e.take()
		e.single(s, a, r)
		e.regs[s.dst] = r
	case cmp:
		e.compare(i, s)
	case sel:
		e.choose(i, s)
	case set:
		from, to := e.place(s.a), e.place(s.b)
		e.w.word(neonOrr, to, from, from, "ORR")
		e.dies(i, s.a)
	}
}

// single writes an instruction of one operand.
func (e *neon) single(s ins, a, r int) {
	switch s.op {
	case "VPSLLD":
		e.w.word(0x4f205400|uint32(s.n)<<16, r, a, 0, "SHL")
	case "VPSRAD":
		e.w.word(0x4f000400|uint32(64-s.n)<<16, r, a, 0, "SSHR")
	case "VPSRLD":
		e.w.word(0x6f000400|uint32(64-s.n)<<16, r, a, 0, "USHR")
	case "VROUNDPS":
		e.w.word(neonRound[s.n&3], r, a, 0, "FRINT")
	default:
		code, ok := neonOne[s.op]
		if !ok {
			panic("BUG: genvec: no NEON for " + s.op)
		}
		e.w.word(code, r, a, 0, s.op)
	}
}

func (e *neon) move(i int, s ins) {
	p := armPointers[0]
	if s.kind == load {
		p = armPointers[s.n+e.dst]
	}
	offset := 4 * e.lanes * e.index
	if e.tail {
		offset = 0
	}
	if s.kind == store {
		r, temp := e.in(s.a)
		e.w.line("FMOVQ F%d, %d(%s)", r, offset, p)
		e.release(r, temp)
		e.dies(i, s.a)
		return
	}
	r := e.take()
	e.w.line("FMOVQ %d(%s), F%d", offset, p, r)
	e.regs[s.dst] = r
}

func (e *neon) three(i int, s ins) {
	a, ta := e.in(s.a)
	b, tb := e.in(s.b)
	e.release(a, ta)
	e.release(b, tb)
	switch s.op {
	case "VMAXPS", "VMINPS":
		// The mask has a register of its own, since the operands are read after it is written.
		r := e.take()
		if r == a || r == b {
			panic("BUG: genvec: a mask in the place of an operand")
		}
		if s.op == "VMAXPS" {
			e.w.word(neonGt, r, a, b, "FCMGT")
		} else {
			e.w.word(neonGt, r, b, a, "FCMGT")
		}
		e.w.word(neonBsl, r, a, b, "BSL")
		e.dies(i, s.a, s.b)
		e.regs[s.dst] = r
		return
	}
	code, ok := neonThree[s.op]
	if !ok {
		panic("BUG: genvec: no NEON for " + s.op)
	}
	e.dies(i, s.a, s.b)
	r := e.take()
	e.w.word(code, r, a, b, s.op)
	e.regs[s.dst] = r
}

// fused adds to, or takes from, the register of c.
func (e *neon) fused(i int, s ins, code uint32, what string) {
	a, ta := e.in(s.a)
	b, tb := e.in(s.b)
	r := e.own(i, s.c)
	e.w.word(code, r, a, b, what)
	e.release(a, ta)
	e.release(b, tb)
	e.dies(i, s.a, s.b, s.c)
	e.regs[s.dst] = r
}

// own returns a register with the contents of v that instruction i may overwrite.
func (e *neon) own(i int, v val) int {
	if e.dying(i, v) {
		r := e.regs[v]
		delete(e.regs, v)
		return r
	}
	from, temp := e.in(v)
	if temp {
		return from
	}
	r := e.take()
	e.w.word(neonOrr, r, from, from, "ORR")
	return r
}

func (e *neon) compare(i int, s ins) {
	a, ta := e.in(s.a)
	b, tb := e.in(s.b)
	e.release(a, ta)
	e.release(b, tb)
	e.dies(i, s.a, s.b)
	r := e.take()
	switch s.n {
	case lt:
		e.w.word(neonGt, r, b, a, "FCMGT")
	case le:
		e.w.word(neonGe, r, b, a, "FCMGE")
	case gt:
		e.w.word(neonGt, r, a, b, "FCMGT")
	case notLess:
		e.w.word(neonGt, r, b, a, "FCMGT")
		e.w.word(neonNot, r, r, 0, "NOT")
	case eq:
		e.w.word(neonEq, r, a, b, "FCMEQ")
	case unord:
		if s.a != s.b {
			panic("BUG: genvec: unordered of two operands")
		}
		e.w.word(neonEq, r, a, a, "FCMEQ")
		e.w.word(neonNot, r, r, 0, "NOT")
	}
	e.regs[s.dst] = r
}

func (e *neon) choose(i int, s ins) {
	a, ta := e.in(s.a)
	b, tb := e.in(s.b)
	var r int
	if e.vals[s.c].invariant == "tail" {
		r = e.take()
		e.w.word(neonOrr, r, 31, 31, "ORR")
	} else {
		r = e.own(i, s.c)
	}
	e.w.word(neonBsl, r, a, b, "BSL")
	e.release(a, ta)
	e.release(b, tb)
	e.dies(i, s.a, s.b, s.c)
	e.regs[s.dst] = r
}
