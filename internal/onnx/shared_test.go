package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
)

// testdata returns the folder of models that are kept outside the repository.
func testdata(t testing.TB) string {
	dir := os.Getenv("STOWAGE_TESTDATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no test data: %v (set STOWAGE_TESTDATA)", err)
	}
	return dir
}

func glob(t testing.TB, pattern string) []string {
	files, err := filepath.Glob(filepath.Join(testdata(t), filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}

func TestEveryModelImports(t *testing.T) {
	for _, file := range glob(t, "*/*/model.onnx") {
		f, err := Open(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		im, err := f.Import()
		if err == nil {
			err = graph.Validate(im.Graph)
		}
		switch {
		case err != nil:
			t.Errorf("%s: %v", file, err)
		case len(im.Graph.Outputs) != len(f.Model.Graph.Outputs):
			t.Errorf("%s: got %d outputs, want %d", file, len(im.Graph.Outputs), len(f.Model.Graph.Outputs))
		case len(im.Warnings) > 0 && strings.Contains(file, "onnx-node"):
			t.Errorf("%s: got warnings %q, want none", file, im.Warnings)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: close: %v", file, err)
		}
	}
}

func TestEveryTensorFileDecodes(t *testing.T) {
	for _, file := range glob(t, "*/*/test_data_set_*/*.pb") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = DecodeTensor(b); err != nil && !strings.Contains(err.Error(), "a sequence or an optional") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
