//go:build amd64 && !noasm

package octet

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

// rowPart writes the first units of Row in assembly, if there is any for the level, and says how
// many.
func (x Number) rowPart(l simd.Level, image []byte, rows *[4][]byte, n int) int {
	switch {
	case l == simd.Generic:
		return 0
	case group(l) == 4:
		if n /= 16; n == 0 {
			return 0
		}
		flip := byte(0)
		if x.Signed {
			flip = 0x80
		}
		units4(&image[0], &rows[0][0], &rows[1][0], &rows[2][0], &rows[3][0], n, flip)
		return 16 * n
	}
	if n /= 8; n == 0 {
		return 0
	}
	if x.Signed {
		unitsSigned2(&image[0], &rows[0][0], &rows[1][0], n, int16(x.Zero))
	} else {
		units2(&image[0], &rows[0][0], &rows[1][0], n, int16(x.Zero))
	}
	return 8 * n
}

// vector is Run in assembly, if there is any for the level.
func (v *Conv) vector(l simd.Level) bool {
	if l != simd.AVX2 && l != simd.AVX512 {
		return false
	}
	w, dot := Cols(l), group(l) == 4
	t := tile{lda: 4 * len(v.Offsets), ldc: 4 * v.LDC, k: len(v.Offsets), offsets: &v.Offsets[0]}
	if v.Float {
		t.float = 1
	}
	for j := 0; j < v.N; j += w {
		have := min(w, v.N-j)
		t.mask, t.lanes = 1<<have-1, &laneMasks[max(16-have, 0)]
		t.a, t.b, t.c, t.terms = &v.Weights[0], (*int8)(unsafe.Pointer(&v.Image[4*j])), &v.C[j], &v.Terms[0]
		high, low := heights(v.M, dot)
		if t.rows, t.tiles = high.rows, high.tiles; t.tiles > 0 {
			convolve(dot, have < w, &t)
			at := high.rows * high.tiles
			t.a, t.c, t.terms = &v.Weights[at*t.lda], &v.C[at*v.LDC+j], &v.Terms[at]
		}
		t.rows, t.tiles = low.rows, low.tiles
		convolve(dot, have < w, &t)
	}
	return true
}

func convolve(dot, masked bool, t *tile) {
	switch {
	case dot && masked:
		convmAVX512(t)
	case dot:
		convAVX512(t)
	case masked:
		convmAVX2(t)
	default:
		convAVX2(t)
	}
}

//go:noescape
func convAVX2(t *tile)

//go:noescape
func convmAVX2(t *tile)

//go:noescape
func convAVX512(t *tile)

//go:noescape
func convmAVX512(t *tile)

// units4 writes n times 16 units of four rows' elements.
//
//go:noescape
func units4(dst, a, b, c, d *byte, n int, flip byte)

// units2 and unitsSigned2 write n times 8 units of two rows' elements, widened, less zero.
//
//go:noescape
func units2(dst, a, b *byte, n int, zero int16)

//go:noescape
func unitsSigned2(dst, a, b *byte, n int, zero int16)
