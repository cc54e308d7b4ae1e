package main

import "fmt"

// dots writes the function for a few rows of A times the rows of B, four at a time.
//
// Registers: DI the description; R10 the rows of A, DX the bytes between them, R9 three times that;
// R11 the rows of B, SI the bytes between them, R8 three times that; AX and BX where both are read;
// CX the elements left; R15 the place in C, R13 in the bias; R12 the groups of four left.
func (g *gen) dots(rows int) {
	g.text(fmt.Sprintf("dot%d", rows))
	g.mask()
	for _, l := range []string{"MOVQ tile_a(DI), R10", "MOVQ tile_lda(DI), DX", "LEAQ (DX)(DX*2), R9", "MOVQ tile_b(DI), R11",
		"MOVQ tile_ldb(DI), SI", "LEAQ (SI)(SI*2), R8", "MOVQ tile_c(DI), R15", "MOVQ tile_bias(DI), R13",
		"MOVQ tile_tiles(DI), R12"} {
		g.f("%s", l)
	}
	next, rest, one, tail := g.fresh("next"), g.fresh("rest"), g.fresh("one"), g.fresh("tail")
	sets := 1
	if rows == 1 {
		sets = 2
	}
	g.mark(next)
	for i := range 4 * rows * sets {
		g.zero(i)
	}
	g.f("MOVQ R10, AX")
	g.f("MOVQ R11, BX")
	g.f("MOVQ tile_k(DI), CX")
	g.f("SUBQ $%d, CX", sets*g.lanes)
	g.f("JLT %s", rest)
	loop := g.fresh("loop")
	g.f("PCALIGN $32")
	g.mark(loop)
	for s := range sets {
		g.dotStep(rows, s, false)
	}
	g.f("ADDQ $%d, AX", sets*g.bytes())
	g.f("ADDQ $%d, BX", sets*g.bytes())
	g.f("SUBQ $%d, CX", sets*g.lanes)
	g.f("JGE %s", loop)
	g.mark(rest)
	if sets == 2 {
		g.f("ADDQ $%d, CX", g.lanes)
		g.f("JLT %s", one)
		g.dotStep(rows, 0, false)
		g.f("ADDQ $%d, AX", g.bytes())
		g.f("ADDQ $%d, BX", g.bytes())
		g.f("SUBQ $%d, CX", g.lanes)
		g.mark(one)
	}
	g.f("ADDQ $%d, CX", g.lanes)
	g.f("JLE %s", tail)
	g.dotStep(rows, 0, true)
	g.mark(tail)
	for i := range 4 * rows * (sets - 1) {
		g.f("VADDPS %s, %s, %s", g.r(i), g.r(4*rows+i), g.r(i))
	}
	for row := range rows {
		g.reduce(4 * row)
	}
	g.dotEnd(rows)
	g.f("LEAQ (R11)(SI*4), R11")
	g.f("ADDQ $16, R15")
	g.f("DECQ R12")
	g.f("JNE %s", next)
	g.f("VZEROUPPER")
	g.f("RET")
	g.WriteString("\n")
}

// dotStep adds the products of one register of each row to set s of the accumulators.
func (g *gen) dotStep(rows, s int, masked bool) {
	first := 4 * rows
	if rows == 1 {
		first = 8
	}
	at := func(p, ld, ld3 string, row int) string {
		index := []string{"", "(" + ld + "*1)", "(" + ld + "*2)", "(" + ld3 + "*1)"}
		return fmt.Sprintf("%d(%s)", s*g.bytes(), p) + index[row]
	}
	for j := range 4 {
		g.load(at("BX", "SI", "R8", j), first+j, masked)
	}
	for row := range rows {
		g.load(at("AX", "DX", "R9", row), first+4, masked)
		for j := range 4 {
			g.f("VFMADD231PS %s, %s, %s", g.r(first+j), g.r(first+4), g.r(4*(rows*s+row)+j))
		}
	}
}

// reduce sums each of four registers from r on, and leaves the four sums in X of the first.
func (g *gen) reduce(r int) {
	if g.reg == "Z" {
		for i := range 4 {
			g.f("VEXTRACTF64X4 $1, Z%d, Y31", r+i)
			g.f("VADDPS Y31, Y%d, Y%d", r+i, r+i)
		}
	}
	g.f("VHADDPS Y%d, Y%d, Y%d", r+1, r, r)
	g.f("VHADDPS Y%d, Y%d, Y%d", r+3, r+2, r+2)
	g.f("VHADDPS Y%d, Y%d, Y%d", r+2, r, r)
	g.f("VEXTRACTF128 $1, Y%d, X%d", r, r+1)
	g.f("VADDPS X%d, X%d, X%d", r+1, r, r)
}

// dotEnd adds what the sums are added to, bounds them and stores them.
func (g *gen) dotEnd(rows int) {
	labels := map[string]string{}
	for _, l := range []string{"FromC", "FromCols", "FromRows"} {
		labels[l] = g.fresh("start")
		g.f("CMPQ tile_start(DI), $const_%s", l)
		g.f("JEQ %s", labels[l])
	}
	ready, store := g.fresh("ready"), g.fresh("store")
	g.f("JMP %s", ready)
	g.mark(labels["FromC"])
	g.f("MOVQ R15, AX")
	for row := range rows {
		g.f("VADDPS (AX), X%d, X%d", 4*row, 4*row)
		g.f("ADDQ tile_ldc(DI), AX")
	}
	g.f("JMP %s", ready)
	g.mark(labels["FromCols"])
	for row := range rows {
		g.f("VADDPS (R13), X%d, X%d", 4*row, 4*row)
	}
	g.f("ADDQ $16, R13")
	g.f("JMP %s", ready)
	g.mark(labels["FromRows"])
	for row := range rows {
		g.f("VBROADCASTSS %d(R13), X%d", 4*row, 4*row+1)
		g.f("VADDPS X%d, X%d, X%d", 4*row+1, 4*row, 4*row)
	}
	g.mark(ready)
	g.f("CMPQ tile_clamp(DI), $0")
	g.f("JEQ %s", store)
	g.f("VBROADCASTSS tile_lo(DI), X1")
	g.f("VBROADCASTSS tile_hi(DI), X2")
	for row := range rows {
		g.f("VMAXPS X%d, X1, X%d", 4*row, 4*row)
		g.f("VMINPS X%d, X2, X%d", 4*row, 4*row)
	}
	g.mark(store)
	g.f("MOVQ R15, AX")
	for row := range rows {
		g.f("VMOVUPS X%d, (AX)", 4*row)
		g.f("ADDQ tile_ldc(DI), AX")
	}
}
