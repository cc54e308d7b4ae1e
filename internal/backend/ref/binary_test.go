package ref

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestArithmeticByType(t *testing.T) {
	for _, c := range []struct {
		n          *graph.Node
		a, b, want *tensor.Tensor
	}{
		{node("Add"), tensor.Of[float32](1, 2), tensor.Of[float32](0.5, infF), tensor.Of[float32](1.5, infF)},
		{node("Add"), tensor.Of(1.0), tensor.Of(0.1), tensor.Of(1.1)},
		{node("Add"), tensor.Of[uint8](250), tensor.Of[uint8](10), tensor.Of[uint8](4)},
		{node("Add"), tensor.Of[int64](math.MaxInt64), tensor.Of[int64](1), tensor.Of[int64](math.MinInt64)},
		{node("Add"), tensor.Of(tensor.HalfOf(1)), tensor.Of(tensor.HalfOf(2)), tensor.Of(tensor.HalfOf(3))},
		{node("Sub"), tensor.Of[int8](-128), tensor.Of[int8](1), tensor.Of[int8](127)},
		{node("Sub"), tensor.Of(tensor.BrainOf(1)), tensor.Of(tensor.BrainOf(2)), tensor.Of(tensor.BrainOf(-1))},
		{node("Mul"), tensor.Of[int32](1 << 20), tensor.Of[int32](1 << 12), tensor.Of[int32](0)},
		{node("Mul"), tensor.Of[float32](3), tensor.Of[float32](-2), tensor.Of[float32](-6)},
		{node("Div"), tensor.Of[int32](7, -7, 7, -7, 5), tensor.Of[int32](2, 2, -2, -2, 0), tensor.Of[int32](3, -3, -3, 3, 0)},
		{node("Div"), tensor.Of[uint8](7, 7), tensor.Of[uint8](2, 0), tensor.Of[uint8](3, 0)},
		{node("Div"), tensor.Of[int64](math.MinInt64), tensor.Of[int64](-1), tensor.Of[int64](math.MinInt64)},
		{node("Div"), tensor.Of[float32](1, -1, 0), tensor.Of[float32](0, 0, 0), tensor.Of[float32](infF, -infF, nanF)},
		{node("Mod"), tensor.Of[int32](5, -5, 5, -5, 1), tensor.Of[int32](3, 3, -3, -3, 0), tensor.Of[int32](2, 1, -1, -2, 0)},
		{node("Mod", attrInt("fmod", 1)), tensor.Of[int32](5, -5, 5), tensor.Of[int32](3, 3, -3), tensor.Of[int32](2, -2, 2)},
		{node("Mod", attrInt("fmod", 1)), tensor.Of[float32](-4.5, 5), tensor.Of[float32](2, -3), tensor.Of[float32](-0.5, 2)},
		{node("Mod"), tensor.Of[float32](-4.5), tensor.Of[float32](2), tensor.Of[float32](1.5)},
		{node("Mod"), tensor.Of[uint16](7, 7), tensor.Of[uint16](4, 0), tensor.Of[uint16](3, 0)},
		{node("BitShift", attrStr("direction", "LEFT")), tensor.Of[uint8](0x81, 1), tensor.Of[uint8](1, 9), tensor.Of[uint8](2, 0)},
		{node("BitShift", attrStr("direction", "RIGHT")), tensor.Of[uint64](1 << 63), tensor.Of[uint64](63), tensor.Of[uint64](1)},
		{node("BitwiseAnd"), tensor.Of[int16](-1), tensor.Of[int16](0x0f), tensor.Of[int16](0x0f)},
		{node("BitwiseOr"), tensor.Of[uint32](6), tensor.Of[uint32](1), tensor.Of[uint32](7)},
		{node("BitwiseXor"), tensor.Of[int64](6), tensor.Of[int64](3), tensor.Of[int64](5)},
		{node("And"), tensor.Of(true, true), tensor.Of(true, false), tensor.Of(true, false)},
		{node("Or"), tensor.Of(false, true), tensor.Of(false, false), tensor.Of(false, true)},
		{node("Xor"), tensor.Of(true, true), tensor.Of(true, false), tensor.Of(false, true)},
		{node("PRelu"), tensor.Of[float32](-2, 2), tensor.Of[float32](0.25), tensor.Of[float32](-0.5, 2)},
		{node("PRelu"), tensor.Of[int32](-2, 2), tensor.Of[int32](3), tensor.Of[int32](-6, 2)},
	} {
		got := runNode(t, c.n, c.a, c.b)[0]
		same(t, got, c.want, 0)
		if t.Failed() {
			t.Fatalf("%s of %v and %v", c.n.Op, show(c.a), show(c.b))
		}
	}
}

func TestBroadcastBothWays(t *testing.T) {
	col, row := ten[float32](sh(2, 1), 10, 20), ten[float32](sh(3), 1, 2, 3)
	for _, c := range []struct {
		a, b, want *tensor.Tensor
	}{
		{col, row, ten[float32](sh(2, 3), 9, 8, 7, 19, 18, 17)},
		{row, col, ten[float32](sh(2, 3), -9, -8, -7, -19, -18, -17)},
		{row, tensor.Scalar[float32](1), tensor.Of[float32](0, 1, 2)},
		{tensor.Scalar[float32](1), row, tensor.Of[float32](0, -1, -2)},
		{tensor.Scalar[float32](1), tensor.Scalar[float32](3), tensor.Scalar[float32](-2)},
		{ten[float32](sh(2, 0)), ten[float32](sh(1, 1), 5), ten[float32](sh(2, 0))},
		{ten[float32](sh(0)), tensor.Scalar[float32](1), ten[float32](sh(0))},
	} {
		same(t, runNode(t, node("Sub"), c.a, c.b)[0], c.want, 0)
	}
	if _, err := attempt(t, node("Sub"), ten[float32](sh(2), 1, 2), row); err == nil {
		t.Error("extents 2 and 3: got no error")
	}
	if _, err := attempt(t, node("Sub"), tensor.Of(1.0), row); err == nil {
		t.Error("float64 and float32: got no error")
	}
}

func TestSameTensorTwice(t *testing.T) {
	x := tensor.Of[float32](1, 2, 3)
	same(t, runNode(t, node("Add"), x, x)[0], tensor.Of[float32](2, 4, 6), 0)
	same(t, runNode(t, node("Sum"), x, tensor.Of[float32](1, 1, 1), x)[0], tensor.Of[float32](3, 5, 7), 0)
}

func TestCompare(t *testing.T) {
	a, b := tensor.Of[float32](1, 2, nanF, 3), tensor.Of[float32](2, 2, nanF, infF)
	for _, c := range []struct {
		op   string
		a, b *tensor.Tensor
		want *tensor.Tensor
	}{
		{"Equal", a, b, tensor.Of(false, true, false, false)},
		{"Less", a, b, tensor.Of(true, false, false, true)},
		{"LessOrEqual", a, b, tensor.Of(true, true, false, true)},
		{"Greater", a, b, tensor.Of(false, false, false, false)},
		{"GreaterOrEqual", a, b, tensor.Of(false, true, false, false)},
		{"Equal", tensor.Of("a", "b"), tensor.Of("a"), tensor.Of(true, false)},
		{"Equal", tensor.Of(true, false), tensor.Of(true, true), tensor.Of(true, false)},
		{"Less", tensor.Of[uint64](1), tensor.Of[uint64](math.MaxUint64), tensor.Of(true)},
		{"Less", tensor.Of[int8](-1), tensor.Of[int8](1), tensor.Of(true)},
		{"Greater", tensor.Of(tensor.HalfOf(-1)), tensor.Of(tensor.HalfOf(-2)), tensor.Of(true)},
		{"Equal", tensor.Scalar[int64](3), ten[int64](sh(2, 1), 3, 4), ten(sh(2, 1), true, false)},
	} {
		same(t, runNode(t, node(c.op), c.a, c.b)[0], c.want, 0)
	}
}

func TestPowMixesTypes(t *testing.T) {
	for _, c := range []struct {
		a, b, want *tensor.Tensor
	}{
		{tensor.Of[float32](2, 3, 4, -8), tensor.Of[float32](3, 2, 0.5, 1), tensor.Of[float32](8, 9, 2, -8)},
		{tensor.Of[float32](2, 3), tensor.Of[int64](3, -1), tensor.Of[float32](8, 1.0/3)},
		{tensor.Of[int32](2, 3, -2), tensor.Of[int32](3, -1, 3), tensor.Of[int32](8, 0, -8)},
		{tensor.Of[int64](3), tensor.Of[int64](39), tensor.Of[int64](4052555153018976267)},
		{tensor.Of[int32](4, 9), tensor.Of[float32](0.5, 1.5), tensor.Of[int32](2, 27)},
		{tensor.Of(2.0), tensor.Of[int32](10), tensor.Of(1024.0)},
		{tensor.Of[int64](1, -1, -1, 2), tensor.Of[int64](-5, -4, -3, -1), tensor.Of[int64](1, 1, -1, 0)},
		{ten[float32](sh(2, 1), 2, 3), tensor.Of[float32](1, 2), ten[float32](sh(2, 2), 2, 4, 3, 9)},
		{tensor.Of(tensor.HalfOf(3)), tensor.Scalar[float32](2), tensor.Of(tensor.HalfOf(9))},
	} {
		same(t, runNode(t, node("Pow"), c.a, c.b)[0], c.want, 1e-6)
	}
}

func TestFoldsManyOperands(t *testing.T) {
	a, b, c := tensor.Of[float32](1, 5, nanF), tensor.Of[float32](2, 4, 1), ten[float32](sh(2, 1), 0, 3)
	for _, tc := range []struct {
		op   string
		in   []*tensor.Tensor
		want *tensor.Tensor
	}{
		{"Sum", []*tensor.Tensor{a}, a},
		{"Sum", []*tensor.Tensor{a, b, c}, ten[float32](sh(2, 3), 3, 9, nanF, 6, 12, nanF)},
		{"Mean", []*tensor.Tensor{a, b}, tensor.Of[float32](1.5, 4.5, nanF)},
		{"Max", []*tensor.Tensor{a, b, c}, ten[float32](sh(2, 3), 2, 5, nanF, 3, 5, nanF)},
		{"Min", []*tensor.Tensor{c, a, b}, ten[float32](sh(2, 3), 0, 0, nanF, 1, 3, nanF)},
		{"Max", []*tensor.Tensor{tensor.Of[uint64](1, math.MaxUint64), tensor.Of[uint64](2)}, tensor.Of[uint64](2, math.MaxUint64)},
		{"Min", []*tensor.Tensor{tensor.Of[int8](-1, 3), tensor.Of[int8](2)}, tensor.Of[int8](-1, 2)},
		{"Sum", []*tensor.Tensor{tensor.Of(tensor.HalfOf(1)), tensor.Of(tensor.HalfOf(2))}, tensor.Of(tensor.HalfOf(3))},
		{"Mean", []*tensor.Tensor{tensor.Of(1.0), tensor.Of(2.0), tensor.Of(6.0)}, tensor.Of(3.0)},
		{"Sum", []*tensor.Tensor{ten[float32](sh(0, 2)), tensor.Of[float32](1, 1)}, ten[float32](sh(0, 2))},
	} {
		same(t, runNode(t, node(tc.op), tc.in...)[0], tc.want, 0)
	}
}

func TestFoldCrossesBlocks(t *testing.T) {
	const rows, cols = 7, 301
	a, col := make([]float32, rows*cols), make([]float32, rows)
	want := make([]float32, rows*cols)
	for i := range a {
		a[i] = float32(i)
		col[i/cols] = float32(1000 * (i / cols))
		want[i] = a[i] + col[i/cols] + float32(i%cols)
	}
	row := make([]float32, cols)
	for i := range row {
		row[i] = float32(i)
	}
	got := runNode(t, node("Sum"), ten(sh(rows, cols), a...), ten(sh(rows, 1), col...), tensor.Of(row...))[0]
	same(t, got, ten(sh(rows, cols), want...), 0)
}

func TestWhere(t *testing.T) {
	cond := tensor.Of(true, false)
	for _, c := range []struct {
		cond, a, b, want *tensor.Tensor
	}{
		{cond, tensor.Of[float32](1, 2), tensor.Of[float32](3, 4), tensor.Of[float32](1, 4)},
		{cond, tensor.Of("a"), tensor.Of("b", "c"), tensor.Of("a", "c")},
		{tensor.Scalar(false), tensor.Of[int8](1, 2), tensor.Scalar[int8](9), tensor.Of[int8](9, 9)},
		{ten(sh(2, 1), true, false), tensor.Of(1.0, 2), tensor.Of(0.0), ten(sh(2, 2), 1.0, 2, 0, 0)},
		{cond, tensor.Of(complex(1, 2)), tensor.Of(complex(3, 4)), tensor.Of(complex(1, 2), complex(3, 4))},
		{cond, tensor.Of(true), tensor.Of(false), tensor.Of(true, false)},
		{ten[bool](sh(0)), tensor.Of[int64](1), tensor.Of[int64](2), ten[int64](sh(0))},
	} {
		same(t, runNode(t, node("Where"), c.cond, c.a, c.b)[0], c.want, 0)
	}
}

func TestBadOperandsOfBinary(t *testing.T) {
	f := tensor.Of[float32](1, 2)
	one := tensor.Of[uint8](1)
	if _, err := attempt(t, node("BitShift", attrStr("direction", "UP")), one, one); err == nil {
		t.Error("direction UP: got no error")
	}
	if _, err := attempt(t, node("PRelu"), f, ten[float32](sh(2, 2), 1, 2, 3, 4)); err == nil {
		t.Error("a slope larger than the input: got no error")
	}
	if _, err := attempt(t, node("And"), f, f); err == nil {
		t.Error("And of numbers: got no error")
	}
	if _, err := attempt(t, node("Where"), f, f, f); err == nil {
		t.Error("a condition that is no boolean: got no error")
	}
}
