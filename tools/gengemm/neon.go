package main

import (
	"fmt"
	"strings"
)

// neonRows is the height of the largest tile for NEON, which is 16 columns wide.
const neonRows = 6

// neonSource is the source of the tiles for NEON, of 16 and of 4 columns' width. They add to C.
//
// Registers: R0 the tile's description; R14 the first row of A, R1 to R6 the rows, R13 the bytes
// between them; R7 where B is read, R8 the bytes between its rows; R9 the steps left; R10 the tile's
// place in C, R11 the bytes between its rows; R12 the tiles left; V0 to V23 the sums, V24 to V27 a
// row of B, V28 to V31 elements of A.
func neonSource() string {
	b := &strings.Builder{}
	b.WriteString(strings.Replace(header, "amd64", "arm64", 1))
	for _, nv := range []int{4, 1} {
		fmt.Fprintf(b, "// func tile%dNEON(t *tile)\nTEXT ·tile%dNEON(SB), NOSPLIT, $0-8\n", nv, nv)
		for _, l := range []string{"MOVD t+0(FP), R0", "MOVD tile_a(R0), R14", "MOVD tile_lda(R0), R13",
			"MOVD tile_ldb(R0), R8", "MOVD tile_c(R0), R10", "MOVD tile_ldc(R0), R11", "MOVD tile_tiles(R0), R12",
			"MOVD tile_rows(R0), R15"} {
			fmt.Fprintf(b, "\t%s\n", l)
		}
		for rows := neonRows; rows > 1; rows-- {
			fmt.Fprintf(b, "\tCMP $%d, R15\n\tBEQ rows%dx%d\n", rows, rows, nv)
		}
		for rows := 1; rows <= neonRows; rows++ {
			neonTile(b, rows, nv)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// list names nv registers from first on.
func list(first, nv int) string {
	var names []string
	for v := range nv {
		names = append(names, fmt.Sprintf("V%d.S4", first+v))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// neonTile writes a run of tiles one below the other.
func neonTile(b *strings.Builder, rows, nv int) {
	f := func(format string, args ...any) { fmt.Fprintf(b, "\t"+format+"\n", args...) }
	id := fmt.Sprintf("%dx%d", rows, nv)
	fmt.Fprintf(b, "rows%s:\n", id)
	f("MOVD tile_b(R0), R7")
	f("MOVD tile_k(R0), R9")
	f("MOVD R14, R1")
	for row := 1; row < rows; row++ {
		f("ADD R13, R%d, R%d", row, row+1)
	}
	f("MOVD R10, R15")
	for row := range rows {
		f("VLD1 (R15), %s", list(row*nv, nv))
		f("ADD R11, R15, R15")
	}
	fmt.Fprintf(b, "step%s:\n", id)
	f("VLD1.P (R7)(R8), %s", list(24, nv))
	for row := range rows {
		a := 28 + row%4
		f("VLD1R.P 4(R%d), [V%d.S4]", row+1, a)
		for v := range nv {
			f("VFMLA V%d.S4, V%d.S4, V%d.S4", 24+v, a, row*nv+v)
		}
	}
	f("SUBS $1, R9, R9")
	f("BNE step%s", id)
	for row := range rows {
		f("VST1 %s, (R10)", list(row*nv, nv))
		f("ADD R11, R10, R10")
	}
	f("MOVD $%d, R15", rows)
	f("MADD R13, R14, R15, R14")
	f("SUBS $1, R12, R12")
	f("BNE rows%s", id)
	f("RET")
}
