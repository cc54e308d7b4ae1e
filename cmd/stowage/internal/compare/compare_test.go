package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func TestFloatsAreNearWithinTheBound(t *testing.T) {
	for name, c := range map[string]struct {
		got, want []float64
		tol       Tolerance
		ok        bool
	}{
		"equal, exact":                {[]float64{1, -2}, []float64{1, -2}, Tolerance{}, true},
		"off, exact":                  {[]float64{1}, []float64{1.0000001}, Tolerance{}, false},
		"signed zeros":                {[]float64{math.Copysign(0, -1)}, []float64{0}, Tolerance{}, true},
		"at the absolute bound":       {[]float64{1.5}, []float64{1}, Tolerance{ATol: 0.5}, true},
		"above the absolute bound":    {[]float64{1.5000001}, []float64{1}, Tolerance{ATol: 0.5}, false},
		"at the relative bound":       {[]float64{3}, []float64{-4}, Tolerance{RTol: 1.75}, true},
		"relative to want, not got":   {[]float64{4}, []float64{2}, Tolerance{RTol: 0.5}, false},
		"the two bounds add up":       {[]float64{4}, []float64{2}, Tolerance{RTol: 0.5, ATol: 1}, true},
		"share of the largest want":   {[]float64{1, 100}, []float64{0, 100}, Tolerance{Share: 0.01}, true},
		"share ignores infinity":      {[]float64{1, inf}, []float64{0, inf}, Tolerance{Share: 0.01}, false},
		"share of negative magnitude": {[]float64{1, -100}, []float64{0, -100}, Tolerance{Share: 0.01}, true},
		"share of nothing":            {[]float64{1e-30}, []float64{0}, Tolerance{Share: 1}, false},
		"NaN equals NaN":              {[]float64{nan}, []float64{nan}, Tolerance{}, true},
		"NaN for a number":            {[]float64{nan}, []float64{1}, Tolerance{ATol: inf}, false},
		"number for a NaN":            {[]float64{1}, []float64{nan}, Tolerance{ATol: inf}, false},
		"infinity equals itself":      {[]float64{inf, -inf}, []float64{inf, -inf}, Tolerance{}, true},
		"infinity's sign":             {[]float64{-inf}, []float64{inf}, Tolerance{ATol: inf}, false},
		"large number for infinity":   {[]float64{math.MaxFloat64}, []float64{inf}, Tolerance{ATol: inf, RTol: 1}, false},
		"infinity for a large number": {[]float64{inf}, []float64{math.MaxFloat64}, Tolerance{ATol: inf}, false},
		"no elements":                 {nil, nil, Tolerance{}, true},
	} {
		r := Tensors(tensor.Of(c.got...), tensor.Of(c.want...), c.tol)
		if r.OK != c.ok {
			t.Errorf("%s: got %+v, want OK %v", name, r, c.ok)
		}
	}
}

func TestResultNamesTheFirstBadElementAndTheLargestErrors(t *testing.T) {
	r := Tensors(tensor.Of[float32](1, 2.5, 9, nan32()), tensor.Of[float32](1, 2, 8, 0), Tolerance{ATol: 0.25})
	if r.OK || r.Bad != 3 || r.First != 1 || r.Got != "2.5" || r.Want != "2" || r.MaxAbs != 1 || r.MaxRel != 0.25 {
		t.Errorf("got %+v", r)
	}
}

func nan32() float32 { return float32(nan) }

func TestTypesAndShapesMustBeTheSame(t *testing.T) {
	for _, c := range []struct {
		got, want *tensor.Tensor
		text      string
	}{
		{tensor.Of[int32](1), tensor.Of[int64](1), "got int32[1], want int64[1]"},
		{tensor.Of[int32](1), tensor.Scalar[int32](1), "got int32[1], want int32[]"},
	} {
		if r := Tensors(c.got, c.want, Tolerance{ATol: inf}); r.OK || r.Mismatch != c.text {
			t.Errorf("got %+v, want %q", r, c.text)
		}
	}
}

func TestWhatIsNotAFloatIsExact(t *testing.T) {
	loose := Tolerance{RTol: 1, ATol: 1000}
	for name, c := range map[string]struct {
		got, want *tensor.Tensor
		ok        bool
		text      string
	}{
		"int8":            {tensor.Of[int8](-1), tensor.Of[int8](-2), false, "-1 -2"},
		"int64 past 2^53": {tensor.Of[int64](1<<53 + 1), tensor.Of[int64](1 << 53), false, "9007199254740993 9007199254740992"},
		"uint64":          {tensor.Of[uint64](math.MaxUint64), tensor.Of[uint64](math.MaxUint64), true, " "},
		"bool":            {tensor.Of(true), tensor.Of(false), false, "true false"},
		"same strings":    {tensor.Of("a", "b"), tensor.Of("a", "b"), true, " "},
		"other string":    {tensor.Of("a", "b"), tensor.Of("a", "c"), false, `"b" "c"`},
	} {
		r := Tensors(c.got, c.want, loose)
		if r.OK != c.ok || r.Got+" "+r.Want != c.text {
			t.Errorf("%s: got %+v, want OK %v and %q", name, r, c.ok, c.text)
		}
	}
}

func TestNarrowFloatsMayBeOneUnitInTheLastPlaceOff(t *testing.T) {
	half := func(bits ...tensor.Half) *tensor.Tensor { return tensor.Of(bits...) }
	brain := func(bits ...tensor.Brain) *tensor.Tensor { return tensor.Of(bits...) }
	one, oneB := tensor.HalfOf(1), tensor.BrainOf(1)
	for name, c := range map[string]struct {
		got, want *tensor.Tensor
		ok        bool
	}{
		"float16, one unit":   {half(one + 1), half(one), true},
		"float16, two units":  {half(one + 2), half(one), false},
		"bfloat16, one unit":  {brain(oneB + 1), brain(oneB), true},
		"bfloat16, two units": {brain(oneB + 2), brain(oneB), false},
	} {
		if r := Tensors(c.got, c.want, Tolerance{RTol: 1e-6}); r.OK != c.ok {
			t.Errorf("%s: got %+v, want OK %v", name, r, c.ok)
		}
	}
}

func TestComplexNumbersCompareByPart(t *testing.T) {
	want := tensor.Of[complex64](1+2i, 3+4i)
	for _, c := range []struct {
		got complex64
		ok  bool
	}{{3 + 4i, true}, {3 + 4.25i, true}, {3.25 + 4i, true}, {3 + 4.5i, false}, {3.5 + 4i, false}} {
		r := Tensors(tensor.Of[complex64](1+2i, c.got), want, Tolerance{ATol: 0.25})
		if r.OK != c.ok || !c.ok && (r.First != 1 || !strings.HasPrefix(r.Want, "(3+4i")) {
			t.Errorf("%v: got %+v, want OK %v", c.got, r, c.ok)
		}
	}
}

func TestOutliersAreFewAndNear(t *testing.T) {
	const n = 20000
	want := make([]float32, n)
	want[0] = 1
	tol := Tolerance{Share: 1e-4, Outliers: 1e-4, Slack: 0.01}
	for _, c := range []struct {
		off      float32
		elements int
		ok       bool
		outliers int
	}{
		{5e-5, n, true, 0},
		{5e-3, 2, true, 2},
		{5e-3, 3, false, 2},
		{0.02, 1, false, 0},
	} {
		got := make([]float32, n)
		copy(got, want)
		for i := range c.elements {
			got[i] += c.off
		}
		shape := tensor.Shape{n}
		r := Tensors(tensor.Must(shape, got), tensor.Must(shape, want), tol)
		if r.OK != c.ok || r.Outliers != c.outliers {
			t.Errorf("%d elements off by %v: got ok %v with %d outliers, want %v with %d",
				c.elements, c.off, r.OK, r.Outliers, c.ok, c.outliers)
		}
	}
}

func TestPeakOfAllSetsBoundsOneThatIsAllButZero(t *testing.T) {
	got, want := tensor.Of[float32](2e-5), tensor.Of[float32](1e-7)
	if r := Tensors(got, want, Tolerance{Share: 1e-4}); r.OK {
		t.Error("own peak: got a match, want none")
	}
	if r := Tensors(got, want, Tolerance{Share: 1e-4, Peak: 1}); !r.OK {
		t.Errorf("peak 1: got %+v, want a match", r)
	}
}
