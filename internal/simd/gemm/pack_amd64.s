//go:build amd64 && !noasm

#include "textflag.h"

// func transpose8(dst, src *float32, ldd, lds, blocks int)
//
// Y0 to Y7 hold the halves of four source rows below those of the four rows after them, and so
// the transposed block is two steps of interleaving away.
TEXT ·transpose8(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ ldd+16(FP), DX
	MOVQ lds+24(FP), R8
	MOVQ blocks+32(FP), CX
	LEAQ (R8)(R8*2), R9
	LEAQ (DX)(DX*2), R10

block:
	LEAQ (SI)(R8*4), R11
	VMOVUPS (SI), X0
	VMOVUPS (SI)(R8*1), X1
	VMOVUPS (SI)(R8*2), X2
	VMOVUPS (SI)(R9*1), X3
	VMOVUPS 16(SI), X4
	VMOVUPS 16(SI)(R8*1), X5
	VMOVUPS 16(SI)(R8*2), X6
	VMOVUPS 16(SI)(R9*1), X7
	VINSERTF128 $1, (R11), Y0, Y0
	VINSERTF128 $1, (R11)(R8*1), Y1, Y1
	VINSERTF128 $1, (R11)(R8*2), Y2, Y2
	VINSERTF128 $1, (R11)(R9*1), Y3, Y3
	VINSERTF128 $1, 16(R11), Y4, Y4
	VINSERTF128 $1, 16(R11)(R8*1), Y5, Y5
	VINSERTF128 $1, 16(R11)(R8*2), Y6, Y6
	VINSERTF128 $1, 16(R11)(R9*1), Y7, Y7
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15
	VUNPCKLPD Y10, Y8, Y0
	VUNPCKHPD Y10, Y8, Y1
	VUNPCKLPD Y11, Y9, Y2
	VUNPCKHPD Y11, Y9, Y3
	VUNPCKLPD Y14, Y12, Y4
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7
	LEAQ (DI)(DX*4), R12
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(DX*1)
	VMOVUPS Y2, (DI)(DX*2)
	VMOVUPS Y3, (DI)(R10*1)
	VMOVUPS Y4, (R12)
	VMOVUPS Y5, (R12)(DX*1)
	VMOVUPS Y6, (R12)(DX*2)
	VMOVUPS Y7, (R12)(R10*1)
	ADDQ $32, SI
	LEAQ (R12)(DX*4), DI
	DECQ CX
	JNE block
	VZEROUPPER
	RET

// func copyRows(dst, src *float32, ldd, lds, n, rows int)
//
// n counts pieces of 64 bytes. The rows are walked from piece to piece, so that each is read in one go.
TEXT ·copyRows(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ ldd+16(FP), DX
	MOVQ lds+24(FP), R8
	MOVQ n+32(FP), R9
	MOVQ rows+40(FP), CX

row:
	MOVQ DI, R10
	MOVQ SI, R11
	MOVQ R9, R12
	PREFETCHT0 (SI)(R8*4)

piece:
	VMOVUPS (R11), Y0
	VMOVUPS 32(R11), Y1
	VMOVUPS Y0, (R10)
	VMOVUPS Y1, 32(R10)
	ADDQ $64, R11
	ADDQ $64, R10
	DECQ R12
	JNE piece
	ADDQ R8, SI
	ADDQ DX, DI
	DECQ CX
	JNE row
	VZEROUPPER
	RET
