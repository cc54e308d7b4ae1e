package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// armPointers are the registers that hold the addresses of a function's slices, in order; R5 counts
// elements, R4 points to the constants.
var armPointers = []string{"R0", "R1", "R2", "R3"}

// hoisted is how many constants registers hold all through the loops.
const hoisted = 14

// armAssembly is one function on its way to text.
type armAssembly struct {
	*fn
	isa
	w    *writer
	free []bool
	held map[string][]int
	// slices is the number of arguments that are slices.
	slices int
}

// writeARM writes a function for ARM: the loops that write has, with the rest done in 16 bytes of
// stack for each slice.
func (f *fn) writeARM(w *writer, s isa) {
	a := &armAssembly{fn: f, isa: s, w: w, held: map[string][]int{}}
	at, size := f.frame()
	for _, arg := range f.args {
		if isSlice(arg) {
			a.slices++
		}
	}
	fmt.Fprintf(w, "\n// func %s%s\nTEXT ·%s%s(SB), NOSPLIT, $%d-%d\n", f.name, s.name, f.name, s.name, 16*a.slices, size)
	next := 0
	for _, arg := range f.args {
		if !isSlice(arg) {
			continue
		}
		if next == 0 {
			w.line("MOVD %s_len+%d(FP), R5", arg, at[arg]+8)
		}
		w.line("MOVD %s_base+%d(FP), %s", arg, at[arg], armPointers[next])
		next++
	}
	w.line("MOVD $consts<>(SB), R4")
	a.prepare(at)
	a.loops()
	if f.fold != nil {
		a.finish(at["ret"])
	}
	w.line("RET")
}

func (a *armAssembly) built(acc int, tail bool) *body {
	return (&assembly{fn: a.fn, isa: a.isa}).built(acc, tail)
}

func (a *armAssembly) emission(b *body) *neon {
	e := &neon{&emission{body: b, w: a.w, free: slices.Clone(a.free), held: a.held}}
	if a.args[0] == "dst" {
		e.dst = 1
	}
	return e
}

// prepare gives registers to accumulators, invariants and the first constants, and loads them.
func (a *armAssembly) prepare(at map[string]int) {
	a.free = slices.Repeat([]bool{true}, a.temps)
	e := &neon{&emission{body: newBody(a.isa, false), w: a.w, free: a.free}}
	if a.fold != nil {
		for k := range a.unroll {
			r := e.take()
			a.held[fmt.Sprintf("acc%d", k)] = []int{r}
			e.constant(bitsOf(a.fold.start), r)
		}
	}
	b := a.built(0, true)
	for _, name := range slices.Sorted(maps.Keys(b.invs)) {
		if a.held[name] == nil && name != "tail" {
			a.held[name] = e.armInvariant(name, at)
		}
	}
	for i, bits := range slices.Sorted(maps.Keys(b.consts)) {
		if i < hoisted && a.held["="+constName(bits)] == nil {
			r := e.take()
			e.constant(bits, r)
			a.held["="+constName(bits)] = []int{r}
		}
	}
}

func (e *neon) armInvariant(name string, at map[string]int) []int {
	switch {
	case name[0] == '=':
		r := e.take()
		var bits uint32
		fmt.Sscanf(name[2:], "%x", &bits)
		e.constant(bits, r)
		return []int{r}
	case isPattern(name):
		e.w.line("MOVD %s+%d(FP), R6", name, at[name])
		var rs []int
		for i := range 16 / e.lanes {
			rs = append(rs, e.take())
			e.w.line("FMOVQ %d(R6), F%d", 16*i, rs[i])
		}
		return rs
	}
	r := e.take()
	e.w.line("FMOVS %s+%d(FP), F%d", name, at[name], r)
	e.w.word(neonDup, r, r, 0, "DUP")
	return []int{r}
}

func (a *armAssembly) patterned() bool { return slices.ContainsFunc(a.args, isPattern) }

func (a *armAssembly) loops() {
	singles := 1
	if a.patterned() {
		singles = 16 / a.lanes
	}
	n := max(a.unroll, singles)
	if n > 1 {
		a.loop("many", n)
	}
	if singles == 1 {
		a.loop("one", 1)
		a.w.line("CBZ R5, done")
		a.rest(0)
		a.w.WriteString("done:\n")
		return
	}
	for i := range singles - 1 {
		a.w.line("CMP $%d, R5", a.lanes)
		a.w.line("BLT rest%d", i)
		e := a.emission(a.built(0, false))
		e.index = i
		e.run()
		a.w.line("SUB $%d, R5", a.lanes)
	}
	a.w.line("CBZ R5, done")
	a.rest(singles - 1)
	a.w.line("B done")
	for i := range singles - 1 {
		fmt.Fprintf(a.w, "rest%d:\n", i)
		a.w.line("CBZ R5, done")
		a.rest(i)
		a.w.line("B done")
	}
	a.w.WriteString("done:\n")
}

func (a *armAssembly) loop(label string, n int) {
	step := n * a.lanes
	a.w.line("SUBS $%d, R5", step)
	a.w.line("BLT %s_end", label)
	fmt.Fprintf(a.w, "%s:\n", label)
	for i := range n {
		e := a.emission(a.built(i%a.unroll, false))
		e.index = i
		e.run()
	}
	for _, p := range armPointers[:a.slices] {
		a.w.line("ADD $%d, %s", 4*step, p)
	}
	a.w.line("SUBS $%d, R5", step)
	a.w.line("BGE %s", label)
	fmt.Fprintf(a.w, "%s_end:\n", label)
	a.w.line("ADD $%d, R5", step)
}

// rest writes the body for R5 elements, one to three, which are copied to the stack and back. Of
// patterns they meet quarter index. Slices begin so many registers before the elements.
func (a *armAssembly) rest(index int) {
	dst := a.args[0] == "dst"
	tail := 0
	label := func() string { tail++; return fmt.Sprintf("copied%d_%d", index, tail) }
	if index > 0 && a.patterned() {
		for _, p := range armPointers[:a.slices] {
			a.w.line("ADD $%d, %s", 4*a.lanes*index, p)
		}
	}
	for k, p := range armPointers[:a.slices] {
		slot := 16 * k
		if dst && k == 0 {
			a.w.line("MOVD %s, R8", p)
		} else {
			end := label()
			for i := range a.lanes - 1 {
				if i > 0 {
					a.w.line("CMP $%d, R5", i+1)
					a.w.line("BLT %s", end)
				}
				a.w.line("MOVWU %d(%s), R6", 4*i, p)
				a.w.line("MOVW R6, x%d-%d(SP)", slot+4*i, 16*a.slices-slot-4*i)
			}
			fmt.Fprintf(a.w, "%s:\n", end)
		}
		a.w.line("MOVD $x%d-%d(SP), %s", slot, 16*a.slices-slot, p)
	}
	if a.fold != nil {
		a.w.line("MOVD $tails<>+16(SB), R6")
		a.w.line("SUB R5<<2, R6, R6")
		a.w.line("FMOVQ (R6), F31")
	}
	e := a.emission(a.built(0, true))
	e.index = index
	e.run()
	if !dst {
		return
	}
	end := label()
	for i := range a.lanes - 1 {
		if i > 0 {
			a.w.line("CMP $%d, R5", i+1)
			a.w.line("BLT %s", end)
		}
		a.w.line("MOVWU x%d-%d(SP), R6", 4*i, 16*a.slices-4*i)
		a.w.line("MOVW R6, %d(R8)", 4*i)
	}
	fmt.Fprintf(a.w, "%s:\n", end)
}

// finish folds the accumulators to the result. The least and the greatest of a register keep a NaN.
func (a *armAssembly) finish(ret int) {
	for k := a.unroll - 1; k > 0; k-- {
		b := newBody(a.isa, false)
		to := b.inv("acc0")
		b.code = append(b.code, ins{kind: set, a: a.fold.join(b, to, b.inv(fmt.Sprintf("acc%d", k))), b: to, dst: -1})
		a.emission(b).run()
	}
	switch a.fold.final {
	case "VMAXPS":
		a.w.word(0x6e30f800, 0, 0, 0, "FMAXV")
	case "VMINPS":
		a.w.word(0x6eb0f800, 0, 0, 0, "FMINV")
	default:
		a.w.word(0x6e20d400, 0, 0, 0, "FADDP")
		a.w.word(0x6e20d400, 0, 0, 0, "FADDP")
	}
	a.w.line("FMOVS F0, ret+%d(FP)", ret)
}

// armData writes the constants, and gives the text their offsets.
func (w *writer) armData() string {
	var b strings.Builder
	for i := range 8 {
		v := 0
		if i < 4 {
			v = -1
		}
		fmt.Fprintf(&b, "DATA tails<>+%d(SB)/4, $%d\n", 4*i, v)
	}
	b.WriteString("GLOBL tails<>(SB), RODATA|NOPTR, $32\n")
	text := w.String()
	ks := slices.Sorted(maps.Keys(w.consts))
	for i, k := range ks {
		for j := range 4 {
			fmt.Fprintf(&b, "DATA consts<>+%d(SB)/4, $0x%08x\n", 16*i+4*j, k)
		}
		text = strings.ReplaceAll(text, constOffset(k), fmt.Sprint(16*i))
	}
	fmt.Fprintf(&b, "GLOBL consts<>(SB), RODATA|NOPTR, $%d\n", 16*len(ks))
	return b.String() + text
}
