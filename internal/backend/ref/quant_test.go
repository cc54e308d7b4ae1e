package ref

import (
	"bytes"
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestQuantizeRoundsToEvenAndSaturates(t *testing.T) {
	x := tensor.Of[float32](0, 1, 3, -1, -3, 5, 700, -700, 253, 255)
	two := tensor.Scalar(float32(2))
	for _, c := range []struct {
		name string
		zero *tensor.Tensor
		want *tensor.Tensor
	}{
		{"uint8 by default", nil, tensor.Of[uint8](0, 0, 2, 0, 0, 2, 255, 0, 126, 128)},
		{"uint8", tensor.Scalar(uint8(128)), tensor.Of[uint8](128, 128, 130, 128, 126, 130, 255, 0, 254, 255)},
		{"int8", tensor.Scalar(int8(-1)), tensor.Of[int8](-1, -1, 1, -1, -3, 1, 127, -128, 125, 127)},
		{"uint16", tensor.Scalar(uint16(300)), tensor.Of[uint16](300, 300, 302, 300, 298, 302, 650, 0, 426, 428)},
		{"int16", tensor.Scalar(int16(-32700)), tensor.Of[int16](-32700, -32700, -32698, -32700, -32702, -32698,
			-32350, -32768, -32574, -32572)},
		{"int4", raw(t, tensor.Int4, sh(), 0x1), raw(t, tensor.Int4, sh(10), 0x11, 0x13, 0x1f, 0x73>>4|0x30, 0x00)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runNode(t, node("QuantizeLinear"), x, two, c.zero)[0]
			if c.name == "int4" {
				wantNibbles(t, got, 1, 1, 3, 1, 0xf, 3, 7, 8, 7, 7)
				return
			}
			same(t, got, c.want, 0)
		})
	}
}

// wantNibbles fails the test unless the 4-bit elements of x are these.
func wantNibbles(t *testing.T, x *tensor.Tensor, want ...byte) {
	t.Helper()
	got := make([]byte, x.Len())
	for i := range got {
		got[i] = packedAt(x.Bytes(), 4, i)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestQuantizeDividesInFloat32(t *testing.T) {
	// In float64 the quotient is just below 1.5; in float32 it is 1.5 and goes to the even 2.
	got := runNode(t, node("QuantizeLinear"), tensor.Of[float32](1.05), tensor.Scalar(float32(0.7)))[0]
	same(t, got, tensor.Of(uint8(2)), 0)
}

func TestQuantizeOfOtherTypes(t *testing.T) {
	one := tensor.Scalar(float32(1))
	same(t, runNode(t, node("QuantizeLinear"), tensor.Of[int32](-5, 7), tensor.Scalar(float32(2)),
		tensor.Scalar(int8(0)))[0],
		tensor.Of[int8](-2, 4), 0)
	half := as(tensor.Float16, tensor.Of[float32](1.5, 2.5))
	same(t, runNode(t, node("QuantizeLinear"), half, as(tensor.Float16, one))[0], tensor.Of[uint8](2, 2), 0)
	nan := tensor.Of(float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)))
	same(t, runNode(t, node("QuantizeLinear"), nan, one, tensor.Scalar(int8(0)))[0], tensor.Of[int8](-128, 127, -128), 0)
}

func TestQuantizePicksItsType(t *testing.T) {
	x, one := tensor.Of[float32](-3, 1, 448, 1000), tensor.Scalar(float32(1))
	n := node("QuantizeLinear", attrInt("output_dtype", int64(tensor.Int16)))
	same(t, runNode(t, n, x, one)[0], tensor.Of[int16](-3, 1, 448, 1000), 0)
	zero := raw(t, tensor.Float8E4M3FN, sh(), 0)
	same(t, runNode(t, node("QuantizeLinear"), x, one, zero)[0], raw(t, tensor.Float8E4M3FN, sh(4), 0xc4, 0x38,
		0x7e, 0x7e), 0)
	same(t, runNode(t, node("QuantizeLinear", attrInt("saturate", 0)), x, one, zero)[0],
		raw(t, tensor.Float8E4M3FN, sh(4), 0xc4, 0x38, 0x7e, 0x7f), 0)
	wantNibbles(t, runNode(t, node("QuantizeLinear"), x, one, raw(t, tensor.Float4E2M1, sh(), 0))[0], 0xd, 0x2, 0x7, 0x7)
}

func TestScalesPerAxis(t *testing.T) {
	x := mapIndex(sh(2, 3, 2), func(at []int64) float64 { return float64(at[0]*100 + at[1]*10 + at[2]) })
	scale, zero := tensor.Of[float32](1, 2, 5), tensor.Of[uint8](0, 10, 100)
	want := ten(sh(2, 3, 2), uint8(0), 1, 15, 16, 104, 104, 100, 101, 65, 66, 124, 124)
	for _, axis := range []int64{1, -2} {
		same(t, runNode(t, node("QuantizeLinear", attrInt("axis", axis)), x, scale, zero)[0], want, 0)
	}
	back := runNode(t, node("DequantizeLinear"), want, scale, zero)[0]
	same(t, back, ten(sh(2, 3, 2), 0, 1, 10, 12, 20, 20, 100, 101, 110, 112, 120, float32(120)), 0)
}

func TestScalesPerBlock(t *testing.T) {
	// Axis 0 has 3 indices in blocks of 2; each column has scales of its own.
	x := ten(sh(3, 2), 2, 40, 4, 60, 6, float32(80))
	scale, zero := ten(sh(2, 2), 1, 10, 2, float32(20)), ten(sh(2, 2), int8(0), 1, 2, 3)
	attrs := []graph.Attr{attrInt("axis", 0), attrInt("block_size", 2)}
	want := ten(sh(3, 2), int8(2), 5, 4, 7, 5, 7)
	same(t, runNode(t, node("QuantizeLinear", attrs...), x, scale, zero)[0], want, 0)
	same(t, runNode(t, node("DequantizeLinear", attrs...), want, scale, zero)[0], x, 0)
}

func TestScalesPerBlockOfTheLastAxis(t *testing.T) {
	x := ten(sh(2, 4), int8(1), 2, 3, 4, 5, 6, 7, 8)
	scale := ten(sh(2, 2), 1, 10, 100, float32(1000))
	n := node("DequantizeLinear", attrInt("axis", -1), attrInt("block_size", 2))
	same(t, runNode(t, n, x, scale)[0], ten(sh(2, 4), 1, 2, 30, 40, 500, 600, 7000, float32(8000)), 0)
}

func TestDequantizeReadsEveryType(t *testing.T) {
	half := tensor.Scalar(float32(0.5))
	for _, c := range []struct {
		x, zero *tensor.Tensor
		want    []float32
	}{
		{tensor.Of[int8](-128, 127), tensor.Scalar(int8(2)), []float32{-65, 62.5}},
		{tensor.Of[uint16](0, 65535), tensor.Scalar(uint16(65535)), []float32{-32767.5, 0}},
		{tensor.Of[int32](-7, 9), nil, []float32{-3.5, 4.5}},
		{raw(t, tensor.Int4, sh(3), 0x8f, 0x7), raw(t, tensor.Int4, sh(), 0xf), []float32{0, -3.5, 4}},
		{raw(t, tensor.Uint4, sh(3), 0x8f, 0x7), nil, []float32{7.5, 4, 3.5}},
		{raw(t, tensor.Int2, sh(4), 0xe4), nil, []float32{0, 0.5, -1, -0.5}},
		{raw(t, tensor.Float8E5M2, sh(2), 0x3c, 0xc0), nil, []float32{0.5, -1}},
		{raw(t, tensor.Float4E2M1, sh(2), 0xa7), nil, []float32{3, -0.5}},
	} {
		t.Run(c.x.DType().String(), func(t *testing.T) {
			same(t, runNode(t, node("DequantizeLinear"), c.x, half, c.zero)[0], tensor.Of(c.want...), 0)
		})
	}
	got := runNode(t, node("DequantizeLinear"), tensor.Of[uint8](3), as(tensor.BFloat16, half))[0]
	same(t, got, as(tensor.BFloat16, tensor.Of[float32](1.5)), 0)
	to := node("DequantizeLinear", attrInt("output_dtype", int64(tensor.Float16)))
	same(t, runNode(t, to, tensor.Of[uint8](3), half)[0], as(tensor.Float16, tensor.Of[float32](1.5)), 0)
}

func TestDynamicQuantizeKeepsZeroExact(t *testing.T) {
	for _, c := range []struct {
		x     []float32
		y     []uint8
		scale float32
		zero  uint8
	}{
		{[]float32{0, 2, -3, -2.5, 1.34, 0.5}, []uint8{153, 255, 0, 26, 221, 179}, 5.0 / 255, 153},
		{[]float32{1, 2, 255}, []uint8{1, 2, 255}, 1, 0},
		{[]float32{-255, -1}, []uint8{0, 254}, 1, 255},
		{[]float32{0, 0}, []uint8{0, 0}, 1, 0},
		{[]float32{-0.5, 254.5}, []uint8{0, 254}, 1, 0},
	} {
		out := runNode(t, outs(3, node("DynamicQuantizeLinear")), tensor.Of(c.x...))
		same(t, out[0], tensor.Of(c.y...), 0)
		same(t, out[1], tensor.Scalar(c.scale), 1e-7)
		same(t, out[2], tensor.Scalar(c.zero), 0)
	}
}

func TestQuantisersRefuseWhatCannotBe(t *testing.T) {
	x, one := noise(1, 2, 3), tensor.Scalar(float32(1))
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
	}{
		{"scales of another length", node("QuantizeLinear"), []*tensor.Tensor{x, noise(1, 2)}},
		{"axis out of range", node("QuantizeLinear", attrInt("axis", 2)), []*tensor.Tensor{x, noise(1, 3)}},
		{"zero points of another length", node("QuantizeLinear"), []*tensor.Tensor{x, noise(1, 3),
			tensor.Of(uint8(1), uint8(2))}},
		{"wide type", node("QuantizeLinear", attrInt("output_dtype", int64(tensor.Int32))), []*tensor.Tensor{x, one}},
		{"power of two", node("QuantizeLinear", attrInt("output_dtype", int64(tensor.Float8E8M0))),
			[]*tensor.Tensor{x, one}},
		{"no type", node("QuantizeLinear", attrInt("output_dtype", 999)), []*tensor.Tensor{x, one}},
		{"two types", node("QuantizeLinear", attrInt("output_dtype", int64(tensor.Int8))), []*tensor.Tensor{x, one,
			tensor.Scalar(uint8(1))}},
		{"blocks of another number", node("QuantizeLinear", attrInt("block_size", 2)), []*tensor.Tensor{x, noise(1, 2, 3)}},
		{"negative blocks", node("QuantizeLinear", attrInt("block_size", -2)), []*tensor.Tensor{x, noise(1, 2, 2)}},
		{"zero point of another type", node("DequantizeLinear"), []*tensor.Tensor{tensor.Of(int8(1)), one,
			tensor.Scalar(uint8(1))}},
		{"whole output", node("DequantizeLinear", attrInt("output_dtype", int64(tensor.Int8))),
			[]*tensor.Tensor{tensor.Of(int8(1)), one}},
	} {
		if out, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%s: got %v, want an error", c.name, out[0])
		}
	}
}
