package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

func TestOneHot(t *testing.T) {
	values := tensor.Of[float32](2, 5)
	same(t, runNode(t, node("OneHot"), tensor.Of[int64](0, -1, 7), tensor.Scalar[int64](3), values)[0],
		ten[float32](sh(3, 3), 5, 2, 2, 2, 2, 5, 2, 2, 2), 0)
	same(t, runNode(t, at(9, node("OneHot")), tensor.Of[int64](0, -1), tensor.Of[int64](2), values)[0],
		ten[float32](sh(2, 2), 5, 2, 2, 2), 0)
	same(t, runNode(t, node("OneHot", attrInt("axis", 0)), tensor.Of[float32](1.9, nan), tensor.Of[float32](2), values)[0],
		ten[float32](sh(2, 2), 2, 2, 5, 2), 0)
	same(t, runNode(t, node("OneHot"), tensor.Scalar[uint8](1), tensor.Of[int32](2), tensor.Of("n", "y"))[0],
		tensor.Of("n", "y"), 0)
	if _, err := attempt(t, node("OneHot"), tensor.Of[int64](0), tensor.Of[int64](-2), values); err == nil {
		t.Error("a negative depth: got no error")
	}
	if _, err := attempt(t, node("OneHot"), tensor.Of[int64](0), tensor.Of[int64](2), tensor.Of[float32](1)); err == nil {
		t.Error("one value: got no error")
	}
}

func TestNonZero(t *testing.T) {
	same(t, runNode(t, node("NonZero"), ten(sh(2, 2), 1, -0, nan, 2))[0], ten[int64](sh(2, 3), 0, 1, 1, 0, 0, 1), 0)
	minus := tensor.HalfOf(-1)&0x8000 | 0x8000
	same(t, runNode(t, node("NonZero"), tensor.Of(minus, tensor.HalfOf(1)))[0], ten[int64](sh(1, 1), 1), 0)
	same(t, runNode(t, node("NonZero"), tensor.Of("", "a"))[0], ten[int64](sh(1, 1), 1), 0)
	same(t, runNode(t, node("NonZero"), tensor.Scalar(true))[0], ten[int64](sh(0, 1)), 0)
	same(t, runNode(t, node("NonZero"), ten[int8](sh(0, 2)))[0], ten[int64](sh(2, 0)), 0)
}

func TestCompress(t *testing.T) {
	x := ten[float32](sh(3, 2), 1, 2, 3, 4, 5, 6)
	same(t, runNode(t, node("Compress", attrInt("axis", 0)), x, tensor.Of(false, true, true))[0],
		ten[float32](sh(2, 2), 3, 4, 5, 6), 0)
	same(t, runNode(t, node("Compress", attrInt("axis", -1)), x, tensor.Of(false, true))[0],
		ten[float32](sh(3, 1), 2, 4, 6), 0)
	same(t, runNode(t, node("Compress"), x, tensor.Of(false, true, false, false, true))[0], tensor.Of[float32](2, 5), 0)
	same(t, runNode(t, node("Compress"), tensor.Of("a", "b"), tensor.Of(false, true))[0], tensor.Of("b"), 0)
	if _, err := attempt(t, node("Compress", attrInt("axis", 1)), x, tensor.Of(false, true, true)); err == nil {
		t.Error("a condition beyond the data: got no error")
	}
}

func TestTopK(t *testing.T) {
	x := ten[float32](sh(2, 4), 1, 3, 3, 2, 7, 5, 8, 8)
	got := runNode(t, outs(2, node("TopK")), x, tensor.Of[int64](3))
	same(t, got[0], ten[float32](sh(2, 3), 3, 3, 2, 8, 8, 7), 0)
	same(t, got[1], ten[int64](sh(2, 3), 1, 2, 3, 2, 3, 0), 0)
	got = runNode(t, outs(2, node("TopK", attrInt("largest", 0), attrInt("axis", 0))), x, tensor.Of[int64](1))
	same(t, got[0], ten[float32](sh(1, 4), 1, 3, 3, 2), 0)
	same(t, got[1], ten[int64](sh(1, 4), 0, 0, 0, 0), 0)
	got = runNode(t, at(1, outs(2, node("TopK", attrInt("k", 2)))), tensor.Of[float32](1, nan, 5))
	same(t, got[0], tensor.Of(nan, 5), 0)
	got = runNode(t, outs(2, node("TopK")), tensor.Of[uint64](1<<63, 1<<63+1), tensor.Of[int64](1))
	same(t, got[0], tensor.Of[uint64](1<<63+1), 0)
	got = runNode(t, outs(2, node("TopK")), tensor.Of(tensor.HalfOf(1), tensor.HalfOf(2)), tensor.Of[int64](0))
	same(t, got[1], ten[int64](sh(0)), 0)
	for _, k := range []int64{3, -1} {
		if _, err := attempt(t, outs(2, node("TopK")), tensor.Of[float32](1, 2), tensor.Of(k)); err == nil {
			t.Errorf("k %d of 2: got no error", k)
		}
	}
}

func TestUnique(t *testing.T) {
	check := func(name string, got []*tensor.Tensor, y *tensor.Tensor, rest ...[]int64) {
		t.Run(name, func(t *testing.T) {
			same(t, got[0], y, 0)
			for i, want := range rest {
				same(t, got[i+1], ten(sh(int64(len(want))), want...), 0)
			}
		})
	}
	x := tensor.Of[float32](2, 1, 1, 3, 4, 3)
	check("sorted", runNode(t, outs(4, node("Unique")), x), tensor.Of[float32](1, 2, 3, 4),
		[]int64{1, 0, 3, 4}, []int64{1, 0, 0, 2, 3, 2}, []int64{2, 1, 2, 1})
	check("in order of appearance", runNode(t, outs(4, node("Unique", attrInt("sorted", 0))), x),
		tensor.Of[float32](2, 1, 3, 4), []int64{0, 1, 3, 4}, []int64{0, 1, 1, 2, 3, 2}, []int64{1, 2, 2, 1})
	rows := ten[int32](sh(3, 2), 1, 0, 1, 0, 0, 5)
	check("rows", runNode(t, outs(4, node("Unique", attrInt("axis", 0))), rows), ten[int32](sh(2, 2), 0, 5, 1, 0),
		[]int64{2, 0}, []int64{1, 1, 0}, []int64{1, 2})
	check("columns", runNode(t, outs(3, node("Unique", attrInt("axis", -1))), ten[int32](sh(1, 3), 2, 1, 2)),
		ten[int32](sh(1, 2), 1, 2), []int64{1, 0}, []int64{1, 0, 1})
	check("words", runNode(t, node("Unique"), tensor.Of("b", "a", "b")), tensor.Of("a", "b"))
	check("half", runNode(t, node("Unique"), tensor.Of(tensor.HalfOf(2), tensor.HalfOf(-1))),
		tensor.Of(tensor.HalfOf(-1), tensor.HalfOf(2)))
	check("nothing", runNode(t, outs(4, node("Unique")), ten[int64](sh(0))), ten[int64](sh(0)),
		[]int64{}, []int64{}, []int64{})
}

func TestCumulate(t *testing.T) {
	x := tensor.Of[float32](1, 2, 3)
	zero := tensor.Scalar[int64](0)
	for _, c := range []struct {
		op                 string
		exclusive, reverse int64
		want               []float32
	}{
		{"CumSum", 0, 0, []float32{1, 3, 6}}, {"CumSum", 1, 0, []float32{0, 1, 3}},
		{"CumSum", 0, 1, []float32{6, 5, 3}}, {"CumSum", 1, 1, []float32{5, 3, 0}},
		{"CumProd", 0, 0, []float32{1, 2, 6}}, {"CumProd", 1, 1, []float32{6, 3, 1}},
	} {
		n := node(c.op, attrInt("exclusive", c.exclusive), attrInt("reverse", c.reverse))
		same(t, runNode(t, n, x, zero)[0], tensor.Of(c.want...), 0)
	}
	m := ten[int32](sh(2, 2), 1, 2, 3, 4)
	same(t, runNode(t, node("CumSum"), m, tensor.Of[int32](-1))[0], ten[int32](sh(2, 2), 1, 3, 3, 7), 0)
	same(t, runNode(t, node("CumSum"), m, zero)[0], ten[int32](sh(2, 2), 1, 2, 4, 6), 0)
	same(t, runNode(t, node("CumSum"), ten[float32](sh(0, 2)), zero)[0], ten[float32](sh(0, 2)), 0)
	for _, axis := range []int64{1, -2} {
		if _, err := attempt(t, node("CumSum"), x, tensor.Of(axis)); err == nil {
			t.Errorf("axis %d: got no error", axis)
		}
	}
}

func TestNonMaxSuppression(t *testing.T) {
	boxes := ten[float32](sh(1, 4, 4), 0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11, 1, 11, 0, 10)
	scores := ten[float32](sh(1, 1, 4), 0.8, 0.9, 0.5, 0.5)
	limit := tensor.Scalar[int64](3)
	same(t, runNode(t, node("NonMaxSuppression"), boxes, scores, limit, tensor.Scalar[float32](0.5))[0],
		ten[int64](sh(2, 3), 0, 0, 1, 0, 0, 2), 0)
	same(t, runNode(t, node("NonMaxSuppression"), boxes, scores, tensor.Of[int64](1))[0], ten[int64](sh(1, 3), 0, 0, 1), 0)
	same(t, runNode(t, node("NonMaxSuppression"), boxes, scores, limit, nil, tensor.Of[float32](0.6))[0],
		ten[int64](sh(1, 3), 0, 0, 1), 0)
	same(t, runNode(t, node("NonMaxSuppression"), boxes, scores)[0], ten[int64](sh(0, 3)), 0)
	centred := ten[float32](sh(1, 2, 4), 0.5, 0.5, 1, 1, 0.6, 0.5, 1, 1)
	same(t, runNode(t, node("NonMaxSuppression", attrInt("center_point_box", 1)), centred, ten[float32](sh(1, 1, 2), 1, 2),
		limit, tensor.Of[float32](0.5))[0], ten[int64](sh(1, 3), 0, 0, 1), 0)
	if _, err := attempt(t, node("NonMaxSuppression"), boxes, ten[float32](sh(1, 1, 2), 1, 2)); err == nil {
		t.Error("fewer scores than boxes: got no error")
	}
}

func TestArrayFeatureExtractor(t *testing.T) {
	n := node("ArrayFeatureExtractor")
	n.Domain = "ai.onnx.ml"
	same(t, runNode(t, n, ten[float32](sh(2, 3), 1, 2, 3, 4, 5, 6), tensor.Of[int64](2, 0))[0],
		ten[float32](sh(2, 2), 3, 1, 6, 4), 0)
	same(t, runNode(t, n, tensor.Of[int64](7, 8), tensor.Of[int64](1))[0], ten[int64](sh(1, 1), 8), 0)
}
