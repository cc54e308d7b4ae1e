//go:build amd64 && !noasm

package gemm

import "github.com/stowage-ml/stowage/internal/simd"

// packFull packs n columns of k rows, n being a multiple of the panels' width, and reports whether it did.
func packFull(l simd.Level, dst, src []float32, ld, k, n int) bool {
	w := Cols(l)
	if l != simd.AVX2 && l != simd.AVX512 || k == 0 {
		return false
	}
	for j := 0; j < n; j += w {
		copyRows(&dst[j*k], &src[j], 4*w, 4*ld, w/16, k)
	}
	return true
}

// transposeBlocks transposes as much of an m×n matrix as whole blocks of 8×8 cover, and returns
// its extents.
func transposeBlocks(l simd.Level, dst, src []float32, ldd, lds, m, n int) (rows, cols int) {
	m, n = m&^7, n&^7
	if l != simd.AVX2 && l != simd.AVX512 || m == 0 {
		return 0, 0
	}
	for j := 0; j < n; j += 8 {
		transpose8(&dst[j], &src[j*lds], 4*ldd, 4*lds, m/8)
	}
	return m, n
}

// transpose8 transposes eight rows of src into eight columns of dst, eight of its rows after the
// other. Strides are in bytes.
//
//go:noescape
func transpose8(dst, src *float32, ldd, lds, blocks int)

// copyRows copies rows of n times 64 bytes. Strides are in bytes.
//
//go:noescape
func copyRows(dst, src *float32, ldd, lds, n, rows int)
