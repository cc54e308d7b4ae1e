//go:build amd64 && !noasm

#include "textflag.h"
#include "go_asm.h"

// Y15 the scale, Y14 and Y13 the least and greatest number of steps, Y12 the zero point, Y11 the
// low byte of each word, Y10 the order of double words that undoes packing by halves.
#define PARAMS \
	VBROADCASTSS steps_scale(BX), Y15 \
	VBROADCASTSS steps_lo(BX), Y14    \
	VBROADCASTSS steps_hi(BX), Y13    \
	VPBROADCASTD steps_zero(BX), Y12  \
	VPCMPEQW     Y11, Y11, Y11        \
	VPSRLW       $8, Y11, Y11         \
	VMOVDQU      unpacked<>(SB), Y10

DATA unpacked<>+0(SB)/4, $0
DATA unpacked<>+4(SB)/4, $4
DATA unpacked<>+8(SB)/4, $1
DATA unpacked<>+12(SB)/4, $5
DATA unpacked<>+16(SB)/4, $2
DATA unpacked<>+20(SB)/4, $6
DATA unpacked<>+24(SB)/4, $3
DATA unpacked<>+28(SB)/4, $7
GLOBL unpacked<>(SB), RODATA|NOPTR, $32

// ROUND turns numbers of steps into integers. A NaN becomes the least one.
#define ROUND(y) \
	VMAXPS    Y14, y, y \
	VMINPS    Y13, y, y \
	VCVTPS2DQ y, y      \
	VPADDD    Y12, y, y

// STORE writes the low bytes of the 32 integers in Y0 to Y3.
#define STORE \
	ROUND(Y0)               \
	ROUND(Y1)               \
	ROUND(Y2)               \
	ROUND(Y3)               \
	VPACKSSDW Y1, Y0, Y0    \
	VPACKSSDW Y3, Y2, Y2    \
	VPAND     Y11, Y0, Y0   \
	VPAND     Y11, Y2, Y2   \
	VPACKUSWB Y2, Y0, Y0    \
	VPERMD    Y0, Y10, Y0   \
	VMOVDQU   Y0, (DI)

// func quantise32(dst *byte, src *float32, n int, s *steps)
TEXT ·quantise32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	PARAMS

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VDIVPS  Y15, Y0, Y0
	VDIVPS  Y15, Y1, Y1
	VDIVPS  Y15, Y2, Y2
	VDIVPS  Y15, Y3, Y3
	STORE
	ADDQ    $128, SI
	ADDQ    $32, DI
	DECQ    CX
	JNE     loop
	VZEROUPPER
	RET

// func requantise32(dst *byte, src *int32, n int, s *steps)
TEXT ·requantise32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	PARAMS

loop:
	VCVTDQ2PS (SI), Y0
	VCVTDQ2PS 32(SI), Y1
	VCVTDQ2PS 64(SI), Y2
	VCVTDQ2PS 96(SI), Y3
	VMULPS    Y15, Y0, Y0
	VMULPS    Y15, Y1, Y1
	VMULPS    Y15, Y2, Y2
	VMULPS    Y15, Y3, Y3
	STORE
	ADDQ      $128, SI
	ADDQ      $32, DI
	DECQ      CX
	JNE       loop
	VZEROUPPER
	RET

// func requantiseEach32(dst *byte, src *int32, scales *float32, n int, s *steps)
TEXT ·requantiseEach32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ scales+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ s+32(FP), BX
	PARAMS

loop:
	VCVTDQ2PS (SI), Y0
	VCVTDQ2PS 32(SI), Y1
	VCVTDQ2PS 64(SI), Y2
	VCVTDQ2PS 96(SI), Y3
	VMULPS    (DX), Y0, Y0
	VMULPS    32(DX), Y1, Y1
	VMULPS    64(DX), Y2, Y2
	VMULPS    96(DX), Y3, Y3
	STORE
	ADDQ      $128, SI
	ADDQ      $128, DX
	ADDQ      $32, DI
	DECQ      CX
	JNE       loop
	VZEROUPPER
	RET

// DEQUANTISE loops over eight elements at a time, which widen spreads to double words.
#define DEQUANTISE(widen) \
	VBROADCASTSS steps_scale(BX), Y15     \
	VPBROADCASTD steps_zero(BX), Y12      \
loop:                                     \
	widen        (SI), Y0                 \
	VPSUBD       Y12, Y0, Y0              \
	VCVTDQ2PS    Y0, Y0                   \
	VMULPS       Y15, Y0, Y0              \
	VMOVUPS      Y0, (DI)                 \
	ADDQ         $8, SI                   \
	ADDQ         $32, DI                  \
	DECQ         CX                       \
	JNE          loop                     \
	VZEROUPPER                            \
	RET

// func dequantise8(dst *float32, src *byte, n int, s *steps)
TEXT ·dequantise8(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	DEQUANTISE(VPMOVZXBD)

// func dequantiseSigned8(dst *float32, src *byte, n int, s *steps)
TEXT ·dequantiseSigned8(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	DEQUANTISE(VPMOVSXBD)
