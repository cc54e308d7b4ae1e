//go:build amd64 && !noasm

#include "go_asm.h"
#include "textflag.h"

// All loops have: R15 the strip, DI and SI the next pixel of the result and its window, R8 and R9 once
// and three times the step of the source, R10 and R11 the distances of taps, R12 the weights. AX, BX and
// CX are the windows of pixels 0, 4 and 8, DX the row of taps, R13 and R14 count rows and taps.

#define BEGIN \
	MOVQ s+0(FP), R15          \
	MOVQ Strip_Dst(R15), DI    \
	MOVQ Strip_Src(R15), SI    \
	MOVQ Strip_SrcStep(R15), R8 \
	LEAQ (R8)(R8*2), R9        \
	MOVQ Strip_SrcCol(R15), R10 \
	MOVQ Strip_SrcRow(R15), R11

// WINDOW starts a window: it goes to label none if it has no taps.
#define WINDOW(none) \
	MOVQ  Strip_W(R15), R12  \
	MOVQ  SI, DX             \
	CMPQ  Strip_KW(R15), $0  \
	JLE   none               \
	MOVQ  Strip_KH(R15), R13 \
	TESTQ R13, R13           \
	JLE   none

#define ROW12 \
	MOVQ DX, AX              \
	LEAQ (AX)(R8*4), BX      \
	LEAQ (AX)(R8*8), CX      \
	MOVQ Strip_KW(R15), R14

#define ROW1 \
	MOVQ DX, AX              \
	MOVQ Strip_KW(R15), R14

// NEXTROW goes on with the next row of taps, whose weights start WRow after those of this one.
#define NEXTROW(row, bytes) \
	ADDQ  R11, DX              \
	MOVQ  Strip_KW(R15), AX    \
	IMULQ $-bytes, AX          \
	ADDQ  Strip_WRow(R15), R12 \
	ADDQ  AX, R12              \
	DECQ  R13                  \
	JNZ   row

#define STORE12(a, b, c, d, e, f, g, h, i, j, k, l) \
	MOVQ    Strip_DstStep(R15), R12 \
	LEAQ    (R12)(R12*2), R13 \
	LEAQ    (DI)(R12*4), AX   \
	LEAQ    (DI)(R12*8), BX   \
	VMOVUPS a, (DI)           \
	VMOVUPS b, (DI)(R12*1)    \
	VMOVUPS c, (DI)(R12*2)    \
	VMOVUPS d, (DI)(R13*1)    \
	VMOVUPS e, (AX)           \
	VMOVUPS f, (AX)(R12*1)    \
	VMOVUPS g, (AX)(R12*2)    \
	VMOVUPS h, (AX)(R13*1)    \
	VMOVUPS i, (BX)           \
	VMOVUPS j, (BX)(R12*1)    \
	VMOVUPS k, (BX)(R12*2)    \
	VMOVUPS l, (BX)(R13*1)    \
	LEAQ    (BX)(R12*4), DI   \
	LEAQ    (SI)(R8*8), SI    \
	LEAQ    (SI)(R8*4), SI

#define STORE4(a, b, c, d) \
	MOVQ    Strip_DstStep(R15), R12 \
	LEAQ    (R12)(R12*2), R13 \
	VMOVUPS a, (DI)           \
	VMOVUPS b, (DI)(R12*1)    \
	VMOVUPS c, (DI)(R12*2)    \
	VMOVUPS d, (DI)(R13*1)    \
	LEAQ    (DI)(R12*4), DI   \
	LEAQ    (SI)(R8*4), SI

#define STORE1(a) \
	VMOVUPS a, (DI)                 \
	ADDQ    Strip_DstStep(R15), DI  \
	ADDQ    R8, SI

// NEXTSTRIP goes on with the next of several strips.
#define NEXTSTRIP(again, quit) \
	DECQ Strip_Times(R15)         \
	JLE  quit                     \
	MOVQ Strip_Dst(R15), DI       \
	ADDQ Strip_DstNext(R15), DI   \
	MOVQ DI, Strip_Dst(R15)       \
	MOVQ Strip_Src(R15), SI       \
	ADDQ Strip_SrcNext(R15), SI   \
	MOVQ SI, Strip_Src(R15)       \
	JMP  again                    \
quit:

#define SET4(v, a, b, c, d) \
	VMOVAPS v, a \
	VMOVAPS v, b \
	VMOVAPS v, c \
	VMOVAPS v, d

#define FMA4(p, w, a, b, c, d) \
	VFMADD231PS (p), w, a       \
	VFMADD231PS (p)(R8*1), w, b \
	VFMADD231PS (p)(R8*2), w, c \
	VFMADD231PS (p)(R9*1), w, d

#define BOUND(lo, hi, a) \
	VMAXPS a, lo, a \
	VMINPS a, hi, a

#define BOUND4(lo, hi, a, b, c, d) \
	BOUND(lo, hi, a) \
	BOUND(lo, hi, b) \
	BOUND(lo, hi, c) \
	BOUND(lo, hi, d)

// CONV is a whole function for pixels of some bytes: twelve accumulators, the bias, a weight and the
// bounds are in registers.
#define CONV(a, b, c, d, e, f, g, h, i, j, k, l, bias, w, lo, hi, bytes) \
	BEGIN                               \
	MOVQ         Strip_Bias(R15), AX    \
	VMOVUPS      (AX), bias             \
	VBROADCASTSS Strip_Lo(R15), lo      \
	VBROADCASTSS Strip_Hi(R15), hi      \
again:                                  \
	MOVQ         Strip_N(R15), AX       \
	MOVQ         AX, Strip_left(R15)    \
twelve:                                 \
	SUBQ         $12, Strip_left(R15)   \
	JLT          four                   \
	SET4(bias, a, b, c, d)              \
	SET4(bias, e, f, g, h)              \
	SET4(bias, i, j, k, l)              \
	WINDOW(done12)                      \
row12:                                  \
	ROW12                               \
tap12:                                  \
	VMOVUPS      (R12), w               \
	FMA4(AX, w, a, b, c, d)             \
	FMA4(BX, w, e, f, g, h)             \
	FMA4(CX, w, i, j, k, l)             \
	ADDQ         R10, AX                \
	ADDQ         R10, BX                \
	ADDQ         R10, CX                \
	ADDQ         $bytes, R12            \
	DECQ         R14                    \
	JNZ          tap12                  \
	NEXTROW(row12, bytes)               \
done12:                                 \
	BOUND4(lo, hi, a, b, c, d)          \
	BOUND4(lo, hi, e, f, g, h)          \
	BOUND4(lo, hi, i, j, k, l)          \
	STORE12(a, b, c, d, e, f, g, h, i, j, k, l) \
	JMP          twelve                 \
four:                                   \
	ADDQ         $12, Strip_left(R15)   \
more4:                                  \
	SUBQ         $4, Strip_left(R15)    \
	JLT          one                    \
	SET4(bias, a, b, c, d)              \
	WINDOW(done4)                       \
row4:                                   \
	ROW1                                \
tap4:                                   \
	VMOVUPS      (R12), w               \
	FMA4(AX, w, a, b, c, d)             \
	ADDQ         R10, AX                \
	ADDQ         $bytes, R12            \
	DECQ         R14                    \
	JNZ          tap4                   \
	NEXTROW(row4, bytes)                \
done4:                                  \
	BOUND4(lo, hi, a, b, c, d)          \
	STORE4(a, b, c, d)                  \
	JMP          more4                  \
one:                                    \
	ADDQ         $4, Strip_left(R15)    \
more1:                                  \
	SUBQ         $1, Strip_left(R15)    \
	JLT          end                    \
	VMOVAPS      bias, a                \
	WINDOW(done1)                       \
row1:                                   \
	ROW1                                \
tap1:                                   \
	VMOVUPS      (R12), w               \
	VFMADD231PS  (AX), w, a             \
	ADDQ         R10, AX                \
	ADDQ         $bytes, R12            \
	DECQ         R14                    \
	JNZ          tap1                   \
	NEXTROW(row1, bytes)                \
done1:                                  \
	BOUND(lo, hi, a)                    \
	STORE1(a)                           \
	JMP          more1                  \
end:                                    \
	NEXTSTRIP(again, quit)              \
	VZEROUPPER                          \
	RET

// func conv16(s *Strip)
TEXT ·conv16(SB), NOSPLIT, $0-8
	CONV(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, 64)

// func conv8(s *Strip)
TEXT ·conv8(SB), NOSPLIT, $0-8
	CONV(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, 32)

// POOL is a whole function: TAKE(p, index, t, a) takes the tap at p into a, LAST(t, a) ends a pixel.
#define TAKE4(TAKE, p, t, a, b, c, d) \
	TAKE((p), t, a)       \
	TAKE((p)(R8*1), t, b) \
	TAKE((p)(R8*2), t, c) \
	TAKE((p)(R9*1), t, d)

#define LAST4(LAST, v, a, b, c, d) \
	LAST(v, a) \
	LAST(v, b) \
	LAST(v, c) \
	LAST(v, d)

#define NEXTPOOLROW(row) \
	ADDQ R11, DX \
	DECQ R13     \
	JNZ  row

#define POOL(TAKE, LAST, a, b, c, d, e, f, g, h, i, j, k, l, start, t, last) \
again:                                  \
	MOVQ         Strip_N(R15), AX       \
	MOVQ         AX, Strip_left(R15)    \
twelve:                                 \
	SUBQ         $12, Strip_left(R15)   \
	JLT          four                   \
	SET4(start, a, b, c, d)             \
	SET4(start, e, f, g, h)             \
	SET4(start, i, j, k, l)             \
	WINDOW(done12)                      \
row12:                                  \
	ROW12                               \
tap12:                                  \
	TAKE4(TAKE, AX, t, a, b, c, d)      \
	TAKE4(TAKE, BX, t, e, f, g, h)      \
	TAKE4(TAKE, CX, t, i, j, k, l)      \
	ADDQ         R10, AX                \
	ADDQ         R10, BX                \
	ADDQ         R10, CX                \
	DECQ         R14                    \
	JNZ          tap12                  \
	NEXTPOOLROW(row12)                  \
done12:                                 \
	LAST4(LAST, last, a, b, c, d)       \
	LAST4(LAST, last, e, f, g, h)       \
	LAST4(LAST, last, i, j, k, l)       \
	STORE12(a, b, c, d, e, f, g, h, i, j, k, l) \
	JMP          twelve                 \
four:                                   \
	ADDQ         $12, Strip_left(R15)   \
more4:                                  \
	SUBQ         $4, Strip_left(R15)    \
	JLT          one                    \
	SET4(start, a, b, c, d)             \
	WINDOW(done4)                       \
row4:                                   \
	ROW1                                \
tap4:                                   \
	TAKE4(TAKE, AX, t, a, b, c, d)      \
	ADDQ         R10, AX                \
	DECQ         R14                    \
	JNZ          tap4                   \
	NEXTPOOLROW(row4)                   \
done4:                                  \
	LAST4(LAST, last, a, b, c, d)       \
	STORE4(a, b, c, d)                  \
	JMP          more4                  \
one:                                    \
	ADDQ         $4, Strip_left(R15)    \
more1:                                  \
	SUBQ         $1, Strip_left(R15)    \
	JLT          end                    \
	VMOVAPS      start, a               \
	WINDOW(done1)                       \
row1:                                   \
	ROW1                                \
tap1:                                   \
	TAKE((AX), t, a)                    \
	ADDQ         R10, AX                \
	DECQ         R14                    \
	JNZ          tap1                   \
	NEXTPOOLROW(row1)                   \
done1:                                  \
	LAST(last, a)                       \
	STORE1(a)                           \
	JMP          more1                  \
end:                                    \
	NEXTSTRIP(again, quit)              \
	VZEROUPPER                          \
	RET

// The second source of VMAXPS, the maximum so far, is the result when either is NaN.
#define LARGER(at, t, a) \
	VMOVUPS at, t  \
	VMAXPS  a, t, a

#define ASIS(v, a)

#define ADDED(at, t, a) \
	VADDPS at, a, a

#define SCALED(v, a) \
	VMULPS v, a, a

// func max16(s *Strip)
TEXT ·max16(SB), NOSPLIT, $0-8
	BEGIN
	VBROADCASTSS ·negInf(SB), Z12
	POOL(LARGER, ASIS, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14)

// func max8(s *Strip)
TEXT ·max8(SB), NOSPLIT, $0-8
	BEGIN
	VBROADCASTSS ·negInf(SB), Y12
	POOL(LARGER, ASIS, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14)

// func sum16(s *Strip)
TEXT ·sum16(SB), NOSPLIT, $0-8
	BEGIN
	VPXORD       Z12, Z12, Z12
	VBROADCASTSS Strip_Scale(R15), Z14
	POOL(ADDED, SCALED, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14)

// func sum8(s *Strip)
TEXT ·sum8(SB), NOSPLIT, $0-8
	BEGIN
	VXORPS       Y12, Y12, Y12
	VBROADCASTSS Strip_Scale(R15), Y14
	POOL(ADDED, SCALED, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14)
