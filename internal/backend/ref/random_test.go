package ref

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestTwisterDrawsAsNumpy(t *testing.T) {
	r := newTwister(make([]byte, twisterScratch), 0)
	for i, want := range []float64{0.5488135039273248, 0.7151893663724195, 0.6027633760716439} {
		if got := r.uniform(); got != want {
			t.Errorf("uniform number %d: got %v, want %v", i, got, want)
		}
	}
	r = newTwister(make([]byte, twisterScratch), 0)
	for i, want := range []float64{1.764052345967664, 0.4001572083672233, 0.9787379841057392} {
		if got := r.normal(); math.Abs(got-want) > 1e-15 {
			t.Errorf("normal number %d: got %v, want %v", i, got, want)
		}
	}
}

func TestDropoutKeepsAllWhenNotTraining(t *testing.T) {
	x := tensor.Of[float32](1, 2)
	half, no, yes := tensor.Scalar[float32](0.5), tensor.Scalar(false), tensor.Scalar(true)
	for _, c := range []struct {
		n    *graph.Node
		in   []*tensor.Tensor
		mask *tensor.Tensor
	}{
		{outs(2, node("Dropout")), []*tensor.Tensor{x}, tensor.Of(true, true)},
		{outs(2, node("Dropout")), []*tensor.Tensor{x, half, no}, tensor.Of(true, true)},
		{outs(2, node("Dropout")), []*tensor.Tensor{x, tensor.Scalar[float32](0), yes}, tensor.Of(true, true)},
		{outs(2, at(7, node("Dropout"))), []*tensor.Tensor{x}, tensor.Of[float32](1, 1)},
	} {
		got := runNode(t, c.n, c.in...)
		same(t, got[0], x, 0)
		same(t, got[1], c.mask, 0)
	}
	same(t, runNode(t, node("Dropout"), x)[0], x, 0)
}

func TestDropoutInTraining(t *testing.T) {
	x := tensor.Of[float32](1, 2, 3, 4)
	n := outs(2, node("Dropout", attrInt("seed", 0)))
	got := runNode(t, n, x, tensor.Scalar[float32](0.6), tensor.Scalar(true))
	same(t, got[0], tensor.Of[float32](0, 5, 7.5, 0), 1e-6)
	same(t, got[1], tensor.Of(false, true, true, false), 0)
	if _, err := attempt(t, node("Dropout"), x, tensor.Scalar[float32](1), tensor.Scalar(true)); err == nil {
		t.Error("ratio 1: got no error")
	}
}

func TestDrawsFollowTheirDistribution(t *testing.T) {
	const count = 20000
	wide := ten[float32](sh(count), make([]float32, count)...)
	quarter := make([]float32, count)
	for i := range quarter {
		quarter[i] = 0.25
	}
	logs := ten(sh(1, 3), float32(math.Log(2)), float32(math.Inf(-1)), float32(math.Log(6)))
	for _, c := range []struct {
		n            *graph.Node
		in           []*tensor.Tensor
		dt           tensor.DType
		mean, square float64
	}{
		{node("RandomUniform", attrInts("shape", count), attrFloat("low", 1), attrFloat("high", 3)), nil, tensor.Float32, 2, 13.0 / 3},
		{node("RandomNormal", attrInts("shape", 2, count/2), attrInt("dtype", 11), attrFloat("mean", 1)), nil,
			tensor.Float64, 1, 2},
		{node("RandomUniformLike"), []*tensor.Tensor{wide}, tensor.Float32, 0.5, 1.0 / 3},
		{node("RandomNormalLike", attrFloat("scale", 2)), []*tensor.Tensor{wide}, tensor.Float32, 0, 4},
		{node("Bernoulli", attrInt("dtype", 7)), []*tensor.Tensor{tensor.Of(quarter...)}, tensor.Int64, 0.25, 0.25},
		{node("Bernoulli", attrInt("dtype", 9)), []*tensor.Tensor{tensor.Of(quarter...)}, tensor.Bool, 0.25, 0.25},
		{node("Multinomial", attrInt("sample_size", count)), []*tensor.Tensor{logs}, tensor.Int32, 1.5, 3},
	} {
		c.n.Attrs = append(c.n.Attrs, attrFloat("seed", 7))
		got := runNode(t, c.n, c.in...)[0]
		if got.DType() != c.dt || got.Len() != count {
			t.Errorf("%s: got %v, want %d elements of %v", c.n.Op, got, count, c.dt)
			continue
		}
		all := runNode(t, castNode(tensor.Float64), got)[0]
		mean, square := 0.0, 0.0
		for _, x := range tensor.Cast[float64](all.Bytes()) {
			mean += x / count
			square += x * x / count
		}
		// Five standard errors of these distributions are below 0.1 and 0.25.
		if math.Abs(mean-c.mean) > 0.1 || math.Abs(square-c.square) > 0.25 {
			t.Errorf("%s: got mean %v and mean square %v, want %v and %v", c.n.Op, mean, square, c.mean, c.square)
		}
	}
}

func TestDrawsDifferWithoutSeed(t *testing.T) {
	n := node("RandomUniform", attrInts("shape", 8))
	if a, b := runNode(t, n)[0], runNode(t, n)[0]; identical(a, b) {
		t.Error("two runs gave the same numbers")
	}
}
