package conv

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n float32 that end where memory that must not be touched begins.
func guarded(t *testing.T, n int) []float32 {
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	for _, edge := range [][]byte{m[:page], m[page+size:]} {
		if err := syscall.Mprotect(edge, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[page+size-4*n])), n)
}
