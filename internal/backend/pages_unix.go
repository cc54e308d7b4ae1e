//go:build unix

package backend

import (
	"fmt"
	"syscall"
)

// hugePage is the size of a large page of memory, in bytes, where the system has them.
const hugePage = 2 << 20

// MapPages reserves n > 0 zero bytes outside the Go heap, so that they go back to the system at once when
// they are given back, and the collector never scans or counts them. What fills large pages is asked to be
// made of them, since touching a page for the first time may cost more than filling it.
func MapPages(n int64) ([]byte, error) {
	huge := (n + hugePage/2) / hugePage * hugePage
	whole := n
	if huge > 0 {
		// The system puts what is a multiple of a large page at a multiple of one.
		whole = (n + hugePage - 1) / hugePage * hugePage
	}
	b, err := syscall.Mmap(-1, 0, int(whole), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("backend: reserve %d bytes: %w", n, err)
	}
	if huge > 0 {
		adviseHuge(b[:huge])
	}
	return b[:n], nil
}

// UnmapPages gives back what MapPages returned.
func UnmapPages(b []byte) error { return syscall.Munmap(b[:cap(b)]) }
