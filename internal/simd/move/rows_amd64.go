//go:build amd64 && !noasm

package move

import "unsafe"

// shortRows copies n rows of 1 to 64 bytes; it reports that it has.
func shortRows(dst, src unsafe.Pointer, n, width, ds, ss int) bool {
	copyRows(dst, src, n, width, ds, ss)
	return true
}

// copyRows copies n ≥ 1 rows of width bytes, with two loads and two stores that overlap.
//
//go:noescape
func copyRows(dst, src unsafe.Pointer, n, width, ds, ss int)
