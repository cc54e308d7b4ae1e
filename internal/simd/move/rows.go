package move

import (
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simd"
)

// short is the length of the longest row, in bytes, that assembly copies: longer ones are worth a call
// each.
const short = 64

// Rows copies n rows of width elements, whose starts are the strides apart.
func Rows[T Word](l simd.Level, dst, src []T, n, width, dstStride, srcStride int) {
	if n == 0 || width == 0 {
		return
	}
	if dstStride == width && srcStride == width {
		copy(dst[:n*width], src)
		return
	}
	dst, src = dst[:(n-1)*dstStride+width], src[:(n-1)*srcStride+width]
	size := int(unsafe.Sizeof(dst[0]))
	if l > simd.Generic && width*size <= short &&
		shortRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), n, width*size, dstStride*size, srcStride*size) {
		return
	}
	if width > 4 {
		for i := range n {
			copy(dst[i*dstStride:][:width], src[i*srcStride:])
		}
		return
	}
	for i := range n {
		d, s := dst[i*dstStride:][:width], src[i*srcStride:][:width]
		for j, v := range s {
			d[j] = v
		}
	}
}
