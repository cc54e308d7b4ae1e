package window

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/tensor"
)

// tails are what follows an operator whose result is a and has the shape of r.
var tails = []string{
	"y = Relu@22(a)",
	"y = Sigmoid@22(a)",
	"b = Relu@22(a)\ny = Add@22(b, r)",
	"b = Add@22(a, r)\ny = Relu@22(b)",
	"b = Mul@22(a, k)\nc = Add@22(b, r)\ny = HardSwish@22(c)",
	"b = Div@22(k, a)\ny = Mul@22(a, b)",
}

// TestDepthwiseTails fuses every tail with a convolution.
func TestDepthwiseTails(t *testing.T) {
	for _, s := range []tensor.Shape{{1, 3, 7, 9}, {2, 17, 14, 14}, {1, 16, 30, 33}, {2, 3, 5, 40}} {
		ch := s[1]
		for _, end := range tails {
			text := fmt.Sprintf("in x: float32%v\nin w: float32[%d,1,3,3]\nin b0: float32[%d]\nin r: float32%v\n"+
				"in k: float32[%d,1,1]\na = Conv@22(x, w, b0; group=%d, pads=[1, 1, 1, 1])\n%s\nout y", s, ch, ch, s, ch, ch, end)
			in := []*tensor.Tensor{twin.Floats(1, s...), twin.Floats(2, ch, 1, 3, 3), twin.Floats(3, ch), twin.Floats(4, s...),
				twin.Floats(5, ch, 1, 1)}
			compare(t, Fused, &twin.Case{Node: twin.Fused(t, text), Rel: 1e-5, Abs: 1e-5, Fed: []int{0, 3}, In: in})
		}
	}
}
