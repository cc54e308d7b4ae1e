//go:build unix

package exec

import (
	"fmt"
	"syscall"
)

// mapSlab reserves n zero bytes outside the Go heap, so that they go back to the system at once
// when the slab is replaced, and the collector never scans or counts them.
func mapSlab(n int64) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("exec: reserve %d bytes: %w", n, err)
	}
	return b, nil
}

func unmapSlab(b []byte) error { return syscall.Munmap(b) }
