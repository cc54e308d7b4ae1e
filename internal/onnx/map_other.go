//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package onnx

import (
	"io"
	"os"
)

// mapBytes reads the first size bytes of a file: these systems do without mmap.
func mapBytes(h *os.File, size int) (b []byte, mapped bool, err error) {
	b = make([]byte, size)
	_, err = io.ReadFull(h, b)
	return b, false, err
}

func unmapBytes([]byte) error { return nil }
