package sim

import "unsafe"

// alignTo returns b from its first byte on whose address is a multiple of align.
func alignTo(b []byte, align uintptr) []byte {
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) % align
	return b[(align-off)%align:]
}
