package ref

import (
	"fmt"
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// raw makes a tensor over bytes.
func raw(t *testing.T, dt tensor.DType, shape tensor.Shape, data ...byte) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromBytes(dt, shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func castNode(to tensor.DType, attrs ...graph.Attr) *graph.Node {
	return node("Cast", append(attrs, attrInt("to", int64(to)))...)
}

func TestCastBetweenGoTypes(t *testing.T) {
	for _, c := range []struct{ in, want *tensor.Tensor }{
		{tensor.Of[float32](1.9, -1.9, nanF, 3e9, -3e9), tensor.Of[int32](1, -1, 0, math.MaxInt32, math.MinInt32)},
		{tensor.Of[float32](1e30, -1e30), tensor.Of[int64](math.MaxInt64, math.MinInt64)},
		{tensor.Of[float32](-1, 300), tensor.Of[uint8](255, 44)},
		{tensor.Of(1e30, 1e19, -1), tensor.Of[uint64](math.MaxUint64, 10000000000000000000, math.MaxUint64)},
		{tensor.Of[float32](0, -0.5, nanF), tensor.Of(false, true, true)},
		{tensor.Of(true, false), tensor.Of[float32](1, 0)},
		{tensor.Of(true, false), tensor.Of[int64](1, 0)},
		{tensor.Of[int64](-1, 256), tensor.Of[uint8](255, 0)},
		{tensor.Of[int64](1<<53 + 1), tensor.Of[int64](1<<53 + 1)},
		{tensor.Of[uint64](math.MaxUint64), tensor.Of[int64](-1)},
		{tensor.Of[uint64](math.MaxUint64), tensor.Of[float32](18446744073709551616)},
		{tensor.Of[int64](3, 0), tensor.Of(true, false)},
		{tensor.Of(0.1), tensor.Of[float32](0.1)},
		{tensor.Of(1 + 1.0/2048 + 1e-12), tensor.Of(tensor.Half(0x3c01))},
		{tensor.Of(tensor.HalfOf(1.5)), tensor.Of(1.5)},
		{tensor.Of(tensor.BrainOf(1.5)), tensor.Of(tensor.HalfOf(1.5))},
		{tensor.Of[int16](-3), tensor.Of(tensor.BrainOf(-3))},
		{tensor.Of[float32](0.1, 1e10, nanF, -infF), tensor.Of("0.1", "1e+10", "NaN", "-INF")},
		{tensor.Of(0.1), tensor.Of("0.1")},
		{tensor.Of[int8](-7), tensor.Of("-7")},
		{tensor.Of[uint64](math.MaxUint64), tensor.Of("18446744073709551615")},
		{tensor.Of(true), tensor.Of("True")},
		{tensor.Of(" 1.5", "-INF", "NaN", "1e3"), tensor.Of[float32](1.5, -infF, nanF, 1000)},
		{tensor.Of("-7", "3.9"), tensor.Of[int32](-7, 3)},
		{tensor.Of("18446744073709551615"), tensor.Of[uint64](math.MaxUint64)},
		{tensor.Of("a"), tensor.Of("a")},
		{ten[float32](sh(0, 2)), ten[int8](sh(0, 2))},
		{tensor.Scalar[float32](2), tensor.Scalar[int8](2)},
	} {
		t.Run(fmt.Sprintf("%v to %v", c.in, c.want), func(t *testing.T) {
			same(t, runNode(t, castNode(c.want.DType()), c.in)[0], c.want, 0)
			same(t, runNode(t, node("CastLike"), c.in, c.want)[0], c.want, 0)
		})
	}
}

func TestCastRefusesWhatIsNoNumber(t *testing.T) {
	if _, err := attempt(t, castNode(tensor.Float32), tensor.Of("x")); err == nil {
		t.Error("\"x\": got no error")
	}
	if _, err := attempt(t, castNode(99), tensor.Of("x")); err == nil {
		t.Error("type 99: got no error")
	}
	if _, err := attempt(t, castNode(tensor.Complex64), tensor.Of[float32](1)); err == nil {
		t.Error("to complex64: got no error")
	}
}

func TestCastToSmallFloats(t *testing.T) {
	x := tensor.Of[float32](1, -1, 0, float32(math.Copysign(0, -1)), 1e6, -infF, nanF, 1e-9)
	for _, c := range []struct {
		dt       tensor.DType
		saturate int64
		want     []byte
	}{
		{tensor.Float8E4M3FN, 1, []byte{0x38, 0xb8, 0, 0x80, 0x7e, 0xfe, 0x7f, 0}},
		{tensor.Float8E4M3FN, 0, []byte{0x38, 0xb8, 0, 0x80, 0x7f, 0xff, 0x7f, 0}},
		{tensor.Float8E5M2, 1, []byte{0x3c, 0xbc, 0, 0x80, 0x7b, 0xfb, 0x7e, 0}},
		{tensor.Float8E5M2, 0, []byte{0x3c, 0xbc, 0, 0x80, 0x7c, 0xfc, 0x7e, 0}},
		{tensor.Float8E4M3UZ, 1, []byte{0x40, 0xc0, 0, 0, 0x7f, 0xff, 0x80, 0}},
		{tensor.Float8E4M3UZ, 0, []byte{0x40, 0xc0, 0, 0, 0x80, 0x80, 0x80, 0}},
		{tensor.Float8E5M2UZ, 1, []byte{0x40, 0xc0, 0, 0, 0x7f, 0xff, 0x80, 0}},
		{tensor.Float8E5M2UZ, 0, []byte{0x40, 0xc0, 0, 0, 0x80, 0x80, 0x80, 0}},
		{tensor.Float4E2M1, 1, []byte{0xa2, 0x80, 0xf7, 0x08}},
	} {
		got := runNode(t, castNode(c.dt, attrInt("saturate", c.saturate)), x)[0]
		same(t, got, raw(t, c.dt, sh(8), c.want...), 0)
	}
}

func TestSmallFloatsRoundTrip(t *testing.T) {
	for _, dt := range []tensor.DType{tensor.Float8E4M3FN, tensor.Float8E4M3UZ, tensor.Float8E5M2, tensor.Float8E5M2UZ,
		tensor.Float4E2M1} {
		f, _ := minifloatOf(dt)
		for code := range 1 << f.bits {
			x := f.decode(byte(code))
			if math.IsNaN(x) {
				continue
			}
			if got := f.encode(x, false); got != byte(code) {
				t.Errorf("%v: code %#x is %v, which becomes %#x", dt, code, x, got)
			}
			// Half way between two neighbours the even code wins.
			next := f.decode(byte(code) + 1)
			if sign := code >> (f.bits - 1); sign == 0 && next > x && !math.IsInf(next, 0) {
				if got := f.encode((x+next)/2, false); got != byte(code)+byte(code&1) {
					t.Errorf("%v: half way above code %#x: got %#x", dt, code, got)
				}
			}
		}
	}
}

func TestCastE8M0(t *testing.T) {
	x := tensor.Of[float32](0, 0.124, 0.25, 1.1, 1.5, 2, infF, nanF)
	for _, c := range []struct {
		mode string
		want []byte
	}{
		{"up", []byte{0, 0x7c, 0x7d, 0x80, 0x80, 0x80, 0xff, 0xff}},
		{"down", []byte{0, 0x7b, 0x7d, 0x7f, 0x7f, 0x80, 0xff, 0xff}},
		{"nearest", []byte{0, 0x7c, 0x7d, 0x7f, 0x80, 0x80, 0xff, 0xff}},
	} {
		n := castNode(tensor.Float8E8M0, attrStr("round_mode", c.mode))
		same(t, runNode(t, n, x)[0], raw(t, tensor.Float8E8M0, sh(8), c.want...), 0)
	}
	back := runNode(t, castNode(tensor.Float32), raw(t, tensor.Float8E8M0, sh(3), 0x7f, 0x81, 0xff))[0]
	same(t, back, tensor.Of[float32](1, 4, nanF), 0)
}

func TestCastPackedIntegers(t *testing.T) {
	for _, c := range []struct {
		from tensor.DType
		data []byte
		n    int64
		want *tensor.Tensor
	}{
		{tensor.Int4, []byte{0x8f, 0x07}, 3, tensor.Of[int8](-1, -8, 7)},
		{tensor.Uint4, []byte{0x8f, 0x07}, 3, tensor.Of[int8](15, 8, 7)},
		{tensor.Int2, []byte{0xe4, 0x02}, 5, tensor.Of[int8](0, 1, -2, -1, -2)},
		{tensor.Uint2, []byte{0xe4, 0x02}, 5, tensor.Of[int8](0, 1, 2, 3, 2)},
	} {
		in := raw(t, c.from, sh(c.n), c.data...)
		same(t, runNode(t, castNode(tensor.Int8), in)[0], c.want, 0)
		same(t, runNode(t, castNode(c.from), c.want)[0], in, 0)
		asFloat := runNode(t, castNode(tensor.Float32), in)[0]
		same(t, runNode(t, castNode(c.from), asFloat)[0], in, 0)
		asText := runNode(t, castNode(tensor.String), in)[0]
		same(t, runNode(t, castNode(c.from), asText)[0], in, 0)
	}
}

func TestCastCrossesBlocks(t *testing.T) {
	in, want := make([]int32, 1000), make([]float32, 1000)
	for i := range in {
		in[i], want[i] = int32(i-500), float32(i-500)
	}
	same(t, runNode(t, castNode(tensor.Float32), tensor.Of(in...))[0], tensor.Of(want...), 0)
}

func TestBitCastKeepsBits(t *testing.T) {
	n := node("BitCast", attrInt("to", int64(tensor.Int32)))
	same(t, runNode(t, n, tensor.Of[float32](1))[0], tensor.Of[int32](0x3f800000), 0)
	if _, err := attempt(t, n, tensor.Of(1.0)); err == nil {
		t.Error("64 bits to 32: got no error")
	}
}
