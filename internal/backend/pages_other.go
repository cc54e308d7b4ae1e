//go:build !unix

package backend

import "unsafe"

// MapPages reserves n > 0 zero bytes of the Go heap, at a multiple of 64.
func MapPages(n int64) ([]byte, error) {
	b := make([]byte, n+63)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63
	return b[skip:][:n:n], nil
}

// UnmapPages gives back what MapPages returned.
func UnmapPages([]byte) error { return nil }
