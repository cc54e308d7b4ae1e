//go:build amd64 && !noasm

package move

import "github.com/stowage-ml/stowage/internal/simd"

// tiles16 transposes n tiles of 16×16 words; steps and strides are in bytes.
//
//go:noescape
func tiles16(dst, src *uint32, n, dstStep, srcStep, ds, ss int)

// part16 is tiles16 for tiles of rows×cols words, at least one each; a row of dst gets fill words, zero
// after the first rows.
//
//go:noescape
func part16(dst, src *uint32, n, dstStep, srcStep, ds, ss, rows, cols, fill int)

// tiles8 is tiles16 for tiles of 8×8 words.
//
//go:noescape
func tiles8(dst, src *uint32, n, dstStep, srcStep, ds, ss int)

// part8 is part16 for tiles of at most 8×8 words.
//
//go:noescape
func part8(dst, src *uint32, n, dstStep, srcStep, ds, ss, rows, cols, fill int)

// transposeTiles is transpose for 4-byte words at a level; ok is false when the level has no code.
func transposeTiles(l simd.Level, dst, src []uint32, m Matrix) (ok bool) {
	var side int
	switch l {
	case simd.AVX512:
		side = 16
	case simd.AVX2:
		side = 8
	default:
		return false
	}
	if n := zipped(l, dst, src, m); n > 0 {
		if m.Rows > m.Cols {
			dst, src, m.Rows = dst[n:], src[n*m.SrcStride:], m.Rows-n
			m.Fill = m.Rows
		} else {
			dst, src, m.Cols = dst[n*m.DstStride:], src[n:], m.Cols-n
		}
		if m.Rows == 0 || m.Cols == 0 {
			return true
		}
	}
	t := tiler{side: side, full: tiles16, part: part16}
	if side == 8 {
		t.full, t.part = tiles8, part8
	}
	t.run(dst, src, m)
	return true
}

// batchTiles is Batch for words of 4 bytes; ok is false when the matrix is more than a tile, or the
// level has no code.
func batchTiles(l simd.Level, dst, src []uint32, n, dstNext, srcNext int, m Matrix) (ok bool) {
	switch {
	case l == simd.AVX512 && max(m.Fill, m.Cols) <= 16:
		part16(&dst[0], &src[0], n, 4*dstNext, 4*srcNext, 4*m.DstStride, 4*m.SrcStride, m.Rows, m.Cols, m.Fill)
	case l == simd.AVX2 && max(m.Fill, m.Cols) <= 8:
		part8(&dst[0], &src[0], n, 4*dstNext, 4*srcNext, 4*m.DstStride, 4*m.SrcStride, m.Rows, m.Cols, m.Fill)
	default:
		return false
	}
	return true
}
