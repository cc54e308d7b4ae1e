package stowage

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
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
	use(t, ref.Backend{})
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

// use makes plans choose from the kernels of one backend until the test ends.
func use(t *testing.T, b backend.Backend) {
	before := backends
	t.Cleanup(func() { backends = before })
	backends = []backend.Backend{b, ref.Backend{}}
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

// TestFastRunsDoNotReadWhatIsDead runs real models with the kernels of the machine, in memory that is
// NaN wherever nothing was written and in memory that holds what earlier steps left. Every bit must
// agree.
func TestFastRunsDoNotReadWhatIsDead(t *testing.T) {
	dirs, err := conform.Models(filepath.Join(testkit.Data(t), "models"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		m, err := Load(filepath.Join(dir, "model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		sets, err := conform.Inputs(dir)
		if err != nil || len(sets) == 0 || len(sets[0]) != len(m.inputs) {
			t.Logf("%s: no inputs: %v", dir, err)
			continue
		}
		feeds := map[string]*tensor.Tensor{}
		for k, x := range sets[0] {
			feeds[m.inputs[k].Name] = x
		}
		clean, dirty := m.runIn(t, feeds, false), m.runIn(t, feeds, true)
		for name, x := range clean {
			if !conform.Same(x, dirty[name]) {
				t.Errorf("%s: output %q depends on bytes that nothing has written", filepath.Base(dir), name)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// runIn runs a model once in a session of its own, in poisoned memory or not.
func (m *Model) runIn(t *testing.T, feeds map[string]*tensor.Tensor, poison bool) map[string]*tensor.Tensor {
	t.Helper()
	s, err := m.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lane := <-s.lanes
	lane.Poison = poison
	s.lanes <- lane
	out, err := s.Run(context.Background(), feeds)
	if err != nil {
		t.Fatal(err)
	}
	return out
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
