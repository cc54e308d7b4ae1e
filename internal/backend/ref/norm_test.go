package ref

import (
	"fmt"
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// mapIndex makes a float32 tensor from a function of the position.
func mapIndex(shape tensor.Shape, f func(at []int64) float64) *tensor.Tensor {
	data := make([]float32, 0, count(shape))
	for p := range positions(shape) {
		data = append(data, float32(f(p)))
	}
	return ten(shape, data...)
}

// meanOver returns the mean and the population variance of the elements that share a key, for
// each key.
func meanOver(x *tensor.Tensor, key func(at []int64) int64) (mean, variance map[int64]float64) {
	mean, variance = map[int64]float64{}, map[int64]float64{}
	n, i := map[int64]float64{}, 0
	for p := range positions(x.Shape()) {
		n[key(p)]++
		mean[key(p)] += float64(f32(x)[i])
		i++
	}
	for k := range mean {
		mean[k] /= n[k]
	}
	i = 0
	for p := range positions(x.Shape()) {
		d := float64(f32(x)[i]) - mean[key(p)]
		variance[key(p)] += d * d / n[key(p)]
		i++
	}
	return mean, variance
}

// value returns the element of x at a position.
func value(x *tensor.Tensor, at ...int64) float64 {
	i, _ := flat(x.Shape(), at...)
	return float64(f32(x)[i])
}

func TestBatchNormUsesTheGivenStatistics(t *testing.T) {
	for _, shape := range []tensor.Shape{sh(2, 3, 4, 5), sh(4, 3), sh(2, 3, 7), sh(0, 3, 2)} {
		x, scale, bias, mean := noise(1, shape...), noise(2, 3), noise(3, 3), noise(4, 3)
		variance := tensor.Of[float32](1, 4, 0.25)
		want := mapIndex(shape, func(at []int64) float64 {
			c := at[1]
			return (value(x, at...)-value(mean, c))/math.Sqrt(value(variance, c)+1e-3)*value(scale, c) + value(bias, c)
		})
		n := node("BatchNormalization", attrFloat("epsilon", 1e-3))
		same(t, runNode(t, n, x, scale, bias, mean, variance)[0], want, 1e-5)
	}
}

func TestBatchNormOfAVectorHasOneChannel(t *testing.T) {
	one := tensor.Of[float32](1)
	got := runNode(t, node("BatchNormalization", attrFloat("epsilon", 0)), tensor.Of[float32](1, 2, 3),
		tensor.Of[float32](2),
		one, one, one)[0]
	same(t, got, tensor.Of[float32](1, 3, 5), 0)
}

func TestBatchNormPerActivation(t *testing.T) {
	x, row := ten(sh(2, 1, 2), 1, 2, 3, float32(4)), ten(sh(1, 2), 1, float32(2))
	n := at(8, node("BatchNormalization", attrInt("spatial", 0), attrFloat("epsilon", 0)))
	same(t, runNode(t, n, x, row, row, row, ten(sh(1, 2), 1, float32(4)))[0], ten(sh(2, 1, 2), 1, 2, 3, float32(4)), 0)
}

func TestBatchNormTrains(t *testing.T) {
	x := ten(sh(2, 1, 2), 1, 3, 5, float32(7))
	one, two := tensor.Of[float32](1), tensor.Of[float32](2)
	n := outs(3, node("BatchNormalization", attrInt("training_mode", 1), attrFloat("epsilon", 0),
		attrFloat("momentum", 0.75)))
	out := runNode(t, n, x, one, two, one, two)
	r := float32(1 / math.Sqrt(5))
	same(t, out[0], ten(sh(2, 1, 2), 2-3*r, 2-r, 2+r, 2+3*r), 1e-6)
	same(t, out[1], tensor.Of[float32](0.75*1+0.25*4), 1e-6)
	same(t, out[2], tensor.Of[float32](0.75*2+0.25*5), 1e-6)
	old := at(9, outs(5, node("BatchNormalization", attrFloat("epsilon", 0), attrFloat("momentum", 0.75))))
	all := runNode(t, old, x, one, two, one, two)
	for i := range out {
		same(t, all[i], out[i], 0)
	}
	same(t, all[3], tensor.Of[float32](4), 1e-6)
	same(t, all[4], tensor.Of[float32](5), 1e-6)
}

func TestInstanceNormIsPerPlane(t *testing.T) {
	x, scale, bias := noise(1, 2, 3, 4, 2), noise(2, 3), noise(3, 3)
	mean, variance := meanOver(x, func(at []int64) int64 { return at[0]*3 + at[1] })
	want := mapIndex(x.Shape(), func(at []int64) float64 {
		k := at[0]*3 + at[1]
		return (value(x, at...)-mean[k])/math.Sqrt(variance[k]+1e-5)*value(scale, at[1]) + value(bias, at[1])
	})
	same(t, runNode(t, node("InstanceNormalization"), x, scale, bias)[0], want, 1e-5)
}

func TestGroupNormScalesGroupsThenChannels(t *testing.T) {
	x := noise(1, 2, 6, 3)
	key := func(at []int64) int64 { return at[0]*2 + at[1]/3 }
	mean, variance := meanOver(x, key)
	for _, c := range []struct {
		version int
		n       int64
		of      func(ch int64) int64
	}{
		{18, 2, func(ch int64) int64 { return ch / 3 }},
		{21, 6, func(ch int64) int64 { return ch }},
	} {
		scale, bias := noise(2, c.n), noise(3, c.n)
		want := mapIndex(x.Shape(), func(at []int64) float64 {
			k, s := key(at), c.of(at[1])
			return (value(x, at...)-mean[k])/math.Sqrt(variance[k]+1e-5)*value(scale, s) + value(bias, s)
		})
		got := runNode(t, at(c.version, node("GroupNormalization", attrInt("num_groups", 2))), x, scale, bias)[0]
		t.Run(fmt.Sprint(c.version), func(t *testing.T) { same(t, got, want, 1e-5) })
	}
}

func TestLayerNormGivesItsStatistics(t *testing.T) {
	x := noise(1, 2, 3, 4)
	for _, c := range []struct {
		axis        int64
		rows        int64
		scale, bias tensor.Shape
		stats       tensor.Shape
	}{
		{-1, 6, sh(4), sh(4), sh(2, 3, 1)},
		{1, 2, sh(3, 4), nil, sh(2, 1, 1)},
		{1, 2, sh(3, 1), sh(), sh(2, 1, 1)},
		{-3, 1, sh(2, 3, 4), sh(1, 4), sh(1, 1, 1)},
	} {
		scale := noise(2, c.scale...)
		in := []*tensor.Tensor{x, scale}
		if c.bias != nil {
			in = append(in, noise(3, c.bias...))
		}
		key := func(at []int64) int64 { i, _ := flat(x.Shape(), at...); return i / (24 / c.rows) }
		mean, variance := meanOver(x, key)
		from := func(s *tensor.Tensor, at []int64) float64 {
			st, i := spread(s.Shape(), x.Shape()), 0
			for d := range at {
				i += int(at[d]) * st[d]
			}
			return float64(f32(s)[i])
		}
		want := mapIndex(x.Shape(), func(at []int64) float64 {
			y := (value(x, at...) - mean[key(at)]) / math.Sqrt(variance[key(at)]+1e-5) * from(scale, at)
			if c.bias != nil {
				y += from(in[2], at)
			}
			return y
		})
		t.Run(fmt.Sprint(c.axis, c.scale, c.bias), func(t *testing.T) {
			out := runNode(t, outs(3, node("LayerNormalization", attrInt("axis", c.axis))), in...)
			same(t, out[0], want, 1e-5)
			i := int64(-1)
			same(t, out[1], mapIndex(c.stats, func([]int64) float64 { i++; return mean[i] }), 1e-5)
			i = -1
			same(t, out[2], mapIndex(c.stats, func([]int64) float64 { i++; return 1 / math.Sqrt(variance[i]+1e-5) }), 1e-5)
		})
	}
}

func TestLayerNormOfHalvesStashesFloats(t *testing.T) {
	x := as(tensor.Float16, ten(sh(1, 2), 1, float32(3)))
	out := runNode(t, outs(2, node("LayerNormalization", attrFloat("epsilon", 0))), x, as(tensor.Float16,
		tensor.Of[float32](1, 2)))
	same(t, out[0], as(tensor.Float16, ten(sh(1, 2), -1, float32(2))), 0)
	same(t, out[1], ten(sh(1, 1), float32(2)), 0)
}

func TestRMSNormKeepsTheMean(t *testing.T) {
	got := runNode(t, node("RMSNormalization", attrFloat("epsilon", 0)), ten(sh(1, 2), 1, float32(7)),
		tensor.Of[float32](5, 10))[0]
	same(t, got, ten(sh(1, 2), 1, float32(14)), 1e-6)
}

func TestRMSNormOfAnInfinityIsZeroElsewhere(t *testing.T) {
	inf := float32(math.Inf(1))
	got := runNode(t, node("RMSNormalization"), ten(sh(2, 2), 3, -inf, 1e30, float32(1e30)), tensor.Of[float32](1, 1))[0]
	same(t, got, ten(sh(2, 2), 0, float32(math.NaN()), 1, 1), 1e-6)
}

func TestLRNCountsNeighbouringChannels(t *testing.T) {
	x := noise(1, 2, 5, 3)
	for _, size := range []int64{1, 2, 3, 4, 20} {
		want := mapIndex(x.Shape(), func(at []int64) float64 {
			sum := 0.0
			for c := max(0, at[1]-(size-1)/2); c <= min(4, at[1]+size/2); c++ {
				sum += math.Pow(value(x, at[0], c, at[2]), 2)
			}
			return value(x, at...) / math.Pow(2+0.5/float64(size)*sum, 0.75)
		})
		n := node("LRN", attrInt("size", size), attrFloat("alpha", 0.5), attrFloat("bias", 2))
		t.Run(fmt.Sprint(size), func(t *testing.T) { same(t, runNode(t, n, x)[0], want, 1e-5) })
	}
}

func TestLpNormDividesByTheNorm(t *testing.T) {
	x := ten(sh(2, 2), 3, 0, -4, float32(0))
	same(t, runNode(t, node("LpNormalization", attrInt("axis", 0)), x)[0], ten(sh(2, 2), 0.6, 0, -0.8, float32(0)), 1e-6)
	same(t, runNode(t, node("LpNormalization", attrInt("p", 1)), x)[0], ten(sh(2, 2), 1, 0, -1, float32(0)), 1e-6)
}

func TestMeanVarianceOverAxes(t *testing.T) {
	x := noise(1, 2, 3, 2, 2)
	for _, c := range []struct {
		attr []graph.Attr
		key  func(at []int64) int64
	}{
		{nil, func(at []int64) int64 { return at[1] }},
		{[]graph.Attr{attrInts("axes", -1, 0)}, func(at []int64) int64 { return at[1]*2 + at[2] }},
	} {
		mean, variance := meanOver(x, c.key)
		want := mapIndex(x.Shape(), func(at []int64) float64 {
			return (value(x, at...) - mean[c.key(at)]) / (math.Sqrt(variance[c.key(at)]) + 1e-9)
		})
		same(t, runNode(t, node("MeanVarianceNormalization", c.attr...), x)[0], want, 1e-5)
	}
}

func TestNormsRefuseWhatCannotBe(t *testing.T) {
	x, v2, v3 := noise(1, 2, 3, 4), noise(2, 2), noise(3, 3)
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
	}{
		{"scale of another length", node("BatchNormalization"), []*tensor.Tensor{x, v2, v3, v3, v3}},
		{"statistics without training", outs(2, node("BatchNormalization")), []*tensor.Tensor{x, v3, v3, v3, v3}},
		{"bias of another length", node("InstanceNormalization"), []*tensor.Tensor{x, v3, v2}},
		{"vector", node("InstanceNormalization"), []*tensor.Tensor{v3, v3, v3}},
		{"no groups", node("GroupNormalization"), []*tensor.Tensor{x, v3, v3}},
		{"groups that do not divide", node("GroupNormalization", attrInt("num_groups", 2)), []*tensor.Tensor{x, v3, v3}},
		{"axis out of range", node("LayerNormalization", attrInt("axis", 3)), []*tensor.Tensor{x, v3}},
		{"scale that does not spread", node("LayerNormalization"), []*tensor.Tensor{x, v3}},
		{"whole numbers stashed", node("LayerNormalization", attrInt("stash_type", 7)), []*tensor.Tensor{x, noise(1, 4)}},
		{"size zero", node("LRN"), []*tensor.Tensor{x}},
		{"order three", node("LpNormalization", attrInt("p", 3)), []*tensor.Tensor{x}},
		{"axes beyond the rank", node("MeanVarianceNormalization"), []*tensor.Tensor{x}},
		{"axis twice", node("MeanVarianceNormalization", attrInts("axes", 1, -2)), []*tensor.Tensor{x}},
	} {
		if out, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%s: got %v, want an error", c.name, out[0])
		}
	}
}
