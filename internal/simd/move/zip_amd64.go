//go:build amd64 && !noasm

package move

import "github.com/stowage-ml/stowage/internal/simd"

// zipped transposes as far as it can a matrix of two to four rows or columns, of which the narrow side
// has no gaps, and returns how many of the wide side's words it has done.
func zipped(l simd.Level, dst, src []uint32, m Matrix) int {
	if l != simd.AVX2 && l != simd.AVX512 || m.Fill != m.Rows {
		return 0
	}
	if n := m.Cols / 8; m.DstStride == m.Rows && n > 0 {
		switch m.Rows {
		case 2:
			zip2(&dst[0], &src[0], 4*m.SrcStride, n)
			return 8 * n
		case 3:
			zip3(&dst[0], &src[0], 4*m.SrcStride, n)
			return 8 * n
		case 4:
			zip4(&dst[0], &src[0], 4*m.SrcStride, n)
			return 8 * n
		}
	}
	if n := m.Rows / 8; m.SrcStride == m.Cols && n > 0 {
		switch m.Cols {
		case 2:
			unzip2(&src[0], &dst[0], 4*m.DstStride, n)
			return 8 * n
		case 3:
			unzip3(&src[0], &dst[0], 4*m.DstStride, n)
			return 8 * n
		case 4:
			unzip4(&src[0], &dst[0], 4*m.DstStride, n)
			return 8 * n
		}
	}
	return 0
}

// zip2 makes 8n pixels of two words each from two rows, stride bytes apart.
//
//go:noescape
func zip2(pixels, rows *uint32, stride, n int)

// unzip2 is the inverse of zip2.
//
//go:noescape
func unzip2(pixels, rows *uint32, stride, n int)

// zip3 is zip2 for three rows.
//
//go:noescape
func zip3(pixels, rows *uint32, stride, n int)

// unzip3 is the inverse of zip3.
//
//go:noescape
func unzip3(pixels, rows *uint32, stride, n int)

// zip4 is zip2 for four rows.
//
//go:noescape
func zip4(pixels, rows *uint32, stride, n int)

// unzip4 is the inverse of zip4.
//
//go:noescape
func unzip4(pixels, rows *uint32, stride, n int)
