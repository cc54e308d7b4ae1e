// Package move has the inner loops that move elements about without computing anything. Elements are
// words of 1, 2, 4, 8 or 16 bytes; strides and extents count words.
package move

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

// Word is an element of a size; what it stands for does not matter.
type Word interface {
	uint8 | uint16 | uint32 | uint64 | complex128
}

// Matrix says how a transpose reads and writes: dst[j·DstStride+i] = src[i·SrcStride+j] for each row
// i < Rows and column j < Cols of the source. Each row of dst has Fill ≥ Rows elements; those after the
// first Rows become zero.
type Matrix struct {
	Rows, Cols, Fill     int
	DstStride, SrcStride int
}

// Transpose writes the transpose of src to dst, which share no memory.
func Transpose[T Word](l simd.Level, dst, src []T, m Matrix) {
	if m.Cols == 0 || m.Fill == 0 {
		return
	}
	dst = dst[:(m.Cols-1)*m.DstStride+m.Fill]
	if m.Rows > 0 {
		src = src[:(m.Rows-1)*m.SrcStride+m.Cols]
	}
	if unsafe.Sizeof(dst[0]) == 4 && m.Rows > 0 {
		if transposeTiles(l, words(dst), words(src), m) {
			return
		}
	}
	transpose(dst, src, m)
}

// Batch writes n transposes of one form, dstNext and srcNext elements apart.
func Batch[T Word](l simd.Level, dst, src []T, n, dstNext, srcNext int, m Matrix) {
	if n == 0 || m.Cols == 0 || m.Fill == 0 {
		return
	}
	if m.Rows > 0 && unsafe.Sizeof(dst[0]) == 4 {
		d := dst[:(n-1)*dstNext+(m.Cols-1)*m.DstStride+m.Fill]
		s := src[:(n-1)*srcNext+(m.Rows-1)*m.SrcStride+m.Cols]
		if batchTiles(l, words(d), words(s), n, dstNext, srcNext, m) {
			return
		}
	}
	for i := range n {
		Transpose(l, dst[i*dstNext:], src[i*srcNext:], m)
	}
}

// words returns the same memory as words of 4 bytes, which T has.
func words[T Word](s []T) []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(&s[0])), len(s)) }

// side is the extent of the tiles of the loops in Go: 8×8 words of 4 bytes touch 16 lines of cache.
const side = 8

// transpose is Transpose in Go: tile by tile, so that lines of the side that is strided are still in
// cache when their next element comes.
func transpose[T Word](dst, src []T, m Matrix) {
	for i0 := 0; i0 < m.Rows; i0 += side {
		i1 := min(i0+side, m.Rows)
		for j0 := 0; j0 < m.Cols; j0 += side {
			j1 := min(j0+side, m.Cols)
			for i := i0; i < i1; i++ {
				at := j0*m.DstStride + i
				for _, v := range src[i*m.SrcStride+j0 : i*m.SrcStride+j1] {
					dst[at] = v
					at += m.DstStride
				}
			}
		}
	}
	if m.Fill > m.Rows {
		for j := range m.Cols {
			clear(dst[j*m.DstStride+m.Rows:][:m.Fill-m.Rows])
		}
	}
}
