//go:build amd64 && !noasm

#include "textflag.h"

// EACH copies rows: the first bytes of each, and the last, which BX bytes later begin.
#define EACH(MOV, a, b, loop) \
loop:                  \
	MOV  (SI), a       \
	MOV  (SI)(BX*1), b \
	MOV  a, (DI)       \
	MOV  b, (DI)(BX*1) \
	ADDQ R9, SI        \
	ADDQ R8, DI        \
	DECQ CX            \
	JNZ  loop

// func copyRows(dst, src unsafe.Pointer, n, width, ds, ss int)
TEXT ·copyRows(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ width+24(FP), BX
	MOVQ ds+32(FP), R8
	MOVQ ss+40(FP), R9
	SUBQ $32, BX
	JGE  vector
	ADDQ $16, BX
	JGE  half
	ADDQ $8, BX
	JGE  eight
	ADDQ $4, BX
	JGE  four
	ADDQ $2, BX
	JGE  two

one:
	MOVB (SI), AX
	MOVB AX, (DI)
	ADDQ R9, SI
	ADDQ R8, DI
	DECQ CX
	JNZ  one
	RET

two:
	EACH(MOVW, AX, DX, loop2)
	RET

four:
	EACH(MOVL, AX, DX, loop4)
	RET

eight:
	EACH(MOVQ, AX, DX, loop8)
	RET

half:
	EACH(VMOVUPS, X0, X1, loop16)
	RET

vector:
	EACH(VMOVUPS, Y0, Y1, loop32)
	VZEROUPPER
	RET
