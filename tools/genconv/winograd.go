package main

import "fmt"

// turner emits the transforms of Winograd's F(4×4, 3×3). Registers: SI what is read, DX what is
// written, R15 a piece of the stack for 36 vectors, aligned to the largest of them.
type turner struct{ *writer }

// frame is the bytes of stack for 36 vectors and for aligning them.
func (w turner) frame() int { return 36*w.size + 64 }

// winograd emits both transforms.
func (w *writer) winograd() {
	t := turner{w}
	for _, c := range []struct {
		name string
		bits uint32
	}{{"two", 0x40000000}, {"four", 0x40800000}, {"five", 0x40a00000}, {"eight", 0x41000000}, {"quarter", 0x3e800000},
		{"sixth", 0xbe2aaaab}, {"twentyfourth", 0x3d2aaaab}} {
		w.put(fmt.Sprintf("DATA %s_%s<>(SB)/4, $%#x", w.level.name, c.name, c.bits),
			fmt.Sprintf("GLOBL %s_%s<>(SB), RODATA, $4", w.level.name, c.name))
	}
	w.put("")
	t.in()
	t.out()
	t.weights()
	t.largest()
}

// widen transforms three weights, in registers 0 to 2, into the six of the list that it returns.
func (w turner) widen() []int {
	const two, four, quarter, sixth, twentyfourth = 11, 12, 13, 14, 15
	w.three("VMULPS", quarter, 0, 3)
	w.three("VADDPS", 2, 0, 4)
	w.three("VADDPS", 1, 4, 5)
	w.three("VMULPS", sixth, 5, 5)
	w.three("VSUBPS", 1, 4, 4)
	w.three("VMULPS", sixth, 4, 4)
	w.copy(0, 6)
	w.three("VFMADD231PS", four, 2, 6)
	w.copy(6, 7)
	w.three("VFMADD231PS", two, 1, 7)
	w.three("VMULPS", twentyfourth, 7, 7)
	w.three("VFNMADD231PS", two, 1, 6)
	w.three("VMULPS", twentyfourth, 6, 6)
	return []int{3, 5, 4, 7, 6, 2}
}

// weights emits the transform of weights.
func (w turner) weights() {
	name := w.level.name + "WinogradWeights"
	w.put(fmt.Sprintf("// func %s(dst *float32, apart int, src *float32, n int)", name),
		fmt.Sprintf("TEXT ·%s(SB), 0, $%d-32", name, w.frame()))
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ apart+8(FP), R11")
	w.op("MOVQ src+16(FP), SI")
	w.op("MOVQ n+24(FP), CX")
	w.align()
	w.steps("R11", "R12", "R13")
	w.constants("two", "four", "quarter", "sixth", "twentyfourth")
	w.put("kernel:")
	for col := range 3 {
		for i := range 3 {
			w.op("VMOVUPS %d(SI), %s%d", (3*i+col)*w.size, w.reg, i)
		}
		for i, r := range w.widen() {
			w.op("VMOVAPS %s%d, %s", w.reg, r, w.kept(i*3+col))
		}
	}
	w.op("MOVQ DI, DX")
	for row := range 6 {
		for i := range 3 {
			w.op("VMOVAPS %s, %s%d", w.kept(row*3+i), w.reg, i)
		}
		for i, r := range w.widen() {
			w.op("VMOVUPS %s%d, %s", w.reg, r, w.six("DX", i, 0, "R11", "R12", "R13"))
		}
		w.op("LEAQ (DX)(R12*2), DX")
	}
	w.op("ADDQ $%d, SI", 9*w.size)
	w.op("ADDQ $%d, DI", w.size)
	w.op("DECQ CX")
	w.op("JNZ kernel")
	w.op("VZEROUPPER")
	w.op("RET")
	w.put("")
}

// largest emits the largest of the elements' bits, without their signs, in each place of a vector.
func (w turner) largest() {
	name := w.level.name + "Largest"
	w.put(fmt.Sprintf("// func %s(dst *uint32, src *float32, vectors int)", name),
		fmt.Sprintf("TEXT ·%s(SB), NOSPLIT, $0-24", name))
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ src+8(FP), SI")
	w.op("MOVQ vectors+16(FP), CX")
	w.op("VPCMPEQD Y3, Y3, Y3")
	if w.embedded {
		w.op("VPTERNLOGD $0xff, Z3, Z3, Z3")
	}
	w.op("VPSRLD $1, %s3, %s3", w.reg, w.reg)
	and, xor := "VPAND", "VPXOR"
	if w.embedded {
		and, xor = "VPANDD", "VPXORD"
	}
	for i := range 2 {
		w.three(xor, i, i, i)
	}
	w.put("pair:")
	w.op("SUBQ $2, CX")
	w.op("JLT last")
	for i := range 2 {
		w.op("%s %d(SI), %s3, %s2", and, i*w.size, w.reg, w.reg)
		w.three("VPMAXUD", 2, i, i)
	}
	w.op("ADDQ $%d, SI", 2*w.size)
	w.op("JMP pair")
	w.put("last:")
	w.op("ADDQ $2, CX")
	w.op("JZ done")
	w.op("%s (SI), %s3, %s2", and, w.reg, w.reg)
	w.three("VPMAXUD", 2, 0, 0)
	w.put("done:")
	w.three("VPMAXUD", 1, 0, 0)
	w.op("VMOVUPS %s0, (DI)", w.reg)
	w.op("VZEROUPPER")
	w.op("RET")
	w.put("")
}

// steps makes bytes of the step in register a, and b and c three and five times that.
func (w turner) steps(a, b, c string) {
	w.op("SHLQ $2, %s", a)
	w.op("LEAQ (%s)(%s*2), %s", a, a, b)
	w.op("LEAQ (%s)(%s*4), %s", a, a, c)
}

// constants loads constants to the last of 16 registers.
func (w turner) constants(names ...string) {
	for i, c := range names {
		w.op("VBROADCASTSS %s_%s<>(SB), %s%d", w.level.name, c, w.reg, 16-len(names)+i)
	}
}

func (w turner) align() {
	w.op("MOVQ SP, R15")
	w.op("ADDQ $63, R15")
	w.op("ANDQ $~63, R15")
}

// six returns the operand n steps after base, for steps in the registers a, b and c.
func (w turner) six(base string, n, disp int, a, b, c string) string {
	at := []string{"", "(" + a + "*1)", "(" + a + "*2)", "(" + b + "*1)", "(" + a + "*4)", "(" + c + "*1)"}[n]
	return fmt.Sprintf("%d(%s)%s", disp, base, at)
}

func (w turner) kept(i int) string { return fmt.Sprintf("%d(R15)", i*w.size) }

// three emits an instruction of three registers.
func (w turner) three(name string, a, b, c int) {
	w.op("%s %s%d, %s%d, %s%d", name, w.reg, a, w.reg, b, w.reg, c)
}

func (w turner) copy(from, to int) { w.op("VMOVAPS %s%d, %s%d", w.reg, from, w.reg, to) }

// spread transforms six inputs, in registers 0 to 5, into the six of the list that it returns.
func (w turner) spread() []int {
	const two, four, five = 13, 14, 15
	w.copy(4, 6)
	w.three("VFNMADD231PS", four, 2, 6)
	w.copy(3, 7)
	w.three("VFNMADD231PS", four, 1, 7)
	w.three("VADDPS", 7, 6, 8)
	w.three("VSUBPS", 7, 6, 9)
	w.three("VSUBPS", 2, 4, 6)
	w.three("VSUBPS", 1, 3, 7)
	w.copy(6, 10)
	w.three("VFMADD231PS", two, 7, 10)
	w.three("VFNMADD231PS", two, 7, 6)
	w.three("VFMADD213PS", 4, four, 0)
	w.three("VFNMADD231PS", five, 2, 0)
	w.three("VFMADD213PS", 5, four, 1)
	w.three("VFNMADD231PS", five, 3, 1)
	return []int{0, 8, 9, 10, 6, 1}
}

// gather transforms six sums, in registers 0 to 5, into the four outputs of the list that it returns.
func (w turner) gather() []int {
	const two, four, eight = 13, 14, 15
	w.three("VADDPS", 2, 1, 6)
	w.three("VSUBPS", 2, 1, 7)
	w.three("VADDPS", 4, 3, 8)
	w.three("VSUBPS", 4, 3, 9)
	w.three("VADDPS", 6, 0, 0)
	w.three("VADDPS", 8, 0, 0)
	w.copy(7, 10)
	w.three("VFMADD231PS", two, 9, 10)
	w.three("VFMADD231PS", four, 8, 6)
	w.three("VADDPS", 7, 5, 5)
	w.three("VFMADD231PS", eight, 9, 5)
	return []int{0, 10, 6, 5}
}

// in emits the transform of inputs.
func (w turner) in() {
	name := w.level.name + "WinogradIn"
	w.put(fmt.Sprintf("// func %s(dst *float32, apart int, src *float32, pitch, tiles int)", name),
		fmt.Sprintf("TEXT ·%s(SB), 0, $%d-40", name, w.frame()))
	w.op("MOVQ dst+0(FP), DI")
	w.op("MOVQ apart+8(FP), R11")
	w.op("MOVQ src+16(FP), SI")
	w.op("MOVQ pitch+24(FP), R8")
	w.op("MOVQ tiles+32(FP), CX")
	w.align()
	w.steps("R8", "R9", "R10")
	w.steps("R11", "R12", "R13")
	w.constants("two", "four", "five")
	w.put("tile:")
	for col := range 6 {
		for i := range 6 {
			w.op("VMOVUPS %s, %s%d", w.six("SI", i, col*w.size, "R8", "R9", "R10"), w.reg, i)
		}
		for i, r := range w.spread() {
			w.op("VMOVAPS %s%d, %s", w.reg, r, w.kept(i*6+col))
		}
	}
	w.op("MOVQ DI, DX")
	for row := range 6 {
		for i := range 6 {
			w.op("VMOVAPS %s, %s%d", w.kept(row*6+i), w.reg, i)
		}
		for i, r := range w.spread() {
			w.op("VMOVUPS %s%d, %s", w.reg, r, w.six("DX", i, 0, "R11", "R12", "R13"))
		}
		w.op("LEAQ (DX)(R12*2), DX")
	}
	w.op("ADDQ $%d, SI", 4*w.size)
	w.op("ADDQ $%d, DI", w.size)
	w.op("DECQ CX")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
	w.put("")
}

// out emits the transform of sums.
func (w turner) out() {
	name := w.level.name + "WinogradOut"
	w.put(fmt.Sprintf("// func %s(o *Output)", name), fmt.Sprintf("TEXT ·%s(SB), 0, $%d-8", name, w.frame()))
	w.op("MOVQ o+0(FP), DI")
	w.op("MOVQ Output_Sums(DI), R11")
	w.op("MOVQ Output_Apart(DI), R12")
	w.op("SHLQ $2, R12")
	w.op("LEAQ (R12)(R12*2), R8")
	w.op("SHRQ $1, R8")
	w.steps("R8", "R9", "R10")
	w.op("MOVQ Output_Y(DI), R13")
	w.op("MOVQ Output_Plus(DI), BX")
	w.op("MOVQ Output_Pitch(DI), AX")
	w.op("SHLQ $2, AX")
	w.op("MOVQ Output_Tiles(DI), CX")
	w.align()
	w.constants("two", "four", "eight")
	w.op("MOVQ Output_Bias(DI), DX")
	w.op("VXORPS %s11, %s11, %s11", w.reg, w.reg, w.reg)
	w.op("TESTQ DX, DX")
	w.op("JZ tile")
	w.op("VMOVUPS (DX), %s11", w.reg)
	w.put("tile:")
	w.op("MOVQ R11, SI")
	for col := range 6 {
		for i := range 6 {
			w.op("VMOVUPS %s, %s%d", w.six("SI", i, 0, "R8", "R9", "R10"), w.reg, i)
		}
		for i, r := range w.gather() {
			w.op("VMOVAPS %s%d, %s", w.reg, r, w.kept(i*6+col))
		}
		w.op("ADDQ R12, SI")
	}
	w.op("MOVQ R13, DX")
	w.op("MOVQ BX, SI")
	for row := range 4 {
		w.outRow(row)
	}
	w.op("ADDQ $%d, R13", 4*w.size)
	w.op("ADDQ $%d, BX", 4*w.size)
	w.op("ADDQ $%d, R11", w.size)
	w.op("DECQ CX")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
	w.put("")
}

// outRow finishes one of a tile's four rows.
func (w turner) outRow(row int) {
	for i := range 6 {
		w.op("VMOVAPS %s, %s%d", w.kept(row*6+i), w.reg, i)
	}
	out := w.gather()
	for _, r := range out {
		w.three("VADDPS", 11, r, r)
	}
	w.op("CMPQ Output_Plus(DI), $0")
	w.op("JEQ added%d", row)
	for i, r := range out {
		w.op("VADDPS %d(SI), %s%d, %s%d", i*w.size, w.reg, r, w.reg, r)
	}
	w.put(fmt.Sprintf("added%d:", row))
	w.op("CMPB Output_Clamp(DI), $0")
	w.op("JEQ store%d", row)
	w.op("VBROADCASTSS Output_Lo(DI), %s7", w.reg)
	w.op("VBROADCASTSS Output_Hi(DI), %s8", w.reg)
	for _, r := range out {
		w.three("VMAXPS", r, 7, r)
		w.three("VMINPS", r, 8, r)
	}
	w.put(fmt.Sprintf("store%d:", row))
	for i, r := range out {
		w.op("VMOVUPS %s%d, %d(DX)", w.reg, r, i*w.size)
	}
	w.op("ADDQ AX, DX")
	w.op("ADDQ AX, SI")
}
