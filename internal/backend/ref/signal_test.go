package ref

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// TestTransformMatchesTheSum compares with the definition, for lengths with all kinds of factors.
func TestTransformMatchesTheSum(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 12, 13, 30, 49, 64, 100} {
		f, err := newFourier(int64(n), false)
		if err != nil {
			t.Fatal(err)
		}
		in, out, group := make([]complex128, n), make([]complex128, n), make([]complex128, n)
		for i := range in {
			in[i] = complex(float64(i*i%11), float64(i*7%5))
		}
		f.transform(out, in, group, n, 1)
		for k := range out {
			want := complex128(0)
			for i, v := range in {
				want += v * cmplx.Rect(1, -2*math.Pi*float64(i*k%n)/float64(n))
			}
			if cmplx.Abs(out[k]-want) > 1e-9*float64(n) {
				t.Errorf("length %d: element %d: got %v, want %v", n, k, out[k], want)
			}
		}
	}
}

func TestDFT(t *testing.T) {
	x := ten[float32](sh(1, 4, 1), 1, 2, 3, 4)
	full := ten[float32](sh(1, 4, 2), 10, 0, -2, 2, -2, 0, -2, -2)
	half := ten[float32](sh(1, 3, 2), 10, 0, -2, 2, -2, 0)
	inverse, onesided := attrInt("inverse", 1), attrInt("onesided", 1)
	for _, version := range []int{17, 20} {
		n := func(more ...graph.Attr) *graph.Node { return at(version, node("DFT", more...)) }
		same(t, runNode(t, n(), x)[0], full, 1e-6)
		same(t, runNode(t, n(onesided), x)[0], half, 1e-6)
		same(t, runNode(t, n(inverse), full)[0], ten[float32](sh(1, 4, 2), 1, 0, 2, 0, 3, 0, 4, 0), 1e-6)
		same(t, runNode(t, n(inverse, onesided), half)[0], x, 1e-6)
		same(t, runNode(t, n(), x, tensor.Scalar[int64](2))[0], ten[float32](sh(1, 2, 2), 3, 0, -1, 0), 1e-6)
		same(t, runNode(t, n(), ten[float32](sh(1, 1, 1), 5), tensor.Scalar[int64](2))[0],
			ten[float32](sh(1, 2, 2), 5, 0, 5, 0), 1e-6)
	}
	columns := ten[float64](sh(2, 2, 1), 1, 2, 3, 4)
	want := ten[float64](sh(2, 2, 2), 4, 0, 6, 0, -2, 0, -2, 0)
	same(t, runNode(t, at(17, node("DFT", attrInt("axis", 0))), columns)[0], want, 1e-9)
	same(t, runNode(t, node("DFT"), columns, nil, tensor.Scalar[int64](-3))[0], want, 1e-9)
	for name, in := range map[string][]*tensor.Tensor{
		"the last axis": {x, nil, tensor.Scalar[int64](-1)}, "three parts": {ten[float32](sh(1, 1, 3), 1, 2, 3)},
		"a negative length": {x, tensor.Scalar[int64](-1)}, "an endless length": {x, tensor.Scalar[int64](1 << 40)},
	} {
		if _, err := attempt(t, node("DFT"), in...); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestSTFT(t *testing.T) {
	x := ten[float32](sh(1, 6, 1), 1, 1, 2, 2, 3, 3)
	step, length := tensor.Scalar[int64](2), tensor.Scalar[int64](2)
	same(t, runNode(t, node("STFT"), x, step, nil, length)[0],
		ten[float32](sh(1, 3, 2, 2), 2, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0), 1e-6)
	window := tensor.Of[float32](1, 0)
	same(t, runNode(t, node("STFT", attrInt("onesided", 0)), ten[float32](sh(1, 2, 2), 1, 2, 3, 4), step, window)[0],
		ten[float32](sh(1, 1, 2, 2), 1, 2, 1, 2), 1e-6)
	for name, in := range map[string][]*tensor.Tensor{
		"no step":                {x, tensor.Scalar[int64](0), window},
		"a frame too long":       {x, step, nil, tensor.Scalar[int64](99)},
		"a window of other size": {x, step, window, tensor.Scalar[int64](3)},
		"no frame":               {x, step, nil, tensor.Scalar[int64](0)},
	} {
		if out, err := attempt(t, node("STFT"), in...); err == nil {
			t.Errorf("%s: got %v, want an error", name, out[0])
		}
	}
}

func TestWindows(t *testing.T) {
	four := tensor.Scalar[int64](4)
	same(t, runNode(t, node("HannWindow"), four)[0], tensor.Of[float32](0, 0.5, 1, 0.5), 1e-6)
	same(t, runNode(t, node("HannWindow", attrInt("periodic", 0)), tensor.Scalar[int32](3))[0],
		tensor.Of[float32](0, 1, 0), 1e-6)
	same(t, runNode(t, node("HammingWindow"), four)[0], tensor.Of[float32](4./46, 25./46, 1, 25./46), 1e-6)
	same(t, runNode(t, node("BlackmanWindow", attrInt("output_datatype", int64(tensor.Float64))), four)[0],
		tensor.Of(0, 0.34, 1, 0.34), 1e-6)
	same(t, runNode(t, node("HannWindow", attrInt("periodic", 0)), tensor.Scalar[int64](1))[0], tensor.Of[float32](1), 0)
	same(t, runNode(t, node("HannWindow", attrInt("output_datatype", int64(tensor.Int8))), four)[0],
		tensor.Of[int8](0, 0, 1, 0), 0)
	for name, n := range map[string]*graph.Node{
		"a type that is none": node("HannWindow", attrInt("output_datatype", 300)),
		"strings":             node("HannWindow", attrInt("output_datatype", int64(tensor.String))),
	} {
		if _, err := attempt(t, n, four); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, err := attempt(t, node("HannWindow"), tensor.Scalar[int64](-1)); err == nil {
		t.Error("a negative size: got no error")
	}
}

func TestMelWeightMatrix(t *testing.T) {
	n := node("MelWeightMatrix")
	in := func(high float32) []*tensor.Tensor {
		return []*tensor.Tensor{tensor.Scalar[int64](2), tensor.Scalar[int64](8), tensor.Scalar[int64](16),
			tensor.Scalar[float32](0), tensor.Scalar(high)}
	}
	same(t, runNode(t, n, in(8)...)[0], ten[float32](sh(5, 2), 0, 0, 1, 0, 0, 1, 0, 0, 0, 0), 1e-6)
	for _, high := range []float32{900, nan, inf, -100} {
		if out, err := attempt(t, n, in(high)...); err == nil {
			t.Errorf("up to %v Hz: got %s, want an error", high, show(out[0]))
		}
	}
}

func TestDet(t *testing.T) {
	x := ten[float32](sh(2, 2, 2), 1, 2, 3, 4, 0, 1, 1, 0)
	same(t, runNode(t, node("Det"), x)[0], tensor.Of[float32](-2, -1), 1e-6)
	same(t, runNode(t, node("Det"), ten[float64](sh(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9))[0], tensor.Scalar(0.0), 1e-9)
	same(t, runNode(t, node("Det"), ten[float32](sh(0, 0)))[0], tensor.Scalar[float32](1), 0)
	for _, s := range []tensor.Shape{sh(2, 3), sh(4)} {
		if _, err := attempt(t, node("Det"), ten(s, make([]float32, count(s))...)); err == nil {
			t.Errorf("shape %v: got no error", s)
		}
	}
}

func TestEinsum(t *testing.T) {
	a := ten[float32](sh(2, 3), 1, 2, 3, 4, 5, 6)
	b := ten[float32](sh(3, 2), 1, 0, 0, 1, 1, 1)
	square := ten[int32](sh(2, 2), 1, 2, 3, 4)
	for _, c := range []struct {
		equation string
		in       []*tensor.Tensor
		want     *tensor.Tensor
	}{
		{"ij,jk->ik", []*tensor.Tensor{a, b}, ten[float32](sh(2, 2), 4, 5, 10, 11)},
		{"ij,jk", []*tensor.Tensor{a, b}, ten[float32](sh(2, 2), 4, 5, 10, 11)},
		{" ij -> ji ", []*tensor.Tensor{a}, ten[float32](sh(3, 2), 1, 4, 2, 5, 3, 6)},
		{"ba", []*tensor.Tensor{a}, ten[float32](sh(3, 2), 1, 4, 2, 5, 3, 6)},
		{"ij->", []*tensor.Tensor{a}, tensor.Scalar[float32](21)},
		{"ii->i", []*tensor.Tensor{square}, tensor.Of[int32](1, 4)},
		{"ii", []*tensor.Tensor{square}, tensor.Scalar[int32](5)},
		{"...j,...j->...", []*tensor.Tensor{a, a}, tensor.Of[float32](14, 77)},
		{"...i,i", []*tensor.Tensor{a, tensor.Of[float32](1, 0, 1)}, tensor.Of[float32](4, 10)},
		{"...,...", []*tensor.Tensor{square, tensor.Of[int32](1, 10)}, ten[int32](sh(2, 2), 1, 20, 3, 40)},
		{"i,j,k->kji", []*tensor.Tensor{tensor.Of[int64](1, 2), tensor.Of[int64](3), tensor.Of[int64](1, 10)},
			ten[int64](sh(2, 1, 2), 3, 6, 30, 60)},
		{"ij,jk->ik", []*tensor.Tensor{ten[float32](sh(2, 0)), ten[float32](sh(0, 1))}, ten[float32](sh(2, 1), 0, 0)},
		{"i,i->i", []*tensor.Tensor{tensor.Of(tensor.HalfOf(2)), tensor.Of(tensor.HalfOf(3))}, tensor.Of(tensor.HalfOf(6))},
	} {
		t.Run(c.equation, func(t *testing.T) {
			same(t, runNode(t, node("Einsum", attrStr("equation", c.equation)), c.in...)[0], c.want, 1e-6)
		})
	}
	for _, equation := range []string{
		"", "ij", "i,jk", "ij,jk->il", "ij,jk->ii", "i1,jk", "ij,ik->k", "......,ij", "ij,jk->i->k",
	} {
		if out, err := attempt(t, node("Einsum", attrStr("equation", equation)), a, b); err == nil {
			t.Errorf("%q: got %v, want an error", equation, out[0])
		}
	}
}
