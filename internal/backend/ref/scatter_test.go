package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func reducedBy(name string) graph.Attr { return attrStr("reduction", name) }

func TestScatterElements(t *testing.T) {
	x := ten[float32](sh(3, 3), 0, 0, 0, 0, 0, 0, 0, 0, 0)
	idx := ten[int64](sh(2, 3), 1, 0, 2, 0, 2, 1)
	upd := ten[float32](sh(2, 3), 1, 1.1, 1.2, 2, 2.1, 2.2)
	want := ten[float32](sh(3, 3), 2, 1.1, 0, 1, 0, 2.2, 0, 2.1, 1.2)
	same(t, runNode(t, node("ScatterElements"), x, idx, upd)[0], want, 0)
	same(t, runNode(t, at(9, node("Scatter")), x, idx, upd)[0], want, 0)
	line := ten[float32](sh(1, 5), 1, 2, 3, 4, 5)
	for _, c := range []struct {
		mode string
		want []float32
	}{
		{"none", []float32{1, 2.1, 3, 4, 5}}, {"add", []float32{1, 5.2, 3, 4, 5}},
		{"mul", []float32{1, 2 * 1.1 * 2.1, 3, 4, 5}}, {"max", []float32{1, 2.1, 3, 4, 5}}, {"min", []float32{1, 1.1, 3, 4, 5}},
	} {
		n := node("ScatterElements", attrInt("axis", 1), reducedBy(c.mode))
		got := runNode(t, n, line, ten[int64](sh(1, 2), 1, -4), ten[float32](sh(1, 2), 1.1, 2.1))
		same(t, got[0], ten(sh(1, 5), c.want...), 1e-6)
	}
	words := runNode(t, node("ScatterElements"), tensor.Of("a", "b"), tensor.Of[int32](1), tensor.Of("z"))
	same(t, words[0], tensor.Of("a", "z"), 0)
	h := tensor.HalfOf
	half := runNode(t, node("ScatterElements", reducedBy("add")), tensor.Of(h(1), h(2)), tensor.Of[int64](0, 0),
		tensor.Of(h(3), h(4)))
	same(t, half[0], tensor.Of(h(8), h(2)), 0)
	bytes := runNode(t, node("ScatterElements", reducedBy("max")), tensor.Of(false, false), tensor.Of[int64](1),
		tensor.Of(true))
	same(t, bytes[0], tensor.Of(false, true), 0)
}

func TestScatterND(t *testing.T) {
	x := ten[int32](sh(2, 2), 1, 2, 3, 4)
	row := ten[int64](sh(2, 1), 1, 1)
	upd := ten[int32](sh(2, 2), 5, 6, 7, 8)
	same(t, runNode(t, node("ScatterND"), x, row, upd)[0], ten[int32](sh(2, 2), 1, 2, 7, 8), 0)
	same(t, runNode(t, node("ScatterND", reducedBy("add")), x, row, upd)[0], ten[int32](sh(2, 2), 1, 2, 15, 18), 0)
	same(t, runNode(t, node("ScatterND"), x, ten[int64](sh(1, 2), -1, 0), ten[int32](sh(1), 9))[0],
		ten[int32](sh(2, 2), 1, 2, 9, 4), 0)
	same(t, runNode(t, node("ScatterND"), x, ten[int64](sh(0, 1)), ten[int32](sh(0, 2)))[0], x, 0)
}

func TestScatterRefusesWhatDoesNotFit(t *testing.T) {
	x := ten[float32](sh(2, 2), 1, 2, 3, 4)
	one, half := ten[float32](sh(1, 1), 9), ten(sh(1, 1), tensor.HalfOf(1))
	zero := ten[int64](sh(1, 1), 0)
	for name, c := range map[string]struct {
		n  *graph.Node
		in []*tensor.Tensor
	}{
		"another type":        {node("ScatterElements"), []*tensor.Tensor{x, zero, half}},
		"another type, added": {node("ScatterElements", reducedBy("add")), []*tensor.Tensor{x, zero, half}},
		"no such reduction":   {node("ScatterElements", reducedBy("xor")), []*tensor.Tensor{x, zero, one}},
		"strings added":       {node("ScatterElements", reducedBy("add")), []*tensor.Tensor{ten(sh(1, 1), "a"), zero, ten(sh(1, 1), "b")}},
		"fewer updates":       {node("ScatterElements"), []*tensor.Tensor{x, ten[int64](sh(1, 2), 0, 0), one}},
		"wider indices":       {node("ScatterElements"), []*tensor.Tensor{x, ten[int64](sh(1, 3), 0, 0, 0), ten[float32](sh(1, 3), 0, 0, 0)}},
		"updates of ND":       {node("ScatterND"), []*tensor.Tensor{x, zero, ten[float32](sh(1, 3), 0, 0, 0)}},
	} {
		if out, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%s: got %s, want an error", name, show(out[0]))
		}
	}
}

func TestTensorScatter(t *testing.T) {
	cache := ten[float32](sh(2, 3, 1), 1, 2, 3, 4, 5, 6)
	upd := ten[float32](sh(2, 2, 1), 10, 20, 30, 40)
	same(t, runNode(t, node("TensorScatter"), cache, upd)[0], ten[float32](sh(2, 3, 1), 10, 20, 3, 30, 40, 6), 0)
	same(t, runNode(t, node("TensorScatter"), cache, upd, tensor.Of[int64](1, 0))[0],
		ten[float32](sh(2, 3, 1), 1, 10, 20, 30, 40, 6), 0)
	same(t, runNode(t, node("TensorScatter", attrStr("mode", "circular")), cache, upd, tensor.Of[int64](2, 0))[0],
		ten[float32](sh(2, 3, 1), 20, 2, 10, 30, 40, 6), 0)
	for _, bad := range []int64{2, -1, 1 << 62} {
		if _, err := attempt(t, node("TensorScatter"), cache, upd, tensor.Of(bad, 0)); err == nil {
			t.Errorf("write index %d: got no error", bad)
		}
	}
}
