package ref

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// poolCase is a pool with every list of attributes spelled out.
type poolCase struct {
	x                                tensor.Shape
	kernel, strides, dilations, pads []int64
	ceil                             int64
}

func (c *poolCase) String() string {
	return fmt.Sprintf("x%v k%v s%v d%v p%v ceil=%d", c.x, c.kernel, c.strides, c.dilations, c.pads, c.ceil)
}

func (c *poolCase) node(op string, more ...graph.Attr) *graph.Node {
	return node(op, append(more, attrInts("kernel_shape", c.kernel...), attrInts("strides", c.strides...),
		attrInts("dilations", c.dilations...), attrInts("pads", c.pads...), attrInt("ceil_mode", c.ceil))...)
}

// naivePool visits the taps of each window: visit gets the number of the output element and of the
// input element, −1 in the padding. What is beyond the padding is not visited.
func naivePool(c *poolCase, out tensor.Shape, visit func(o, x int64)) {
	for o := range positions(out) {
		at, _ := flat(out, o...)
		for k := range positions(c.kernel) {
			p, beyond := []int64{o[0], o[1]}, false
			for i, k := range k {
				q := o[2+i]*c.strides[i] - c.pads[i] + k*c.dilations[i]
				beyond = beyond || q >= c.x[2+i]+c.pads[len(c.kernel)+i]
				p = append(p, q)
			}
			x, inside := flat(c.x, p...)
			switch {
			case inside:
				visit(at, x)
			case !beyond:
				visit(at, -1)
			}
		}
	}
}

func poolCases() []poolCase {
	one := []int64{1, 1}
	return []poolCase{
		{sh(1, 2, 5, 6), []int64{2, 2}, []int64{2, 2}, one, []int64{0, 0, 0, 0}, 0},
		{sh(2, 1, 5, 6), []int64{3, 2}, []int64{2, 2}, one, []int64{1, 0, 1, 1}, 1},
		{sh(1, 1, 5, 5), []int64{3, 3}, one, []int64{2, 1}, []int64{2, 1, 1, 2}, 0},
		{sh(1, 1, 7), []int64{3}, []int64{3}, []int64{1}, []int64{0, 0}, 1},
		{sh(1, 1, 2), []int64{1}, []int64{2}, []int64{1}, []int64{0, 0}, 1},
		{sh(1, 2, 4, 3, 5), []int64{2, 3, 2}, []int64{1, 2, 3}, []int64{2, 1, 1}, []int64{1, 1, 0, 1, 1, 1}, 1},
		{sh(0, 1, 4, 4), []int64{2, 2}, one, one, []int64{0, 0, 0, 0}, 0},
	}
}

func TestMaxPoolTakesTheFirstLargest(t *testing.T) {
	for _, c := range poolCases() {
		t.Run(c.String(), func(t *testing.T) {
			x := noise(4, c.x...)
			got := runNode(t, outs(2, c.node("MaxPool")), x)
			want := make([]float32, count(got[0].Shape()))
			index := make([]int64, len(want))
			setAll(want, float32(math.Inf(-1)))
			naivePool(&c, got[0].Shape(), func(o, i int64) {
				if i >= 0 && f32(x)[i] > want[o] {
					want[o], index[o] = f32(x)[i], i
				}
			})
			same(t, got[0], ten(got[0].Shape(), want...), 0)
			same(t, got[1], ten(got[0].Shape(), index...), 0)
			same(t, runNode(t, c.node("MaxPool"), x)[0], got[0], 0)
			same(t, runNode(t, c.node("MaxPool"), as(tensor.Float16, x))[0], as(tensor.Float16, got[0]), 0)
		})
	}
}

func TestMaxPoolOfOctets(t *testing.T) {
	n := node("MaxPool", attrInts("kernel_shape", 2), attrInts("pads", 1, 0))
	same(t, runNode(t, n, ten(sh(1, 1, 3), int8(-5), int8(-9), int8(-7)))[0], ten(sh(1, 1, 3), int8(-5), int8(-5),
		int8(-7)), 0)
	same(t, runNode(t, n, ten(sh(1, 1, 3), uint8(0), uint8(200), uint8(7)))[0],
		ten(sh(1, 1, 3), uint8(0), uint8(200), uint8(200)), 0)
}

func TestMaxPoolIndicesInColumnMajorOrder(t *testing.T) {
	x := ten(sh(1, 2, 2, 3), 0, 1, 2, 3, 4, 5, 9, 8, 7, 6, 5, float32(4))
	n := outs(2, node("MaxPool", attrInts("kernel_shape", 2, 2), attrInt("storage_order", 1)))
	same(t, runNode(t, n, x)[1], ten(sh(1, 2, 1, 2), int64(3), int64(5), int64(6), int64(8)), 0)
}

func TestAveragePoolCountsWhatItShould(t *testing.T) {
	for _, c := range poolCases() {
		for padding := range int64(2) {
			t.Run(fmt.Sprintf("%s padding=%d", c.String(), padding), func(t *testing.T) {
				x := noise(5, c.x...)
				got := runNode(t, c.node("AveragePool", attrInt("count_include_pad", padding)), x)[0]
				want := make([]float32, count(got.Shape()))
				size := make([]float32, len(want))
				naivePool(&c, got.Shape(), func(o, i int64) {
					if i >= 0 {
						want[o] += f32(x)[i]
						size[o]++
					} else if padding == 1 {
						size[o]++
					}
				})
				for i := range want {
					want[i] /= max(size[i], 1)
				}
				same(t, got, ten(got.Shape(), want...), 1e-6)
			})
		}
	}
}

func TestLpPoolIsANorm(t *testing.T) {
	c := poolCases()[1]
	x := noise(6, c.x...)
	for p := int64(1); p <= 3; p++ {
		got := runNode(t, c.node("LpPool", attrInt("p", p)), x)[0]
		want := make([]float64, count(got.Shape()))
		naivePool(&c, got.Shape(), func(o, i int64) {
			if i >= 0 {
				want[o] += math.Pow(math.Abs(float64(f32(x)[i])), float64(p))
			}
		})
		for i, v := range want {
			if w := math.Pow(v, 1/float64(p)); math.Abs(w-float64(f32(got)[i])) > 1e-4 {
				t.Errorf("p=%d, element %d: got %v, want %v", p, i, f32(got)[i], w)
			}
		}
	}
}

func TestCeilModeDropsWindowsThatStartInThePadding(t *testing.T) {
	for _, c := range []struct{ in, kernel, stride, begin, end, want int64 }{
		{4, 3, 2, 0, 0, 2}, {1, 1, 2, 0, 1, 1}, {2, 1, 2, 0, 0, 1}, {5, 3, 2, 0, 0, 2}, {6, 3, 2, 0, 0, 3}, {4, 2, 3,
			1, 1, 2},
	} {
		n := node("MaxPool", attrInts("kernel_shape", c.kernel), attrInts("strides", c.stride),
			attrInts("pads", c.begin, c.end), attrInt("ceil_mode", 1))
		if got := runNode(t, n, noise(1, 1, 1, c.in))[0].Shape()[2]; got != c.want {
			t.Errorf("%d by %d, stride %d: got %d windows, want %d", c.in, c.kernel, c.stride, got, c.want)
		}
	}
}

func TestGlobalPools(t *testing.T) {
	x := ten(sh(1, 2, 1, 2), 3, -4, 6, float32(8))
	for _, c := range []struct {
		n    *graph.Node
		want []float32
	}{
		{node("GlobalAveragePool"), []float32{-0.5, 7}},
		{node("GlobalMaxPool"), []float32{3, 8}},
		{node("GlobalLpPool"), []float32{5, 10}},
		{node("GlobalLpPool", attrInt("p", 1)), []float32{7, 14}},
	} {
		want := ten(sh(1, 2, 1, 1), c.want...)
		same(t, runNode(t, c.n, x)[0], want, 1e-6)
		for _, dt := range []tensor.DType{tensor.Float64, tensor.Float16} {
			same(t, runNode(t, c.n, as(dt, x))[0], as(dt, want), 1e-6)
		}
	}
}

func TestGlobalMaxPoolOfNaNIsNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	got := runNode(t, node("GlobalMaxPool"), ten(sh(1, 3, 2), nan, inf, inf, nan, -inf, -inf))[0]
	same(t, got, ten(sh(1, 3, 1), nan, nan, -inf), 0)
}

// TestHugeWindowsTakeTheTimeOfTheirInputs has windows that are all padding but for a few elements.
func TestHugeWindowsTakeTheTimeOfTheirInputs(t *testing.T) {
	x := as(tensor.Float64, noise(1, 1, 2, 3, 5, 4))
	same := func(n *graph.Node, want func(v []float64) float64) {
		out := runNode(t, n, x)[0]
		for i := range 2 {
			v := tensor.Cast[float64](x.Bytes())[i*60:][:60]
			for j, got := range tensor.Cast[float64](out.Bytes())[i*60:][:60] {
				if w := want(v); math.Abs(got-w) > 1e-12 {
					t.Fatalf("%s: element %d of plane %d: got %v, want %v", n.Op, j, i, got, w)
				}
			}
		}
	}
	attrs := []graph.Attr{attrInts("kernel_shape", 1<<20+1, 1<<21+1, 1<<19+1),
		attrInts("pads", 1<<19, 1<<20, 1<<18, 1<<19, 1<<20, 1<<18)}
	same(node("MaxPool", attrs...), func(v []float64) float64 { return slices.Max(v) })
	same(node("AveragePool", attrs...), func(v []float64) float64 {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum / 60
	})
}

func TestMaxUnpoolPutsBack(t *testing.T) {
	x := ten(sh(1, 1, 2, 2), 1, 2, 3, float32(4))
	at := ten(sh(1, 1, 2, 2), int64(5), int64(7), int64(13), int64(15))
	n := node("MaxUnpool", attrInts("kernel_shape", 2, 2), attrInts("strides", 2, 2))
	same(t, runNode(t, n, x, at)[0], ten(sh(1, 1, 4, 4), 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, float32(4)), 0)
	larger := runNode(t, n, x, at, ten(sh(4), int64(1), int64(1), int64(4), int64(5)))[0]
	same(t, larger, ten(sh(1, 1, 4, 5), 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, float32(0)), 0)
	for _, bad := range []int64{-1, 16} {
		if _, err := attempt(t, n, x, ten(sh(1, 1, 2, 2), 5, 7, 13, bad)); err == nil {
			t.Errorf("index %d: got no error", bad)
		}
	}
	if _, err := attempt(t, n, x, at, ten(sh(4), int64(1), int64(1), int64(4), int64(3))); err == nil {
		t.Error("an index outside a smaller shape: got no error")
	}
}

func TestPoolsRefuseWhatCannotBe(t *testing.T) {
	x := noise(1, 1, 2, 4, 4)
	two := attrInts("kernel_shape", 2, 2)
	for _, c := range []struct {
		name string
		n    *graph.Node
		x    *tensor.Tensor
	}{
		{"no kernel", node("MaxPool"), x},
		{"kernel of another rank", node("MaxPool", attrInts("kernel_shape", 2)), x},
		{"empty kernel", node("AveragePool", attrInts("kernel_shape", 2, 0)), x},
		{"huge kernel", node("AveragePool", attrInts("kernel_shape", 2, 1<<60)), x},
		{"kernel larger than the input", node("LpPool", attrInts("kernel_shape", 5, 2)), x},
		{"zero stride", node("MaxPool", two, attrInts("strides", 0, 1)), x},
		{"negative pads", node("MaxPool", two, attrInts("pads", 0, 0, 0, -1)), x},
		{"order zero", node("LpPool", two, attrInt("p", 0)), x},
		{"order zero over all", node("GlobalLpPool", attrInt("p", 0)), x},
		{"vector", node("MaxPool", attrInts("kernel_shape", 2)), noise(1, 4)},
		{"vector over all", node("GlobalMaxPool"), noise(1, 4)},
	} {
		if out, err := attempt(t, c.n, c.x); err == nil {
			t.Errorf("%s: got %v, want an error", c.name, out[0])
		}
	}
}
