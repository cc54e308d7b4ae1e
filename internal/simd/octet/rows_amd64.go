//go:build amd64 && !noasm

package octet

import "github.com/stowage-ml/stowage/internal/simd"

// sumPart adds the first bytes in assembly, if there is any for the level, and says how many.
func sumPart(l simd.Level, b []byte) (n int, sum int32) {
	if n = len(b) &^ 31; n == 0 || l == simd.Generic {
		return 0, 0
	}
	return n, int32(sum32(&b[0], n/32))
}

// widenPart is widen for the first bytes, in assembly if there is any for the level; it says how many.
func widenPart(l simd.Level, dst, a []byte, signed bool, zero int32) (n int, sum int32) {
	n = len(a) &^ 15
	switch {
	case n == 0 || l == simd.Generic:
		return 0, 0
	case signed:
		return n, widenSigned16(&dst[0], &a[0], n/16, int16(zero))
	}
	return n, widen16(&dst[0], &a[0], n/16, int16(zero))
}

// sum32 adds n times 32 bytes.
//
//go:noescape
func sum32(src *byte, n int) int

// widen16 and widenSigned16 widen n times 16 bytes, less zero, and return the sum.
//
//go:noescape
func widen16(dst, src *byte, n int, zero int16) int32

//go:noescape
func widenSigned16(dst, src *byte, n int, zero int16) int32
