//go:build unix

package twin

import (
	"os"
	"syscall"
	"testing"
)

// guarded returns n bytes with pages on both sides that no access survives: flush with the one
// behind, or with the one before. They live until the test ends.
func guarded(t testing.TB, n int, behind bool) []byte {
	t.Helper()
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	b, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for _, edge := range [][]byte{b[:page], b[page+size:]} {
		if err := syscall.Mprotect(edge, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	in := b[page : page+size]
	if behind {
		return in[size-n:]
	}
	return in[:n:n]
}
