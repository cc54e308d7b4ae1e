package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestShapeAndSize(t *testing.T) {
	x := ten[float32](sh(2, 0, 3))
	for _, c := range []struct {
		n    *graph.Node
		want *tensor.Tensor
	}{
		{node("Shape"), tensor.Of[int64](2, 0, 3)},
		{node("Shape", attrInt("start", -1)), tensor.Of[int64](3)},
		{node("Shape", attrInt("start", 1), attrInt("end", -1)), tensor.Of[int64](0)},
		{node("Shape", attrInt("start", -9), attrInt("end", 9)), tensor.Of[int64](2, 0, 3)},
		{node("Shape", attrInt("start", 2), attrInt("end", 1)), ten[int64](sh(0))},
		{node("Size"), tensor.Scalar[int64](0)},
	} {
		same(t, runNode(t, c.n, x)[0], c.want, 0)
	}
	same(t, runNode(t, node("Shape"), tensor.Scalar("a"))[0], ten[int64](sh(0)), 0)
	same(t, runNode(t, node("Size"), tensor.Scalar("a"))[0], tensor.Scalar[int64](1), 0)
}

func TestReshape(t *testing.T) {
	x := ten[float32](sh(2, 3, 4), make([]float32, 24)...)
	for _, c := range []struct {
		n    *graph.Node
		in   *tensor.Tensor
		dims []int64
		want tensor.Shape
	}{
		{node("Reshape"), x, []int64{4, 6}, sh(4, 6)},
		{node("Reshape"), x, []int64{-1}, sh(24)},
		{node("Reshape"), x, []int64{0, -1}, sh(2, 12)},
		{node("Reshape"), x, []int64{0, 0, 2, -1}, sh(2, 3, 2, 2)},
		{node("Reshape"), ten[float32](sh(0, 3)), []int64{3, -1}, sh(3, 0)},
		{node("Reshape"), ten[float32](sh(0, 4)), []int64{0, -1}, sh(0, 4)},
		{node("Reshape", attrInt("allowzero", 1)), ten[float32](sh(0, 3)), []int64{3, 0}, sh(3, 0)},
		{node("Reshape"), tensor.Scalar[float32](1), []int64{1, 1}, sh(1, 1)},
		{node("Reshape"), tensor.Of[float32](1), []int64{}, sh()},
	} {
		got := runNode(t, c.n, c.in, tensor.Of(c.dims...))[0]
		if !got.Shape().Equal(c.want) {
			t.Errorf("%v to %v: got %v, want %v", c.in, c.dims, got.Shape(), c.want)
		}
	}
	for _, dims := range [][]int64{{5, 5}, {-1, -1}, {7, -1}, {-2, 12}, {2, 3, 4, 0}, {0, 0}} {
		if _, err := attempt(t, node("Reshape"), x, tensor.Of(dims...)); err == nil {
			t.Errorf("to %v: got no error", dims)
		}
	}
}

func TestSqueezeUnsqueezeFlatten(t *testing.T) {
	x := ten[float32](sh(1, 2, 1, 3), make([]float32, 6)...)
	axes := func(a ...int64) *tensor.Tensor { return tensor.Of(a...) }
	for _, c := range []struct {
		n    *graph.Node
		in   []*tensor.Tensor
		want tensor.Shape
	}{
		{node("Squeeze"), []*tensor.Tensor{x}, sh(2, 3)},
		{node("Squeeze"), []*tensor.Tensor{x, axes(0)}, sh(2, 1, 3)},
		{node("Squeeze"), []*tensor.Tensor{x, axes(-2, 0)}, sh(2, 3)},
		{at(11, node("Squeeze", attrInts("axes", 2))), []*tensor.Tensor{x}, sh(1, 2, 3)},
		{node("Unsqueeze"), []*tensor.Tensor{x, axes(0)}, sh(1, 1, 2, 1, 3)},
		{node("Unsqueeze"), []*tensor.Tensor{x, axes(-1, 1)}, sh(1, 1, 2, 1, 3, 1)},
		{node("Unsqueeze"), []*tensor.Tensor{tensor.Scalar[float32](1), axes(1, 0)}, sh(1, 1)},
		{at(11, node("Unsqueeze", attrInts("axes", 4))), []*tensor.Tensor{x}, sh(1, 2, 1, 3, 1)},
		{node("Flatten"), []*tensor.Tensor{x}, sh(1, 6)},
		{node("Flatten", attrInt("axis", 0)), []*tensor.Tensor{x}, sh(1, 6)},
		{node("Flatten", attrInt("axis", -1)), []*tensor.Tensor{x}, sh(2, 3)},
		{node("Flatten", attrInt("axis", 4)), []*tensor.Tensor{x}, sh(6, 1)},
		{node("Flatten", attrInt("axis", 0)), []*tensor.Tensor{tensor.Scalar[float32](1)}, sh(1, 1)},
	} {
		got := runNode(t, c.n, c.in...)[0]
		if !got.Shape().Equal(c.want) {
			t.Errorf("%s %v: got %v, want %v", c.n.Op, c.n.Attrs, got.Shape(), c.want)
		}
	}
	for _, c := range []struct {
		n  *graph.Node
		in []*tensor.Tensor
	}{
		{node("Squeeze"), []*tensor.Tensor{x, axes(1)}},
		{node("Squeeze"), []*tensor.Tensor{x, axes(4)}},
		{node("Unsqueeze"), []*tensor.Tensor{x, axes(0, 0)}},
		{node("Unsqueeze"), []*tensor.Tensor{x, axes(5)}},
		{node("Unsqueeze"), []*tensor.Tensor{x}},
		{node("Flatten", attrInt("axis", 5)), []*tensor.Tensor{x}},
	} {
		if _, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%s of %v: got no error", c.n.Op, c.in)
		}
	}
}

func TestConstantOfShape(t *testing.T) {
	same(t, runNode(t, node("ConstantOfShape"), tensor.Of[int64](2, 1))[0], ten[float32](sh(2, 1), 0, 0), 0)
	sevens := node("ConstantOfShape", attrTensor("value", tensor.Of[int64](7)))
	same(t, runNode(t, sevens, tensor.Of[int64](3))[0], tensor.Of[int64](7, 7, 7), 0)
	same(t, runNode(t, sevens, ten[int64](sh(0)))[0], tensor.Scalar[int64](7), 0)
	same(t, runNode(t, sevens, tensor.Of[int64](0, 2))[0], ten[int64](sh(0, 2)), 0)
	nibbles := node("ConstantOfShape", attrTensor("value", raw(t, tensor.Int4, sh(1), 0x0e)))
	same(t, runNode(t, nibbles, tensor.Of[int64](3))[0], raw(t, tensor.Int4, sh(3), 0xee, 0x0e), 0)
	if _, err := attempt(t, sevens, tensor.Of[int64](-1)); err == nil {
		t.Error("a negative extent: got no error")
	}
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		in   *tensor.Tensor
		to   []int64
		want *tensor.Tensor
	}{
		{ten[float32](sh(2, 1), 1, 2), []int64{2, 2}, ten[float32](sh(2, 2), 1, 1, 2, 2)},
		{ten[float32](sh(2, 1), 1, 2), []int64{3, 1, 1}, ten[float32](sh(3, 2, 1), 1, 2, 1, 2, 1, 2)},
		{tensor.Scalar("a"), []int64{2}, tensor.Of("a", "a")},
		{tensor.Of[int64](5, 6), []int64{1}, tensor.Of[int64](5, 6)},
		{tensor.Of[int64](5), []int64{0}, ten[int64](sh(0))},
	} {
		same(t, runNode(t, node("Expand"), c.in, tensor.Of(c.to...))[0], c.want, 0)
	}
	four := raw(t, tensor.Uint4, sh(3), 0x21, 0x03)
	twice := runNode(t, node("Expand"), four, tensor.Of[int64](2, 3))[0]
	same(t, twice, raw(t, tensor.Uint4, sh(2, 3), 0x21, 0x13, 0x32), 0)
	if _, err := attempt(t, node("Expand"), tensor.Of[int64](5, 6), tensor.Of[int64](3)); err == nil {
		t.Error("2 to 3: got no error")
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct{ start, limit, delta, want *tensor.Tensor }{
		{tensor.Scalar[int64](1), tensor.Scalar[int64](6), tensor.Scalar[int64](2), tensor.Of[int64](1, 3, 5)},
		{tensor.Scalar[int32](10), tensor.Scalar[int32](4), tensor.Scalar[int32](-2), tensor.Of[int32](10, 8, 6)},
		{tensor.Scalar[int64](3), tensor.Scalar[int64](3), tensor.Scalar[int64](1), ten[int64](sh(0))},
		{tensor.Scalar[int64](3), tensor.Scalar[int64](0), tensor.Scalar[int64](1), ten[int64](sh(0))},
		{tensor.Scalar[float32](1), tensor.Scalar[float32](2), tensor.Scalar[float32](0.4), tensor.Of[float32](1, 1.4, 1.8)},
		{tensor.Of(0.0), tensor.Of(-1.0), tensor.Of(-0.5), tensor.Of(0.0, -0.5)},
	} {
		same(t, runNode(t, node("Range"), c.start, c.limit, c.delta)[0], c.want, 1e-6)
	}
	one, zero := tensor.Scalar[int64](1), tensor.Scalar[int64](0)
	if _, err := attempt(t, node("Range"), zero, one, zero); err == nil {
		t.Error("delta 0: got no error")
	}
	if _, err := attempt(t, node("Range"), tensor.Scalar(0.0), tensor.Scalar(1.0), tensor.Scalar(0.0)); err == nil {
		t.Error("delta 0.0: got no error")
	}
}

func TestEyeLike(t *testing.T) {
	x := ten[int32](sh(2, 3), make([]int32, 6)...)
	for _, c := range []struct {
		n    *graph.Node
		want *tensor.Tensor
	}{
		{node("EyeLike"), ten[int32](sh(2, 3), 1, 0, 0, 0, 1, 0)},
		{node("EyeLike", attrInt("k", 1), attrInt("dtype", 1)), ten[float32](sh(2, 3), 0, 1, 0, 0, 0, 1)},
		{node("EyeLike", attrInt("k", -1), attrInt("dtype", 9)), ten(sh(2, 3), false, false, false, true, false, false)},
		{node("EyeLike", attrInt("k", 9)), ten[int32](sh(2, 3), 0, 0, 0, 0, 0, 0)},
	} {
		same(t, runNode(t, c.n, x)[0], c.want, 0)
	}
}
