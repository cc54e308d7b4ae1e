package main

import (
	"fmt"
	"slices"
	"strings"
)

// writer collects the assembly of a file and the constants that it uses.
type writer struct {
	strings.Builder
	consts map[uint32]bool
}

func (w *writer) line(format string, args ...any) {
	w.WriteString("\t")
	fmt.Fprintf(w, format, args...)
	w.WriteString("\n")
}

func constName(bits uint32) string { return fmt.Sprintf("k%08x", bits) }

// pointers are the registers that hold the addresses of a function's slices, in order.
var pointers = []string{"DI", "SI", "DX", "R8"}

// amd64 writes a body for AVX2 or AVX-512.
type amd64 struct{ *emission }

func (e *amd64) run() { e.each(e.step) }

func (e *amd64) name(r int) string { return fmt.Sprintf("%s%d", e.reg, r) }

func (e *amd64) takeK() int {
	for i, f := range e.freeK {
		if f {
			e.freeK[i] = false
			return i
		}
	}
	panic("BUG: genvec: out of masks")
}

// in returns the register of a value; constants are loaded into a temporary, which the caller
// releases.
func (e *amd64) in(v val) (r int, temp bool) {
	if !e.isConst(v) {
		return e.place(v), false
	}
	r = e.take()
	e.loadConst(e.vals[v].bits, r)
	return r, true
}

func (e *amd64) loadConst(bits uint32, r int) {
	e.w.consts[bits] = true
	e.w.line("VBROADCASTSS %s<>(SB), %s", constName(bits), e.name(r))
}

// src2 returns the operand that may be in memory, and the suffix that the mnemonic then has.
func (e *amd64) src2(v val) (operand, suffix string) {
	if !e.isConst(v) {
		return e.name(e.place(v)), ""
	}
	bits := e.vals[v].bits
	e.w.consts[bits] = true
	if e.avx512 {
		suffix = ".BCST"
	}
	return constName(bits) + "<>(SB)", suffix
}

func (e *amd64) step(i int, s ins) {
	switch s.kind {
	case load, store:
		e.move(i, s)
	case three:
		e.three(i, s)
	case fma:
		e.fused(i, s, "VFMADD")
	case fnma:
		e.fused(i, s, "VFNMADD")
	case one, imm:
		op, suffix := e.src2(s.a)
		e.dies(i, s.a)
		r := e.take()
		if s.kind == imm {
			op = fmt.Sprintf("$%d, %s", s.n, op)
		}
		e.w.line("%s%s %s, %s", s.op, suffix, op, e.name(r))
		e.regs[s.dst] = r
	case cmp:
		e.compare(i, s)
	case sel:
		e.choose(i, s)
	case set:
		e.w.line("VMOVAPS %s, %s", e.name(e.place(s.a)), e.name(e.place(s.b)))
		e.dies(i, s.a)
	}
}

// move is a load or a store; in the tail, only of the elements that there are.
func (e *amd64) move(i int, s ins) {
	p := pointers[0]
	if s.kind == load {
		p = pointers[s.n+e.dst]
	}
	mem := fmt.Sprintf("%d(%s)", 4*e.lanes*e.index, p)
	if e.tail || e.index == 0 {
		mem = "(" + p + ")"
	}
	if s.kind == store {
		r, temp := e.in(s.a)
		switch {
		case !e.tail:
			e.w.line("VMOVUPS %s, %s", e.name(r), mem)
		case e.avx512:
			e.w.line("VMOVUPS %s, K1, %s", e.name(r), mem)
		default:
			e.w.line("VMASKMOVPS %s, Y15, %s", e.name(r), mem)
		}
		if temp {
			e.free[r] = true
		}
		e.dies(i, s.a)
		return
	}
	r := e.take()
	switch {
	case !e.tail:
		e.w.line("VMOVUPS %s, %s", mem, e.name(r))
	case e.avx512:
		e.w.line("VMOVUPS.Z %s, K1, %s", mem, e.name(r))
	default:
		e.w.line("VMASKMOVPS %s, Y15, %s", mem, e.name(r))
	}
	e.regs[s.dst] = r
}

var commutes = []string{"VADDPS", "VMULPS", "VANDPS", "VORPS", "VXORPS", "VPADDD"}

func (e *amd64) three(i int, s ins) {
	if e.isConst(s.a) && slices.Contains(commutes, s.op) {
		s.a, s.b = s.b, s.a
	}
	a, temp := e.in(s.a)
	b, suffix := e.src2(s.b)
	if temp {
		e.free[a] = true
	}
	e.dies(i, s.a, s.b)
	r := e.take()
	e.w.line("%s%s %s, %s, %s", s.op, suffix, b, e.name(a), e.name(r))
	e.regs[s.dst] = r
}

// fused is a·b+c (or c−a·b) with the result in the register of one of them.
func (e *amd64) fused(i int, s ins, op string) {
	if e.isConst(s.a) || !e.isConst(s.b) && !e.dying(i, s.a) && e.dying(i, s.b) {
		s.a, s.b = s.b, s.a
	}
	if !e.isConst(s.c) && (e.isConst(s.b) || e.dying(i, s.c) || !e.dying(i, s.a)) {
		a := e.name(e.place(s.a))
		b, suffix := e.src2(s.b)
		r := e.own(i, s.c)
		e.w.line("%s231PS%s %s, %s, %s", op, suffix, b, a, e.name(r))
		e.finish(i, s, r)
		return
	}
	b, temp := e.in(s.b)
	c, suffix := e.src2(s.c)
	r := e.own(i, s.a)
	e.w.line("%s213PS%s %s, %s, %s", op, suffix, c, e.name(b), e.name(r))
	if temp {
		e.free[b] = true
	}
	e.finish(i, s, r)
}

// own returns a register with the contents of v that instruction i may overwrite.
func (e *amd64) own(i int, v val) int {
	if e.dying(i, v) {
		r := e.regs[v]
		delete(e.regs, v)
		return r
	}
	r := e.take()
	e.w.line("VMOVAPS %s, %s", e.name(e.place(v)), e.name(r))
	return r
}

func (e *amd64) finish(i int, s ins, r int) {
	e.dies(i, s.a, s.b, s.c)
	e.regs[s.dst] = r
}

func (e *amd64) compare(i int, s ins) {
	a, temp := e.in(s.a)
	b, suffix := e.src2(s.b)
	if temp {
		e.free[a] = true
	}
	e.dies(i, s.a, s.b)
	if e.avx512 {
		k := e.takeK()
		e.w.line("%s%s $%d, %s, %s, K%d", s.op, suffix, s.n, b, e.name(a), k)
		e.masks[s.dst] = k
		return
	}
	r := e.take()
	e.w.line("%s $%d, %s, %s, %s", s.op, s.n, b, e.name(a), e.name(r))
	e.regs[s.dst] = r
}

func (e *amd64) maskName(v val) string {
	switch tail := e.vals[v].invariant == "tail"; {
	case tail && e.avx512:
		return "K1"
	case tail:
		return "Y15"
	case e.avx512:
		return fmt.Sprintf("K%d", e.masks[v])
	}
	return e.name(e.place(v))
}

func (e *amd64) choose(i int, s ins) {
	b, temp := e.in(s.b)
	a, suffix := e.src2(s.a)
	mask := e.maskName(s.c)
	if temp {
		e.free[b] = true
	}
	e.dies(i, s.a, s.b, s.c)
	r := e.take()
	if e.avx512 {
		e.w.line("VBLENDMPS%s %s, %s, %s, %s", suffix, a, e.name(b), mask, e.name(r))
	} else {
		e.w.line("VBLENDVPS %s, %s, %s, %s", mask, a, e.name(b), e.name(r))
	}
	e.regs[s.dst] = r
}
