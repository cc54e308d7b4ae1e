//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package onnx

import (
	"os"
	"syscall"
)

// mapBytes maps the first size bytes of a file, for reading only.
func mapBytes(h *os.File, size int) (b []byte, mapped bool, err error) {
	b, err = syscall.Mmap(int(h.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, false, os.NewSyscallError("mmap", err)
	}
	return b, true, nil
}

func unmapBytes(b []byte) error { return os.NewSyscallError("munmap", syscall.Munmap(b)) }
