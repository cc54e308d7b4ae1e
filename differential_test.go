package stowage

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// TestRuntimeEqualsInterpreter runs standard cases and real models twice: as planned, in an arena
// whose bytes are NaN wherever nothing was written, and node by node in fresh memory. Every bit
// must agree.
func TestRuntimeEqualsInterpreter(t *testing.T) {
	root := testkit.Data(t)
	for _, group := range []string{"simple", "pytorch-operator", "pytorch-converted", "onnx-node", "models"} {
		t.Run(group, func(t *testing.T) {
			if group == "models" && testing.Short() {
				t.Skip("the reference kernels need a minute for the real models")
			}
			dirs, err := conform.Models(filepath.Join(root, group))
			if err != nil {
				t.Fatal(err)
			}
			if len(dirs) == 0 {
				t.Skipf("no models in %s", filepath.Join(root, group))
			}
			compared := 0
			for _, dir := range dirs {
				if differ(t, dir) {
					compared++
				}
			}
			if compared == 0 {
				t.Error("no model could be compared")
			}
		})
	}
}

// differ compares one model; false when it has operators that are not supported.
func differ(t *testing.T, dir string) bool {
	name := filepath.Base(dir)
	m, err := Load(filepath.Join(dir, "model.onnx"))
	if err != nil || len(m.unsupported) > 0 {
		return false
	}
	defer m.Close()
	s, err := m.Open(nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	defer s.Close()
	lane := <-s.lanes
	lane.Poison = true
	s.lanes <- lane
	sets, err := conform.Inputs(dir)
	if err != nil {
		return false
	}
	for i, in := range sets {
		if len(in) != len(m.inputs) || m.random() {
			return false
		}
		feeds := map[string]*tensor.Tensor{}
		for k := range in {
			feeds[m.inputs[k].Name] = in[k]
		}
		want, err := conform.Interpreter{Backend: ref.Backend{}}.Run(m.graph, in)
		if err != nil {
			t.Logf("%s: set %d: %v", name, i, err)
			return false
		}
		got, err := s.Run(context.Background(), feeds)
		if err != nil {
			t.Errorf("%s: set %d: %v", name, i, err)
			return true
		}
		for k, out := range m.outputs {
			if want[k] != nil && !conform.Same(got[out.Name], want[k]) {
				t.Errorf("%s: set %d: output %q: planned run differs from the interpreter", name, i, out.Name)
			}
		}
	}
	return true
}

// random reports whether the model has nodes whose results may differ from run to run.
func (m *Model) random() bool {
	for _, o := range m.Ops() {
		if r := op.Lookup("", o.Op); r != nil && r.Random {
			return true
		}
	}
	return false
}
