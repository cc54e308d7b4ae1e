package main

import "fmt"

// loops writes the loops and what is left after them. CX counts elements.
func (a *assembly) loops(pointers int) {
	if a.unroll > 1 {
		a.loop("many", a.unroll, pointers)
	}
	paired := !a.avx512 && a.patterned()
	if paired {
		a.loop("pair", 2, pointers)
		a.single(pointers)
		return
	}
	a.loop("one", 1, pointers)
	a.w.line("TESTQ CX, CX")
	a.w.line("JEQ done")
	a.rest(0)
	a.w.WriteString("done:\n")
}

func (a *assembly) patterned() bool {
	for _, arg := range a.args {
		if isPattern(arg) {
			return true
		}
	}
	return false
}

// loop writes a loop that takes n registers of elements as long as there are so many.
func (a *assembly) loop(label string, n, pointers int) {
	step := n * a.lanes
	a.w.line("SUBQ $%d, CX", step)
	a.w.line("JLT %s_end", label)
	fmt.Fprintf(a.w, "%s:\n", label)
	for i := range n {
		e := a.emission(a.built(i%a.unroll, false))
		e.index = i
		e.run()
	}
	a.advance(step, pointers)
	a.w.line("SUBQ $%d, CX", step)
	a.w.line("JGE %s", label)
	fmt.Fprintf(a.w, "%s_end:\n", label)
	a.w.line("ADDQ $%d, CX", step)
}

func (a *assembly) advance(step, n int) {
	for _, p := range pointers[:n] {
		a.w.line("ADDQ $%d, %s", 4*step, p)
	}
}

// single writes what is left after pairs of registers: one register and a rest that begins with
// the second half of patterns, or a rest that begins with the first.
func (a *assembly) single(pointers int) {
	a.w.line("CMPQ CX, $%d", a.lanes)
	a.w.line("JLT rest0")
	a.emission(a.built(0, false)).run()
	a.advance(a.lanes, pointers)
	a.w.line("SUBQ $%d, CX", a.lanes)
	a.w.line("JEQ done")
	a.rest(1)
	a.w.line("JMP done")
	a.w.WriteString("rest0:\n")
	a.w.line("TESTQ CX, CX")
	a.w.line("JEQ done")
	a.rest(0)
	a.w.WriteString("done:\n")
}

// rest writes the body for CX elements, which are less than a register holds. half is the half
// of patterns that they meet.
func (a *assembly) rest(half int) {
	if a.avx512 {
		a.w.line("MOVL $1, AX")
		a.w.line("SHLL CX, AX")
		a.w.line("DECL AX")
		a.w.line("KMOVW AX, K1")
	} else {
		a.w.line("LEAQ tails<>+32(SB), AX")
		a.w.line("SHLQ $2, CX")
		a.w.line("SUBQ CX, AX")
		a.w.line("VMOVUPS (AX), Y15")
	}
	e := a.emission(a.built(0, true))
	e.index = half
	e.run()
}

// finish folds the accumulators to the result.
func (a *assembly) finish(ret int) {
	for k := a.unroll - 1; k > 0; k-- {
		b := newBody(a.isa, false)
		to := b.inv("acc0")
		b.code = append(b.code, ins{kind: set, a: a.fold.join(b, to, b.inv(fmt.Sprintf("acc%d", k))), b: to, dst: -1})
		a.emission(b).run()
	}
	w, op := a.w, a.fold.final
	if a.fold.nan {
		a.sieve(ret)
	}
	if a.avx512 {
		w.line("VEXTRACTF64X4 $1, Z0, Y1")
		w.line("%s Y1, Y0, Y0", op)
	}
	w.line("VEXTRACTF128 $1, Y0, X1")
	w.line("%s X1, X0, X0", op)
	w.line("VMOVHLPS X0, X0, X1")
	w.line("%s X1, X0, X0", op)
	w.line("VMOVSHDUP X0, X1")
	w.line("%s X1, X0, X0", op)
	w.line("VMOVSS X0, ret+%d(FP)", ret)
}

// sieve returns a NaN at once when there is one.
func (a *assembly) sieve(ret int) {
	w := a.w
	if a.avx512 {
		w.line("VCMPPS $3, Z0, Z0, K2")
		w.line("KMOVW K2, AX")
	} else {
		w.line("VCMPPS $3, Y0, Y0, Y1")
		w.line("VMOVMSKPS Y1, AX")
	}
	w.line("TESTL AX, AX")
	w.line("JEQ numbers")
	w.line("MOVL $0x7fc00000, AX")
	w.line("MOVL AX, ret+%d(FP)", ret)
	w.line("VZEROUPPER")
	w.line("RET")
	w.WriteString("numbers:\n")
}
