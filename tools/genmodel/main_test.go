package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWritesModelAndItsData(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.onnx"), filepath.Join(dir, "out.onnx")
	var stderr bytes.Buffer
	if rc := run([]string{"-kind", "big", "-bytes", "100000", "-o", in}, &stderr); rc != 0 {
		t.Fatalf("exit status %d: %s", rc, &stderr)
	}
	if rc := run([]string{"-kind", "big", "-bytes", "100000", "-external", "-o", out}, &stderr); rc != 0 {
		t.Fatalf("exit status %d: %s", rc, &stderr)
	}
	sizes := map[string]int64{}
	for _, f := range []string{in, out, out + ".data"} {
		st, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sizes[filepath.Base(f)] = st.Size()
	}
	if sizes["in.onnx"] < 99_000 || sizes["out.onnx"] > 3000 || sizes["out.onnx.data"] < 99_000 {
		t.Errorf("got sizes %v, want the weights in in.onnx and in out.onnx.data", sizes)
	}
}

func TestBadUsageIsStatus2WithOneLine(t *testing.T) {
	for _, args := range [][]string{
		{"-kind", "vgg", "-o", "x"},
		{"-kind", "big"},
		{"-kind", "big", "-bytes", "1", "-o", "x"},
		{"-kind", "minilm", "-opset", "12", "-o", "x"},
		{"-kind", "resnet50", "-o", "x", "more"},
	} {
		var stderr bytes.Buffer
		if rc := run(args, &stderr); rc != 2 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: got status %d and %q", args, rc, &stderr)
		}
	}
}
