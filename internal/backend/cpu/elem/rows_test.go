package elem

import (
	"math"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestSoftmax(t *testing.T) {
	for _, name := range []string{"Softmax", "LogSoftmax"} {
		for _, s := range []tensor.Shape{{}, {1}, {7}, {3, 1000}, {2, 5, 33}, {600, 2}, {1030, 3}, {2, 4, 300}, {0, 3},
			{9, 2500}} {
			for axis := range max(len(s), 1) {
				if len(s) == 0 && name == "LogSoftmax" {
					continue
				}
				x := twin.Floats(uint64(axis), s...)
				for i := range tensor.Cast[float32](x.Bytes()) {
					tensor.Cast[float32](x.Bytes())[i] *= 9
				}
				n := twin.Node(name, 1, twin.Int("axis", int64(axis)))
				check(t, Softmax, &twin.Case{Node: n, In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 3e-6, Abs: 2e-6})
				if len(s) > 0 {
					check(t, Softmax, &twin.Case{Node: at(11, n), In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 3e-6, Abs: 2e-6})
				}
			}
		}
	}
}

func TestSoftmaxOfInfinitiesAndNaN(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := tensor.Must(tensor.Shape{5, 3}, []float32{1, -inf, 2, inf, 0, 1, -inf, -inf, -inf, nan, 1, 2, 1e30, -1e30, 0})
	for axis := range int64(2) {
		n := twin.Node("Softmax", 1, twin.Int("axis", axis))
		check(t, Softmax, &twin.Case{Node: n, In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 1e-6})
	}
}

func TestLayerNormalization(t *testing.T) {
	for _, s := range []tensor.Shape{{1, 1}, {3, 384}, {2, 5, 33}, {4, 2, 5}, {1, 9000}, {40, 2000}} {
		for axis := 1; axis < len(s); axis++ {
			for outs := 1; outs <= 3; outs++ {
				row := s[axis:]
				in := []*tensor.Tensor{twin.Floats(1, s...), twin.Floats(2, row...), twin.Floats(3, row...)}
				n := twin.Node("LayerNormalization", outs, twin.Int("axis", int64(axis)))
				for k := 2; k <= 3; k++ {
					check(t, LayerNorm, &twin.Case{Node: n, In: in[:k], Fed: all(k), Rel: 1e-5, Abs: 1e-5})
				}
				if outs == 1 {
					n := twin.Node("RMSNormalization", 1, twin.Int("axis", int64(axis)))
					check(t, LayerNorm, &twin.Case{Node: n, In: in[:2], Fed: all(2), Rel: 1e-5, Abs: 1e-5})
				}
			}
		}
	}
}

func TestGroupNormalization(t *testing.T) {
	for _, s := range []tensor.Shape{{1, 4, 1}, {2, 6, 5, 7}, {1, 12, 40, 130}, {3, 2, 9}} {
		c := s[1]
		in := []*tensor.Tensor{twin.Floats(1, s...), twin.Floats(2, c), twin.Floats(3, c)}
		n := twin.Node("InstanceNormalization", 1)
		check(t, GroupNorm, &twin.Case{Node: n, In: in, Fed: all(3), Rel: 1e-5, Abs: 1e-4})
		n = twin.Node("GroupNormalization", 1, twin.Int("num_groups", 2))
		check(t, GroupNorm, &twin.Case{Node: n, In: in, Fed: all(3), Rel: 1e-5, Abs: 1e-5})
		in = []*tensor.Tensor{in[0], twin.Floats(2, 2), twin.Floats(3, 2)}
		check(t, GroupNorm, &twin.Case{Node: at(18, n), In: in, Fed: all(3), Rel: 1e-5, Abs: 1e-5})
	}
}

func TestLpAndLocalResponseNormalization(t *testing.T) {
	for p := int64(1); p <= 2; p++ {
		for _, s := range []tensor.Shape{{1}, {5, 7}, {3, 5000}} {
			x := twin.Floats(uint64(p), s...)
			tensor.Cast[float32](x.Bytes())[0] = 0
			n := twin.Node("LpNormalization", 1, twin.Int("p", p))
			check(t, LpNorm, &twin.Case{Node: n, In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 1e-5})
			tiny := slices.Clone(tensor.Cast[float32](x.Bytes()))
			for i := range tiny {
				tiny[i] *= 1e-37
			}
			check(t, LpNorm, &twin.Case{Node: n, In: []*tensor.Tensor{tensor.Must(s, tiny)}, Fed: []int{0}, Rel: 1e-5})
		}
	}
	for _, size := range []int64{1, 2, 3, 5, 40} {
		for _, beta := range []float32{0.75, 0.4} {
			n := twin.Node("LRN", 1, twin.Int("size", size), float("beta", beta), float("alpha", 0.5), float("bias", 2))
			check(t, LRN, &twin.Case{Node: n, In: []*tensor.Tensor{twin.Floats(1, 2, 9, 5, 130)}, Fed: []int{0}, Rel: 1e-5})
		}
	}
}

var reducers = []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2",
	"ReduceProd"}

func TestReductions(t *testing.T) {
	for _, name := range reducers {
		for _, s := range []tensor.Shape{{1}, {2000}, {3, 5, 7}, {2, 19, 6, 11}, {1, 8, 1, 3}, {130, 90}, {4, 1, 3, 2, 5}} {
			for mask := range 1 << len(s) {
				if len(s) == 5 && mask%5 > 0 {
					continue
				}
				var axes []int64
				for i := range s {
					if mask>>i&1 == 1 {
						axes = append(axes, int64(i))
					}
				}
				in := []*tensor.Tensor{twin.Floats(uint64(mask), s...), tensor.Of(axes...)}
				attrs := []graph.Attr{twin.Int("keepdims", int64(mask%3+1)/2), twin.Int("noop_with_empty_axes", int64(mask%2))}
				c := &twin.Case{Node: twin.Node(name, 1, attrs...), In: in, Fed: []int{0}, Rel: 1e-5, Abs: 1e-5}
				check(t, Reduce, c)
			}
		}
		x := twin.Odd(1, 9, 30, 17)
		for i, v := range tensor.Cast[float32](x.Bytes()) {
			if v == math.MaxFloat32 {
				// Sums and squares of such are infinite in between.
				tensor.Cast[float32](x.Bytes())[i] = 1e10
			}
		}
		for axis := range int64(2) {
			n := at(11, twin.Node(name, 1, twin.Ints("axes", axis)))
			check(t, Reduce, &twin.Case{Node: n, In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 1e-5})
		}
	}
}

func TestArgMax(t *testing.T) {
	few := tensor.Must(tensor.Shape{4, 6}, []float32{1, 2, 2, 1, 0, 2, 3, 3, 3, 3, 3, 3, -1, -2, -3, -1, 0, 0,
		5, 4, 5, 4, 5, 4})
	for _, name := range []string{"ArgMax", "ArgMin"} {
		for _, x := range []*tensor.Tensor{few, twin.Floats(1, 3, 5, 700), twin.Odd(2, 9, 6, 31), twin.Floats(3, 1)} {
			for axis := range int64(len(x.Shape())) {
				for last := range int64(2) {
					n := twin.Node(name, 1, twin.Int("axis", axis), twin.Int("select_last_index", last))
					check(t, Arg, &twin.Case{Node: n, In: []*tensor.Tensor{x}, Fed: []int{0}})
				}
			}
		}
	}
}
