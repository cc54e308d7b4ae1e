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

// ROW3 adds a row of three taps that are as far apart as the pixels: each pixel of the source is loaded
// once. R14 is pixel 12.
#define ROW3(a, b, c, d, e, f, g, h, i, j, k, l, w0, w1, w2, x, bytes) \
	LEAQ (AX)(R8*4), BX      \
	LEAQ (AX)(R8*8), CX      \
	LEAQ (CX)(R8*4), R14     \
	VMOVUPS (R12), w0        \
	VMOVUPS bytes(R12), w1   \
	VMOVUPS 2*bytes(R12), w2 \
	VMOVUPS (AX), x          \
	VFMADD231PS x, w0, a     \
	VMOVUPS (AX)(R8*1), x    \
	VFMADD231PS x, w0, b     \
	VFMADD231PS x, w1, a     \
	VMOVUPS (AX)(R8*2), x    \
	VFMADD231PS x, w0, c     \
	VFMADD231PS x, w1, b     \
	VFMADD231PS x, w2, a     \
	VMOVUPS (AX)(R9*1), x    \
	VFMADD231PS x, w0, d     \
	VFMADD231PS x, w1, c     \
	VFMADD231PS x, w2, b     \
	VMOVUPS (BX), x          \
	VFMADD231PS x, w0, e     \
	VFMADD231PS x, w1, d     \
	VFMADD231PS x, w2, c     \
	VMOVUPS (BX)(R8*1), x    \
	VFMADD231PS x, w0, f     \
	VFMADD231PS x, w1, e     \
	VFMADD231PS x, w2, d     \
	VMOVUPS (BX)(R8*2), x    \
	VFMADD231PS x, w0, g     \
	VFMADD231PS x, w1, f     \
	VFMADD231PS x, w2, e     \
	VMOVUPS (BX)(R9*1), x    \
	VFMADD231PS x, w0, h     \
	VFMADD231PS x, w1, g     \
	VFMADD231PS x, w2, f     \
	VMOVUPS (CX), x          \
	VFMADD231PS x, w0, i     \
	VFMADD231PS x, w1, h     \
	VFMADD231PS x, w2, g     \
	VMOVUPS (CX)(R8*1), x    \
	VFMADD231PS x, w0, j     \
	VFMADD231PS x, w1, i     \
	VFMADD231PS x, w2, h     \
	VMOVUPS (CX)(R8*2), x    \
	VFMADD231PS x, w0, k     \
	VFMADD231PS x, w1, j     \
	VFMADD231PS x, w2, i     \
	VMOVUPS (CX)(R9*1), x    \
	VFMADD231PS x, w0, l     \
	VFMADD231PS x, w1, k     \
	VFMADD231PS x, w2, j     \
	VMOVUPS (R14), x         \
	VFMADD231PS x, w1, l     \
	VFMADD231PS x, w2, k     \
	VMOVUPS (R14)(R8*1), x   \
	VFMADD231PS x, w2, l

// ROW5 is ROW3 for five taps.
#define ROW5(a, b, c, d, e, f, g, h, i, j, k, l, w0, w1, w2, w3, w4, x, bytes) \
	LEAQ (AX)(R8*4), BX      \
	LEAQ (AX)(R8*8), CX      \
	LEAQ (CX)(R8*4), R14     \
	VMOVUPS (R12), w0        \
	VMOVUPS bytes(R12), w1   \
	VMOVUPS 2*bytes(R12), w2 \
	VMOVUPS 3*bytes(R12), w3 \
	VMOVUPS 4*bytes(R12), w4 \
	VMOVUPS (AX), x          \
	VFMADD231PS x, w0, a     \
	VMOVUPS (AX)(R8*1), x    \
	VFMADD231PS x, w0, b     \
	VFMADD231PS x, w1, a     \
	VMOVUPS (AX)(R8*2), x    \
	VFMADD231PS x, w0, c     \
	VFMADD231PS x, w1, b     \
	VFMADD231PS x, w2, a     \
	VMOVUPS (AX)(R9*1), x    \
	VFMADD231PS x, w0, d     \
	VFMADD231PS x, w1, c     \
	VFMADD231PS x, w2, b     \
	VFMADD231PS x, w3, a     \
	VMOVUPS (BX), x          \
	VFMADD231PS x, w0, e     \
	VFMADD231PS x, w1, d     \
	VFMADD231PS x, w2, c     \
	VFMADD231PS x, w3, b     \
	VFMADD231PS x, w4, a     \
	VMOVUPS (BX)(R8*1), x    \
	VFMADD231PS x, w0, f     \
	VFMADD231PS x, w1, e     \
	VFMADD231PS x, w2, d     \
	VFMADD231PS x, w3, c     \
	VFMADD231PS x, w4, b     \
	VMOVUPS (BX)(R8*2), x    \
	VFMADD231PS x, w0, g     \
	VFMADD231PS x, w1, f     \
	VFMADD231PS x, w2, e     \
	VFMADD231PS x, w3, d     \
	VFMADD231PS x, w4, c     \
	VMOVUPS (BX)(R9*1), x    \
	VFMADD231PS x, w0, h     \
	VFMADD231PS x, w1, g     \
	VFMADD231PS x, w2, f     \
	VFMADD231PS x, w3, e     \
	VFMADD231PS x, w4, d     \
	VMOVUPS (CX), x          \
	VFMADD231PS x, w0, i     \
	VFMADD231PS x, w1, h     \
	VFMADD231PS x, w2, g     \
	VFMADD231PS x, w3, f     \
	VFMADD231PS x, w4, e     \
	VMOVUPS (CX)(R8*1), x    \
	VFMADD231PS x, w0, j     \
	VFMADD231PS x, w1, i     \
	VFMADD231PS x, w2, h     \
	VFMADD231PS x, w3, g     \
	VFMADD231PS x, w4, f     \
	VMOVUPS (CX)(R8*2), x    \
	VFMADD231PS x, w0, k     \
	VFMADD231PS x, w1, j     \
	VFMADD231PS x, w2, i     \
	VFMADD231PS x, w3, h     \
	VFMADD231PS x, w4, g     \
	VMOVUPS (CX)(R9*1), x    \
	VFMADD231PS x, w0, l     \
	VFMADD231PS x, w1, k     \
	VFMADD231PS x, w2, j     \
	VFMADD231PS x, w3, i     \
	VFMADD231PS x, w4, h     \
	VMOVUPS (R14), x         \
	VFMADD231PS x, w1, l     \
	VFMADD231PS x, w2, k     \
	VFMADD231PS x, w3, j     \
	VFMADD231PS x, w4, i     \
	VMOVUPS (R14)(R8*1), x   \
	VFMADD231PS x, w2, l     \
	VFMADD231PS x, w3, k     \
	VFMADD231PS x, w4, j     \
	VMOVUPS (R14)(R8*2), x   \
	VFMADD231PS x, w3, l     \
	VFMADD231PS x, w4, k     \
	VMOVUPS (R14)(R9*1), x   \
	VFMADD231PS x, w4, l

// LOADS loads the bias and the bounds.
#define LOADS(bias, lo, hi) \
	MOVQ         Strip_Bias(R15), AX \
	VMOVUPS      (AX), bias          \
	VBROADCASTSS Strip_Lo(R15), lo   \
	VBROADCASTSS Strip_Hi(R15), hi

#define KEPT(bias, lo, hi)

// FIVES does rows of five taps like those of three; NOFIVES leaves them to the loop for any number.
#define FIVES(a, b, c, d, e, f, g, h, i, j, k, l, bytes) \
	CMPQ R14, $5                  \
	JNE  row12                    \
row5:                             \
	MOVQ DX, AX                   \
	ROW5(a, b, c, d, e, f, g, h, i, j, k, l, Z16, Z17, Z18, Z19, Z20, Z21, bytes) \
	ADDQ R11, DX                  \
	ADDQ Strip_WRow(R15), R12     \
	DECQ R13                      \
	JNZ  row5                     \
	JMP  done12

#define NOFIVES(a, b, c, d, e, f, g, h, i, j, k, l, bytes)

// CONV is a whole function for pixels of some bytes: twelve accumulators, the bias, a weight and the
// bounds are in registers. Rows of three taps take w0 to t beside, which AGAIN loads anew where they
// are some of those.
#define CONV(a, b, c, d, e, f, g, h, i, j, k, l, bias, w, lo, hi, w0, w1, w2, t, AGAIN, FIVE, bytes) \
	BEGIN                               \
	LOADS(bias, lo, hi)                 \
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
	CMPQ         R10, R8                \
	JNE          row12                  \
	MOVQ         Strip_KW(R15), R14     \
	CMPQ         R14, $3                \
	JEQ          row3                   \
	FIVE(a, b, c, d, e, f, g, h, i, j, k, l, bytes) \
	JMP          row12                  \
row3:                                   \
	MOVQ         DX, AX                 \
	ROW3(a, b, c, d, e, f, g, h, i, j, k, l, w0, w1, w2, t, bytes) \
	ADDQ         R11, DX                \
	ADDQ         Strip_WRow(R15), R12   \
	DECQ         R13                    \
	JNZ          row3                   \
	AGAIN(bias, lo, hi)                 \
	JMP          done12                 \
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
	CONV(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19, KEPT, FIVES, 64)

// func conv8(s *Strip)
TEXT ·conv8(SB), NOSPLIT, $0-8
	CONV(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, Y12, Y13, Y14, Y15, LOADS, NOFIVES, 32)

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
