//go:build amd64 && !noasm

#include "textflag.h"
#include "go_asm.h"

// Y15 the scale, Y14 and Y13 the least and greatest number of steps, Y12 the zero point, Y11 the
// low byte of each word, Y10 the order of double words that undoes packing by halves.
#define PARAMS \
	VBROADCASTSS Steps_Scale(BX), Y15 \
	VBROADCASTSS Steps_Lo(BX), Y14    \
	VBROADCASTSS Steps_Hi(BX), Y13    \
	VPBROADCASTD Steps_Zero(BX), Y12  \
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

// func quantise32(dst *byte, src *float32, n int, s *Steps)
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

// func requantise32(dst *byte, src *int32, n int, s *Steps)
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

// func requantiseEach32(dst *byte, src *int32, scales *float32, n int, s *Steps)
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

// SPREAD converts the elements at SI, which widen spreads to double words, to DI.
#define SPREAD(widen, from, to, y, zero, scale) \
	widen     from, y       \
	VPSUBD    zero, y, y    \
	VCVTDQ2PS y, y          \
	VMULPS    scale, y, y   \
	VMOVUPS   y, to

// DEQUANTISE loops over 32 elements at a time.
#define DEQUANTISE(widen) \
	VBROADCASTSS Steps_Scale(BX), Y15                    \
	VPBROADCASTD Steps_Zero(BX), Y12                     \
loop:                                                    \
	SPREAD(widen, 0(SI), 0(DI), Y0, Y12, Y15)            \
	SPREAD(widen, 8(SI), 32(DI), Y1, Y12, Y15)           \
	SPREAD(widen, 16(SI), 64(DI), Y2, Y12, Y15)          \
	SPREAD(widen, 24(SI), 96(DI), Y3, Y12, Y15)          \
	ADDQ         $32, SI                                 \
	ADDQ         $128, DI                                \
	DECQ         CX                                      \
	JNE          loop                                    \
	VZEROUPPER                                           \
	RET

// WIDER is DEQUANTISE with twice as wide registers.
#define WIDER(widen) \
	VBROADCASTSS Steps_Scale(BX), Z15                    \
	VPBROADCASTD Steps_Zero(BX), Z12                     \
loop:                                                    \
	SPREAD(widen, 0(SI), 0(DI), Z0, Z12, Z15)            \
	SPREAD(widen, 16(SI), 64(DI), Z1, Z12, Z15)          \
	ADDQ         $32, SI                                 \
	ADDQ         $128, DI                                \
	DECQ         CX                                      \
	JNE          loop                                    \
	VZEROUPPER                                           \
	RET

// func dequantise32(dst *float32, src *byte, n int, s *Steps)
TEXT ·dequantise32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	DEQUANTISE(VPMOVZXBD)

// func dequantiseSigned32(dst *float32, src *byte, n int, s *Steps)
TEXT ·dequantiseSigned32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	DEQUANTISE(VPMOVSXBD)

// func dequantiseWider32(dst *float32, src *byte, n int, s *Steps)
TEXT ·dequantiseWider32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	WIDER(VPMOVZXBD)

// func dequantiseSignedWider32(dst *float32, src *byte, n int, s *Steps)
TEXT ·dequantiseSignedWider32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), BX
	WIDER(VPMOVSXBD)
