package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// iota makes a tensor of 0, 1, 2, …
func iota32(shape ...int64) *tensor.Tensor {
	data := make([]float32, count(shape))
	for i := range data {
		data[i] = float32(i)
	}
	return ten(shape, data...)
}

func ints(v ...int64) *tensor.Tensor { return ten(sh(int64(len(v))), v...) }

func TestTranspose(t *testing.T) {
	for _, c := range []struct {
		n        *graph.Node
		in, want *tensor.Tensor
	}{
		{node("Transpose"), iota32(2, 3), ten[float32](sh(3, 2), 0, 3, 1, 4, 2, 5)},
		{node("Transpose", attrInts("perm", 0, 2, 1)), iota32(1, 2, 2), ten[float32](sh(1, 2, 2), 0, 2, 1, 3)},
		{node("Transpose", attrInts("perm", 1, 0)), ten(sh(2, 2), "a", "b", "c", "d"), ten(sh(2, 2), "a", "c", "b", "d")},
		{node("Transpose"), tensor.Scalar[int8](3), tensor.Scalar[int8](3)},
		{node("Transpose"), ten[int8](sh(0, 2)), ten[int8](sh(2, 0))},
		{node("Transpose"), raw(t, tensor.Int4, sh(2, 2), 0x21, 0x43), raw(t, tensor.Int4, sh(2, 2), 0x31, 0x42)},
		{node("Transpose"), ten(sh(1, 2), complex(1, 2), 3), ten(sh(2, 1), complex(1, 2), 3)},
	} {
		same(t, runNode(t, c.n, c.in)[0], c.want, 0)
	}
	for _, perm := range [][]int64{{0}, {0, 0}, {0, 2}} {
		if _, err := attempt(t, node("Transpose", attrInts("perm", perm...)), iota32(2, 3)); err == nil {
			t.Errorf("perm %v: got no error", perm)
		}
	}
}

func TestConcat(t *testing.T) {
	a, b := iota32(2, 2), ten[float32](sh(2, 1), 8, 9)
	for _, c := range []struct {
		axis int64
		in   []*tensor.Tensor
		want *tensor.Tensor
	}{
		{1, []*tensor.Tensor{a, b}, ten[float32](sh(2, 3), 0, 1, 8, 2, 3, 9)},
		{-1, []*tensor.Tensor{b, a, b}, ten[float32](sh(2, 4), 8, 0, 1, 8, 9, 2, 3, 9)},
		{0, []*tensor.Tensor{a, a}, ten[float32](sh(4, 2), 0, 1, 2, 3, 0, 1, 2, 3)},
		{0, []*tensor.Tensor{tensor.Of("a"), tensor.Of("b")}, tensor.Of("a", "b")},
		{0, []*tensor.Tensor{ten[float32](sh(0, 2)), a}, a},
		{0, []*tensor.Tensor{ints(1, 2), ints(3)}, ints(1, 2, 3)},
		{0, []*tensor.Tensor{raw(t, tensor.Int4, sh(1), 1), raw(t, tensor.Int4, sh(2), 0x32)},
			raw(t, tensor.Int4, sh(3), 0x21, 0x03)},
	} {
		same(t, runNode(t, node("Concat", attrInt("axis", c.axis)), c.in...)[0], c.want, 0)
	}
	for _, in := range [][]*tensor.Tensor{{a, iota32(3, 1)}, {a, iota32(2)}, {a, ints(1)}} {
		if _, err := attempt(t, node("Concat", attrInt("axis", 1)), in...); err == nil {
			t.Errorf("%v: got no error", in)
		}
	}
}

func TestSplit(t *testing.T) {
	x := iota32(2, 5)
	for _, c := range []struct {
		n    *graph.Node
		in   []*tensor.Tensor
		want []*tensor.Tensor
	}{
		{outs(2, node("Split", attrInt("axis", 1))), []*tensor.Tensor{x, ints(2, 3)},
			[]*tensor.Tensor{ten[float32](sh(2, 2), 0, 1, 5, 6), ten[float32](sh(2, 3), 2, 3, 4, 7, 8, 9)}},
		{outs(2, node("Split", attrInt("axis", -1), attrInt("num_outputs", 2))), []*tensor.Tensor{x},
			[]*tensor.Tensor{ten[float32](sh(2, 3), 0, 1, 2, 5, 6, 7), ten[float32](sh(2, 2), 3, 4, 8, 9)}},
		{outs(2, at(13, node("Split"))), []*tensor.Tensor{x},
			[]*tensor.Tensor{ten[float32](sh(1, 5), 0, 1, 2, 3, 4), ten[float32](sh(1, 5), 5, 6, 7, 8, 9)}},
		{outs(2, at(11, node("Split", attrInts("split", 1, 2)))), []*tensor.Tensor{tensor.Of("a", "b", "c")},
			[]*tensor.Tensor{tensor.Of("a"), tensor.Of("b", "c")}},
		{outs(3, node("Split")), []*tensor.Tensor{ints(1, 2), ints(0, 2, 0)},
			[]*tensor.Tensor{ints(), ints(1, 2), ints()}},
		{outs(3, node("Split", attrInt("num_outputs", 3))), []*tensor.Tensor{ints(1, 2, 3, 4)},
			[]*tensor.Tensor{ints(1, 2), ints(3, 4), ints()}},
	} {
		for i, got := range runNode(t, c.n, c.in...) {
			same(t, got, c.want[i], 0)
		}
	}
	for _, c := range []struct {
		n  *graph.Node
		in []*tensor.Tensor
	}{
		{outs(2, node("Split", attrInt("axis", 1))), []*tensor.Tensor{x, ints(2, 2)}},
		{outs(2, node("Split", attrInt("axis", 1))), []*tensor.Tensor{x, ints(6, -1)}},
		{outs(2, node("Split", attrInt("axis", 1))), []*tensor.Tensor{x, ints(5)}},
		{outs(2, at(13, node("Split", attrInt("axis", 1)))), []*tensor.Tensor{x}},
		{outs(2, node("Split", attrInt("num_outputs", 3))), []*tensor.Tensor{x}},
	} {
		if _, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%v into %d: got no error", c.in, len(c.n.Outputs))
		}
	}
}

func TestSlice(t *testing.T) {
	const far = 1<<63 - 1
	x := iota32(3, 4)
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
		want *tensor.Tensor
	}{
		{"both axes", node("Slice"), []*tensor.Tensor{x, ints(1, 0), ints(3, 2)}, ten[float32](sh(2, 2), 4, 5, 8, 9)},
		{"last axis", node("Slice"), []*tensor.Tensor{x, ints(-2), ints(far), ints(-1)}, ten[float32](sh(3, 2), 2, 3, 6, 7, 10, 11)},
		{"step 2", node("Slice"), []*tensor.Tensor{x, ints(0), ints(4), ints(1), ints(3)}, ten[float32](sh(3, 2), 0, 3, 4, 7, 8, 11)},
		{"backwards", node("Slice"), []*tensor.Tensor{ints(1, 2, 3, 4), ints(-1), ints(-far), ints(0), ints(-1)}, ints(4, 3, 2, 1)},
		{"backwards by 2", node("Slice"), []*tensor.Tensor{ints(1, 2, 3, 4), ints(20), ints(0), ints(0), ints(-2)}, ints(4, 2)},
		{"the lowest end", node("Slice"), []*tensor.Tensor{ints(1, 2), ints(1), ints(-far - 1), ints(0), ints(-1)}, ints(2, 1)},
		{"nothing", node("Slice"), []*tensor.Tensor{ints(1, 2), ints(2), ints(1)}, ints()},
		{"beyond the end", node("Slice"), []*tensor.Tensor{ints(1, 2), ints(9), ints(12)}, ints()},
		{"a great step", node("Slice"), []*tensor.Tensor{ints(1, 2), ints(0), ints(far), ints(0), ints(far)}, ints(1)},
		{"int32 lists", node("Slice"), []*tensor.Tensor{ints(1, 2, 3), tensor.Of[int32](1), tensor.Of[int32](2)}, ints(2)},
		{"attributes", at(9, node("Slice", attrInts("starts", 1), attrInts("ends", -1), attrInts("axes", 1))),
			[]*tensor.Tensor{x}, ten[float32](sh(3, 2), 1, 2, 5, 6, 9, 10)},
		{"strings", node("Slice"), []*tensor.Tensor{tensor.Of("a", "b", "c"), ints(1), ints(3)}, tensor.Of("b", "c")},
		{"nibbles", node("Slice"), []*tensor.Tensor{raw(t, tensor.Uint4, sh(4), 0x21, 0x43), ints(1), ints(4)},
			raw(t, tensor.Uint4, sh(3), 0x32, 0x04)},
		{"of nothing", node("Slice"), []*tensor.Tensor{ten[int8](sh(0, 2)), ints(0), ints(far)}, ten[int8](sh(0, 2))},
		{"of nothing, backwards", node("Slice"), []*tensor.Tensor{ten[int8](sh(0)), ints(-1), ints(-9), ints(0), ints(-1)}, ten[int8](sh(0))},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, runNode(t, c.n, c.in...)[0], c.want, 0) })
	}
	for _, in := range [][]*tensor.Tensor{
		{x, ints(0), ints(1), ints(2)}, {x, ints(0), ints(1), ints(0), ints(0)}, {x, ints(0, 1), ints(1)},
		{x, ints(0, 0), ints(1, 1), ints(1, -1)},
	} {
		if _, err := attempt(t, node("Slice"), in...); err == nil {
			t.Errorf("%v: got no error", in)
		}
	}
}

func TestPad(t *testing.T) {
	x := iota32(2, 3)
	mode := func(m string) *graph.Node { return node("Pad", attrStr("mode", m)) }
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
		want *tensor.Tensor
	}{
		{"zeros", node("Pad"), []*tensor.Tensor{x, ints(0, 1, 1, 0)}, ten[float32](sh(3, 4), 0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0)},
		{"a value", node("Pad"), []*tensor.Tensor{ints(1, 2), ints(1, 1), tensor.Scalar[int64](9)}, ints(9, 1, 2, 9)},
		{"an axis", node("Pad"), []*tensor.Tensor{x, ints(1, 0), nil, ints(-1)}, ten[float32](sh(2, 4), 0, 0, 1, 2, 0, 3, 4, 5)},
		{"less", node("Pad"), []*tensor.Tensor{ints(1, 2, 3), ints(-1, 2)}, ints(2, 3, 0, 0)},
		{"edge", mode("edge"), []*tensor.Tensor{ints(1, 2, 3), ints(2, 1)}, ints(1, 1, 1, 2, 3, 3)},
		{"reflect", mode("reflect"), []*tensor.Tensor{ints(1, 2, 3), ints(2, 2)}, ints(3, 2, 1, 2, 3, 2, 1)},
		{"reflect far", mode("reflect"), []*tensor.Tensor{ints(1, 2), ints(3, 0)}, ints(2, 1, 2, 1, 2)},
		{"reflect one", mode("reflect"), []*tensor.Tensor{ints(7), ints(1, 1)}, ints(7, 7, 7)},
		{"wrap", mode("wrap"), []*tensor.Tensor{ints(1, 2, 3), ints(4, 1)}, ints(3, 1, 2, 3, 1, 2, 3, 1)},
		{"wrap less", mode("wrap"), []*tensor.Tensor{ints(1, 2, 3), ints(-1, 2)}, ints(2, 3, 2, 3)},
		{"edge of two", mode("edge"), []*tensor.Tensor{iota32(1, 2), ints(1, 0, 0, 1)}, ten[float32](sh(2, 3), 0, 1, 1, 0, 1, 1)},
		{"attributes", at(9, node("Pad", attrInts("pads", 0, 1), attrFloat("value", 2.5))),
			[]*tensor.Tensor{tensor.Of[float32](1)}, tensor.Of[float32](1, 2.5)},
		{"strings", node("Pad"), []*tensor.Tensor{tensor.Of("a"), ints(1, 0)}, tensor.Of("", "a")},
		{"of nothing", node("Pad"), []*tensor.Tensor{ints(), ints(1, 1), tensor.Scalar[int64](4)}, ints(4, 4)},
		{"nibbles", node("Pad"), []*tensor.Tensor{raw(t, tensor.Uint4, sh(1), 0x05), ints(1, 1)}, raw(t, tensor.Uint4, sh(3), 0x50, 0)},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, runNode(t, c.n, c.in...)[0], c.want, 0) })
	}
	for _, c := range []struct {
		n  *graph.Node
		in []*tensor.Tensor
	}{
		{node("Pad"), []*tensor.Tensor{x, ints(1, 1)}},
		{node("Pad"), []*tensor.Tensor{ints(1), ints(-1, -1)}},
		{mode("mirror"), []*tensor.Tensor{ints(1), ints(1, 1)}},
		{mode("edge"), []*tensor.Tensor{ints(), ints(1, 1)}},
	} {
		if _, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%v: got no error", c.in)
		}
	}
}

func TestTile(t *testing.T) {
	for _, c := range []struct{ in, repeats, want *tensor.Tensor }{
		{iota32(2, 2), ints(1, 2), ten[float32](sh(2, 4), 0, 1, 0, 1, 2, 3, 2, 3)},
		{iota32(1, 2), ints(2, 2), ten[float32](sh(2, 4), 0, 1, 0, 1, 0, 1, 0, 1)},
		{tensor.Of("a", "b"), ints(2), tensor.Of("a", "b", "a", "b")},
		{ints(1), ints(0), ints()},
		{ten[int64](sh(0, 2)), ints(3, 2), ten[int64](sh(0, 4))},
		{tensor.Scalar[int64](4), ints(), tensor.Scalar[int64](4)},
	} {
		same(t, runNode(t, node("Tile"), c.in, c.repeats)[0], c.want, 0)
	}
	for _, repeats := range []*tensor.Tensor{ints(1), ints(1, -1)} {
		if _, err := attempt(t, node("Tile"), iota32(2, 2), repeats); err == nil {
			t.Errorf("%v: got no error", show(repeats))
		}
	}
}

func TestTrilu(t *testing.T) {
	x := ten[int64](sh(2, 2, 3), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6)
	k := func(v int64) *tensor.Tensor { return tensor.Scalar(v) }
	for _, c := range []struct {
		n    *graph.Node
		in   []*tensor.Tensor
		want []int64
	}{
		{node("Trilu"), []*tensor.Tensor{x}, []int64{1, 2, 3, 0, 5, 6}},
		{node("Trilu"), []*tensor.Tensor{x, k(1)}, []int64{0, 2, 3, 0, 0, 6}},
		{node("Trilu", attrInt("upper", 0)), []*tensor.Tensor{x}, []int64{1, 0, 0, 4, 5, 0}},
		{node("Trilu", attrInt("upper", 0)), []*tensor.Tensor{x, k(-1)}, []int64{0, 0, 0, 4, 0, 0}},
		{node("Trilu", attrInt("upper", 0)), []*tensor.Tensor{x, k(1 << 40)}, []int64{1, 2, 3, 4, 5, 6}},
		{node("Trilu"), []*tensor.Tensor{x, k(9)}, []int64{0, 0, 0, 0, 0, 0}},
	} {
		same(t, runNode(t, c.n, c.in...)[0], ten(sh(2, 2, 3), append(c.want, c.want...)...), 0)
	}
	empty := ten[int64](sh(0, 3))
	same(t, runNode(t, node("Trilu"), empty)[0], empty, 0)
	if _, err := attempt(t, node("Trilu"), ints(1)); err == nil {
		t.Error("one dimension: got no error")
	}
}

func TestReverseSequence(t *testing.T) {
	x := iota32(3, 2)
	same(t, runNode(t, node("ReverseSequence"), x, ints(3, 2))[0], ten[float32](sh(3, 2), 4, 3, 2, 1, 0, 5), 0)
	byRow := node("ReverseSequence", attrInt("time_axis", 1), attrInt("batch_axis", 0))
	same(t, runNode(t, byRow, iota32(2, 3), ints(2, 3))[0], ten[float32](sh(2, 3), 1, 0, 2, 5, 4, 3), 0)
	if _, err := attempt(t, node("ReverseSequence"), x, ints(4, 2)); err == nil {
		t.Error("a sequence longer than the tensor: got no error")
	}
	if _, err := attempt(t, node("ReverseSequence", attrInt("time_axis", 1)), x, ints(4, 2)); err == nil {
		t.Error("one axis twice: got no error")
	}
}

func TestDepthAndSpace(t *testing.T) {
	x := iota32(1, 8, 1, 2)
	dcr := runNode(t, node("DepthToSpace", attrInt("blocksize", 2)), x)[0]
	same(t, dcr, ten[float32](sh(1, 2, 2, 4), 0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15), 0)
	same(t, runNode(t, node("SpaceToDepth", attrInt("blocksize", 2)), dcr)[0], x, 0)
	crd := runNode(t, node("DepthToSpace", attrInt("blocksize", 2), attrStr("mode", "CRD")), x)[0]
	same(t, crd, ten[float32](sh(1, 2, 2, 4), 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15), 0)
	for _, n := range []*graph.Node{
		node("DepthToSpace", attrInt("blocksize", 3)), node("DepthToSpace"), node("SpaceToDepth", attrInt("blocksize", 2)),
		node("DepthToSpace", attrInt("blocksize", 2), attrStr("mode", "RDC")),
	} {
		if _, err := attempt(t, n, x); err == nil {
			t.Errorf("%s: got no error", n.Op)
		}
	}
}

func TestCenterCropPad(t *testing.T) {
	for _, c := range []struct {
		n            *graph.Node
		in, to, want *tensor.Tensor
	}{
		{node("CenterCropPad"), ints(1, 2, 3, 4), ints(2), ints(2, 3)},
		{node("CenterCropPad"), ints(1, 2, 3, 4), ints(1), ints(2)},
		{node("CenterCropPad"), ints(1, 2), ints(5), ints(0, 1, 2, 0, 0)},
		{node("CenterCropPad", attrInts("axes", -1)), iota32(2, 3), ints(1), ten[float32](sh(2, 1), 1, 4)},
		{node("CenterCropPad"), iota32(1, 3), ints(2, 1), ten[float32](sh(2, 1), 1, 0)},
	} {
		same(t, runNode(t, c.n, c.in, c.to)[0], c.want, 0)
	}
}
