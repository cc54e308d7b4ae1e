package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesAreWhatIsCommitted(t *testing.T) {
	for name := range files {
		out := filepath.Join(t.TempDir(), name)
		var stderr bytes.Buffer
		if rc := run([]string{"-level", name, "-o", out}, &stderr); rc != 0 {
			t.Fatalf("%s: exit status %d: %s", name, rc, &stderr)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		arch := "amd64"
		if name == "neon" {
			arch = "arm64"
		}
		want, err := os.ReadFile("../../internal/simd/conv/" + name + "_" + arch + ".s")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the committed file is another; run go generate ./internal/simd/conv", name)
		}
	}
}

func TestBadUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-level", "avx9", "-o", "x"}, {"-level", "avx2"},
		{"-level", "avx2", "-o", "x", "y"}} {
		var stderr bytes.Buffer
		if rc := run(args, &stderr); rc != 2 || stderr.Len() == 0 {
			t.Errorf("%v: got exit status %d and %q, want 2 and a reason", args, rc, &stderr)
		}
	}
}
