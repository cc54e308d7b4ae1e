package conform

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/onnx"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// pairSaturating is the reference backend, except that MatMulInteger of uint8 by int8 saturates
// each sum of two neighbouring products to 16 bits, as the instruction VPMADDUBSW does.
type pairSaturating struct{ ref.Backend }

// Candidates returns the reference kernels, MatMulInteger's with the saturation.
func (b pairSaturating) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	cs, err := b.Backend.Candidates(o)
	if err != nil || o.Node.Op != "MatMulInteger" || o.In[0].DType != tensor.Uint8 || o.In[1].DType != tensor.Int8 {
		return cs, err
	}
	exact := cs[0].Kernel
	cs[0].Kernel = func(c *backend.Call) error {
		if err := exact(c); err != nil {
			return err
		}
		saturatePairs(c)
		return nil
	}
	return cs, nil
}

func saturatePairs(c *backend.Call) {
	a, b := c.In[0].Data, tensor.Cast[int8](c.In[1].Data)
	out, bs := tensor.Cast[int32](c.Out[0].Data), c.In[1].Shape
	k, n := int(bs[0]), int(bs[1])
	for i := range out {
		row, col := a[i/n*k:][:k], b[i%n:]
		for l := 0; l+1 < k; l += 2 {
			v := int32(row[l])*int32(col[l*n]) + int32(row[l+1])*int32(col[(l+1)*n])
			out[i] += max(math.MinInt16, min(math.MaxInt16, v)) - v
		}
	}
}

// The model's expected outputs were computed with saturating instructions: products that are exact
// differ from them, and those that saturate in the same way do not.
func TestWhisperReferenceSaturates(t *testing.T) {
	dir := filepath.Join(testkit.Data(t), "models", "whisper_tiny_decoder_q8")
	f, err := onnx.Open(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Skipf("no model: %v", err)
	}
	defer f.Close()
	im, err := onnx.Import(f.Model, f)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := Inputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range sets {
		out, err := Interpreter{Backend: pairSaturating{}}.Run(im.Graph, in)
		if err != nil {
			t.Fatal(err)
		}
		for j, got := range out {
			name := fmt.Sprintf("test_data_set_%d/output_%d.pb", i, j)
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			_, want, err := onnx.DecodeTensor(b)
			if err != nil {
				t.Fatal(err)
			}
			if d, peak := farthest(got, want); d > 1e-4*peak {
				t.Errorf("%s: got a difference of %v, want at most 1e-4 of %v", name, d, peak)
			}
		}
	}
}

// farthest returns the largest difference between two float32 tensors, and the largest magnitude
// in the second.
func farthest(got, want *tensor.Tensor) (diff, peak float64) {
	g := tensor.Cast[float32](got.Bytes())
	for i, w := range tensor.Cast[float32](want.Bytes()) {
		diff = max(diff, math.Abs(float64(g[i])-float64(w)))
		peak = max(peak, math.Abs(float64(w)))
	}
	return diff, peak
}
