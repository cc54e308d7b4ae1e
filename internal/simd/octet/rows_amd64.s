//go:build amd64 && !noasm

#include "textflag.h"

// func sum32(src *byte, n int) int
TEXT ·sum32(SB), NOSPLIT, $0-24
	MOVQ  src+0(FP), SI
	MOVQ  n+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

loop:
	VPSADBW (SI), Y0, Y2
	VPADDQ  Y2, Y1, Y1
	ADDQ    $32, SI
	DECQ    CX
	JNE     loop
	VEXTRACTI128 $1, Y1, X2
	VPADDQ  X2, X1, X1
	VPSRLDQ $8, X1, X2
	VPADDQ  X2, X1, X1
	VMOVQ   X1, ret+16(FP)
	VZEROUPPER
	RET

// WIDEN loops over 16 elements at a time: Y15 is the zero point, Y14 ones, Y1 the sums.
#define WIDEN(widen) \
	VPCMPEQW Y14, Y14, Y14 \
	VPSRLW   $15, Y14, Y14 \
	VPXOR    Y1, Y1, Y1    \
loop:                      \
	widen    (SI), Y0      \
	VPSUBW   Y15, Y0, Y0   \
	VMOVDQU  Y0, (DI)      \
	VPMADDWD Y14, Y0, Y2   \
	VPADDD   Y2, Y1, Y1    \
	ADDQ     $16, SI       \
	ADDQ     $32, DI       \
	DECQ     CX            \
	JNE      loop          \
	VEXTRACTI128 $1, Y1, X2 \
	VPADDD   X2, X1, X1    \
	VPSRLDQ  $8, X1, X2    \
	VPADDD   X2, X1, X1    \
	VPSRLDQ  $4, X1, X2    \
	VPADDD   X2, X1, X1    \
	VMOVD    X1, AX        \
	VZEROUPPER

// func widen16(dst, src *byte, n int, zero int16) int32
TEXT ·widen16(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTW zero+24(FP), Y15
	WIDEN(VPMOVZXBW)
	MOVL AX, ret+32(FP)
	RET

// func widenSigned16(dst, src *byte, n int, zero int16) int32
TEXT ·widenSigned16(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTW zero+24(FP), Y15
	WIDEN(VPMOVSXBW)
	MOVL AX, ret+32(FP)
	RET
