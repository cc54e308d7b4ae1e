//go:build amd64 && !noasm

#include "go_asm.h"
#include "textflag.h"

// The loops have: R15 the run, DI and SI the next pixel of the result and its window, R8 and R9 once and
// three times the step of the source, R10 the weights of a tap, R11 its row's, DX the row of taps and R12
// the tap. AX, BX and CX are the channel in pixels 0, 4 and 8; R13 and R14 count rows and taps, and the
// frame holds how many channels a tap has left, and how many its block.

#define SET4(v, a, b, c, d) \
	VMOVUPS v, a \
	VMOVUPS v, b \
	VMOVUPS v, c \
	VMOVUPS v, d

#define BOUND(lo, hi, a) \
	VMAXPS a, lo, a \
	VMINPS a, hi, a

#define BOUND4(lo, hi, a, b, c, d) \
	BOUND(lo, hi, a) \
	BOUND(lo, hi, b) \
	BOUND(lo, hi, c) \
	BOUND(lo, hi, d)

// MACZ adds the product of a channel, in all lanes, with weights.
#define MACZ(at, w, t, a) \
	VFMADD231PS.BCST at, w, a

#define MACY(at, w, t, a) \
	VBROADCASTSS at, t   \
	VFMADD231PS  t, w, a

#define MAC4(MAC, p, w, t, a, b, c, d) \
	MAC((p), w, t, a)       \
	MAC((p)(R8*1), w, t, b) \
	MAC((p)(R8*2), w, t, c) \
	MAC((p)(R9*1), w, t, d)

// TAPS runs over the rows and taps of a window, and over the blocks of their channels: POINT sets the
// pointers to a block of a tap, CHANNEL does one channel and moves them on.
#define TAPS(POINT, CHANNEL, row, tap, part, some, channel, done, MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l, bytes) \
	MOVQ  SI, DX             \
	MOVQ  Dense_W(R15), R11  \
	CMPQ  Dense_KW(R15), $0  \
	JLE   done               \
	MOVQ  Dense_KH(R15), R13 \
	TESTQ R13, R13           \
	JLE   done               \
row:                         \
	MOVQ  DX, R12            \
	MOVQ  R11, R10           \
	MOVQ  R11, base-8(SP)    \
	MOVQ  Dense_KW(R15), R14 \
tap:                         \
	MOVQ  Dense_Channels(R15), AX \
	MOVQ  AX, left-16(SP)    \
	MOVQ  R12, at-24(SP)     \
part:                        \
	MOVQ  left-16(SP), BX    \
	CMPQ  BX, $(bytes/4)     \
	JLE   some               \
	MOVQ  $(bytes/4), BX     \
some:                        \
	SUBQ  BX, left-16(SP)    \
	MOVQ  BX, R11            \
	MOVQ  at-24(SP), AX      \
	POINT                    \
channel:                     \
	VMOVUPS (R10), w         \
	CHANNEL(MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l) \
	ADDQ  $bytes, R10        \
	DECQ  R11                \
	JNZ   channel            \
	MOVQ  Dense_SrcPlane(R15), AX \
	ADDQ  AX, at-24(SP)      \
	CMPQ  left-16(SP), $0    \
	JNE   part               \
	MOVQ  Dense_Channels(R15), AX \
	IMULQ $bytes, AX         \
	SUBQ  AX, R10            \
	ADDQ  Dense_WCol(R15), R10 \
	ADDQ  Dense_SrcCol(R15), R12 \
	DECQ  R14                \
	JNZ   tap                \
	MOVQ  base-8(SP), R11    \
	ADDQ  Dense_WRow(R15), R11 \
	ADDQ  Dense_SrcRow(R15), DX \
	DECQ  R13                \
	JNZ   row                \
done:

#define POINT12 \
	LEAQ (AX)(R8*4), BX \
	LEAQ (AX)(R8*8), CX

#define POINT1

#define CHANNEL12(MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l) \
	MAC4(MAC, AX, w, t, a, b, c, d) \
	MAC4(MAC, BX, w, t, e, f, g, h) \
	MAC4(MAC, CX, w, t, i, j, k, l) \
	ADDQ $4, AX \
	ADDQ $4, BX \
	ADDQ $4, CX

#define CHANNEL4(MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l) \
	MAC4(MAC, AX, w, t, a, b, c, d) \
	ADDQ $4, AX

#define CHANNEL1(MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l) \
	MAC((AX), w, t, a) \
	ADDQ $4, AX

#define DENSE(MAC, a, b, c, d, e, f, g, h, i, j, k, l, w, t, lo, hi, bytes) \
	MOVQ         s+0(FP), R15           \
	MOVQ         Dense_Dst(R15), DI     \
	MOVQ         Dense_Src(R15), SI     \
	MOVQ         Dense_SrcStep(R15), R8 \
	LEAQ         (R8)(R8*2), R9         \
	VBROADCASTSS Dense_Lo(R15), lo      \
	VBROADCASTSS Dense_Hi(R15), hi      \
twelve:                                 \
	CMPQ         Dense_N(R15), $12      \
	JLT          four                   \
	SUBQ         $12, Dense_N(R15)      \
	MOVQ         Dense_Bias(R15), AX    \
	SET4((AX), a, b, c, d)              \
	SET4((AX), e, f, g, h)              \
	SET4((AX), i, j, k, l)              \
	TAPS(POINT12, CHANNEL12, row12, tap12, part12, some12, channel12, done12, MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l, bytes) \
	BOUND4(lo, hi, a, b, c, d)          \
	BOUND4(lo, hi, e, f, g, h)          \
	BOUND4(lo, hi, i, j, k, l)          \
	MOVQ         Dense_DstStep(R15), R12 \
	LEAQ         (R12)(R12*2), R13      \
	LEAQ         (DI)(R12*4), AX        \
	LEAQ         (DI)(R12*8), BX        \
	VMOVUPS      a, (DI)                \
	VMOVUPS      b, (DI)(R12*1)         \
	VMOVUPS      c, (DI)(R12*2)         \
	VMOVUPS      d, (DI)(R13*1)         \
	VMOVUPS      e, (AX)                \
	VMOVUPS      f, (AX)(R12*1)         \
	VMOVUPS      g, (AX)(R12*2)         \
	VMOVUPS      h, (AX)(R13*1)         \
	VMOVUPS      i, (BX)                \
	VMOVUPS      j, (BX)(R12*1)         \
	VMOVUPS      k, (BX)(R12*2)         \
	VMOVUPS      l, (BX)(R13*1)         \
	LEAQ         (BX)(R12*4), DI        \
	LEAQ         (SI)(R8*8), SI         \
	LEAQ         (SI)(R8*4), SI         \
	JMP          twelve                 \
four:                                   \
	CMPQ         Dense_N(R15), $4       \
	JLT          one                    \
	SUBQ         $4, Dense_N(R15)       \
	MOVQ         Dense_Bias(R15), AX    \
	SET4((AX), a, b, c, d)              \
	TAPS(POINT1, CHANNEL4, row4, tap4, part4, some4, channel4, done4, MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l, bytes) \
	BOUND4(lo, hi, a, b, c, d)          \
	MOVQ         Dense_DstStep(R15), R12 \
	LEAQ         (R12)(R12*2), R13      \
	VMOVUPS      a, (DI)                \
	VMOVUPS      b, (DI)(R12*1)         \
	VMOVUPS      c, (DI)(R12*2)         \
	VMOVUPS      d, (DI)(R13*1)         \
	LEAQ         (DI)(R12*4), DI        \
	LEAQ         (SI)(R8*4), SI         \
	JMP          four                   \
one:                                    \
	CMPQ         Dense_N(R15), $1       \
	JLT          end                    \
	SUBQ         $1, Dense_N(R15)       \
	MOVQ         Dense_Bias(R15), AX    \
	VMOVUPS      (AX), a                \
	TAPS(POINT1, CHANNEL1, row1, tap1, part1, some1, channel1, done1, MAC, w, t, a, b, c, d, e, f, g, h, i, j, k, l, bytes) \
	BOUND(lo, hi, a)                    \
	VMOVUPS      a, (DI)                \
	ADDQ         Dense_DstStep(R15), DI \
	ADDQ         R8, SI                 \
	JMP          one                    \
end:                                    \
	VZEROUPPER                          \
	RET

// func dense16(s *Dense)
TEXT ·dense16(SB), NOSPLIT, $24-8
	DENSE(MACZ, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, 64)

// func dense8(s *Dense)
TEXT ·dense8(SB), NOSPLIT, $24-8
	DENSE(MACY, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, 32)
