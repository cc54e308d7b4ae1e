package stowage

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

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
