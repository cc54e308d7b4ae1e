package values

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

func raw(t *testing.T, dt tensor.DType, shape tensor.Shape, b ...byte) *tensor.Tensor {
	t.Helper()
	x, err := Aligned(dt, shape, b)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func texts(x *tensor.Tensor) string {
	var out []string
	for i := range x.Len() {
		out = append(out, Text(x, i))
	}
	return strings.Join(out, " ")
}

func TestTextGivesElementsExactly(t *testing.T) {
	for _, c := range []struct {
		t    *tensor.Tensor
		want string
	}{
		{tensor.Of[float32](0.1, -1e30, float32(math.Inf(1))), "0.1 -1e+30 +Inf"},
		{tensor.Of(0.1, math.NaN()), "0.1 NaN"},
		{tensor.Of[int64](math.MinInt64, 9007199254740993), "-9223372036854775808 9007199254740993"},
		{tensor.Of[uint64](math.MaxUint64), "18446744073709551615"},
		{tensor.Of[int8](-128, 127), "-128 127"},
		{tensor.Of(true, false), "true false"},
		{tensor.Of(tensor.HalfOf(0.5), tensor.HalfOf(-65504)), "0.5 -65504"},
		{tensor.Of(tensor.BrainOf(1.5)), "1.5"},
		{tensor.Of[complex64](1 - 2i), "(1-2i)"},
		{tensor.Of("a\n", strings.Repeat("x", 61)), `"a\n" "` + strings.Repeat("x", 60) + `"…`},
		{raw(t, tensor.Uint4, tensor.Shape{3}, 0x21, 0x0f), "1 2 15"},
		{raw(t, tensor.Int4, tensor.Shape{3}, 0x71, 0x08), "1 7 -8"},
		{raw(t, tensor.Uint2, tensor.Shape{4}, 0b11_10_01_00), "0 1 2 3"},
		{raw(t, tensor.Int2, tensor.Shape{4}, 0b11_10_01_00), "0 1 -2 -1"},
		{raw(t, tensor.Float4E2M1, tensor.Shape{4}, 0x71, 0xf8), "0.5 6 -0 -6"},
		{raw(t, tensor.Float8E4M3FN, tensor.Shape{5}, 0x38, 0x7e, 0xff, 0x01, 0x80), "1 448 NaN 0.001953125 -0"},
		{raw(t, tensor.Float8E4M3UZ, tensor.Shape{4}, 0x40, 0x7f, 0x80, 0x01), "1 240 NaN 0.0009765625"},
		{raw(t, tensor.Float8E5M2, tensor.Shape{5}, 0x3c, 0x7b, 0xfc, 0x7d, 0x01), "1 57344 -Inf NaN 1.5258789e-05"},
		{raw(t, tensor.Float8E5M2UZ, tensor.Shape{3}, 0x40, 0x7f, 0x80), "1 57344 NaN"},
		{raw(t, tensor.Float8E8M0, tensor.Shape{3}, 127, 128, 255), "1 2 NaN"},
	} {
		if got := texts(c.t); got != c.want {
			t.Errorf("%v: got %s, want %s", c.t, got, c.want)
		}
	}
}

func TestSummaryLeavesOutWhatIsNotFinite(t *testing.T) {
	s := Summarize("y", tensor.Of(1, math.NaN(), -3, math.Inf(-1), 5))
	want := Summary{Name: "y", DType: "float64", Shape: tensor.Shape{5}, Min: "-Inf", Max: "5", Mean: 1, NaNs: 1, Infs: 1,
		First: []string{"1", "NaN", "-3", "-Inf", "5"}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

func TestSummaryOfNoNumbersIsEmpty(t *testing.T) {
	for _, x := range []*tensor.Tensor{tensor.Of[float32](), tensor.Of(math.NaN()), tensor.Of("a")} {
		if s := Summarize("", x); s.Min != "" || s.Max != "" || s.Mean != 0 {
			t.Errorf("%v: got %+v", x, s)
		}
	}
}

func TestTopListsTheLargestAndOfEqualsTheFirst(t *testing.T) {
	x := tensor.Must(tensor.Shape{1, 10}, []float32{0, 7, 3, 7, 9, float32(math.NaN()), 1, 2, 8, 7})
	want := []Score{{4, "9"}, {8, "8"}, {1, "7"}, {3, "7"}, {9, "7"}}
	if got := Summarize("", x).Top; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, x := range []*tensor.Tensor{
		tensor.Of(make([]int32, 10)...), tensor.Of(make([]float32, 9)...),
		tensor.Must(tensor.Shape{2, 10}, make([]float32, 20)), tensor.Scalar[float32](1),
	} {
		if got := Summarize("", x).Top; got != nil {
			t.Errorf("%v: got %v, want no top", x, got)
		}
	}
}

func TestRandomFollowsFromSeedAndName(t *testing.T) {
	for dt := tensor.Float32; dt.Valid(); dt++ {
		make := func(name string, seed uint64) *tensor.Tensor {
			x, err := Random(name, dt, tensor.Shape{4, 16}, seed)
			if err != nil {
				t.Fatalf("%v: %v", dt, err)
			}
			return x
		}
		a := texts(make("a", 1))
		if a != texts(make("a", 1)) {
			t.Errorf("%v: got two results from one seed", dt)
		}
		if a == texts(make("b", 1)) || a == texts(make("a", 2)) {
			t.Errorf("%v: got one result from two names or seeds", dt)
		}
		if at := Numbers(make("a", 1)); dt.IsFloat() && at != nil && dt != tensor.Float8E8M0 {
			for i := range 64 {
				if v := at(i); math.IsNaN(v) || math.Abs(v) > 6 {
					t.Errorf("%v: got %v, want a small number", dt, v)
				}
			}
		}
	}
}

func TestMadeTensorsAreBounded(t *testing.T) {
	for _, shape := range []tensor.Shape{{1 << 40}, {math.MaxInt64, 2}, {-1}} {
		for _, dt := range []tensor.DType{tensor.Uint8, tensor.String} {
			if _, err := Random("", dt, shape, 1); err == nil {
				t.Errorf("%v%v: got no error", dt, shape)
			}
		}
	}
}

func TestJSONReadsNestedArrays(t *testing.T) {
	for _, c := range []struct {
		text  string
		dt    tensor.DType
		shape tensor.Shape
		want  string
	}{
		{"[[1, 2.5], [-3e2, 4]]", tensor.Float32, tensor.Shape{2, 2}, "1 2.5 -300 4"},
		{" 16000 ", tensor.Int64, tensor.Shape{}, "16000"},
		{"[]", tensor.Float32, tensor.Shape{0}, ""},
		{"[[],[]]", tensor.Int8, tensor.Shape{2, 0}, ""},
		{"[9007199254740993, -9223372036854775808]", tensor.Int64, tensor.Shape{2}, "9007199254740993 -9223372036854775808"},
		{"[255]", tensor.Uint8, tensor.Shape{1}, "255"},
		{"[true, false]", tensor.Bool, tensor.Shape{2}, "true false"},
		{`["NaN", "-Infinity", "+Inf"]`, tensor.Float64, tensor.Shape{3}, "NaN -Inf +Inf"},
		{`[["a", "NaN"]]`, tensor.String, tensor.Shape{1, 2}, `"a" "NaN"`},
		{"[0.5]", tensor.Float16, tensor.Shape{1}, "0.5"},
		{"[0.5]", tensor.BFloat16, tensor.Shape{1}, "0.5"},
		{`{"shape": [1, 0, 4], "data": []}`, tensor.Float32, tensor.Shape{1, 0, 4}, ""},
		{`{"dtype": "int32", "shape": [2, 1], "data": [3, 4]}`, tensor.Int32, tensor.Shape{2, 1}, "3 4"},
	} {
		got, err := DecodeJSON([]byte(c.text), c.dt)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got.DType() != c.dt || !got.Shape().Equal(c.shape) || texts(got) != c.want {
			t.Errorf("%s: got %v %s, want %v %s", c.text, got, texts(got), c.shape, c.want)
		}
	}
}

func TestJSONThatIsNoTensorIsRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		dt   tensor.DType
		want string
	}{
		{"", tensor.Float32, "unexpected EOF"},
		{"[1,", tensor.Float32, "EOF"},
		{"[1 2]", tensor.Float32, "values: JSON tensor"},
		{"[1] 2", tensor.Float32, "got more after its end"},
		{"[[1,2],[3]]", tensor.Float32, "ragged: got 1 elements at level 1, want 2 as before"},
		{"[[1],2]", tensor.Float32, "an element beside arrays"},
		{"[1,[2]]", tensor.Float32, "an array beside elements"},
		{"[[],1]", tensor.Float32, "an element beside arrays"},
		{"[1.5]", tensor.Int32, "got 1.5, want int32"},
		{"[256]", tensor.Uint8, "got 256, want uint8"},
		{"[-1]", tensor.Uint64, "got -1, want uint64"},
		{"[1e999]", tensor.Float32, "got 1e999, want float32"},
		{"[true]", tensor.Float32, "got true, want float32"},
		{"[1]", tensor.Bool, "got 1, want bool"},
		{`["a"]`, tensor.Float32, `got "a", want float32`},
		{"[null]", tensor.String, "got <nil>, want string"},
		{"[{}]", tensor.Float32, "got an object"},
		{"[1]", tensor.Complex64, "want complex64"},
		{strings.Repeat("[", 17), tensor.Float32, "more than 16 levels"},
		{`{"dtype": "int64", "shape": [1], "data": [1]}`, tensor.Int32, "dtype: got int64, want int32"},
		{`{"shape": [2], "data": [1]}`, tensor.Int32, "shape [2]: got 1 elements"},
		{`{"shape": [-1], "data": [1]}`, tensor.Int32, "shape [-1]"},
		{`{"data": [1], "more": 1}`, tensor.Int32, "unknown field"},
	} {
		_, err := DecodeJSON([]byte(c.text), c.dt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestJSONSurvivesARoundTrip(t *testing.T) {
	for _, x := range []*tensor.Tensor{
		tensor.Must(tensor.Shape{1, 2, 1}, []float32{0.1, float32(math.Inf(-1))}), tensor.Of(math.NaN(), 1e300),
		tensor.Of[int64](math.MinInt64), tensor.Of(true), tensor.Of("a\"b", ""), tensor.Scalar(tensor.HalfOf(3)),
		tensor.Must(tensor.Shape{2, 0}, []uint8{}),
	} {
		b, err := EncodeJSON("x", x)
		if err != nil {
			t.Fatalf("%v: %v", x, err)
		}
		got, err := DecodeJSON(b, x.DType())
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		// The bits of a NaN may change.
		same := x.DType() == tensor.Float64 || bytes.Equal(got.Bytes(), x.Bytes())
		if got.String() != x.String() || texts(got) != texts(x) || !same {
			t.Errorf("%s: got %v %s", b, got, texts(got))
		}
	}
	if _, err := EncodeJSON("x", tensor.Of[complex64](1)); err == nil {
		t.Error("complex: got no error")
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{
		"[[1,2],[3,4]]", "1", `["a"]`, `{"dtype":"float32","shape":[1,0],"data":[]}`, "[[],[]]", "[true]",
	} {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Int64, tensor.String, tensor.Bool} {
			f.Add([]byte(s), uint8(dt))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, d uint8) {
		dt := tensor.DType(d)
		if !dt.Valid() {
			return
		}
		x, err := DecodeJSON(b, dt)
		if err != nil {
			return
		}
		if dt == tensor.Complex64 || dt.IsFloat() && dt.Bits() == 8 {
			return
		}
		again, err := EncodeJSON("", x)
		if err != nil {
			t.Fatalf("%v: %v", x, err)
		}
		y, err := DecodeJSON(again, dt)
		if err != nil || !y.Shape().Equal(x.Shape()) || dt != tensor.String && texts(y) != texts(x) {
			t.Fatalf("%v: got %v, %v after a round trip as %s", x, y, err, again)
		}
	})
}
