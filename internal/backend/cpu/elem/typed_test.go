package elem

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// plain is the level of kernels that are the same on all.
var plain = []simd.Level{simd.Generic}

// numbers returns a tensor of a type with small numbers, and limits of the type among them.
func numbers(t *testing.T, dt tensor.DType, seed uint64, s tensor.Shape) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Zeros(dt, s)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, uint64(dt)))
	for i := range x.Len() {
		switch v := r.IntN(9) - 4; dt {
		case tensor.Float32:
			odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e30, -1e30, 1 << 31, 3.7, -2.5}
			tensor.Cast[float32](x.Bytes())[i] = float32(v)
			if r.IntN(9) == 0 {
				tensor.Cast[float32](x.Bytes())[i] = odd[r.IntN(len(odd))]
			}
		case tensor.Int64:
			odd := []int64{math.MaxInt64, math.MinInt64, 1 << 33, 16777217}
			tensor.Cast[int64](x.Bytes())[i] = int64(v)
			if r.IntN(9) == 0 {
				tensor.Cast[int64](x.Bytes())[i] = odd[r.IntN(len(odd))]
			}
		case tensor.Int32:
			tensor.Cast[int32](x.Bytes())[i] = int32(v)
			if r.IntN(9) == 0 {
				tensor.Cast[int32](x.Bytes())[i] = math.MinInt32
			}
		default:
			x.Bytes()[i] = byte(max(v, 0))
		}
	}
	return x
}

func TestComparisons(t *testing.T) {
	for _, name := range []string{"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"} {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Int64, tensor.Int32, tensor.Uint8} {
			for i, s := range broadcasts[:18] {
				if dt != tensor.Float32 && i%3 > 0 {
					continue
				}
				for _, swap := range []bool{false, true} {
					a, b := s[0], s[1]
					if swap {
						a, b = b, a
					}
					in := []*tensor.Tensor{numbers(t, dt, uint64(i), a), numbers(t, dt, 99, b)}
					checkOn(t, plain, Compare, &twin.Case{Node: twin.Node(name, 1), In: in, Fed: []int{0, 1}})
				}
			}
		}
	}
}

func TestWhere(t *testing.T) {
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Int64, tensor.Bool, tensor.Float16} {
		for i, s := range [][3]tensor.Shape{{{3, 4}, {3, 4}, {3, 4}}, {{3, 4}, {}, {}}, {{3, 4}, {}, {3, 4}}, {{3, 4}, {3, 4}, {1}},
			{{1, 1, 5, 7}, {2, 3, 5, 7}, {}}, {{2, 1, 1, 7}, {}, {2, 3, 5, 7}}, {{2, 1}, {2, 9}, {1}}, {{}, {4}, {5, 1}}, {{1}, {}, {7}},
			{{0}, {1}, {0}}, {{300, 300}, {300, 300}, {}}} {
			in := []*tensor.Tensor{numbers(t, tensor.Bool, uint64(i), s[0]), numbers(t, dt, 1, s[1]), numbers(t, dt, 2, s[2])}
			checkOn(t, plain, Where, &twin.Case{Node: twin.Node("Where", 1), In: in, Fed: all(3)})
		}
	}
}

func TestIntegersAndBooleans(t *testing.T) {
	for i, s := range broadcasts[:18] {
		for _, dt := range []tensor.DType{tensor.Int64, tensor.Int32} {
			for _, name := range []string{"Add", "Sub", "Mul", "Div", "Min", "Max"} {
				in := []*tensor.Tensor{numbers(t, dt, uint64(i), s[0]), numbers(t, dt, 99, s[1])}
				checkOn(t, plain, Integer, &twin.Case{Node: twin.Node(name, 1), In: in, Fed: []int{0, 1}})
			}
		}
		for _, name := range []string{"And", "Or", "Xor"} {
			in := []*tensor.Tensor{numbers(t, tensor.Bool, uint64(i), s[0]), numbers(t, tensor.Bool, 99, s[1])}
			checkOn(t, plain, Integer, &twin.Case{Node: twin.Node(name, 1), In: in, Fed: []int{0, 1}})
		}
		in := []*tensor.Tensor{numbers(t, tensor.Bool, uint64(i), s[0])}
		checkOn(t, plain, Not, &twin.Case{Node: twin.Node("Not", 1), In: in, Fed: []int{0}})
	}
}

func TestCasts(t *testing.T) {
	from := []tensor.DType{tensor.Float32, tensor.Bool, tensor.Uint8, tensor.Int8, tensor.Int32, tensor.Int64}
	for _, dt := range from {
		for _, to := range []tensor.DType{tensor.Float32, tensor.Int32, tensor.Int64, tensor.Bool} {
			if dt == to {
				continue
			}
			for _, s := range []tensor.Shape{{}, {0}, {3, 7}, {50000}} {
				in := []*tensor.Tensor{numbers(t, dt, 1, s)}
				checkOn(t, plain, Cast, &twin.Case{Node: twin.Node("Cast", 1, twin.Int("to", int64(to))), In: in, Fed: []int{0}})
			}
		}
	}
}
