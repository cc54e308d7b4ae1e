package main

import "fmt"

// axpys writes the function for a few rows of A times all of B, which is read row after row, four at
// a time, while the rows of C stay in the first-level cache. C is added to.
//
// Registers: DI the description; AX the elements of A at hand, DX the bytes between its rows; BX
// the first of four rows of B, SI the bytes between them, R8 where they are read; R15 the first row
// of C, R13 and R14 the others, R10 the bytes between them; R12 the registers in a row; CX the
// offset in a row; R11 the rows of B left.
func (g *gen) axpys(rows int) {
	g.text(fmt.Sprintf("axpy%d", rows))
	g.mask()
	for _, l := range []string{"MOVQ tile_a(DI), AX", "MOVQ tile_lda(DI), DX", "MOVQ tile_b(DI), BX",
		"MOVQ tile_ldb(DI), SI", "MOVQ tile_c(DI), R15", "MOVQ tile_ldc(DI), R10",
		"MOVQ tile_k(DI), R11"} {
		g.f("%s", l)
	}
	if rows > 1 {
		g.f("LEAQ (R15)(R10*1), R13")
	}
	if rows > 2 {
		g.f("LEAQ (R15)(R10*2), R14")
	}
	next, single, done := g.fresh("next"), g.fresh("single"), g.fresh("done")
	g.f("SUBQ $4, R11")
	g.f("JLT %s", single)
	g.mark(next)
	g.axpyPass(rows, 4)
	g.f("LEAQ (BX)(SI*4), BX")
	g.f("ADDQ $16, AX")
	g.f("SUBQ $4, R11")
	g.f("JGE %s", next)
	g.mark(single)
	g.f("ADDQ $4, R11")
	g.f("JEQ %s", done)
	one := g.fresh("one")
	g.mark(one)
	g.axpyPass(rows, 1)
	g.f("ADDQ SI, BX")
	g.f("ADDQ $4, AX")
	g.f("DECQ R11")
	g.f("JNE %s", one)
	g.mark(done)
	g.f("VZEROUPPER")
	g.f("RET")
	g.WriteString("\n")
}

// axpyPass adds the products with the next depth rows of B.
func (g *gen) axpyPass(rows, depth int) {
	// The first registers hold elements of A, those behind them the rows of B, then sums.
	for row := range rows {
		for k := range depth {
			g.f("VBROADCASTSS %d(AX)%s, %s", 4*k, []string{"", "(DX*1)", "(DX*2)"}[row], g.r(coefficient(row, k, depth)))
		}
	}
	loop, tail, end := g.fresh("loop"), g.fresh("tail"), g.fresh("end")
	g.f("XORQ CX, CX")
	g.f("MOVQ tile_tiles(DI), R12")
	g.f("TESTQ R12, R12")
	g.f("JEQ %s", tail)
	g.f("PCALIGN $32")
	g.mark(loop)
	g.axpyStep(rows, depth, false)
	g.f("ADDQ $%d, CX", g.bytes())
	g.f("DECQ R12")
	g.f("JNE %s", loop)
	g.mark(tail)
	g.f("CMPQ tile_rows(DI), $0")
	g.f("JEQ %s", end)
	g.axpyStep(rows, depth, true)
	g.mark(end)
}

func (g *gen) axpyStep(rows, depth int, masked bool) {
	b, sum := rows*depth, rows*depth+1
	place := func(row int) string { return []string{"(R15)(CX*1)", "(R13)(CX*1)", "(R14)(CX*1)"}[row] }
	for row := range rows {
		g.load(place(row), sum+row, masked)
	}
	for k := range depth {
		g.f("LEAQ (BX)(CX*1), R8")
		if k > 0 {
			g.f("LEAQ (R8)(SI*%d), R8", min(k, 2))
		}
		if k > 2 {
			g.f("ADDQ SI, R8")
		}
		g.load("(R8)", b, masked)
		if depth == 4 && !masked {
			// Four rows on: B comes from memory, and hardware looks ahead in one page only.
			g.f("PREFETCHT0 (R8)(SI*4)")
		}
		for row := range rows {
			g.f("VFMADD231PS %s, %s, %s", g.r(b), g.r(coefficient(row, k, depth)), g.r(sum+row))
		}
	}
	for row := range rows {
		g.store(sum+row, place(row), masked)
	}
}

func coefficient(row, k, depth int) int { return row*depth + k }
