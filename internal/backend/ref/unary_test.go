package ref

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var (
	nanD = math.NaN()
	infD = math.Inf(1)
	nanF = float32(nanD)
	infF = float32(infD)
)

func TestUnaryOfFloats(t *testing.T) {
	for _, c := range []struct {
		n        *graph.Node
		in, want []float64
	}{
		{node("Abs"), []float64{-1.5, 2, nanD, -infD}, []float64{1.5, 2, nanD, infD}},
		{node("Neg"), []float64{-1.5, 2, infD}, []float64{1.5, -2, -infD}},
		{node("Sign"), []float64{-3, 0, 4, nanD}, []float64{-1, 0, 1, nanD}},
		{node("Floor"), []float64{-1.5, 1.5, 2}, []float64{-2, 1, 2}},
		{node("Ceil"), []float64{-1.5, 1.5, 2}, []float64{-1, 2, 2}},
		{node("Round"), []float64{0.5, 1.5, 2.5, -0.5, -1.5, 2.25}, []float64{0, 2, 2, 0, -2, 2}},
		{node("Sqrt"), []float64{4, 0, -1}, []float64{2, 0, nanD}},
		{node("Exp"), []float64{0, 1, -infD}, []float64{1, math.E, 0}},
		{node("Log"), []float64{1, math.E, 0, -1}, []float64{0, 1, -infD, nanD}},
		{node("Reciprocal"), []float64{2, -4, 0}, []float64{0.5, -0.25, infD}},
		{node("Sin"), []float64{0, math.Pi / 2}, []float64{0, 1}},
		{node("Cos"), []float64{0, math.Pi}, []float64{1, -1}},
		{node("Tan"), []float64{0, math.Pi / 4}, []float64{0, 1}},
		{node("Asin"), []float64{0, 1, 2}, []float64{0, math.Pi / 2, nanD}},
		{node("Acos"), []float64{1, 0}, []float64{0, math.Pi / 2}},
		{node("Atan"), []float64{0, 1}, []float64{0, math.Pi / 4}},
		{node("Sinh"), []float64{0, 1}, []float64{0, 1.1752011936438014}},
		{node("Cosh"), []float64{0, 1}, []float64{1, 1.5430806348152437}},
		{node("Tanh"), []float64{0, 1, infD}, []float64{0, 0.7615941559557649, 1}},
		{node("Asinh"), []float64{0, 1}, []float64{0, 0.881373587019543}},
		{node("Acosh"), []float64{1, 2}, []float64{0, 1.3169578969248166}},
		{node("Atanh"), []float64{0, 0.5}, []float64{0, 0.5493061443340548}},
		{node("Erf"), []float64{0, 1, -infD}, []float64{0, 0.8427007929497149, -1}},
		{node("Relu"), []float64{-1, 0, 2, nanD, -infD}, []float64{0, 0, 2, nanD, 0}},
		{node("LeakyRelu"), []float64{-1, 2, nanD}, []float64{-0.01, 2, nanD}},
		{node("LeakyRelu", attrFloat("alpha", 0.5)), []float64{-1, 2}, []float64{-0.5, 2}},
		{node("Sigmoid"), []float64{0, 1, -infD, infD}, []float64{0.5, 0.7310585786300049, 0, 1}},
		{node("HardSigmoid"), []float64{-3, 0, 1, 3}, []float64{0, 0.5, 0.7, 1}},
		{node("HardSigmoid", attrFloat("alpha", 0.5), attrFloat("beta", 0.25)), []float64{-1, 0, 1}, []float64{0, 0.25, 0.75}},
		{node("HardSwish"), []float64{-4, 0, 3, 4}, []float64{0, 0, 3, 4}},
		{node("Softplus"), []float64{0, 500, -500}, []float64{math.Ln2, 500, 0}},
		{node("Softsign"), []float64{1, -3}, []float64{0.5, -0.75}},
		{node("Elu"), []float64{1, -1}, []float64{1, -0.6321205588285577}},
		{node("Elu", attrFloat("alpha", 2)), []float64{-1}, []float64{-1.2642411176571153}},
		{node("Selu"), []float64{1, -1}, []float64{1.0507009873554805, -1.1113307378125628}},
		{node("Celu", attrFloat("alpha", 2)), []float64{1, -1}, []float64{1, -0.7869386805747332}},
		{node("Gelu"), []float64{1, -1}, []float64{0.8413447460685429, -0.15865525393145707}},
		{node("Gelu", attrStr("approximate", "tanh")), []float64{1}, []float64{0.8411919906082768}},
		{node("Mish"), []float64{1}, []float64{0.8650983882673103}},
		{node("Swish", attrFloat("alpha", 2)), []float64{1}, []float64{0.8807970779778823}},
		{node("ThresholdedRelu"), []float64{0.5, 1, 1.5, nanD}, []float64{0, 0, 1.5, nanD}},
		{node("Shrink"), []float64{-1, 0.25, 1, nanD}, []float64{-1, 0, 1, nanD}},
		{node("Shrink", attrFloat("lambd", 1.5), attrFloat("bias", 1.5)), []float64{-2, 1, 2}, []float64{-0.5, 0, 0.5}},
	} {
		t.Run(c.n.Op, func(t *testing.T) {
			n := int64(len(c.in))
			same(t, runNode(t, c.n, tensor.Of(c.in...))[0], tensor.Of(c.want...), 1e-6)
			in4, want4 := make([]float32, n), make([]float32, n)
			inH, wantH := make([]tensor.Half, n), make([]tensor.Half, n)
			inB, wantB := make([]tensor.Brain, n), make([]tensor.Brain, n)
			for i := range c.in {
				in4[i], want4[i] = float32(c.in[i]), float32(c.want[i])
				inH[i], wantH[i] = tensor.HalfOf(in4[i]), tensor.HalfOf(want4[i])
				inB[i], wantB[i] = tensor.BrainOf(in4[i]), tensor.BrainOf(want4[i])
			}
			same(t, runNode(t, c.n, ten(sh(1, n), in4...))[0], ten(sh(1, n), want4...), 1e-6)
			same(t, runNode(t, c.n, tensor.Of(inH...))[0], tensor.Of(wantH...), 2e-3)
			same(t, runNode(t, c.n, tensor.Of(inB...))[0], tensor.Of(wantB...), 2e-2)
			empty := ten[float32](sh(0, 3))
			same(t, runNode(t, c.n, empty)[0], empty, 0)
			scalar := runNode(t, c.n, tensor.Scalar(c.in[0]))[0]
			same(t, scalar, tensor.Scalar(c.want[0]), 1e-6)
		})
	}
}

func TestUnaryOfIntegers(t *testing.T) {
	for _, c := range []struct {
		n        *graph.Node
		in, want *tensor.Tensor
	}{
		{node("Abs"), tensor.Of[int8](-128, -3, 4), tensor.Of[int8](-128, 3, 4)},
		{node("Abs"), tensor.Of[uint16](3, 65535), tensor.Of[uint16](3, 65535)},
		{node("Neg"), tensor.Of[int32](3, math.MinInt32), tensor.Of[int32](-3, math.MinInt32)},
		{node("Neg"), tensor.Of[int64](3, 0), tensor.Of[int64](-3, 0)},
		{node("Sign"), tensor.Of[int16](-7, 0, 9), tensor.Of[int16](-1, 0, 1)},
		{node("Sign"), tensor.Of[uint64](0, math.MaxUint64), tensor.Of[uint64](0, 1)},
		{node("Relu"), tensor.Of[int32](-7, 9), tensor.Of[int32](0, 9)},
		{node("Erf"), tensor.Of[int8](-9, 0, 1, 9), tensor.Of[int8](-1, 0, 0, 1)},
		{node("Shrink", attrFloat("bias", 1)), tensor.Of[int8](-3, 0, 3), tensor.Of[int8](-2, 0, 2)},
		{node("BitwiseNot"), tensor.Of[uint8](0, 0xf0), tensor.Of[uint8](0xff, 0x0f)},
		{node("BitwiseNot"), tensor.Of[int32](0, -1), tensor.Of[int32](-1, 0)},
		{node("Not"), tensor.Of(true, false), tensor.Of(false, true)},
	} {
		same(t, runNode(t, c.n, c.in)[0], c.want, 0)
	}
}

func TestTestsOfFloats(t *testing.T) {
	x := tensor.Of(1, nanF, infF, -infF)
	for _, c := range []struct {
		n    *graph.Node
		want *tensor.Tensor
	}{
		{node("IsNaN"), tensor.Of(false, true, false, false)},
		{node("IsInf"), tensor.Of(false, false, true, true)},
		{node("IsInf", attrInt("detect_negative", 0)), tensor.Of(false, false, true, false)},
		{node("IsInf", attrInt("detect_positive", 0)), tensor.Of(false, false, false, true)},
	} {
		same(t, runNode(t, c.n, x)[0], c.want, 0)
	}
	half := tensor.Of(tensor.HalfOf(nanF), tensor.HalfOf(infF))
	same(t, runNode(t, node("IsNaN"), half)[0], tensor.Of(true, false), 0)
}

func TestClip(t *testing.T) {
	x := tensor.Of[float32](-3, 0.5, 3, nanF)
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
		want *tensor.Tensor
	}{
		{"both", node("Clip"), []*tensor.Tensor{x, tensor.Scalar[float32](-1), tensor.Scalar[float32](1)},
			tensor.Of[float32](-1, 0.5, 1, nanF)},
		{"min alone", node("Clip"), []*tensor.Tensor{x, tensor.Scalar[float32](0)},
			tensor.Of[float32](0, 0.5, 3, nanF)},
		{"max alone", node("Clip"), []*tensor.Tensor{x, nil, tensor.Scalar[float32](0)},
			tensor.Of[float32](-3, 0, 0, nanF)},
		{"neither", node("Clip"), []*tensor.Tensor{x}, x},
		{"min above max gives max", node("Clip"),
			[]*tensor.Tensor{tensor.Of[int8](-5, 0, 5), tensor.Scalar[int8](2), tensor.Scalar[int8](1)},
			tensor.Of[int8](1, 1, 1)},
		{"attributes", at(6, node("Clip", attrFloat("min", -1), attrFloat("max", 2))), []*tensor.Tensor{x},
			tensor.Of[float32](-1, 0.5, 2, nanF)},
		{"unsigned", node("Clip"), []*tensor.Tensor{tensor.Of[uint64](1, math.MaxUint64), nil, tensor.Of[uint64](7)},
			tensor.Of[uint64](1, 7)},
		{"halves", node("Clip"), []*tensor.Tensor{tensor.Of(tensor.HalfOf(-3), tensor.HalfOf(3)),
			tensor.Scalar(tensor.HalfOf(-1)), tensor.Scalar(tensor.HalfOf(1))},
			tensor.Of(tensor.HalfOf(-1), tensor.HalfOf(1))},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, runNode(t, c.n, c.in...)[0], c.want, 0) })
	}
	if _, err := attempt(t, node("Clip"), x, tensor.Of[float32](1, 2)); err == nil {
		t.Error("a bound with two elements: got no error")
	}
}
