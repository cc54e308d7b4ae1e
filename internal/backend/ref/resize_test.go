package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// image is one channel of one picture.
func image(h, w int64, data ...float32) *tensor.Tensor { return ten(sh(1, 1, h, w), data...) }

func TestResizeByVersion10(t *testing.T) {
	x := image(2, 2, 1, 2, 3, 4)
	big := image(4, 4, 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4)
	scales := tensor.Of[float32](1, 1, 2, 2)
	same(t, runNode(t, at(10, node("Resize")), x, scales)[0], big, 0)
	same(t, runNode(t, at(9, node("Upsample")), x, scales)[0], big, 0)
	same(t, runNode(t, at(7, node("Upsample", attrFloats("scales", 1, 1, 2, 2))), x)[0], big, 0)
	same(t, runNode(t, at(9, node("Upsample", attrStr("mode", "linear"))), image(1, 2, 1, 3), scales)[0],
		image(2, 4, 1, 2, 3, 3, 1, 2, 3, 3), 1e-6)
}

func TestResizeCoordinates(t *testing.T) {
	for _, c := range []struct {
		mode, coord string
		scale       float32
		in, want    []float32
	}{
		{"nearest", "half_pixel", 2, []float32{1, 2}, []float32{1, 1, 2, 2}},
		{"nearest", "asymmetric", 0.5, []float32{1, 2, 3, 4}, []float32{1, 3}},
		{"nearest", "tf_half_pixel_for_nn", 2, []float32{1, 2, 3}, []float32{1, 2, 2, 3, 3, 3}},
		{"linear", "half_pixel", 2, []float32{1, 2}, []float32{1, 1.25, 1.75, 2}},
		{"linear", "asymmetric", 2, []float32{1, 2}, []float32{1, 1.5, 2, 2}},
		{"linear", "align_corners", 2, []float32{1, 4}, []float32{1, 2, 3, 4}},
		{"linear", "pytorch_half_pixel", 0.5, []float32{1, 3}, []float32{1}},
		{"linear", "half_pixel", 0.5, []float32{1, 3}, []float32{2}},
		{"linear", "align_corners", 0.5, []float32{1, 3}, []float32{1}},
		{"cubic", "asymmetric", 2, []float32{1, 1, 1, 1}, []float32{1, 1, 1, 1, 1, 1, 1, 1}},
		{"cubic", "half_pixel", 1, []float32{5, 7}, []float32{5, 7}},
	} {
		t.Run(c.mode+" "+c.coord, func(t *testing.T) {
			n := func() *graph.Node {
				return node("Resize", attrStr("mode", c.mode), attrStr("coordinate_transformation_mode", c.coord))
			}
			x := tensor.Of(c.in...)
			same(t, runNode(t, n(), x, nil, tensor.Of(c.scale))[0], tensor.Of(c.want...), 1e-6)
			out := int64(len(c.want))
			bySize := runNode(t, n(), x, nil, ten[float32](sh(0)), tensor.Of(out))[0]
			same(t, bySize, tensor.Of(c.want...), 1e-6)
			column := runNode(t, n(), ten(sh(int64(len(c.in)), 1), c.in...), nil, nil, tensor.Of(out, 1))[0]
			same(t, column, ten(sh(out, 1), c.want...), 1e-6)
		})
	}
}

func TestResizeNearestModes(t *testing.T) {
	for mode, want := range map[string][]float32{
		"round_prefer_floor": {1, 1, 2, 3}, "round_prefer_ceil": {1, 2, 2, 3}, "floor": {1, 1, 2, 3}, "ceil": {1, 2, 3, 3},
	} {
		got := runNode(t, node("Resize", attrStr("nearest_mode", mode), attrStr("coordinate_transformation_mode",
			"align_corners")), tensor.Of[float32](1, 2, 3), nil, nil, tensor.Of[int64](4))
		if mode == "round_prefer_floor" || mode == "round_prefer_ceil" {
			want = []float32{1, 2, 2, 3}
		}
		same(t, got[0], tensor.Of(want...), 0)
	}
	tie := []int64{2}
	for mode, want := range map[string][]float32{
		"round_prefer_floor": {1, 3}, "round_prefer_ceil": {2, 4}, "floor": {1, 3}, "ceil": {2, 4},
	} {
		n := node("Resize", attrStr("nearest_mode", mode))
		got := runNode(t, n, tensor.Of[float32](1, 2, 3, 4), nil, nil, tensor.Of(tie...))
		same(t, got[0], tensor.Of(want...), 0)
	}
}

func TestResizeSomeAxesOfAnyType(t *testing.T) {
	x := ten[uint8](sh(1, 2, 2), 1, 2, 3, 4)
	n := node("Resize", attrInts("axes", 1))
	same(t, runNode(t, n, x, nil, tensor.Of[float32](2))[0], ten[uint8](sh(1, 4, 2), 1, 2, 1, 2, 3, 4, 3, 4), 0)
	same(t, runNode(t, node("Resize"), ten(sh(1), true), nil, tensor.Of[float32](3))[0], tensor.Of(true, true, true), 0)
	n = node("Resize", attrStr("mode", "linear"), attrInts("axes", -1))
	same(t, runNode(t, n, ten[uint8](sh(1, 2), 0, 100), nil, tensor.Of[float32](2))[0],
		ten[uint8](sh(1, 4), 0, 25, 75, 100), 0)
	h := tensor.HalfOf
	same(t, runNode(t, n, ten(sh(1, 2), h(0), h(1)), nil, tensor.Of[float32](2))[0],
		ten(sh(1, 4), h(0), h(0.25), h(0.75), h(1)), 0)
}

func TestResizeKeepsTheAspectRatio(t *testing.T) {
	x := image(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)
	for policy, want := range map[string]tensor.Shape{
		"stretch": sh(1, 1, 7, 8), "not_larger": sh(1, 1, 4, 8), "not_smaller": sh(1, 1, 7, 14),
	} {
		got := runNode(t, node("Resize", attrInts("axes", 2, 3), attrStr("keep_aspect_ratio_policy", policy)),
			x, nil, nil, tensor.Of[int64](7, 8))
		if !got[0].Shape().Equal(want) {
			t.Errorf("%s: got %v, want %v", policy, got[0].Shape(), want)
		}
	}
}

func TestResizeOutsideTheRegion(t *testing.T) {
	n := func(mode string) *graph.Node {
		return node("Resize", attrStr("mode", mode), attrStr("coordinate_transformation_mode", "tf_crop_and_resize"),
			attrFloat("extrapolation_value", -1))
	}
	x, sizes := tensor.Of[float32](0, 10, 20), tensor.Of[int64](3)
	same(t, runNode(t, n("linear"), x, tensor.Of[float32](0.5, 1.5), nil, sizes)[0], tensor.Of[float32](10, 20, -1), 1e-6)
	same(t, runNode(t, n("nearest"), x, tensor.Of[float32](-0.5, 0.5), nil, sizes)[0], tensor.Of[float32](-1, 0, 10), 1e-6)
	same(t, runNode(t, n("linear"), ten[float32](sh(3, 1), 0, 10, 20), tensor.Of[float32](0.5, 0, 1.5, 1), nil,
		tensor.Of[int64](3, 1))[0], ten[float32](sh(3, 1), 10, 20, -1), 1e-6)
}

func TestResizeAntialiasAverages(t *testing.T) {
	n := node("Resize", attrStr("mode", "linear"), attrInt("antialias", 1))
	same(t, runNode(t, n, tensor.Of[float32](8, 0, 8, 0, 8, 0, 8, 0), nil, tensor.Of[float32](0.5))[0],
		tensor.Of[float32](5, 4, 4, 3), 1e-6)
}

func TestResizeOfNothing(t *testing.T) {
	got := runNode(t, node("Resize"), ten[float32](sh(0, 2)), nil, tensor.Of[float32](2, 2))
	same(t, got[0], ten[float32](sh(0, 4)), 0)
	got = runNode(t, node("Resize", attrStr("mode", "linear")), tensor.Of[float32](1, 2), nil, nil, tensor.Of[int64](0))
	same(t, got[0], ten[float32](sh(0)), 0)
	if _, err := attempt(t, node("Resize"), ten[float32](sh(0)), nil, nil, tensor.Of[int64](3)); err == nil {
		t.Error("something out of nothing: got no error")
	}
}

func TestResizeRefusesBadScales(t *testing.T) {
	x := tensor.Of[float32](1, 2)
	for name, in := range map[string][]*tensor.Tensor{
		"zero": {x, nil, tensor.Of[float32](0)}, "NaN": {x, nil, tensor.Of(nan)}, "negative": {x, nil, tensor.Of[float32](-1)},
		"too many": {x, nil, tensor.Of[float32](1, 1)}, "infinite": {x, nil, tensor.Of(inf)},
		"huge": {x, nil, tensor.Of[float32](3e38)}, "size": {x, nil, nil, tensor.Of[int64](-1)}, "none": {x},
	} {
		if out, err := attempt(t, node("Resize"), in...); err == nil {
			t.Errorf("%s: got %v, want an error", name, out[0])
		}
	}
}
