package backend_test

import (
	"testing"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
)

// What is lent is zero, aligned, and overlaps nothing else, however sizes follow each other.
func TestConstsLendMemoryOfItsOwn(t *testing.T) {
	var c backend.Consts
	sizes := []int{1, 63, 64, 65, 300 << 10, 5, 3 << 20, 1 << 20, 0, 9 << 20, 7, 100 << 10}
	lent := make([][]byte, len(sizes))
	for round := range 2 {
		for i, n := range sizes {
			b := c.Bytes(n)
			if len(b) != n || cap(b) != n {
				t.Fatalf("%d bytes: got %d of %d", n, len(b), cap(b))
			}
			if n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
				t.Errorf("%d bytes: got a start that is no multiple of 64", n)
			}
			for k, x := range b {
				if x != 0 {
					t.Fatalf("%d bytes: byte %d: got %d, want 0", n, k, x)
				}
				b[k] = byte(i + 1)
			}
			lent[i] = b
		}
		for i, b := range lent {
			for k, x := range b {
				if x != byte(i+1) {
					t.Fatalf("round %d: %d bytes: byte %d: got %d, want %d", round, len(b), k, x, i+1)
				}
			}
		}
		if err := c.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if got := (*backend.Consts)(nil).Floats(3); len(got) != 3 {
		t.Errorf("without Consts: got %d elements, want 3", len(got))
	}
}

func TestPagesAreZeroAndAsLongAsAskedFor(t *testing.T) {
	for _, n := range []int64{1, 4096, 1<<20 - 1, 1 << 20, 2<<20 + 1, 3 << 20, 5<<20 + 7} {
		b, err := backend.MapPages(n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b)) != n {
			t.Errorf("%d bytes: got %d", n, len(b))
		}
		for i, x := range b {
			if x != 0 {
				t.Fatalf("%d bytes: byte %d: got %d, want 0", n, i, x)
			}
			b[i] = 1
		}
		if err := backend.UnmapPages(b); err != nil {
			t.Error(err)
		}
	}
}
