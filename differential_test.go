package stowage

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// TestRuntimeEqualsInterpreter runs standard cases and real models twice: as planned, in an arena
// whose bytes are NaN wherever nothing was written, and node by node in fresh memory, both with
// the reference kernels. Every bit must agree.
func TestRuntimeEqualsInterpreter(t *testing.T) {
	everyModel(t, func(t *testing.T, dir string) bool {
		return differ(t, dir, &Options{Kernels: reference, NoFuse: []string{"all"}}, func(got, want *tensor.Tensor) string {
			if conform.Same(got, want) {
				return ""
			}
			return "other bits"
		})
	})
}

// TestKernelSetsAgreeWithInterpreter does the same with every kernel set of the machine, within the
// bounds that float32 sums allow.
func TestKernelSetsAgreeWithInterpreter(t *testing.T) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			everyModel(t, func(t *testing.T, dir string) bool {
				return differ(t, dir, &Options{Kernels: l.String()}, near)
			})
		})
	}
}

// near says how far a float tensor is from what is wanted, when it is too far; tensors of other
// types must be equal but for a rounding of one in a thousand elements.
func near(got, want *tensor.Tensor) string {
	if got.DType() != tensor.Float32 {
		return nearWhole(got, want)
	}
	if !got.Shape().Equal(want.Shape()) {
		return fmt.Sprintf("got shape %v, want %v", got.Shape(), want.Shape())
	}
	g, w := tensor.Cast[float32](got.Bytes()), tensor.Cast[float32](want.Bytes())
	var peak float64
	for _, x := range w {
		if a := math.Abs(float64(x)); !math.IsInf(a, 0) && a > peak {
			peak = a
		}
	}
	for i := range w {
		a, b := float64(g[i]), float64(w[i])
		if a == b || a != a && b != b {
			continue
		}
		if math.IsInf(b, 0) || !(math.Abs(a-b) <= 1e-4*peak+1e-3*math.Abs(b)) {
			return fmt.Sprintf("element %d: got %g, want %g, peak %g", i, a, b, peak)
		}
	}
	return ""
}

func nearWhole(got, want *tensor.Tensor) string {
	if conform.Same(got, want) {
		return ""
	}
	g, w := got.Bytes(), want.Bytes()
	if len(g) != len(w) {
		return "other size"
	}
	off := 0
	for i := range g {
		if g[i] != w[i] {
			off++
		}
	}
	if off*1000 > len(g) && !(off == 1 && len(g) > 1) {
		return fmt.Sprintf("%d of %d bytes differ", off, len(g))
	}
	return ""
}

// everyModel calls compare for each standard case and real model.
func everyModel(t *testing.T, compare func(t *testing.T, dir string) bool) {
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
				if compare(t, dir) {
					compared++
				}
			}
			if compared == 0 {
				t.Error("no model could be compared")
			}
		})
	}
}

// differ compares one model, whose outputs wrong finds fault with; false when it has operators that
// are not supported.
func differ(t *testing.T, dir string, opts *Options, wrong func(got, want *tensor.Tensor) string) bool {
	name := filepath.Base(dir)
	m, err := Load(filepath.Join(dir, "model.onnx"))
	if err != nil || len(m.unsupported) > 0 {
		return false
	}
	defer m.Close()
	s, err := m.Open(opts)
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
		want, err := interpreted(m, dir, i, in)
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
			if want[k] == nil {
				continue
			}
			if what := wrong(got[out.Name], want[k]); what != "" {
				t.Errorf("%s: set %d: output %q: planned run differs from the interpreter: %s", name, i, out.Name, what)
			}
		}
	}
	return true
}

// interpretations keeps the interpreter's results, which take longest, by model and data set.
var interpretations = map[string][]*tensor.Tensor{}

func interpreted(m *Model, dir string, set int, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	key := fmt.Sprint(dir, set)
	if out, ok := interpretations[key]; ok {
		return out, nil
	}
	out, err := conform.Interpreter{Backend: ref.Backend{}}.Run(m.graph, in)
	for i, t := range out {
		if t != nil {
			out[i] = copyOf(t)
		}
	}
	if err == nil {
		interpretations[key] = out
	}
	return out, err
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
