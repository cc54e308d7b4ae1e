package main

import (
	"fmt"
	"strings"
)

// octets is the source of the products of 8-bit integers. Groups of adjacent elements of a row of
// A are multiplied with as many of a column of B, which lie together: four of 8 bits each where
// VPDPBUSD adds their products without a limit, two that are widened to 16 bits otherwise.
//
// The registers are those of the tiles of float32, but that B is read without gaps, by BX; in wide
// tiles, SI is the bytes between panels and R8 three times that. In convolutions, which multiply
// signed elements of A with unsigned ones of B, SI is where the bytes from BX to each step's part of B
// are listed.
func octets(i *isa) string {
	g := &gen{isa: i}
	g.WriteString(header)
	for _, name := range []string{"tile", "tilem", "conv", "convm"} {
		g.text(name)
		g.octetRows(strings.HasPrefix(name, "conv"), strings.HasSuffix(name, "m"))
	}
	if g.reg == "Z" {
		for rows := 1; rows <= 2; rows++ {
			g.text(fmt.Sprintf("wide%d", rows))
			g.octetBody(shape{rows: rows, nv: 8})
			g.f("VZEROUPPER")
			g.f("RET")
			g.WriteString("\n")
		}
	}
	return g.String()
}

func (g *gen) octetRows(conv, masked bool) {
	g.f("MOVQ tile_rows(DI), R14")
	labels := make([]string, g.rows+1)
	for rows := g.rows; rows >= 2; rows-- {
		labels[rows] = g.fresh("rows")
		g.f("CMPQ R14, $%d", rows)
		g.f("JEQ %s", labels[rows])
	}
	for rows := 1; rows <= g.rows; rows++ {
		if rows > 1 {
			g.mark(labels[rows])
		}
		g.octetBody(shape{rows, 2, masked, conv})
		g.f("VZEROUPPER")
		g.f("RET")
	}
	g.WriteString("\n")
}

// octetBody writes a run of tiles one below the other.
func (g *gen) octetBody(s shape) {
	for _, l := range []string{"MOVQ tile_a(DI), AX", "MOVQ tile_lda(DI), DX", "MOVQ tile_c(DI), R15",
		"MOVQ tile_ldb(DI), SI", "LEAQ (SI)(SI*2), R8"} {
		g.f("%s", l)
	}
	next := g.fresh("next")
	g.mark(next)
	g.f("MOVQ tile_b(DI), BX")
	if s.listed {
		g.f("MOVQ tile_offsets(DI), SI")
	}
	g.f("MOVQ AX, R9")
	for i := 1; i < (s.rows+2)/3; i++ {
		g.f("LEAQ (%s)(DX*2), %s", rowRegs[i-1], rowRegs[i])
		g.f("ADDQ DX, %s", rowRegs[i])
	}
	for i := range s.rows * s.nv {
		g.zero(i)
	}
	four, one, rest, done := g.fresh("four"), g.fresh("one"), g.fresh("rest"), g.fresh("done")
	g.f("MOVQ tile_k(DI), CX")
	g.f("SUBQ $4, CX")
	g.f("JLT %s", rest)
	g.f("PCALIGN $32")
	g.mark(four)
	for k := range 4 {
		g.octetStep(s, k)
	}
	g.octetAdvance(s, 4)
	g.f("SUBQ $4, CX")
	g.f("JGE %s", four)
	g.mark(rest)
	g.f("ADDQ $4, CX")
	g.f("JLE %s", done)
	g.mark(one)
	g.octetStep(s, 0)
	g.octetAdvance(s, 1)
	g.f("DECQ CX")
	g.f("JNE %s", one)
	g.mark(done)
	g.octetEnd(s)
	g.f("DECQ tile_tiles(DI)")
	g.f("JNE %s", next)
}

// octetBytes is the bytes of B in one step of one panel: two registers' worth of groups.
func (g *gen) octetBytes() int {
	if g.reg == "Z" {
		return 2 * g.bytes()
	}
	return g.bytes()
}

func (g *gen) octetAdvance(s shape, k int) {
	for i := range (s.rows + 2) / 3 {
		g.f("ADDQ $%d, %s", 4*k, rowRegs[i])
	}
	if s.listed {
		g.f("ADDQ $%d, SI", 4*k)
	} else {
		g.f("ADDQ $%d, BX", k*g.octetBytes())
	}
}

func (g *gen) octetStep(s shape, k int) {
	if s.nv > 2 {
		g.octetWide(s, k)
		return
	}
	if s.listed {
		g.f("MOVLQSX %d(SI), R8", 4*k)
	}
	for v := range 2 {
		at := fmt.Sprintf("%d(BX)", k*g.octetBytes()+v*g.octetBytes()/2)
		if s.listed {
			at = fmt.Sprintf("%d(BX)(R8*1)", v*g.bytes())
		}
		switch {
		case g.reg == "Z":
			g.f("VMOVDQU32 %s, Z%d", at, g.temp[v])
		case s.listed:
			g.f("VMOVDQU %s, Y%d", at, g.temp[v])
		default:
			g.f("VPMOVSXBW %s, Y%d", at, g.temp[v])
		}
	}
	for row := range s.rows {
		if g.reg == "Z" {
			t := g.temp[2+row%4]
			g.f("VPBROADCASTD %s, Z%d", aMem(row, k), t)
			for v := range 2 {
				signed, unsigned := g.temp[v], t
				if s.listed {
					signed, unsigned = t, g.temp[v]
				}
				g.f("VPDPBUSD Z%d, Z%d, Z%d", signed, unsigned, row*2+v)
			}
			continue
		}
		g.f("VPBROADCASTD %s, Y14", aMem(row, k))
		for v := range 2 {
			g.f("VPMADDWD Y%d, Y14, Y15", g.temp[v])
			g.f("VPADDD Y15, Y%d, Y%d", row*2+v, row*2+v)
		}
	}
}

// octetWide is a step of four panels side by side.
func (g *gen) octetWide(s shape, k int) {
	a := func(row int) int { return 8*s.rows + row }
	for row := range s.rows {
		g.f("VPBROADCASTD %s, Z%d", aMem(row, k), a(row))
	}
	for v := range s.nv {
		at := fmt.Sprintf("%d(BX)", k*128+v%2*64) + []string{"", "(SI*1)", "(SI*2)", "(R8*1)"}[v/2]
		if s.rows == 1 {
			g.f("VPDPBUSD %s, Z%d, Z%d", at, a(0), v)
			continue
		}
		b := a(s.rows)
		g.f("VMOVDQU32 %s, Z%d", at, b)
		for row := range s.rows {
			g.f("VPDPBUSD Z%d, Z%d, Z%d", b, a(row), row*8+v)
		}
	}
}

// octetEnd takes the zero points' part away, converts if asked to, and stores. What the loop held
// beside its sums is free.
func (g *gen) octetEnd(s shape) {
	add := "VPADDD %s, %s, %s"
	zero, sum := g.temp[0], g.temp[1]
	if !s.listed {
		g.f("MOVQ tile_sums(DI), R14")
		g.f("VPBROADCASTD tile_zero(DI), %s", g.r(zero))
	}
	for v := range s.nv {
		if s.listed {
			break
		}
		g.f("VPMULLD %d(R14), %s, %s", v*g.bytes(), g.r(zero), g.r(sum))
		for row := range s.rows {
			g.f("VPSUBD %s, %s, %s", g.r(sum), g.r(row*s.nv+v), g.r(row*s.nv+v))
		}
	}
	g.f("MOVQ tile_terms(DI), R14")
	for row := range s.rows {
		g.f("VPBROADCASTD %d(R14), %s", 4*row, g.r(sum))
		for v := range s.nv {
			g.f(add, g.r(sum), g.r(row*s.nv+v), g.r(row*s.nv+v))
		}
	}
	g.f("ADDQ $%d, tile_terms(DI)", 4*s.rows)
	store := g.fresh("store")
	g.f("CMPQ tile_float(DI), $0")
	g.f("JEQ %s", store)
	for i := range s.rows * s.nv {
		g.f("VCVTDQ2PS %s, %s", g.r(i), g.r(i))
	}
	g.mark(store)
	g.octetStore(s)
	g.f("MOVQ DX, R14")
	g.f("IMULQ $%d, R14", s.rows)
	g.f("ADDQ R14, AX")
}

func (g *gen) octetStore(s shape) {
	if s.masked && g.reg == "Z" {
		g.f("MOVQ tile_mask(DI), R14")
		g.f("KMOVW R14, K1")
		g.f("SHRQ $16, R14")
		g.f("KMOVW R14, K2")
	} else if s.masked {
		g.f("MOVQ tile_lanes(DI), R14")
		g.f("VMOVDQU (R14), Y12")
		g.f("VMOVDQU 32(R14), Y13")
	}
	for row := range s.rows {
		for v := range s.nv {
			from, to := g.r(row*s.nv+v), fmt.Sprintf("%d(R15)", v*g.bytes())
			switch {
			case !s.masked:
				g.f("VMOVUPS %s, %s", from, to)
			case g.reg == "Z":
				g.f("VMOVUPS %s, K%d, %s", from, v+1, to)
			default:
				g.f("VMASKMOVPS %s, Y%d, %s", from, 12+v, to)
			}
		}
		g.f("ADDQ tile_ldc(DI), R15")
	}
}
