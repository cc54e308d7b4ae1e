package main

import "fmt"

// bases are the registers that hold the addresses of every fourth pixel.
var bases = []string{"AX", "BX", "CX", "DX"}

// tile emits the function for one shape: for each tile, the loops over rows, planes, columns and
// places, then the end.
func (w *writer) tile() {
	w.place()
	w.put(fmt.Sprintf("TEXT %s(SB), NOSPLIT|NOFRAME, $0-0", w.name(w.blocks, w.pixels)), "tile:")
	w.start()
	w.op("MOVQ Tile_W(DI), SI")
	w.op("MOVQ Tile_x(DI), R8")
	w.op("MOVQ R8, Tile_row(DI)")
	w.op("MOVQ Tile_Rows(DI), AX")
	w.op("TESTQ AX, AX")
	w.op("JZ end")
	w.op("MOVQ AX, Tile_rows(DI)")
	w.put("row:")
	w.op("MOVQ Tile_row(DI), R8")
	w.op("MOVQ Tile_Planes(DI), AX")
	w.op("MOVQ AX, Tile_planes(DI)")
	w.put("plane:")
	w.op("MOVQ Tile_Inner(DI), AX")
	w.op("CMPQ Tile_planes(DI), $1")
	w.op("CMOVQEQ Tile_Last(DI), AX")
	w.op("MOVQ AX, Tile_inner(DI)")
	w.op("MOVQ R8, R13")
	w.op("MOVQ Tile_Cols(DI), R14")
	w.column()
	w.next("Tile_PlaneX", "R8")
	w.op("DECQ Tile_planes(DI)")
	w.op("JNZ plane")
	w.op("MOVQ Tile_RowX(DI), R15")
	w.op("SHLQ $2, R15")
	w.op("ADDQ R15, Tile_row(DI)")
	w.op("DECQ Tile_rows(DI)")
	w.op("JNZ row")
	w.put("end:")
	w.finish()
}

// next adds a step of the Tile to an address.
func (w *writer) next(step, to string) {
	w.op("MOVQ %s(DI), R15", step)
	w.op("LEAQ (%s)(R15*4), %s", to, to)
}

// column emits the loop over columns, and in it those over four places and over one. Three places,
// as many as small kernels have columns, are done at once.
func (w *writer) column() {
	w.put("col:")
	w.ahead()
	w.op("MOVQ R13, AX")
	used := (w.pixels + 3) / 4
	for i := 1; i < used; i++ {
		w.op("LEAQ (%s)(R9*4), %s", bases[i-1], bases[i])
	}
	w.op("MOVQ Tile_inner(DI), R15")
	w.op("SUBQ $4, R15")
	w.op("JLT few")
	w.put("four:")
	w.places(4)
	w.op("SUBQ $4, R15")
	w.op("JGE four")
	w.put("few:")
	w.op("ADDQ $4, R15")
	w.op("JZ done")
	w.op("CMPQ R15, $3")
	w.op("JNE one")
	w.places(3)
	w.op("JMP done")
	w.put("one:")
	w.places(1)
	w.op("DECQ R15")
	w.op("JNZ one")
	w.put("done:")
	w.next("Tile_ColX", "R13")
	w.op("DECQ R14")
	w.op("JNZ col")
}

// aheadLines is how many lines of cache each column fetches of each block's weights to come.
const aheadLines = 3

// ahead fetches the next lines of weights to come, as long as there are any.
func (w *writer) ahead() {
	w.op("MOVQ Tile_ahead(DI), R15")
	w.op("CMPQ R15, Tile_aheadEnd(DI)")
	w.op("JHS fetched")
	for k := range w.blocks {
		for i := range aheadLines {
			w.op("PREFETCHT1 %d(R15)%s", 64*i, []string{"", "(R11*1)", "(R11*2)", "(R12*1)"}[k])
		}
	}
	w.op("ADDQ $%d, R15", 64*aheadLines)
	w.op("MOVQ R15, Tile_ahead(DI)")
	w.put("fetched:")
}

// places emits the multiply-adds of n places.
func (w *writer) places(n int) {
	for i := range n {
		w.op("%s(%d, %d)", w.macro(), 4*i, i*w.size)
	}
	for i := range (w.pixels + 3) / 4 {
		w.op("ADDQ $%d, %s", 4*n, bases[i])
	}
	w.op("ADDQ $%d, SI", n*w.size)
}

func (w *writer) macro() string { return fmt.Sprintf("PLACE_%dx%d", w.blocks, w.pixels) }

// place defines the macro of one place, x bytes after the bases and v after the weights' address: a
// vector of weights for each block times one input for each pixel.
func (w *writer) place() {
	first := w.blocks * w.pixels
	w.put(fmt.Sprintf("#define %s(x, v) \\", w.macro()))
	for k := range w.blocks {
		w.op("VMOVUPS v(SI)%s, %s%d; \\", []string{"", "(R11*1)", "(R11*2)", "(R12*1)"}[k], w.reg, first+k)
	}
	spare := first + w.blocks
	for p := range w.pixels {
		end := "; \\"
		if p == w.pixels-1 {
			end = ""
		}
		at := fmt.Sprintf("x(%s)%s", bases[p/4], []string{"", "(R9*1)", "(R9*2)", "(R10*1)"}[p%4])
		if w.embedded && w.blocks == 1 {
			w.op("VFMADD231PS.BCST %s, %s%d, %s%d%s", at, w.reg, first, w.reg, p, end)
			continue
		}
		x := spare + p%(w.regs-spare)
		w.op("VBROADCASTSS %s, %s%d; \\", at, w.reg, x)
		for k := range w.blocks - 1 {
			w.op("VFMADD231PS %s%d, %s%d, %s%d; \\", w.reg, x, w.reg, first+k, w.reg, p*w.blocks+k)
		}
		k := w.blocks - 1
		w.op("VFMADD231PS %s%d, %s%d, %s%d%s", w.reg, x, w.reg, first+k, w.reg, p*w.blocks+k, end)
	}
	w.put("")
}

// outputs sets AX to the tile's first output and R8 and BX to one and three steps of the blocks.
func (w *writer) outputs() {
	w.op("MOVQ Tile_y(DI), AX")
	w.op("MOVQ Tile_BlockY(DI), R8")
	w.op("SHLQ $2, R8")
	w.op("LEAQ (R8)(R8*2), BX")
}

// vector is the operand of the vector of block k and pixel p.
func (w *writer) vector(base string, k, p int) string {
	return fmt.Sprintf("%d(%s)%s", p*w.size, base, []string{"", "(R8*1)", "(R8*2)", "(BX*1)"}[k])
}

// each emits one instruction for every sum.
func (w *writer) each(f func(k, p, acc int)) {
	for k := range w.blocks {
		for p := range w.pixels {
			f(k, p, p*w.blocks+k)
		}
	}
}

// start sets the sums to the outputs, the biases or zero.
func (w *writer) start() {
	w.op("CMPB Tile_More(DI), $0")
	w.op("JEQ fresh")
	w.outputs()
	w.each(func(k, p, acc int) { w.op("VMOVUPS %s, %s%d", w.vector("AX", k, p), w.reg, acc) })
	w.op("JMP started")
	w.put("fresh:")
	w.op("MOVQ Tile_Bias(DI), AX")
	w.op("TESTQ AX, AX")
	w.op("JZ zero")
	w.each(func(k, p, acc int) {
		if p == 0 {
			w.op("VMOVUPS %d(AX), %s%d", k*w.size, w.reg, acc)
			return
		}
		w.op("VMOVAPS %s%d, %s%d", w.reg, k, w.reg, acc)
	})
	w.op("JMP started")
	w.put("zero:")
	w.each(func(_, _, acc int) { w.op("VXORPS %s%d, %s%d, %s%d", w.reg, acc, w.reg, acc, w.reg, acc) })
	w.put("started:")
}

// finish adds to the sums and bounds them where asked to, stores them, and goes on to the next tile.
func (w *writer) finish() {
	lo, hi := w.regs-2, w.regs-1
	w.outputs()
	w.op("MOVQ Tile_Plus(DI), CX")
	w.op("TESTQ CX, CX")
	w.op("JZ added")
	w.op("ADDQ AX, CX")
	w.op("SUBQ Tile_Y(DI), CX")
	w.each(func(k, p, acc int) {
		w.op("VADDPS %s, %s%d, %s%d", w.vector("CX", k, p), w.reg, acc, w.reg, acc)
	})
	w.put("added:")
	w.op("CMPB Tile_Clamp(DI), $0")
	w.op("JEQ store")
	w.op("VBROADCASTSS Tile_Lo(DI), %s%d", w.reg, lo)
	w.op("VBROADCASTSS Tile_Hi(DI), %s%d", w.reg, hi)
	w.each(func(_, _, acc int) {
		w.op("VMAXPS %s%d, %s%d, %s%d", w.reg, acc, w.reg, lo, w.reg, acc)
		w.op("VMINPS %s%d, %s%d, %s%d", w.reg, acc, w.reg, hi, w.reg, acc)
	})
	w.put("store:")
	w.each(func(k, p, acc int) { w.op("VMOVUPS %s%d, %s", w.reg, acc, w.vector("AX", k, p)) })
	for _, f := range []struct{ step, at string }{{"TileX", "x"}, {"TileY", "y"}} {
		w.op("MOVQ Tile_%s(DI), CX", f.step)
		w.op("SHLQ $2, CX")
		w.op("ADDQ CX, Tile_%s(DI)", f.at)
	}
	w.op("DECQ Tile_left(DI)")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
	w.put("")
}
