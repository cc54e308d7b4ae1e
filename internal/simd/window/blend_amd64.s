//go:build amd64 && !noasm

#include "textflag.h"

// BLEND sets n vectors of some bytes to wa·a + wb·b.
#define BLEND(p, q, t0, t1, t2, t3, bytes) \
	MOVQ         dst+0(FP), DI           \
	MOVQ         a+8(FP), SI             \
	MOVQ         b+16(FP), BX            \
	MOVQ         n+24(FP), CX            \
	VBROADCASTSS wa+32(FP), p           \
	VBROADCASTSS wb+36(FP), q           \
	XORQ         AX, AX                  \
four:                                    \
	SUBQ         $4, CX                  \
	JLT          rest                    \
	VMULPS       (SI)(AX*1), p, t0      \
	VMULPS       bytes(SI)(AX*1), p, t1 \
	VMULPS       2*bytes(SI)(AX*1), p, t2 \
	VMULPS       3*bytes(SI)(AX*1), p, t3 \
	VFMADD231PS  (BX)(AX*1), q, t0      \
	VFMADD231PS  bytes(BX)(AX*1), q, t1 \
	VFMADD231PS  2*bytes(BX)(AX*1), q, t2 \
	VFMADD231PS  3*bytes(BX)(AX*1), q, t3 \
	VMOVUPS      t0, (DI)(AX*1)          \
	VMOVUPS      t1, bytes(DI)(AX*1)     \
	VMOVUPS      t2, 2*bytes(DI)(AX*1)   \
	VMOVUPS      t3, 3*bytes(DI)(AX*1)   \
	ADDQ         $(4*bytes), AX          \
	JMP          four                    \
rest:                                    \
	ADDQ         $4, CX                  \
one:                                     \
	SUBQ         $1, CX                  \
	JLT          end                     \
	VMULPS       (SI)(AX*1), p, t0      \
	VFMADD231PS  (BX)(AX*1), q, t0      \
	VMOVUPS      t0, (DI)(AX*1)          \
	ADDQ         $bytes, AX              \
	JMP          one                     \
end:                                     \
	VZEROUPPER                           \
	RET

// LARGER sets n vectors of some bytes to the larger ones of a and b.
#define LARGER(t0, t1, t2, t3, bytes) \
	MOVQ    dst+0(FP), DI           \
	MOVQ    a+8(FP), SI             \
	MOVQ    b+16(FP), BX            \
	MOVQ    n+24(FP), CX            \
	XORQ    AX, AX                  \
four:                               \
	SUBQ    $4, CX                  \
	JLT     rest                    \
	VMOVUPS (SI)(AX*1), t0          \
	VMOVUPS bytes(SI)(AX*1), t1     \
	VMOVUPS 2*bytes(SI)(AX*1), t2   \
	VMOVUPS 3*bytes(SI)(AX*1), t3   \
	VMAXPS  (BX)(AX*1), t0, t0      \
	VMAXPS  bytes(BX)(AX*1), t1, t1 \
	VMAXPS  2*bytes(BX)(AX*1), t2, t2 \
	VMAXPS  3*bytes(BX)(AX*1), t3, t3 \
	VMOVUPS t0, (DI)(AX*1)          \
	VMOVUPS t1, bytes(DI)(AX*1)     \
	VMOVUPS t2, 2*bytes(DI)(AX*1)   \
	VMOVUPS t3, 3*bytes(DI)(AX*1)   \
	ADDQ    $(4*bytes), AX          \
	JMP     four                    \
rest:                               \
	ADDQ    $4, CX                  \
one:                                \
	SUBQ    $1, CX                  \
	JLT     end                     \
	VMOVUPS (SI)(AX*1), t0          \
	VMAXPS  (BX)(AX*1), t0, t0      \
	VMOVUPS t0, (DI)(AX*1)          \
	ADDQ    $bytes, AX              \
	JMP     one                     \
end:                                \
	VZEROUPPER                      \
	RET

// SPREAD sets n pixels to sums of taps pixels, whose places in bytes and weights come one after the
// other.
#define SPREAD(acc, t, bytes) \
	MOVQ         dst+0(FP), DI    \
	MOVQ         src+8(FP), SI    \
	MOVQ         at+16(FP), R8    \
	MOVQ         w+24(FP), R9     \
	MOVQ         n+32(FP), CX     \
	MOVQ         taps+40(FP), R10 \
pixel:                            \
	SUBQ         $1, CX           \
	JLT          end              \
	MOVLQSX      (R8), AX         \
	VBROADCASTSS (R9), t          \
	VMULPS       (SI)(AX*1), t, acc \
	MOVQ         R10, DX          \
	JMP          next             \
tap:                              \
	MOVLQSX      (R8), AX         \
	VBROADCASTSS (R9), t          \
	VFMADD231PS  (SI)(AX*1), t, acc \
next:                             \
	ADDQ         $4, R8           \
	ADDQ         $4, R9           \
	DECQ         DX               \
	JNZ          tap              \
	VMOVUPS      acc, (DI)        \
	ADDQ         $bytes, DI       \
	JMP          pixel            \
end:                              \
	VZEROUPPER                    \
	RET

// func blend16(dst, a, b *float32, n int, wa, wb float32)
TEXT ·blend16(SB), NOSPLIT, $0-40
	BLEND(Z0, Z1, Z2, Z3, Z4, Z5, 64)

// func blend8(dst, a, b *float32, n int, wa, wb float32)
TEXT ·blend8(SB), NOSPLIT, $0-40
	BLEND(Y0, Y1, Y2, Y3, Y4, Y5, 32)

// func spread16(dst, src *float32, at *int32, w *float32, n, taps int)
TEXT ·spread16(SB), NOSPLIT, $0-48
	SPREAD(Z0, Z1, 64)

// func spread8(dst, src *float32, at *int32, w *float32, n, taps int)
TEXT ·spread8(SB), NOSPLIT, $0-48
	SPREAD(Y0, Y1, 32)

// func larger16(dst, a, b *float32, n int)
TEXT ·larger16(SB), NOSPLIT, $0-32
	LARGER(Z0, Z1, Z2, Z3, 64)

// func larger8(dst, a, b *float32, n int)
TEXT ·larger8(SB), NOSPLIT, $0-32
	LARGER(Y0, Y1, Y2, Y3, 32)
