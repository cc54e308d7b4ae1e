package window

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestConvTranspose(t *testing.T) {
	ints, str := twin.Ints, twin.Str
	for i, c := range []struct {
		x, w  tensor.Shape
		attrs []graph.Attr
	}{
		{tensor.Shape{1, 24, 5, 7}, tensor.Shape{24, 24, 2, 2}, []graph.Attr{ints("strides", 2, 2)}},
		{tensor.Shape{2, 17, 20, 30}, tensor.Shape{17, 1, 2, 2}, []graph.Attr{ints("strides", 2, 2)}},
		{tensor.Shape{1, 8, 6, 6}, tensor.Shape{8, 20, 4, 4}, []graph.Attr{ints("strides", 2, 2), ints("pads", 1, 1, 1, 1)}},
		{tensor.Shape{1, 8, 6, 6}, tensor.Shape{8, 3, 4, 4}, []graph.Attr{ints("strides", 2, 2), ints("pads", 1, 1, 1, 1)}},
		{tensor.Shape{1, 9, 6, 5}, tensor.Shape{9, 5, 3, 3},
			[]graph.Attr{ints("strides", 2, 2), ints("pads", 1, 1, 1, 1), ints("output_padding", 1, 1)}},
		{tensor.Shape{2, 4, 13}, tensor.Shape{4, 6, 16}, []graph.Attr{ints("strides", 8), ints("pads", 4, 4)}},
		{tensor.Shape{1, 5, 4, 4}, tensor.Shape{5, 4, 3, 3}, nil},
		{tensor.Shape{1, 5, 4, 4}, tensor.Shape{5, 9, 2, 1}, []graph.Attr{ints("strides", 3, 4)}},
		{tensor.Shape{1, 5, 4, 4}, tensor.Shape{5, 7, 3, 3}, []graph.Attr{ints("strides", 2, 3), ints("dilations", 3, 2)}},
		{tensor.Shape{1, 3, 4, 4}, tensor.Shape{3, 2, 3, 3},
			[]graph.Attr{ints("strides", 2, 2), ints("output_shape", 10, 8), str("auto_pad", "SAME_UPPER")}},
		{tensor.Shape{1, 3, 4, 4}, tensor.Shape{3, 2, 3, 3}, []graph.Attr{ints("strides", 2, 2), str("auto_pad", "SAME_LOWER")}},
	} {
		in := []*tensor.Tensor{twin.Floats(1, c.x...), twin.Floats(2, c.w...)}
		if i%2 == 0 {
			in = append(in, twin.Floats(3, c.w[1]))
		}
		compare(t, ConvTranspose, &twin.Case{Node: twin.Node("ConvTranspose", 1, c.attrs...), In: in, Fed: []int{0},
			Rel: 1e-5, Abs: 1e-5})
	}
}

// TestConvTransposeAtRandom takes whatever fits.
func TestConvTransposeAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	for i := range 60 {
		rank := 1 + r.IntN(2)
		ins, outs, groups := 1+int64(r.IntN(20)), 1+int64(r.IntN(20)), int64(1)
		if i%3 == 0 {
			outs, groups = 1, ins
		}
		x, w := tensor.Shape{1 + int64(r.IntN(2)), ins}, tensor.Shape{ins, outs}
		var begin, end, strides, dilations []int64
		for range rank {
			k, d, s := 1+r.Int64N(4), 1+r.Int64N(3), 1+r.Int64N(4)
			n := 1 + r.Int64N(9)
			spare := (n-1)*s + (k-1)*d
			b := r.Int64N(min(spare, 4) + 1)
			x, w = append(x, n), append(w, k)
			begin, end = append(begin, b), append(end, r.Int64N(min(spare-b, 3)+1))
			strides, dilations = append(strides, s), append(dilations, d)
		}
		n := twin.Node("ConvTranspose", 1, twin.Ints("pads", append(begin, end...)...), twin.Ints("strides", strides...),
			twin.Ints("dilations", dilations...), twin.Int("group", groups))
		compare(t, ConvTranspose, &twin.Case{Node: n, In: []*tensor.Tensor{twin.Floats(1, x...), twin.Floats(2, w...)},
			Fed: []int{0}, Rel: 1e-5, Abs: 1e-5})
	}
}

func TestConvTransposeTails(t *testing.T) {
	for _, outs := range []int64{1, 5, 24} {
		for _, end := range tails {
			s := tensor.Shape{1, outs, 12, 18}
			text := fmt.Sprintf("in x: float32[1,17,6,9]\nin w: float32[17,%d,2,2]\nin b0: float32[%d]\nin r: float32%v\n"+
				"in k: float32[%d,1,1]\na = ConvTranspose@22(x, w, b0; strides=[2, 2])\n%s\nout y", outs, outs, s, outs, end)
			in := []*tensor.Tensor{twin.Floats(1, 1, 17, 6, 9), twin.Floats(2, 17, outs, 2, 2), twin.Floats(3, outs),
				twin.Floats(4, s...), twin.Floats(5, outs, 1, 1)}
			compare(t, Fused, &twin.Case{Node: twin.Fused(t, text), Rel: 1e-5, Abs: 1e-4, Fed: []int{0, 3}, In: in})
		}
	}
}

func BenchmarkConvTranspose(b *testing.B) {
	for _, c := range []struct{ ins, outs, h, k, p int64 }{
		{24, 24, 160, 2, 0}, {24, 1, 320, 2, 0}, {256, 128, 28, 2, 0}, {128, 64, 32, 4, 1},
	} {
		n := twin.Node("ConvTranspose", 1, twin.Ints("strides", 2, 2), twin.Ints("pads", c.p, c.p, c.p, c.p))
		o := opOf(b, n, twin.Floats(1, 1, c.ins, c.h, c.h), twin.Floats(2, c.ins, c.outs, c.k, c.k))
		bench(b, fmt.Sprintf("%d→%d %d² k%d", c.ins, c.outs, c.h, c.k), ConvTranspose, o,
			2*float64(c.ins*c.outs*c.h*c.h*c.k*c.k))
	}
}
