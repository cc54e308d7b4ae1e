package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fn is one function of slices.
type fn struct {
	name string
	// args are its arguments in order: "dst", "x", "y", "z" are slices, "px", "py", "pz" patterns
	// in their place, "a" and "b" numbers.
	args []string
	// body computes and stores; of a function that folds, it returns what is folded.
	body func(g *body) val
	// fold, unless it is nil, says that the function returns a number.
	fold *fold
	// unroll is how many registers of elements the main loop takes.
	unroll int
}

// fold is how values become a number.
type fold struct {
	// start is what nothing is folded to.
	start float32
	join  func(g *body, acc, v val) val
	// final is the instruction that joins accumulators; nan says that a NaN in one of them counts,
	// which the instruction does not care for.
	final string
	nan   bool
}

func isSlice(a string) bool   { return a == "dst" || a == "x" || a == "y" || a == "z" }
func isPattern(a string) bool { return a[0] == 'p' }

// frame returns where each argument is, and the size of all with the result.
func (f *fn) frame() (at map[string]int, size int) {
	at = map[string]int{}
	for _, a := range f.args {
		at[a] = size
		switch {
		case isSlice(a):
			size += 24
		case isPattern(a):
			size += 8
		default:
			size += 4
		}
	}
	if f.fold != nil {
		size = (size + 7) &^ 7
		at["ret"] = size
		size += 4
	}
	return at, size
}

// decl returns the Go declaration.
func (f *fn) decl(s isa) string {
	var in []string
	for _, a := range f.args {
		switch {
		case isSlice(a):
			in = append(in, a+" []float32")
		case isPattern(a):
			in = append(in, a+" *Pattern")
		default:
			in = append(in, a+" float32")
		}
	}
	ret := ""
	if f.fold != nil {
		ret = " float32"
	}
	return fmt.Sprintf("//go:noescape\nfunc %s%s(%s)%s\n", f.name, s.name, strings.Join(in, ", "), ret)
}

// assembly is one function on its way to text.
type assembly struct {
	*fn
	isa
	w *writer
	// free and held are the registers as they are in the loops.
	free []bool
	held map[string][]int
}

// write writes a function: a loop over unroll registers, one over single registers, and the rest.
func (f *fn) write(w *writer, s isa) {
	a := &assembly{fn: f, isa: s, w: w, held: map[string][]int{}}
	at, size := f.frame()
	fmt.Fprintf(w, "\n// func %s%s\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n", f.name, s.name, f.name, s.name, size)
	next := 0
	for _, arg := range f.args {
		if !isSlice(arg) {
			continue
		}
		if next == 0 {
			w.line("MOVQ %s_len+%d(FP), CX", arg, at[arg]+8)
		}
		w.line("MOVQ %s_base+%d(FP), %s", arg, at[arg], pointers[next])
		next++
	}
	a.prepare(at)
	a.loops(next)
	if f.fold != nil {
		a.finish(at["ret"])
	}
	w.line("VZEROUPPER")
	w.line("RET")
}

// built returns the body for one register of elements; acc is the accumulator's number.
func (a *assembly) built(acc int, tail bool) *body {
	b := newBody(a.isa, tail)
	v := a.body(b)
	if a.fold != nil {
		to := b.inv(fmt.Sprintf("acc%d", acc))
		b.code = append(b.code, ins{kind: set, a: a.fold.join(b, to, b.only(v, a.fold.start)), b: to, dst: -1})
	}
	return b
}

func (a *assembly) emission(b *body) *amd64 {
	e := &amd64{&emission{body: b, w: a.w, free: slices.Clone(a.free), held: a.held, freeK: make([]bool, 8)}}
	for k := 2; k < len(e.freeK); k++ {
		e.freeK[k] = true
	}
	if a.args[0] == "dst" {
		e.dst = 1
	}
	return e
}

// prepare gives registers to accumulators and invariants, and loads them.
func (a *assembly) prepare(at map[string]int) {
	a.free = make([]bool, a.temps)
	for i := range a.free {
		a.free[i] = true
	}
	e := &amd64{&emission{body: newBody(a.isa, false), w: a.w, free: a.free}}
	if a.fold != nil {
		for k := range a.unroll {
			r := e.take()
			a.held[fmt.Sprintf("acc%d", k)] = []int{r}
			e.initial(a.fold.start, r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.built(0, true).invs)) {
		if a.held[name] == nil && name != "tail" {
			a.held[name] = e.invariant(name, at)
		}
	}
}

func (e *amd64) initial(x float32, r int) {
	if x == 0 {
		e.w.line("VXORPS %s, %s, %s", e.name(r), e.name(r), e.name(r))
		return
	}
	e.loadConst(bitsOf(x), r)
}

// invariant loads something that registers hold all through the loop.
func (e *amd64) invariant(name string, at map[string]int) []int {
	r := e.take()
	switch {
	case name[0] == '=':
		var bits uint32
		fmt.Sscanf(name[2:], "%x", &bits)
		e.loadConst(bits, r)
	case isPattern(name):
		e.w.line("MOVQ %s+%d(FP), AX", name, at[name])
		e.w.line("VMOVUPS (AX), %s", e.name(r))
		if !e.avx512 {
			s := e.take()
			e.w.line("VMOVUPS 32(AX), %s", e.name(s))
			return []int{r, s}
		}
	default:
		e.w.line("VBROADCASTSS %s+%d(FP), %s", name, at[name], e.name(r))
	}
	return []int{r}
}
