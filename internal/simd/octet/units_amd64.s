//go:build amd64 && !noasm

#include "textflag.h"

// func units4(dst, a, b, c, d *byte, n int, flip byte)
//
// Sixteen elements of four rows become sixteen groups of four.
TEXT ·units4(SB), NOSPLIT, $0-49
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), R8
	MOVQ d+32(FP), R9
	MOVQ n+40(FP), CX
	VPBROADCASTB flip+48(FP), X15
	XORQ BX, BX

loop:
	VPXOR (SI)(BX*1), X15, X0
	VPXOR (DX)(BX*1), X15, X1
	VPXOR (R8)(BX*1), X15, X2
	VPXOR (R9)(BX*1), X15, X3
	VPUNPCKLBW X1, X0, X4
	VPUNPCKHBW X1, X0, X5
	VPUNPCKLBW X3, X2, X6
	VPUNPCKHBW X3, X2, X7
	VPUNPCKLWD X6, X4, X0
	VPUNPCKHWD X6, X4, X1
	VPUNPCKLWD X7, X5, X2
	VPUNPCKHWD X7, X5, X3
	VMOVDQU X0, (DI)
	VMOVDQU X1, 16(DI)
	VMOVDQU X2, 32(DI)
	VMOVDQU X3, 48(DI)
	ADDQ $16, BX
	ADDQ $64, DI
	DECQ CX
	JNE loop
	RET

// UNITS2 loops over eight elements of two rows at a time.
#define UNITS2(widen) \
loop:                        \
	widen      (SI), X0      \
	widen      (DX), X1      \
	VPSUBW     X15, X0, X0   \
	VPSUBW     X15, X1, X1   \
	VPUNPCKLWD X1, X0, X2    \
	VPUNPCKHWD X1, X0, X3    \
	VMOVDQU    X2, (DI)      \
	VMOVDQU    X3, 16(DI)    \
	ADDQ       $8, SI        \
	ADDQ       $8, DX        \
	ADDQ       $32, DI       \
	DECQ       CX            \
	JNE        loop          \
	RET

// func units2(dst, a, b *byte, n int, zero int16)
TEXT ·units2(SB), NOSPLIT, $0-34
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTW zero+32(FP), X15
	UNITS2(VPMOVZXBW)

// func unitsSigned2(dst, a, b *byte, n int, zero int16)
TEXT ·unitsSigned2(SB), NOSPLIT, $0-34
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	VPBROADCASTW zero+32(FP), X15
	UNITS2(VPMOVSXBW)
