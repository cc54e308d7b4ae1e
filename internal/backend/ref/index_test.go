package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestGatherPicksSlices(t *testing.T) {
	x := ten[float32](sh(3, 2), 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		name    string
		axis    int64
		in, idx *tensor.Tensor
		want    *tensor.Tensor
	}{
		{"rows", 0, x, tensor.Of[int64](2, 0, -1), ten[float32](sh(3, 2), 5, 6, 1, 2, 5, 6)},
		{"a scalar index", 0, x, tensor.Scalar[int32](1), tensor.Of[float32](3, 4)},
		{"columns", -1, x, ten[int32](sh(1, 1), 1), ten[float32](sh(3, 1, 1), 2, 4, 6)},
		{"strings", 0, tensor.Of("a", "b"), tensor.Of[int64](1, 1), tensor.Of("b", "b")},
		{"no indices", 0, x, ten[int64](sh(0)), ten[float32](sh(0, 2))},
		{"int64 contents", 0, tensor.Of[int64](7, 8, 9), tensor.Of[int64](-3), tensor.Of[int64](7)},
		{"half", 1, ten(sh(1, 2), tensor.HalfOf(1), tensor.HalfOf(2)), tensor.Of[int64](1), ten(sh(1, 1), tensor.HalfOf(2))},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, runNode(t, node("Gather", attrInt("axis", c.axis)), c.in, c.idx)[0], c.want, 0)
		})
	}
}

// TestIndicesOutsideAreErrors runs every operator that takes indices with one that names nothing.
func TestIndicesOutsideAreErrors(t *testing.T) {
	x := ten[float32](sh(2, 2), 1, 2, 3, 4)
	for _, bad := range []int64{2, -3, 1 << 62, -1 << 63} {
		for _, c := range []struct {
			n  *graph.Node
			in []*tensor.Tensor
		}{
			{node("Gather"), []*tensor.Tensor{x, tensor.Of(bad)}},
			{node("GatherElements"), []*tensor.Tensor{x, ten(sh(1, 1), bad)}},
			{node("GatherND"), []*tensor.Tensor{x, ten(sh(1, 1), bad)}},
			{node("ScatterElements"), []*tensor.Tensor{x, ten(sh(1, 1), bad), ten[float32](sh(1, 1), 1)}},
			{node("ScatterND"), []*tensor.Tensor{x, ten(sh(1, 1), bad), ten[float32](sh(1, 2), 1, 1)}},
		} {
			if out, err := attempt(t, c.n, c.in...); err == nil {
				t.Errorf("%s with index %d: got %s, want an error", c.n.Op, bad, show(out[0]))
			}
		}
	}
}

func TestGatherElements(t *testing.T) {
	x := ten[float32](sh(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9)
	same(t, runNode(t, node("GatherElements"), x, ten[int64](sh(2, 3), 1, 2, 0, -1, 0, 0))[0],
		ten[float32](sh(2, 3), 4, 8, 3, 7, 2, 3), 0)
	same(t, runNode(t, node("GatherElements", attrInt("axis", 1)), x, ten[int32](sh(2, 1), 1, 2))[0],
		ten[float32](sh(2, 1), 2, 6), 0)
	words := runNode(t, node("GatherElements", attrInt("axis", 1)), ten(sh(1, 2), "a", "b"), ten[int32](sh(1, 3), 1, 0, 1))
	same(t, words[0], ten(sh(1, 3), "b", "a", "b"), 0)
	if _, err := attempt(t, node("GatherElements"), x, ten[int64](sh(1, 4), 0, 0, 0, 0)); err == nil {
		t.Error("indices wider than data: got no error")
	}
}

func TestGatherND(t *testing.T) {
	x := ten[int32](sh(2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7)
	same(t, runNode(t, node("GatherND"), x, ten[int64](sh(2, 2), 0, 1, 1, 0))[0], ten[int32](sh(2, 2), 2, 3, 4, 5), 0)
	same(t, runNode(t, node("GatherND"), x, ten[int64](sh(1, 3), 1, -1, 0))[0], ten[int32](sh(1), 6), 0)
	same(t, runNode(t, node("GatherND", attrInt("batch_dims", 1)), x, ten[int64](sh(2, 1), 1, 0))[0],
		ten[int32](sh(2, 2), 2, 3, 4, 5), 0)
	for name, idx := range map[string]*tensor.Tensor{
		"too deep": ten[int64](sh(1, 4), 0, 0, 0, 0), "no coordinates": ten[int64](sh(1, 0)),
	} {
		if _, err := attempt(t, node("GatherND"), x, idx); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
