package ref

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// naiveMatMul multiplies as numpy does, element by element of a result of shape out.
func naiveMatMul(a, b *tensor.Tensor, out tensor.Shape) *tensor.Tensor {
	as, bs, full := a.Shape(), b.Shape(), out.Clone()
	if len(as) == 1 {
		as, full = sh(1, as[0]), append(full[:max(len(full)-1, 0)].Clone(), append(sh(1), full[max(len(full)-1, 0):]...)...)
	}
	if len(bs) == 1 {
		bs = sh(bs[0], 1)
		full = append(full, 1)
	}
	pick := func(s tensor.Shape, at []int64, i, j int64) int64 {
		p := make([]int64, len(s))
		for d := range len(s) - 2 {
			if s[d] > 1 {
				p[d] = at[len(full)-len(s)+d]
			}
		}
		p[len(s)-2], p[len(s)-1] = i, j
		n, _ := flat(s, p...)
		return n
	}
	var y []float32
	for o := range positions(full) {
		sum := float32(0)
		for k := range as[len(as)-1] {
			sum += f32(a)[pick(as, o, o[len(o)-2], k)] * f32(b)[pick(bs, o, k, o[len(o)-1])]
		}
		y = append(y, sum)
	}
	return ten(out, y...)
}

func TestMatMulBroadcasts(t *testing.T) {
	for _, c := range []struct{ a, b, want tensor.Shape }{
		{sh(2, 3), sh(3, 4), sh(2, 4)},
		{sh(5, 9), sh(9, 1), sh(5, 1)},
		{sh(3), sh(3), sh()},
		{sh(3), sh(3, 4), sh(4)},
		{sh(2, 3), sh(3), sh(2)},
		{sh(3), sh(2, 3, 4), sh(2, 4)},
		{sh(2, 4, 3), sh(3), sh(2, 4)},
		{sh(2, 4, 3), sh(3, 5), sh(2, 4, 5)},
		{sh(4, 3), sh(2, 3, 5), sh(2, 4, 5)},
		{sh(2, 1, 4, 3), sh(3, 3, 5), sh(2, 3, 4, 5)},
		{sh(1, 2, 4, 3), sh(2, 1, 3, 5), sh(2, 2, 4, 5)},
		{sh(2, 0), sh(0, 3), sh(2, 3)},
		{sh(0, 2), sh(2, 3), sh(0, 3)},
		{sh(0, 2, 3), sh(1, 3, 4), sh(0, 2, 4)},
		{sh(3, 261), sh(261, 515), sh(3, 515)},
	} {
		t.Run(fmt.Sprint(c.a, c.b), func(t *testing.T) {
			a, b := noise(1, c.a...), noise(2, c.b...)
			got := runNode(t, node("MatMul"), a, b)[0]
			want := naiveMatMul(a, b, c.want)
			same(t, got, want, 0)
			same(t, runNode(t, node("MatMul"), as(tensor.Float64, a), as(tensor.Float64, b))[0], as(tensor.Float64, want), 0)
			same(t, runNode(t, node("MatMul"), as(tensor.BFloat16, a), as(tensor.BFloat16, b))[0], as(tensor.BFloat16,
				want), 0)
		})
	}
}

func TestMatMulOfIntegersWraps(t *testing.T) {
	got := runNode(t, node("MatMul"), ten(sh(1, 2), uint32(1<<31), uint32(3)), ten(sh(2, 1), uint32(2), uint32(5)))[0]
	same(t, got, ten(sh(1, 1), uint32(15)), 0)
	wide := runNode(t, node("MatMul"), ten(sh(1, 1), int64(1<<40)), ten(sh(1, 1), int64(-3)))[0]
	same(t, wide, ten(sh(1, 1), int64(-3<<40)), 0)
}

func TestGemmIsTheDefinition(t *testing.T) {
	const m, k, n = 5, 7, 6
	for i := range 4 {
		ta, tb := int64(i%2), int64(i/2)
		as, bs := sh(m, k), sh(k, n)
		if ta == 1 {
			as = sh(k, m)
		}
		if tb == 1 {
			bs = sh(n, k)
		}
		for _, cs := range []tensor.Shape{nil, sh(), sh(1), sh(n), sh(m, 1), sh(1, n), sh(m, n)} {
			a, b := noise(1, as...), noise(2, bs...)
			in := []*tensor.Tensor{a, b}
			if cs != nil {
				in = append(in, noise(3, cs...))
			}
			nd := node("Gemm", attrInt("transA", ta), attrInt("transB", tb), attrFloat("alpha", 0.5), attrFloat("beta", 2))
			got := runNode(t, nd, in...)[0]
			want := make([]float32, m*n)
			for o := range want {
				r, c := o/n, o%n
				for l := range k {
					x, y := r*k+l, l*n+c
					if ta == 1 {
						x = l*m + r
					}
					if tb == 1 {
						y = c*k + l
					}
					want[o] += 0.5 * f32(a)[x] * f32(b)[y]
				}
				if cs != nil {
					st := spread(cs, sh(m, n))
					want[o] += 2 * f32(in[2])[r*st[0]+c*st[1]]
				}
			}
			t.Run(fmt.Sprint(as, bs, cs), func(t *testing.T) { same(t, got, ten(sh(m, n), want...), 0) })
		}
	}
}

func TestGemmLeavesOutC(t *testing.T) {
	got := runNode(t, node("Gemm"), ten(sh(1, 1), float32(2)), ten(sh(1, 1), float32(3)), nil)[0]
	same(t, got, ten(sh(1, 1), float32(6)), 0)
}

func TestMatMulIntegerTakesZeroPointsAway(t *testing.T) {
	a := ten(sh(2, 3), uint8(1), 250, 3, 4, 5, 60)
	b := ten(sh(3, 2), int8(-128), 127, 3, -4, 5, 6)
	for _, c := range []struct {
		name   string
		za, zb *tensor.Tensor
		a, b   func(i int) int32
	}{
		{"none", nil, nil, func(int) int32 { return 0 }, func(int) int32 { return 0 }},
		{"scalars", tensor.Scalar(uint8(7)), tensor.Scalar(int8(-9)), func(int) int32 { return 7 },
			func(int) int32 { return -9 }},
		{"each row, each column", tensor.Of(uint8(7), uint8(9)), tensor.Of(int8(1), int8(-2)),
			func(i int) int32 { return int32(7 + 2*i) }, func(j int) int32 { return int32(1 - 3*j) }},
	} {
		want := make([]int32, 4)
		for o := range want {
			for l := range 3 {
				x := int32(a.Bytes()[o/2*3+l]) - c.a(o/2)
				want[o] += x * (int32(int8(b.Bytes()[l*2+o%2])) - c.b(o%2))
			}
		}
		got := runNode(t, node("MatMulInteger"), a, b, c.za, c.zb)[0]
		t.Run(c.name, func(t *testing.T) { same(t, got, ten(sh(2, 2), want...), 0) })
	}
}

func TestMatMulIntegerOfLongRows(t *testing.T) {
	const k, n = 9, 600
	a, b := make([]int8, 2*k), make([]uint8, k*n)
	for i := range a {
		a[i] = int8(i*37 - 100)
	}
	for i := range b {
		b[i] = uint8(i * 31)
	}
	want := make([]int32, 2*n)
	for o := range want {
		for l := range k {
			want[o] += (int32(a[o/n*k+l]) - 3) * (int32(b[l*n+o%n]) - 100)
		}
	}
	got := runNode(t, node("MatMulInteger"), ten(sh(2, k), a...), ten(sh(k, n), b...), tensor.Scalar(int8(3)),
		tensor.Scalar(uint8(100)))[0]
	same(t, got, ten(sh(2, n), want...), 0)
}

func TestQLinearMatMulRoundsToEvenAndSaturates(t *testing.T) {
	a, b := ten(sh(1, 2), uint8(3), 1), ten(sh(2, 3), uint8(1), 2, 255, 0, 1, 255)
	one, zero := tensor.Scalar(float32(1)), tensor.Scalar(uint8(0))
	got := runNode(t, node("QLinearMatMul"), a, one, zero, b, one, zero, tensor.Scalar(float32(2)),
		tensor.Scalar(uint8(10)))[0]
	same(t, got, ten(sh(1, 3), uint8(12), 14, 255), 0)
}

func TestQLinearConvScalesEachChannel(t *testing.T) {
	x, w := ten(sh(1, 1, 3), uint8(12), 10, 14), ten(sh(2, 1, 1), int8(1), 3)
	got := runNode(t, node("QLinearConv"), x, tensor.Scalar(float32(0.5)), tensor.Scalar(uint8(10)),
		w, tensor.Of[float32](1, 2), tensor.Of(int8(0), int8(1)), tensor.Scalar(float32(0.25)), tensor.Scalar(int8(-120)),
		tensor.Of(int32(1), int32(-1)))[0]
	same(t, got, ten(sh(1, 2, 3), int8(-114), -118, -110, -108, -124, -92), 0)
}

func TestConvIntegerPadsWithTheZeroPoint(t *testing.T) {
	x, w := ten(sh(1, 1, 2), uint8(5), 7), ten(sh(1, 1, 3), uint8(1), 2, 3)
	got := runNode(t, node("ConvInteger", attrInts("pads", 1, 1)), x, w, tensor.Scalar(uint8(5)),
		tensor.Scalar(uint8(1)))[0]
	same(t, got, ten(sh(1, 1, 2), int32(4), 2), 0)
}

func TestProductsRefuseWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name string
		n    *graph.Node
		in   []*tensor.Tensor
	}{
		{"inner dims differ", node("MatMul"), []*tensor.Tensor{noise(1, 2, 3), noise(1, 2, 3)}},
		{"batches differ", node("MatMul"), []*tensor.Tensor{noise(1, 2, 2, 3), noise(1, 3, 3, 2)}},
		{"scalar", node("MatMul"), []*tensor.Tensor{noise(1), noise(1, 3)}},
		{"types differ", node("MatMul"), []*tensor.Tensor{noise(1, 3), as(tensor.Float64, noise(1, 3))}},
		{"one operand", node("MatMul"), []*tensor.Tensor{noise(1, 3)}},
		{"not matrices", node("Gemm"), []*tensor.Tensor{noise(1, 3), noise(1, 3, 3)}},
		{"transposed", node("Gemm", attrInt("transA", 1)), []*tensor.Tensor{noise(1, 2, 3), noise(1, 3, 2)}},
		{"C too large", node("Gemm"), []*tensor.Tensor{noise(1, 2, 3), noise(1, 3, 2), noise(1, 3, 2, 2)}},
		{"C that does not spread", node("Gemm"), []*tensor.Tensor{noise(1, 2, 3), noise(1, 3, 2), noise(1, 3)}},
		{"zero points of another length", node("MatMulInteger"), []*tensor.Tensor{ten(sh(1, 2), uint8(1), 2),
			ten(sh(2, 1), uint8(1), 2), tensor.Of(uint8(1), uint8(2), uint8(3))}},
	} {
		if out, err := attempt(t, c.n, c.in...); err == nil {
			t.Errorf("%s: got %v, want an error", c.name, out[0])
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	for _, c := range []struct{ a, b tensor.Shape }{
		{sh(128, 384), sh(384, 384)}, {sh(1, 384), sh(384, 1536)}, {sh(12, 128, 32), sh(12, 32, 128)},
	} {
		b.Run(fmt.Sprint(c.a, c.b), func(b *testing.B) {
			benchNode(b, node("MatMul"), []*tensor.Tensor{noise(1, c.a...), noise(2, c.b...)})
		})
	}
}
