package tensor

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestElementsOfAShape(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		n     int64
		ok    bool
	}{
		{Shape{}, 1, true},
		{Shape{2, 3}, 6, true},
		{Shape{math.MaxInt64, 0, math.MaxInt64}, 0, true},
		{Shape{math.MaxInt64}, math.MaxInt64, true},
		{Shape{1 << 32, 1 << 31}, 0, false},
		{Shape{1 << 40, 1 << 40}, 0, false},
		{Shape{0, -1}, 0, false},
		{Shape{-2}, 0, false},
	} {
		if n, ok := c.shape.Elements(); n != c.n || ok != c.ok {
			t.Errorf("%v: got %d, %v, want %d, %v", c.shape, n, ok, c.n, c.ok)
		}
	}
}

func TestByteSizePacksAndRefusesOverflow(t *testing.T) {
	for _, c := range []struct {
		dt   DType
		n    int64
		size int64
		ok   bool
	}{
		{Float32, 3, 12, true}, {Int4, 3, 2, true}, {Uint2, 5, 2, true}, {String, 9, 0, true}, {Complex128, 2, 32, true},
		{Float64, math.MaxInt64 / 8, math.MaxInt64 / 8 * 8, true}, {Float64, math.MaxInt64/8 + 1, 0, false},
		{Float32, -1, 0, false}, {Int4, math.MaxInt64, math.MaxInt64/2 + 1, true},
	} {
		if size, ok := c.dt.ByteSize(c.n); ok && size != c.size || ok != c.ok {
			t.Errorf("%v × %d: got %d, %v, want %d, %v", c.dt, c.n, size, ok, c.size, c.ok)
		}
	}
}

func TestDTypeNamesRoundTrip(t *testing.T) {
	for d := Float32; d.Valid(); d++ {
		got, ok := ParseDType(d.String())
		if !ok || got != d {
			t.Errorf("%v: got %v, %v", d, got, ok)
		}
	}
	if _, ok := ParseDType("undefined"); ok {
		t.Error("undefined: got a type, want none")
	}
	if s := DType(200).String(); s != "dtype(200)" || DType(200).Bits() != 0 {
		t.Errorf("dtype 200: got %q of %d bits", s, DType(200).Bits())
	}
}

func TestTensorsShareTheCallersMemory(t *testing.T) {
	data := []float32{1, 2, 3, 4}
	x := Must(Shape{2, 2}, data)
	data[3] = 9
	got, err := Data[float32](x)
	if err != nil || got[3] != 9 {
		t.Fatalf("got %v, %v, want the later write", got, err)
	}
	got[0] = 7
	if data[0] != 7 || x.String() != "float32[2,2]" || x.Len() != 4 {
		t.Errorf("got %v in %v", data, x)
	}
	shape := Shape{4}
	y := Must(shape, data)
	shape[0] = 5
	if !y.Shape().Equal(Shape{4}) {
		t.Errorf("got shape %v, want one of the tensor's own", y.Shape())
	}
}

func TestConstructorsRefuseWhatDoesNotFit(t *testing.T) {
	deep := make(Shape, MaxRank+1)
	for i := range deep {
		deep[i] = 1
	}
	for name, err := range map[string]error{
		"got 3 elements, want 4":         errOf(New(Shape{2, 2}, []float32{1, 2, 3})),
		"not a valid shape":              errOf(New(Shape{-1}, []float32{})),
		"rank":                           errOf(New(deep, []float32{1})),
		"got 5 bytes, want 8":            errOf(FromBytes(Int64, Shape{1}, make([]byte, 5))),
		"not a valid type for raw bytes": errOf(FromBytes(String, Shape{1}, nil)),
		"not a valid tensor type":        errOf(Zeros(Undefined, Shape{1})),
		"got 8796093022216 bytes":        errOf(Zeros(Float64, Shape{1<<40 + 1})),
		"too large":                      errOf(Zeros(Float64, Shape{1 << 60})),
		"want int64":                     errOf(Data[int64](Of[float32](1))),
	} {
		if err == nil || name != "rank" && name != "too large" && !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want %q", err, name)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestEveryElementTypeHasItsDType(t *testing.T) {
	for _, x := range []*Tensor{
		Of(true), Of[int8](1), Of[int16](1), Of[int32](1), Of[int64](1), Of[uint8](1), Of[uint16](1), Of[uint32](1),
		Of[uint64](1), Of[float32](1), Of(1.0), Of[complex64](1), Of[complex128](1), Of(HalfOf(1)), Of(BrainOf(1)),
	} {
		z, err := Zeros(x.DType(), Shape{1})
		if err != nil || len(z.Bytes()) != len(x.Bytes()) {
			t.Errorf("%v: got %d bytes of zeros, %v, want %d", x, len(z.Bytes()), err, len(x.Bytes()))
		}
	}
	s := Of("a", "b")
	if got, err := Data[string](s); err != nil || fmt.Sprint(got) != "[a b]" || s.DType() != String {
		t.Errorf("strings: got %v, %v", got, err)
	}
	if e, err := New(Shape{0, 3}, []float64{}); err != nil || e.Len() != 0 || e.Bytes() != nil {
		t.Errorf("zero-size: got %v, %v", e, err)
	}
	if v := Scalar[int32](5); v.Len() != 1 || len(v.Shape()) != 0 {
		t.Errorf("scalar: got %v", v)
	}
}

// slowHalf rounds by trying all neighbours: the obvious twin of HalfOf.
func slowHalf(f float32) Half {
	best, dist := Half(0), math.Inf(1)
	for h := Half(0); h < 0x7c00; h++ {
		d := math.Abs(float64(h.Float32()) - math.Abs(float64(f)))
		if d < dist || d == dist && h&1 == 0 {
			best, dist = h, d
		}
	}
	if math.Abs(float64(f)) >= 65520 {
		best = 0x7c00
	}
	if math.Signbit(float64(f)) {
		best |= 0x8000
	}
	return best
}

func TestHalfRoundTripsAndRoundsToEven(t *testing.T) {
	for i := range 1 << 16 {
		h := Half(i)
		f := h.Float32()
		if f != f {
			if g := HalfOf(f); g.Float32() == g.Float32() {
				t.Fatalf("%#x: a NaN became %v", i, g.Float32())
			}
			continue
		}
		if got := HalfOf(f); got != h {
			t.Fatalf("%#x: %v became %#x", i, f, uint16(got))
		}
	}
	for _, f := range []float32{0, 1, -1, 65504, 65519, 65520, 1e9, 6e-8, 2.9e-8, 3e-8, 1.0005, 1.00049, -2.00098, 0.1,
		float32(math.Inf(-1)), 5.96e-8, 6.1e-5, 6.09e-5, 2049, 2051} {
		if got, want := HalfOf(f), slowHalf(f); got != want {
			t.Errorf("%v: got %#x, want %#x", f, uint16(got), uint16(want))
		}
	}
}

func TestBrainRoundTripsAndRoundsToEven(t *testing.T) {
	for i := range 1 << 16 {
		f := Brain(i).Float32()
		if got := BrainOf(f); f == f && got != Brain(i) || f != f && got.Float32() == got.Float32() {
			t.Fatalf("%#x: %v became %#x", i, f, uint16(got))
		}
	}
	for _, c := range []struct {
		bits uint32
		want Brain
	}{{0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7fffff, 0x7f80}, {0x7f800001, 0x7fc0}} {
		if got := BrainOf(math.Float32frombits(c.bits)); got != c.want {
			t.Errorf("%#x: got %#x, want %#x", c.bits, uint16(got), uint16(c.want))
		}
	}
}
