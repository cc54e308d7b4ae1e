package main

import (
	"fmt"
	"strings"
)

// isa is what differs between vector levels.
type isa struct {
	suffix, reg string
	// lanes is the number of float32 in a register.
	lanes int
	// rows is the height of the largest tile of two registers' width.
	rows int
	// temp are the registers beside the accumulators: two for B, then those for A.
	temp []int
	// wide[r] is the number of registers side by side in the widest tile of r rows.
	wide map[int]int
	// dotRows is the number of rows of A that dot products are made for at once.
	dotRows int
	// axpyRows is the number of rows that B is read for at once.
	axpyRows int
}

var (
	avx2 = &isa{suffix: "AVX2", reg: "Y", lanes: 8, rows: 6, temp: []int{12, 13, 14}, wide: map[int]int{1: 8, 2: 4, 3: 4},
		dotRows: 2, axpyRows: 2}

	avx512 = &isa{suffix: "AVX512", reg: "Z", lanes: 16, rows: 12, temp: []int{24, 25, 28, 29, 30, 31},
		wide: map[int]int{1: 8, 2: 8, 3: 8}, dotRows: 4, axpyRows: 3}
)

// gen writes one file.
type gen struct {
	*isa
	strings.Builder
	label int
}

func (g *gen) f(format string, args ...any) { fmt.Fprintf(g, "\t"+format+"\n", args...) }

func (g *gen) mark(label string) { fmt.Fprintf(g, "%s:\n", label) }

// fresh returns a label that no other is like.
func (g *gen) fresh(stem string) string {
	g.label++
	return fmt.Sprintf("%s%d", stem, g.label)
}

func (g *gen) r(i int) string { return fmt.Sprintf("%s%d", g.reg, i) }

// bytes is the width of a register.
func (g *gen) bytes() int { return 4 * g.lanes }

// load reads a register; masked leaves out the lanes that the mask does, and makes them 0.
func (g *gen) load(mem string, dst int, masked bool) {
	switch {
	case !masked:
		g.f("VMOVUPS %s, %s", mem, g.r(dst))
	case g.reg == "Z":
		g.f("VMOVUPS.Z %s, K1, %s", mem, g.r(dst))
	default:
		g.f("VMASKMOVPS %s, Y15, %s", mem, g.r(dst))
	}
}

func (g *gen) store(src int, mem string, masked bool) {
	switch {
	case !masked:
		g.f("VMOVUPS %s, %s", g.r(src), mem)
	case g.reg == "Z":
		g.f("VMOVUPS %s, K1, %s", g.r(src), mem)
	default:
		g.f("VMASKMOVPS %s, Y15, %s", g.r(src), mem)
	}
}

func (g *gen) zero(i int) {
	if g.reg == "Z" {
		g.f("VPXORD Z%d, Z%d, Z%d", i, i, i)
	} else {
		g.f("VXORPS Y%d, Y%d, Y%d", i, i, i)
	}
}

// mask reads the tile's mask: bits for AVX-512, a pointer to lanes for AVX2.
func (g *gen) mask() {
	if g.reg == "Z" {
		g.f("MOVQ tile_mask(DI), R14")
		g.f("KMOVW R14, K1")
	} else {
		g.f("MOVQ tile_lanes(DI), R14")
		g.f("VMOVUPS (R14), Y15")
	}
}
