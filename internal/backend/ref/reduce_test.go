package ref

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

var (
	nan  = float32(math.NaN())
	inf  = float32(math.Inf(1))
	cube = ten[float32](sh(3, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
)

func TestReduceFoldsTheNamedAxes(t *testing.T) {
	for _, c := range []struct {
		op   string
		axes []int64
		keep int64
		in   *tensor.Tensor
		want *tensor.Tensor
	}{
		{"ReduceSum", []int64{1}, 0, cube, ten[float32](sh(3, 2), 4, 6, 12, 14, 20, 22)},
		{"ReduceSum", []int64{-1}, 1, cube, ten[float32](sh(3, 2, 1), 3, 7, 11, 15, 19, 23)},
		{"ReduceSum", []int64{0, 2}, 0, cube, ten[float32](sh(2), 33, 45)},
		{"ReduceSum", []int64{2, 0}, 1, cube, ten[float32](sh(1, 2, 1), 33, 45)},
		{"ReduceMean", []int64{0}, 1, cube, ten[float32](sh(1, 2, 2), 5, 6, 7, 8)},
		{"ReduceMax", []int64{1}, 0, cube, ten[float32](sh(3, 2), 3, 4, 7, 8, 11, 12)},
		{"ReduceMax", []int64{2}, 0, cube, ten[float32](sh(3, 2), 2, 4, 6, 8, 10, 12)},
		{"ReduceMin", []int64{1, 2}, 0, cube, ten[float32](sh(3), 1, 5, 9)},
		{"ReduceProd", []int64{2}, 0, cube, ten[float32](sh(3, 2), 2, 12, 30, 56, 90, 132)},
		{"ReduceL1", []int64{0}, 0, ten[float32](sh(2, 2), -1, 2, 3, -4), ten[float32](sh(2), 4, 6)},
		{"ReduceL2", []int64{0}, 0, ten[float32](sh(2, 2), 3, 5, 4, 12), ten[float32](sh(2), 5, 13)},
		{"ReduceSumSquare", []int64{0}, 0, ten[float32](sh(2, 2), 3, 5, 4, 12), ten[float32](sh(2), 25, 169)},
		{"ReduceLogSum", []int64{0}, 0, ten[float32](sh(2), 1, 2), tensor.Scalar(float32(math.Log(3)))},
		{"ReduceLogSumExp", []int64{1}, 0, ten[float32](sh(2, 2), 1000, 1000, -inf, -inf),
			ten(sh(2), float32(1000+math.Ln2), -inf)},
		{"ReduceMean", []int64{0}, 0, ten[int32](sh(3), 1, 2, -9), tensor.Scalar[int32](-2)},
		{"ReduceSum", []int64{0}, 0, ten[int8](sh(2), 127, 1), tensor.Scalar[int8](-128)},
		{"ReduceSum", []int64{0}, 0, ten[uint64](sh(2), math.MaxUint64, 3), tensor.Scalar[uint64](2)},
		{"ReduceMean", []int64{0}, 0, ten[uint64](sh(1), math.MaxUint64), tensor.Scalar[uint64](math.MaxUint64)},
		{"ReduceL2", []int64{0}, 0, ten[int64](sh(2), 3, 4), tensor.Scalar[int64](5)},
		{"ReduceMax", []int64{0}, 0, ten(sh(3), false, true, false), tensor.Scalar(true)},
		{"ReduceMin", []int64{0}, 0, ten(sh(3), true, true, false), tensor.Scalar(false)},
		{"ReduceMax", []int64{0}, 0, ten(sh(3), 1, nan, 2), tensor.Scalar(nan)},
		{"ReduceMin", []int64{0}, 0, ten(sh(3, 1), 1, nan, 2), ten(sh(1), nan)},
		{"ReduceMean", []int64{0}, 0, ten(sh(2), tensor.HalfOf(1), tensor.HalfOf(2)), tensor.Scalar(tensor.HalfOf(1.5))},
		{"ReduceSum", []int64{0}, 1, ten(sh(2), tensor.BrainOf(1), tensor.BrainOf(2)), ten(sh(1), tensor.BrainOf(3))},
		{"ReduceSum", nil, 0, tensor.Scalar(float32(7)), tensor.Scalar(float32(7))},
		{"ReduceSum", nil, 0, cube, tensor.Scalar(float32(78))},
	} {
		for _, inputs := range [][]*tensor.Tensor{{c.in, ten(sh(int64(len(c.axes))), c.axes...)}, {c.in}} {
			n := node(c.op, attrInt("keepdims", c.keep))
			if len(inputs) == 1 {
				n = at(11, node(c.op, attrInt("keepdims", c.keep), attrInts("axes", c.axes...)))
			}
			same(t, runNode(t, n, inputs...)[0], c.want, 1e-6)
		}
	}
}

func TestReduceOfAnEmptySet(t *testing.T) {
	empty := ten[float32](sh(2, 0, 2))
	for op, want := range map[string]float32{
		"ReduceSum": 0, "ReduceProd": 1, "ReduceL1": 0, "ReduceL2": 0, "ReduceSumSquare": 0, "ReduceMax": -inf,
		"ReduceMin": inf, "ReduceLogSum": -inf, "ReduceLogSumExp": -inf, "ReduceMean": nan,
	} {
		got := runNode(t, node(op, attrInt("keepdims", 0)), empty, tensor.Of[int64](1))
		same(t, got[0], ten(sh(2, 2), want, want, want, want), 0)
	}
	for _, c := range []struct {
		op       string
		in, want *tensor.Tensor
	}{
		{"ReduceMax", ten[int8](sh(0)), tensor.Scalar[int8](-128)},
		{"ReduceMin", ten[int64](sh(0)), tensor.Scalar[int64](math.MaxInt64)},
		{"ReduceMax", ten[uint16](sh(0)), tensor.Scalar[uint16](0)},
		{"ReduceMin", ten[uint32](sh(0)), tensor.Scalar[uint32](math.MaxUint32)},
		{"ReduceMin", ten[bool](sh(0)), tensor.Scalar(true)},
		{"ReduceMean", ten[int32](sh(0)), tensor.Scalar[int32](0)},
		{"ReduceSum", ten[float32](sh(0, 3)), tensor.Scalar[float32](0)},
	} {
		same(t, runNode(t, node(c.op, attrInt("keepdims", 0)), c.in)[0], c.want, 0)
	}
	got := runNode(t, node("ReduceSum", attrInt("keepdims", 0)), empty, tensor.Of[int64](0))
	same(t, got[0], ten[float32](sh(0, 2)), 0)
}

func TestReduceOfNoAxes(t *testing.T) {
	x := ten[float32](sh(2, 1), -2, 3)
	none := ten[int64](sh(0))
	noop := attrInt("noop_with_empty_axes", 1)
	same(t, runNode(t, node("ReduceSum", noop), x, none)[0], x, 0)
	same(t, runNode(t, node("ReduceSum", noop), x)[0], x, 0)
	same(t, runNode(t, node("ReduceSumSquare", noop), x, none)[0], ten[float32](sh(2, 1), 4, 9), 0)
	same(t, runNode(t, node("ReduceSum"), x, none)[0], ten[float32](sh(1, 1), 1), 0)
}

func TestReduceRefusesWrongAxes(t *testing.T) {
	for _, axes := range [][]int64{{2}, {-3}, {0, 0}, {0, -2}} {
		list := ten(sh(int64(len(axes))), axes...)
		if out, err := attempt(t, node("ReduceSum"), ten[float32](sh(2, 2), 1, 2, 3, 4), list); err == nil {
			t.Errorf("axes %v: got %v, want an error", axes, out[0])
		}
	}
}

// TestReduceIsAccurate sums many numbers of which a float32 running sum would lose most.
func TestReduceIsAccurate(t *testing.T) {
	const n = 1 << 16
	x := ten(sh(n, 2), make([]float32, 2*n)...)
	data := tensor.Cast[float32](x.Bytes())
	for i := range data {
		data[i] = 0.1 + float32(i&1)*1000
	}
	want := ten(sh(2), float32(n*float64(float32(0.1))), float32(n*float64(float32(1000.1))))
	same(t, runNode(t, node("ReduceSum", attrInt("keepdims", 0)), x, tensor.Of[int64](0))[0], want, 1e-6)
}

func TestArgPicksOneWinner(t *testing.T) {
	x := ten[float32](sh(2, 3), 2, 2, 1, 0, 5, 5)
	keep0, last := attrInt("keepdims", 0), attrInt("select_last_index", 1)
	for _, c := range []struct {
		name string
		got  *tensor.Tensor
		want *tensor.Tensor
	}{
		{"the first of equals", runNode(t, node("ArgMax", attrInt("axis", 1)), x)[0], ten[int64](sh(2, 1), 0, 1)},
		{"the last of equals", runNode(t, node("ArgMax", attrInt("axis", -1), last, keep0), x)[0], ten[int64](sh(2), 1, 2)},
		{"axis 0 by default", runNode(t, node("ArgMin", keep0), x)[0], ten[int64](sh(3), 1, 0, 0)},
		{"a NaN wins", runNode(t, node("ArgMax"), ten(sh(3), 1, nan, inf))[0], ten[int64](sh(1), 1)},
		{"half", runNode(t, node("ArgMin"), tensor.Of(tensor.HalfOf(3), tensor.HalfOf(-1)))[0], ten[int64](sh(1), 1)},
		{"uint64", runNode(t, node("ArgMax"), tensor.Of[uint64](1<<63, 1<<63+1))[0], ten[int64](sh(1), 1)},
		{"no results", runNode(t, node("ArgMax", keep0), ten[int8](sh(2, 0)))[0], ten[int64](sh(0))},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, c.got, c.want, 0) })
	}
	if _, err := attempt(t, node("ArgMax"), ten[float32](sh(0, 2))); err == nil {
		t.Error("an empty axis: got no error")
	}
}

func TestSoftmaxAlongAnAxis(t *testing.T) {
	x := ten[float32](sh(2, 2), 0, 1, 1000, 1000)
	e := float32(math.E)
	rows := ten(sh(2, 2), 1/(1+e), e/(1+e), 0.5, 0.5)
	same(t, runNode(t, node("Softmax"), x)[0], rows, 1e-6)
	same(t, runNode(t, node("Softmax", attrInt("axis", 0)), ten[float32](sh(2, 2), 0, 1000, 1, 1000))[0],
		ten(sh(2, 2), 1/(1+e), 0.5, e/(1+e), 0.5), 1e-6)
	same(t, runNode(t, node("LogSoftmax"), x)[0],
		ten(sh(2, 2), float32(-math.Log(1+math.E)), float32(1-math.Log(1+math.E)), -math.Ln2, -math.Ln2), 1e-6)
	same(t, runNode(t, node("Hardmax"), ten[float32](sh(2, 3), 1, 3, 3, 2, 1, 0))[0],
		ten[float32](sh(2, 3), 0, 1, 0, 1, 0, 0), 0)
	same(t, runNode(t, node("Softmax"), ten(sh(2), tensor.HalfOf(1), tensor.HalfOf(1)))[0],
		ten(sh(2), tensor.HalfOf(0.5), tensor.HalfOf(0.5)), 0)
	same(t, runNode(t, node("Softmax"), ten(sh(2), nan, 1))[0], ten(sh(2), nan, nan), 0)
	same(t, runNode(t, node("Softmax"), ten[float64](sh(0, 3)))[0], ten[float64](sh(0, 3)), 0)
	same(t, runNode(t, node("Softmax"), tensor.Scalar(float32(3)))[0], tensor.Scalar(float32(1)), 0)
}

// TestSoftmaxBefore13 treats everything from the axis on as one row.
func TestSoftmaxBefore13(t *testing.T) {
	x := ten(sh(2, 2, 2), make([]float32, 8)...)
	quarter := ten[float32](sh(2, 2, 2), .25, .25, .25, .25, .25, .25, .25, .25)
	same(t, runNode(t, at(12, node("Softmax")), x)[0], quarter, 1e-7)
	ones := ten[float32](sh(2, 2), 1, 1, 1, 1)
	same(t, runNode(t, at(12, node("Softmax", attrInt("axis", 2))), ten(sh(2, 2), make([]float32, 4)...))[0], ones, 0)
	same(t, runNode(t, at(9, node("Hardmax", attrInt("axis", -2))), ten[float32](sh(2, 2), 1, 2, 3, 0))[0],
		ten[float32](sh(2, 2), 0, 0, 1, 0), 0)
	if _, err := attempt(t, at(12, node("Softmax", attrInt("axis", 3))), ones); err == nil {
		t.Error("axis 3 of rank 2: got no error")
	}
}
