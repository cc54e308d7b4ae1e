package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestCommittedFilesAreWhatTheGeneratorWrites(t *testing.T) {
	for name, want := range generate() {
		got, err := os.ReadFile(filepath.Join("..", target, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got other text (%v), want that of go run ./genvec in tools", name, err)
		}
	}
}
