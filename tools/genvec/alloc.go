package main

// emission is a body on its way to text: which register holds which value. Registers are given out
// from the first on: accumulators, then invariants, then temporaries.
type emission struct {
	*body
	w *writer
	// dst is 1 when the first pointer is the result's, which load does not count.
	dst   int
	regs  map[val]int
	masks map[val]int
	free  []bool
	freeK []bool
	last  map[val]int
	// held are the registers of invariants; a pattern has one for each register that it fills.
	held map[string][]int
	// index is the number of the register of elements.
	index int
}

func (e *emission) take() int {
	for i, f := range e.free {
		if f {
			e.free[i] = false
			return i
		}
	}
	panic("BUG: genvec: out of registers")
}

// place returns the register of a value that is not a constant.
func (e *emission) place(v val) int {
	if h, ok := e.held[e.vals[v].invariant]; ok {
		return h[e.index%len(h)]
	}
	r, ok := e.regs[v]
	if !ok {
		panic("BUG: genvec: value without a register")
	}
	return r
}

func (e *emission) isConst(v val) bool { return e.vals[v].constant }

// dies releases the registers of values that instruction i reads last.
func (e *emission) dies(i int, vs ...val) {
	for _, v := range vs {
		if r, ok := e.regs[v]; ok && e.last[v] == i {
			e.free[r] = true
			delete(e.regs, v)
		}
		if k, ok := e.masks[v]; ok && e.last[v] == i {
			e.freeK[k] = true
			delete(e.masks, v)
		}
	}
}

// dying reports whether instruction i is the last to read v.
func (e *emission) dying(i int, v val) bool {
	_, ok := e.regs[v]
	return ok && e.last[v] == i
}

// each writes the body once: step writes one instruction.
func (e *emission) each(step func(i int, s ins)) {
	e.last = map[val]int{}
	for i, s := range e.code {
		for _, v := range s.reads() {
			e.last[v] = i
		}
	}
	e.regs, e.masks = map[val]int{}, map[val]int{}
	for i, s := range e.code {
		step(i, s)
	}
}

// reads lists the values that an instruction reads.
func (s *ins) reads() []val {
	switch s.kind {
	case load:
		return nil
	case store, one, imm:
		return []val{s.a}
	case three, cmp, set:
		return []val{s.a, s.b}
	}
	return []val{s.a, s.b, s.c}
}
