//go:build amd64 && !noasm

#include "textflag.h"

// ARGS loads what all these functions take: the pixels, the rows and their stride, and how many times
// eight pixels there are. AX and BX are the second and third row; the fourth is at (SI)(R9*1).
#define ARGS(pixels, rows) \
	MOVQ pixels+0(FP), DI \
	MOVQ rows+8(FP), SI   \
	MOVQ stride+16(FP), R8 \
	MOVQ n+24(FP), CX     \
	LEAQ (R8)(R8*2), R9

// QUADY transposes four registers of rows within each lane.
#define QUADY(a, b, c, d, t0, t1, t2, t3) \
	VUNPCKLPS b, a, t0  \
	VUNPCKHPS b, a, t1  \
	VUNPCKLPS d, c, t2  \
	VUNPCKHPS d, c, t3  \
	VUNPCKLPD t2, t0, a \
	VUNPCKHPD t2, t0, b \
	VUNPCKLPD t3, t1, c \
	VUNPCKHPD t3, t1, d

// func zip2(pixels, rows *uint32, stride, n int)
TEXT ·zip2(SB), NOSPLIT, $0-32
	ARGS(pixels, rows)

loop:
	VMOVUPS    (SI), Y0
	VMOVUPS    (SI)(R8*1), Y1
	VUNPCKLPS  Y1, Y0, Y2
	VUNPCKHPS  Y1, Y0, Y3
	VPERM2F128 $0x20, Y3, Y2, Y0
	VPERM2F128 $0x31, Y3, Y2, Y1
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	ADDQ       $32, SI
	ADDQ       $64, DI
	DECQ       CX
	JNZ        loop
	VZEROUPPER
	RET

// func unzip2(pixels, rows *uint32, stride, n int)
TEXT ·unzip2(SB), NOSPLIT, $0-32
	ARGS(pixels, rows)

loop:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VSHUFPS $0x88, Y1, Y0, Y2
	VSHUFPS $0xdd, Y1, Y0, Y3
	VPERMPD $0xd8, Y2, Y2
	VPERMPD $0xd8, Y3, Y3
	VMOVUPS Y2, (SI)
	VMOVUPS Y3, (SI)(R8*1)
	ADDQ    $32, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     loop
	VZEROUPPER
	RET

// func zip4(pixels, rows *uint32, stride, n int)
TEXT ·zip4(SB), NOSPLIT, $0-32
	ARGS(pixels, rows)

loop:
	VMOVUPS    (SI), Y0
	VMOVUPS    (SI)(R8*1), Y1
	VMOVUPS    (SI)(R8*2), Y2
	VMOVUPS    (SI)(R9*1), Y3
	QUADY(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	VPERM2F128 $0x20, Y1, Y0, Y4
	VPERM2F128 $0x20, Y3, Y2, Y5
	VPERM2F128 $0x31, Y1, Y0, Y6
	VPERM2F128 $0x31, Y3, Y2, Y7
	VMOVUPS    Y4, (DI)
	VMOVUPS    Y5, 32(DI)
	VMOVUPS    Y6, 64(DI)
	VMOVUPS    Y7, 96(DI)
	ADDQ       $32, SI
	ADDQ       $128, DI
	DECQ       CX
	JNZ        loop
	VZEROUPPER
	RET

// func unzip4(pixels, rows *uint32, stride, n int)
TEXT ·unzip4(SB), NOSPLIT, $0-32
	ARGS(pixels, rows)

loop:
	VMOVUPS    (DI), Y4
	VMOVUPS    32(DI), Y5
	VMOVUPS    64(DI), Y6
	VMOVUPS    96(DI), Y7
	VPERM2F128 $0x20, Y6, Y4, Y0
	VPERM2F128 $0x31, Y6, Y4, Y1
	VPERM2F128 $0x20, Y7, Y5, Y2
	VPERM2F128 $0x31, Y7, Y5, Y3
	QUADY(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	VMOVUPS    Y0, (SI)
	VMOVUPS    Y1, (SI)(R8*1)
	VMOVUPS    Y2, (SI)(R8*2)
	VMOVUPS    Y3, (SI)(R9*1)
	ADDQ       $32, SI
	ADDQ       $128, DI
	DECQ       CX
	JNZ        loop
	VZEROUPPER
	RET

// Of 24 words in three registers, those of one channel lie in eight different places: two blends bring
// them into one register, and a permutation into their order. Zipping goes the same way back.

// func zip3(pixels, rows *uint32, stride, n int)
TEXT ·zip3(SB), NOSPLIT, $0-32
	ARGS(pixels, rows)
	VMOVDQU back<>+0(SB), Y13
	VMOVDQU back<>+32(SB), Y14
	VMOVDQU back<>+64(SB), Y15

loop:
	VPERMPS  (SI), Y13, Y0
	VPERMPS  (SI)(R8*1), Y14, Y1
	VPERMPS  (SI)(R8*2), Y15, Y2
	VBLENDPS $0x92, Y1, Y0, Y3
	VBLENDPS $0x24, Y2, Y3, Y3
	VBLENDPS $0x24, Y1, Y0, Y4
	VBLENDPS $0x49, Y2, Y4, Y4
	VBLENDPS $0x49, Y1, Y0, Y5
	VBLENDPS $0x92, Y2, Y5, Y5
	VMOVUPS  Y3, (DI)
	VMOVUPS  Y4, 32(DI)
	VMOVUPS  Y5, 64(DI)
	ADDQ     $32, SI
	ADDQ     $96, DI
	DECQ     CX
	JNZ      loop
	VZEROUPPER
	RET

// func unzip3(pixels, rows *uint32, stride, n int)
TEXT ·unzip3(SB), NOSPLIT, $0-32
	ARGS(pixels, rows)
	VMOVDQU there<>+0(SB), Y13
	VMOVDQU there<>+32(SB), Y14
	VMOVDQU there<>+64(SB), Y15

loop:
	VMOVUPS  (DI), Y0
	VMOVUPS  32(DI), Y1
	VMOVUPS  64(DI), Y2
	VBLENDPS $0x92, Y1, Y0, Y3
	VBLENDPS $0x24, Y2, Y3, Y3
	VBLENDPS $0x24, Y1, Y0, Y4
	VBLENDPS $0x49, Y2, Y4, Y4
	VBLENDPS $0x49, Y1, Y0, Y5
	VBLENDPS $0x92, Y2, Y5, Y5
	VPERMPS  Y3, Y13, Y3
	VPERMPS  Y4, Y14, Y4
	VPERMPS  Y5, Y15, Y5
	VMOVUPS  Y3, (SI)
	VMOVUPS  Y4, (SI)(R8*1)
	VMOVUPS  Y5, (SI)(R8*2)
	ADDQ     $32, SI
	ADDQ     $96, DI
	DECQ     CX
	JNZ      loop
	VZEROUPPER
	RET

// Which place each pixel's word of a channel comes from, and the other way round.
DATA there<>+0(SB)/8, $0x0000000300000000
DATA there<>+8(SB)/8, $0x0000000100000006
DATA there<>+16(SB)/8, $0x0000000700000004
DATA there<>+24(SB)/8, $0x0000000500000002
DATA there<>+32(SB)/8, $0x0000000400000001
DATA there<>+40(SB)/8, $0x0000000200000007
DATA there<>+48(SB)/8, $0x0000000000000005
DATA there<>+56(SB)/8, $0x0000000600000003
DATA there<>+64(SB)/8, $0x0000000500000002
DATA there<>+72(SB)/8, $0x0000000300000000
DATA there<>+80(SB)/8, $0x0000000100000006
DATA there<>+88(SB)/8, $0x0000000700000004
GLOBL there<>(SB), RODATA|NOPTR, $96

DATA back<>+0(SB)/8, $0x0000000300000000
DATA back<>+8(SB)/8, $0x0000000100000006
DATA back<>+16(SB)/8, $0x0000000700000004
DATA back<>+24(SB)/8, $0x0000000500000002
DATA back<>+32(SB)/8, $0x0000000000000005
DATA back<>+40(SB)/8, $0x0000000600000003
DATA back<>+48(SB)/8, $0x0000000400000001
DATA back<>+56(SB)/8, $0x0000000200000007
DATA back<>+64(SB)/8, $0x0000000500000002
DATA back<>+72(SB)/8, $0x0000000300000000
DATA back<>+80(SB)/8, $0x0000000100000006
DATA back<>+88(SB)/8, $0x0000000700000004
GLOBL back<>(SB), RODATA|NOPTR, $96
