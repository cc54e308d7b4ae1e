package ref

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestNegativeLogLikelihoodLoss(t *testing.T) {
	x := ten[float32](sh(3, 2), -1, -2, -3, -4, -5, -6)
	target := tensor.Of[int64](0, 1, 1)
	weight := tensor.Of[float32](1, 3)
	one := func(v float32) *tensor.Tensor { return tensor.Scalar(v) }
	n := func(reduction string, more ...graph.Attr) *graph.Node {
		return node("NegativeLogLikelihoodLoss", append(more, attrStr("reduction", reduction))...)
	}
	same(t, runNode(t, n("none"), x, target)[0], tensor.Of[float32](1, 4, 6), 1e-6)
	same(t, runNode(t, n("sum"), x, target)[0], one(11), 1e-6)
	same(t, runNode(t, n("mean"), x, target)[0], one(11./3), 1e-6)
	same(t, runNode(t, n("mean"), x, target, weight)[0], one(31./7), 1e-6)
	same(t, runNode(t, n("none"), x, target, weight)[0], tensor.Of[float32](1, 12, 18), 1e-6)
	ignore := attrInt("ignore_index", -7)
	same(t, runNode(t, n("mean", ignore), x, tensor.Of[int64](0, -7, 1))[0], one(3.5), 1e-6)
	same(t, runNode(t, n("none", ignore), x, tensor.Of[int32](-7, -7, 1))[0], tensor.Of[float32](0, 0, 6), 1e-6)
	same(t, runNode(t, n("mean", ignore), x, tensor.Of[int64](-7, -7, -7))[0], one(nan), 0)
	same(t, runNode(t, n("none"), ten[float64](sh(1, 2, 2), -1, -2, -3, -4), ten[int64](sh(1, 2), 1, 0))[0],
		ten[float64](sh(1, 2), 3, 2), 1e-9)
	for name, target := range map[string]*tensor.Tensor{
		"a class too many": tensor.Of[int64](0, 1, 2), "negative": tensor.Of[int64](0, 1, -1), "fewer": tensor.Of[int64](0, 1),
	} {
		if out, err := attempt(t, n("mean"), x, target); err == nil {
			t.Errorf("%s: got %s, want an error", name, show(out[0]))
		}
	}
	if _, err := attempt(t, n("mean"), x, target, tensor.Of[float32](1)); err == nil {
		t.Error("fewer weights than classes: got no error")
	}
}

func TestSoftmaxCrossEntropyLoss(t *testing.T) {
	x := ten[float32](sh(2, 2), 0, 0, 1000, 0)
	ln2 := float32(math.Ln2)
	got := runNode(t, outs(2, node("SoftmaxCrossEntropyLoss", attrStr("reduction", "none"))), x, tensor.Of[int64](1, 0))
	same(t, got[0], tensor.Of(ln2, 0), 1e-6)
	same(t, got[1], ten(sh(2, 2), -ln2, -ln2, 0, -1000), 1e-6)
	same(t, runNode(t, node("SoftmaxCrossEntropyLoss"), x, tensor.Of[int64](1, 0))[0], tensor.Scalar(ln2/2), 1e-6)
	h := tensor.HalfOf
	same(t, runNode(t, node("SoftmaxCrossEntropyLoss"), ten(sh(1, 2), h(0), h(0)), tensor.Of[int64](1))[0],
		tensor.Scalar(h(ln2)), 1e-3)
}
