//go:build amd64 && !noasm

#include "textflag.h"

// QUAD transposes four registers of rows within each 128-bit lane: c becomes, in lane L, what the four
// have at column 4L+c.
#define QUAD(UNL, UNH, UDL, UDH, a, b, c, d, t0, t1, t2, t3) \
	UNL b, a, t0  \
	UNH b, a, t1  \
	UNL d, c, t2  \
	UNH d, c, t3  \
	UDL t2, t0, a \
	UDH t2, t0, b \
	UDL t3, t1, c \
	UDH t3, t1, d

// CROSS gathers lane L of four registers into the L-th of them.
#define CROSS(a, b, c, d, t0, t1, t2, t3) \
	VSHUFF32X4 $0x88, b, a, t0   \
	VSHUFF32X4 $0xdd, b, a, t1   \
	VSHUFF32X4 $0x88, d, c, t2   \
	VSHUFF32X4 $0xdd, d, c, t3   \
	VSHUFF32X4 $0x88, t2, t0, a  \
	VSHUFF32X4 $0x88, t3, t1, b  \
	VSHUFF32X4 $0xdd, t2, t0, c  \
	VSHUFF32X4 $0xdd, t3, t1, d

#define QUADZ(a, b, c, d, t0, t1, t2, t3) \
	QUAD(VUNPCKLPS, VUNPCKHPS, VUNPCKLPD, VUNPCKHPD, a, b, c, d, t0, t1, t2, t3)

#define TURN16 \
	QUADZ(Z0, Z1, Z2, Z3, Z16, Z17, Z18, Z19)     \
	QUADZ(Z4, Z5, Z6, Z7, Z20, Z21, Z22, Z23)     \
	QUADZ(Z8, Z9, Z10, Z11, Z24, Z25, Z26, Z27)   \
	QUADZ(Z12, Z13, Z14, Z15, Z28, Z29, Z30, Z31) \
	CROSS(Z0, Z4, Z8, Z12, Z16, Z17, Z18, Z19)    \
	CROSS(Z1, Z5, Z9, Z13, Z20, Z21, Z22, Z23)    \
	CROSS(Z2, Z6, Z10, Z14, Z24, Z25, Z26, Z27)   \
	CROSS(Z3, Z7, Z11, Z15, Z28, Z29, Z30, Z31)

// HALF swaps the upper lane of a with the lower one of b.
#define HALF(a, b, t) \
	VPERM2F128 $0x20, b, a, t \
	VPERM2F128 $0x31, b, a, b \
	VMOVAPS    t, a

#define TURN8 \
	QUADZ(Y0, Y1, Y2, Y3, Y8, Y9, Y10, Y11)   \
	QUADZ(Y4, Y5, Y6, Y7, Y12, Y13, Y14, Y15) \
	HALF(Y0, Y4, Y8)                          \
	HALF(Y1, Y5, Y9)                          \
	HALF(Y2, Y6, Y10)                         \
	HALF(Y3, Y7, Y11)

// func tiles16(dst, src *uint32, n, dstStep, srcStep, ds, ss int)
TEXT ·tiles16(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ dstStep+24(FP), R12
	MOVQ srcStep+32(FP), R13
	MOVQ ds+40(FP), R10
	MOVQ ss+48(FP), R8
	LEAQ (R8)(R8*2), R9
	LEAQ (R10)(R10*2), R11

loop:
	LEAQ    (SI)(R8*4), AX
	LEAQ    (SI)(R8*8), BX
	LEAQ    (AX)(R8*8), DX
	VMOVUPS (SI), Z0
	VMOVUPS (SI)(R8*1), Z1
	VMOVUPS (SI)(R8*2), Z2
	VMOVUPS (SI)(R9*1), Z3
	VMOVUPS (AX), Z4
	VMOVUPS (AX)(R8*1), Z5
	VMOVUPS (AX)(R8*2), Z6
	VMOVUPS (AX)(R9*1), Z7
	VMOVUPS (BX), Z8
	VMOVUPS (BX)(R8*1), Z9
	VMOVUPS (BX)(R8*2), Z10
	VMOVUPS (BX)(R9*1), Z11
	VMOVUPS (DX), Z12
	VMOVUPS (DX)(R8*1), Z13
	VMOVUPS (DX)(R8*2), Z14
	VMOVUPS (DX)(R9*1), Z15
	TURN16
	LEAQ    (DI)(R10*4), AX
	LEAQ    (DI)(R10*8), BX
	LEAQ    (AX)(R10*8), DX
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, (DI)(R10*1)
	VMOVUPS Z2, (DI)(R10*2)
	VMOVUPS Z3, (DI)(R11*1)
	VMOVUPS Z4, (AX)
	VMOVUPS Z5, (AX)(R10*1)
	VMOVUPS Z6, (AX)(R10*2)
	VMOVUPS Z7, (AX)(R11*1)
	VMOVUPS Z8, (BX)
	VMOVUPS Z9, (BX)(R10*1)
	VMOVUPS Z10, (BX)(R10*2)
	VMOVUPS Z11, (BX)(R11*1)
	VMOVUPS Z12, (DX)
	VMOVUPS Z13, (DX)(R10*1)
	VMOVUPS Z14, (DX)(R10*2)
	VMOVUPS Z15, (DX)(R11*1)
	ADDQ    R13, SI
	ADDQ    R12, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// TAKE16 loads the next row unless all are loaded.
#define TAKE16(z) \
	TESTQ     R14, R14  \
	JZ        turn      \
	VMOVUPS.Z (AX), K1, z \
	ADDQ      R8, AX    \
	DECQ      R14

// GIVE16 stores the next column unless all are stored.
#define GIVE16(z) \
	VMOVUPS z, K2, (AX) \
	ADDQ    R10, AX     \
	DECQ    R14         \
	JZ      next

// func part16(dst, src *uint32, n, dstStep, srcStep, ds, ss, rows, cols, fill int)
TEXT ·part16(SB), NOSPLIT, $0-80
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), DX
	MOVQ  dstStep+24(FP), R12
	MOVQ  srcStep+32(FP), R13
	MOVQ  ds+40(FP), R10
	MOVQ  ss+48(FP), R8
	MOVQ  rows+56(FP), R9
	MOVQ  cols+64(FP), CX
	MOVQ  CX, R11
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	MOVQ  fill+72(FP), CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K2

loop:
	MOVQ   SI, AX
	MOVQ   R9, R14
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	VPXORD Z12, Z12, Z12
	VPXORD Z13, Z13, Z13
	VPXORD Z14, Z14, Z14
	VPXORD Z15, Z15, Z15
	TAKE16(Z0)
	TAKE16(Z1)
	TAKE16(Z2)
	TAKE16(Z3)
	TAKE16(Z4)
	TAKE16(Z5)
	TAKE16(Z6)
	TAKE16(Z7)
	TAKE16(Z8)
	TAKE16(Z9)
	TAKE16(Z10)
	TAKE16(Z11)
	TAKE16(Z12)
	TAKE16(Z13)
	TAKE16(Z14)
	TAKE16(Z15)

turn:
	TURN16
	MOVQ DI, AX
	MOVQ R11, R14
	GIVE16(Z0)
	GIVE16(Z1)
	GIVE16(Z2)
	GIVE16(Z3)
	GIVE16(Z4)
	GIVE16(Z5)
	GIVE16(Z6)
	GIVE16(Z7)
	GIVE16(Z8)
	GIVE16(Z9)
	GIVE16(Z10)
	GIVE16(Z11)
	GIVE16(Z12)
	GIVE16(Z13)
	GIVE16(Z14)
	VMOVUPS Z15, K2, (AX)

next:
	ADDQ R13, SI
	ADDQ R12, DI
	DECQ DX
	JNZ  loop
	VZEROUPPER
	RET

// func tiles8(dst, src *uint32, n, dstStep, srcStep, ds, ss int)
TEXT ·tiles8(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ dstStep+24(FP), R12
	MOVQ srcStep+32(FP), R13
	MOVQ ds+40(FP), R10
	MOVQ ss+48(FP), R8
	LEAQ (R8)(R8*2), R9
	LEAQ (R10)(R10*2), R11

loop:
	LEAQ    (SI)(R8*4), AX
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R8*1), Y1
	VMOVUPS (SI)(R8*2), Y2
	VMOVUPS (SI)(R9*1), Y3
	VMOVUPS (AX), Y4
	VMOVUPS (AX)(R8*1), Y5
	VMOVUPS (AX)(R8*2), Y6
	VMOVUPS (AX)(R9*1), Y7
	TURN8
	LEAQ    (DI)(R10*4), AX
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R10*1)
	VMOVUPS Y2, (DI)(R10*2)
	VMOVUPS Y3, (DI)(R11*1)
	VMOVUPS Y4, (AX)
	VMOVUPS Y5, (AX)(R10*1)
	VMOVUPS Y6, (AX)(R10*2)
	VMOVUPS Y7, (AX)(R11*1)
	ADDQ    R13, SI
	ADDQ    R12, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// TAKE8 loads the next row unless all are loaded; the mask is in the way of no row.
#define TAKE8(y) \
	TESTQ      R14, R14      \
	JZ         turn          \
	VMOVDQU    (R15), Y15    \
	VMASKMOVPS (AX), Y15, y  \
	ADDQ       R8, AX        \
	DECQ       R14

#define GIVE8(y) \
	VMASKMOVPS y, Y15, (AX) \
	ADDQ       R10, AX      \
	DECQ       R14          \
	JZ         next

// PUT8 is GIVE8 for all lanes: stores with a mask are slow on some machines.
#define PUT8(y) \
	VMOVUPS y, (AX)   \
	ADDQ    R10, AX   \
	DECQ    R14       \
	JZ      next

// func part8(dst, src *uint32, n, dstStep, srcStep, ds, ss, rows, cols, fill int)
TEXT ·part8(SB), NOSPLIT, $0-80
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), DX
	MOVQ dstStep+24(FP), R12
	MOVQ srcStep+32(FP), R13
	MOVQ ds+40(FP), R10
	MOVQ ss+48(FP), R8
	MOVQ rows+56(FP), R9
	MOVQ cols+64(FP), R11
	MOVQ fill+72(FP), CX
	LEAQ masks8<>+32(SB), R15
	MOVQ R15, BX
	SHLQ $2, R11
	SUBQ R11, R15
	SHRQ $2, R11
	SHLQ $2, CX
	SUBQ CX, BX

loop:
	MOVQ   SI, AX
	MOVQ   R9, R14
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	TAKE8(Y0)
	TAKE8(Y1)
	TAKE8(Y2)
	TAKE8(Y3)
	TAKE8(Y4)
	TAKE8(Y5)
	TAKE8(Y6)
	TAKE8(Y7)

turn:
	TURN8
	MOVQ    DI, AX
	MOVQ    R11, R14
	CMPQ    CX, $32
	JNE     some
	PUT8(Y0)
	PUT8(Y1)
	PUT8(Y2)
	PUT8(Y3)
	PUT8(Y4)
	PUT8(Y5)
	PUT8(Y6)
	VMOVUPS Y7, (AX)
	JMP     next

some:
	VMOVDQU (BX), Y15
	GIVE8(Y0)
	GIVE8(Y1)
	GIVE8(Y2)
	GIVE8(Y3)
	GIVE8(Y4)
	GIVE8(Y5)
	GIVE8(Y6)
	VMASKMOVPS Y7, Y15, (AX)

next:
	ADDQ R13, SI
	ADDQ R12, DI
	DECQ DX
	JNZ  loop
	VZEROUPPER
	RET

// Eight words of ones, then eight of zeros: a mask of n lanes starts n words before the middle.
DATA masks8<>+0(SB)/8, $0xffffffffffffffff
DATA masks8<>+8(SB)/8, $0xffffffffffffffff
DATA masks8<>+16(SB)/8, $0xffffffffffffffff
DATA masks8<>+24(SB)/8, $0xffffffffffffffff
DATA masks8<>+32(SB)/8, $0
DATA masks8<>+40(SB)/8, $0
DATA masks8<>+48(SB)/8, $0
DATA masks8<>+56(SB)/8, $0
GLOBL masks8<>(SB), RODATA|NOPTR, $64
