package stowage

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// TestQuantizedReferencesAreSaturated shows why models that multiply 8-bit integers are given a
// wide bound: with sums that saturate as the reference's did, the same graph is five times nearer.
func TestQuantizedReferencesAreSaturated(t *testing.T) {
	dir := filepath.Join(testkit.Data(t), "models", "whisper_tiny_decoder_q8")
	m, err := Load(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Skipf("no quantised model: %v", err)
	}
	defer m.Close()
	in, err := conform.Inputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := conform.Outputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	exact := worst(t, m, ref.Backend{}, in[0], want[0])
	saturated := worst(t, m, conform.Saturating{Backend: ref.Backend{}}, in[0], want[0])
	t.Logf("largest error, of the output's peak: exact sums %.3f, saturating sums %.3f", exact, saturated)
	if saturated > 0.02 || exact < 5*saturated {
		t.Errorf("got %.3f with exact and %.3f with saturating sums, want at most 0.02 with saturating ones "+
			"and five times that with exact ones", exact, saturated)
	}
}

// worst returns the largest error of any float output, as a share of that output's peak.
func worst(t *testing.T, m *Model, b backend.Backend, in, want []*tensor.Tensor) float64 {
	t.Helper()
	got, err := conform.Interpreter{Backend: b}.Run(m.graph, in)
	if err != nil {
		t.Fatal(err)
	}
	most := 0.0
	for i := range want {
		g, w := tensor.Cast[float32](got[i].Bytes()), tensor.Cast[float32](want[i].Bytes())
		peak, off := 0.0, 0.0
		for k := range w {
			peak = max(peak, math.Abs(float64(w[k])))
			off = max(off, math.Abs(float64(g[k])-float64(w[k])))
		}
		if peak > 0 {
			most = max(most, off/peak)
		}
	}
	return most
}
