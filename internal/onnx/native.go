package onnx

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/stowage-ml/stowage/tensor"
)

// bigEndian says that this machine stores the most significant byte first; files do not.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// native returns little-endian elements as this machine wants them: b itself if it can, a copy
// when bytes must be swapped or moved, or when a bool is neither 0 nor 1.
func native(dt tensor.DType, b []byte) []byte {
	width := wordSize(dt)
	switch {
	case dt == tensor.Bool:
		return boolBytes(b)
	case bigEndian && width > 1:
		return swapped(b, width)
	case !unalignedOK && len(b) > 0 && uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(width) != 0:
		return aligned(b)
	}
	return b
}

// fileOrder returns the elements in the file's byte order.
func fileOrder(dt tensor.DType, b []byte) []byte {
	if width := wordSize(dt); bigEndian && width > 1 {
		return swapped(b, width)
	}
	return b
}

// wordSize is the size of what the machine loads at once: half of a complex number, else an
// element.
func wordSize(dt tensor.DType) int {
	switch dt {
	case tensor.Complex64, tensor.Complex128:
		return dt.Bits() / 16
	}
	return max(1, dt.Bits()/8)
}

func boolBytes(b []byte) []byte {
	if !slices.ContainsFunc(b, func(c byte) bool { return c > 1 }) {
		return b
	}
	out := make([]byte, len(b))
	for i, c := range b {
		if c != 0 {
			out[i] = 1
		}
	}
	return out
}

// aligned returns a copy that starts at a multiple of 8.
func aligned(b []byte) []byte {
	words := make([]uint64, (len(b)+7)/8)
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(b))
	copy(out, b)
	return out
}

func swapped(b []byte, width int) []byte {
	out := aligned(b)
	for i := 0; i+width <= len(out); i += width {
		slices.Reverse(out[i : i+width])
	}
	return out
}
