package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCommittedFilesAreWhatIsGenerated(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", "internal", "simd", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s: got other contents than are generated, want: go run ./gengemm ../internal/simd", name)
		}
	}
}
