package simplify_test

import (
	"testing"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/simplify"
	"github.com/stowage-ml/stowage/tensor"
)

func TestEqualFillsShareMemory(t *testing.T) {
	out := simple(t, parse(t, body("const s = int64[2] [30, 100]", "const r = int64[1] [2000]",
		"a = ConstantOfShape@13(s; value=float32[1] [0.5])", "b = ConstantOfShape@13(r; value=float32[1] [0.5])",
		"c = ConstantOfShape@13(r; value=float32[1] [0.25])", "d = ConstantOfShape@13(r; value=int32[1] [1056964608])",
		"out a", "out b", "out c", "out d")), simplify.Limits{})
	if len(out.Nodes) != 0 {
		t.Fatalf("got %d nodes left, want 0", len(out.Nodes))
	}
	want := []float32{0.5, 0.5, 0.25}
	var data [4]*byte
	for i, v := range out.Outputs {
		c := out.Values[v].Const
		data[i] = unsafe.SliceData(c.Bytes())
		if i == 3 {
			break
		}
		for k, x := range tensor.Cast[float32](c.Bytes()) {
			if x != want[i] {
				t.Fatalf("output %d: element %d: got %g, want %g", i, k, x, want[i])
			}
		}
	}
	if n := len(out.Values[out.Outputs[1]].Const.Bytes()); n != 8000 {
		t.Errorf("got %d bytes, want 8000", n)
	}
	if data[0] != data[1] || data[0] == data[2] || data[0] == data[3] {
		t.Errorf("got memory at %v, want the first two the same and the others not", data)
	}
}
