// Package testkit makes ONNX models for tests, benchmarks and the demonstration, without any
// file that others made: a writer of the wire format, and generators of well-known networks with
// seeded weights. It also finds the test data that lies beside the repository. It knows nothing
// of how models are read or run. Sizes are in bytes, extents in elements.
package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// DataEnv names the environment variable that says where the test data is.
const DataEnv = "STOWAGE_TESTDATA"

// Data returns the folder of the test data: the value of STOWAGE_TESTDATA, or the folder "shared"
// beside the repository. Without such a folder the test is skipped; a variable that names no
// folder fails it.
func Data(t testing.TB) string {
	t.Helper()
	dir, set := os.LookupEnv(DataEnv)
	if !set {
		root, err := repoRoot()
		if err != nil {
			t.Skipf("testkit: no test data: %v", err)
		}
		dir = filepath.Join(root, "..", "shared")
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		if set {
			t.Fatalf("testkit: %s %q: got no folder there, want the test data", DataEnv, dir)
		}
		t.Skipf("testkit: no test data: no folder %q (set %s)", dir, DataEnv)
	}
	return dir
}

// repoRoot returns the nearest enclosing folder that holds the module's go.mod.
func repoRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module github.com/stowage-ml/stowage\n")) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", os.ErrNotExist
		}
		dir = up
	}
}
