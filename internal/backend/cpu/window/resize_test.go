package window

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

var coordinates = []string{"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners",
	"tf_half_pixel_for_nn"}

// TestResizeByScales tries all ways to find coordinates and to round them.
func TestResizeByScales(t *testing.T) {
	for i, scales := range [][]float32{{1, 1, 2, 2}, {1, 1, 4, 3}, {1, 1, 1, 2.5}, {1, 1, 0.5, 0.3}, {1, 1, 1.7, 1}} {
		for _, coordinate := range coordinates {
			for _, mode := range []string{"nearest", "linear", "cubic"} {
				attrs := []graph.Attr{twin.Str("mode", mode), twin.Str("coordinate_transformation_mode", coordinate)}
				if mode == "nearest" {
					attrs = append(attrs, twin.Str("nearest_mode",
						[]string{"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}[i%4]))
				} else {
					attrs = append(attrs, twin.Int("exclude_outside", int64(i%2)))
				}
				compare(t, Resize, &twin.Case{Node: twin.Node("Resize", 1, attrs...), Rel: 1e-5, Abs: 1e-5, Fed: []int{0},
					In: []*tensor.Tensor{twin.Floats(1, 2, 17, 5, 7), nil, tensor.Must(tensor.Shape{4}, scales)}})
			}
		}
	}
}

func TestResizeBySizes(t *testing.T) {
	for _, s := range []struct{ in, out tensor.Shape }{
		{tensor.Shape{1, 3, 6, 9}, tensor.Shape{1, 3, 12, 5}}, {tensor.Shape{2, 9, 11}, tensor.Shape{2, 9, 30}},
		{tensor.Shape{1, 4, 3, 2, 5}, tensor.Shape{1, 4, 3, 1, 10}}, {tensor.Shape{1, 4, 1, 1}, tensor.Shape{1, 4, 3, 3}},
	} {
		for _, mode := range []string{"nearest", "linear"} {
			if mode == "linear" && len(s.in) == 5 {
				continue
			}
			n := twin.Node("Resize", 1, twin.Str("mode", mode))
			compare(t, Resize, &twin.Case{Node: n, Rel: 1e-5, Abs: 1e-5, Fed: []int{0}, In: []*tensor.Tensor{
				twin.Floats(1, s.in...), nil, nil, tensor.Must(tensor.Shape{int64(len(s.out))}, []int64(s.out))}})
		}
	}
}

// TestResizeCopiesAnyType takes elements of every size, and an old version's rules.
func TestResizeCopiesAnyType(t *testing.T) {
	scales := tensor.Must(tensor.Shape{4}, []float32{1, 1, 3, 0.5})
	for _, dt := range []tensor.DType{tensor.Uint8, tensor.Float16, tensor.Int32, tensor.Float64, tensor.Complex128} {
		x, err := tensor.Zeros(dt, tensor.Shape{1, 3, 4, 6})
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(i % 60)
		}
		n := twin.Node("Resize", 1)
		n.Version = 10
		compare(t, Resize, &twin.Case{Node: n, Fed: []int{0}, In: []*tensor.Tensor{x, scales}})
	}
}

func TestUpsample(t *testing.T) {
	for _, mode := range []string{"nearest", "linear"} {
		n := twin.Node("Upsample", 1, twin.Str("mode", mode))
		n.Version = 9
		compare(t, Resize, &twin.Case{Node: n, Fed: []int{0}, Rel: 1e-5, Abs: 1e-5, In: []*tensor.Tensor{
			twin.Floats(1, 1, 5, 4, 6), tensor.Must(tensor.Shape{4}, []float32{1, 1, 2, 3})}})
	}
}

// TestResizeLeavesTheRest names what has no kernel here.
func TestResizeLeavesTheRest(t *testing.T) {
	scales := tensor.Must(tensor.Shape{4}, []float32{1, 2, 2, 1})
	c := twin.Case{Node: twin.Node("Resize", 1), Fed: []int{0},
		In: []*tensor.Tensor{twin.Floats(1, 1, 2, 3, 4), nil, scales}}
	names := twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return Resize(simd.Generic, o) })
	if len(names) > 0 {
		t.Errorf("channels resized: got kernels %q, want none", names)
	}
}

func BenchmarkResize(b *testing.B) {
	for _, mode := range []string{"nearest", "linear"} {
		n := twin.Node("Resize", 1, twin.Str("mode", mode), twin.Str("coordinate_transformation_mode", "asymmetric"))
		o := opOf(b, n, twin.Floats(1, 1, 64, 40, 40), tensor.Must(tensor.Shape{0}, []float32{}),
			tensor.Must(tensor.Shape{4}, []float32{1, 1, 2, 2}))
		bench(b, mode+" 64×40²×2", Resize, o, 0)
	}
}
