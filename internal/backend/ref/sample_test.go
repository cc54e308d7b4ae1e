package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func gridNode(mode, padding string, corners int64) *graph.Node {
	return node("GridSample", attrStr("mode", mode), attrStr("padding_mode", padding), attrInt("align_corners", corners))
}

func TestGridSample(t *testing.T) {
	x := image(1, 3, 1, 2, 3)
	for _, c := range []struct {
		name     string
		n        *graph.Node
		at, want []float32
	}{
		{"between elements", gridNode("linear", "zeros", 1), []float32{-1, 0, 0.5, 2}, []float32{1, 2, 2.5, 0}},
		{"half outside", gridNode("bilinear", "zeros", 0), []float32{0, 1}, []float32{2, 1.5}},
		{"held at the border", gridNode("linear", "border", 0), []float32{1, 5, -5, inf}, []float32{3, 3, 1, 3}},
		{"mirrored at corners", gridNode("linear", "reflection", 1), []float32{2, 3, -3, 5}, []float32{2, 1, 3, 3}},
		{"mirrored at edges", gridNode("linear", "reflection", 0), []float32{1, 5. / 3}, []float32{3, 2.5}},
		{"ties to even", gridNode("nearest", "zeros", 1), []float32{-0.5, 0.5}, []float32{1, 3}},
		{"nearest", gridNode("nearest", "zeros", 1), []float32{0.4, 0.6, 1.4, 1.6}, []float32{2, 3, 3, 0}},
		{"cubic", gridNode("cubic", "border", 1), []float32{-1, 0, 1}, []float32{1, 2, 3}},
		{"cubic by its old name", at(16, gridNode("bicubic", "zeros", 1)), []float32{0.5}, []float32{2.875}},
		{"a NaN", gridNode("nearest", "border", 1), []float32{nan}, []float32{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			grid := make([]float32, 0, 2*len(c.at))
			for _, v := range c.at {
				grid = append(grid, v, 0)
			}
			k := int64(len(c.at))
			same(t, runNode(t, c.n, x, ten(sh(1, 1, k, 2), grid...))[0], image(1, k, c.want...), 1e-6)
		})
	}
}

func TestGridSampleOfVolumes(t *testing.T) {
	x := ten[float64](sh(1, 2, 1, 1, 2), 1, 3, 10, 30)
	grid := ten[float32](sh(1, 1, 1, 1, 3), 0, 0, 0)
	same(t, runNode(t, gridNode("linear", "zeros", 0), x, grid)[0], ten[float64](sh(1, 2, 1, 1, 1), 2, 20), 1e-9)
	n := gridNode("linear", "border", 0)
	if _, err := attempt(t, n, x, ten[float32](sh(2, 1, 1, 1, 3), 0, 0, 0, 0, 0, 0)); err == nil {
		t.Error("another batch: got no error")
	}
	if _, err := attempt(t, n, ten[float32](sh(1, 1, 0)), ten[float32](sh(1, 1, 1), 0)); err == nil {
		t.Error("an empty image: got no error")
	}
}

func TestAffineGrid(t *testing.T) {
	theta := ten[float32](sh(1, 2, 3), 1, 0, 10, 0, 2, 20)
	size := tensor.Of[int64](1, 1, 2, 2)
	same(t, runNode(t, node("AffineGrid"), theta, size)[0],
		ten[float32](sh(1, 2, 2, 2), 9.5, 19, 10.5, 19, 9.5, 21, 10.5, 21), 1e-6)
	same(t, runNode(t, node("AffineGrid", attrInt("align_corners", 1)), theta, size)[0],
		ten[float32](sh(1, 2, 2, 2), 9, 18, 11, 18, 9, 22, 11, 22), 1e-6)
	same(t, runNode(t, node("AffineGrid"), ten[float32](sh(1, 3, 4), 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5),
		tensor.Of[int64](1, 1, 1, 1, 2))[0], ten[float32](sh(1, 1, 1, 2, 3), -0.5, 0, 5, 0.5, 0, 5), 1e-6)
	for name, s := range map[string]*tensor.Tensor{
		"negative": tensor.Of[int64](1, 1, -2, 2), "too short": tensor.Of[int64](1, 2, 2), "another batch": tensor.Of[int64](2, 1, 2, 2),
	} {
		if _, err := attempt(t, node("AffineGrid"), theta, s); err == nil {
			t.Errorf("size %s: got no error", name)
		}
	}
}

func TestRoiAlign(t *testing.T) {
	x := image(2, 4, 0, 1, 2, 3, 4, 5, 6, 7)
	first := tensor.Of[int64](0)
	n := func(version int, more ...graph.Attr) *graph.Node {
		return at(version, node("RoiAlign", append(more, attrInt("output_width", 2))...))
	}
	box := ten[float32](sh(1, 4), 0, 0, 4, 2)
	same(t, runNode(t, n(16), x, box, first)[0], image(1, 2, 2.5, 4.5), 1e-6)
	same(t, runNode(t, n(10, attrInt("sampling_ratio", 1)), x, box, first)[0], image(1, 2, 5, 7), 1e-6)
	same(t, runNode(t, n(16, attrStr("mode", "max")), x, box, first)[0], image(1, 2, 5, 7), 1e-6)
	same(t, runNode(t, n(16), x, ten[float32](sh(0, 4)), ten[int64](sh(0)))[0], ten[float32](sh(0, 1, 1, 2)), 0)
	same(t, runNode(t, n(16), x, ten[float32](sh(1, 4), 50, 50, 60, 60), first)[0], image(1, 2, 0, 0), 0)
	for name, in := range map[string][]*tensor.Tensor{
		"no such image":    {x, box, tensor.Of[int64](1)},
		"a NaN":            {x, ten(sh(1, 4), nan, 0, 1, 1), first},
		"an endless box":   {x, ten[float32](sh(1, 4), 0, 0, 3e38, 1), first},
		"too many indices": {x, box, tensor.Of[int64](0, 0)},
	} {
		if out, err := attempt(t, n(16), in...); err == nil {
			t.Errorf("%s: got %s, want an error", name, show(out[0]))
		}
	}
}

func TestMaxRoiPool(t *testing.T) {
	x := image(3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	n := node("MaxRoiPool", attrInts("pooled_shape", 1, 2))
	same(t, runNode(t, n, x, ten[float32](sh(2, 5), 0, 0, 0, 1, 1, 0, 9, 9, 9, 9))[0],
		ten[float32](sh(2, 1, 1, 2), 4, 5, 0, 0), 0)
	for _, box := range [][]float32{{1, 0, 0, 1, 1}, {nan, 0, 0, 1, 1}, {0, 0, 0, inf, 1}} {
		if _, err := attempt(t, n, x, ten(sh(1, 5), box...)); err == nil {
			t.Errorf("region %v: got no error", box)
		}
	}
}

func TestCol2Im(t *testing.T) {
	x := ten[float32](sh(1, 4, 2), 1, 2, 3, 4, 5, 6, 7, 8)
	image23, block := tensor.Of[int64](2, 3), tensor.Of[int64](2, 2)
	same(t, runNode(t, node("Col2Im"), x, image23, block)[0], ten[float32](sh(1, 1, 2, 3), 1, 5, 4, 5, 13, 8), 0)
	padded := node("Col2Im", attrInts("pads", 0, 1, 0, 1), attrInts("strides", 1, 2))
	same(t, runNode(t, padded, x, tensor.Of[int64](2, 2), block)[0], ten[float32](sh(1, 1, 2, 2), 3, 2, 7, 6), 0)
	for name, n := range map[string]*graph.Node{
		"another number of places": node("Col2Im", attrInts("strides", 1, 3)),
		"a stride of 0":            node("Col2Im", attrInts("strides", 0, 1)),
		"too few pads":             node("Col2Im", attrInts("pads", 1)),
	} {
		if _, err := attempt(t, n, x, image23, block); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, err := attempt(t, node("Col2Im"), x, image23, tensor.Of[int64](0, 2)); err == nil {
		t.Error("an empty block: got no error")
	}
}
