package quant

import (
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

func TestNothingBesideTheOperandsIsTouched(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, l := range simd.Levels() {
		for i, s := range [][3]int64{{1, 7, 37}, {1, 40, 300}, {2, 33, 270}, {4, 33, 5}, {13, 9, 17}, {50, 65, 47}} {
			a, b := types[i&1], types[i>>1&1]
			c := twin.Case{Node: twin.Node("MatMulInteger", 1), In: []*tensor.Tensor{octets(r, a, s[0], s[1]),
				octets(r, b, s[1], s[2]), octets(r, a), octets(r, b)}, Fed: []int{0, 1}}
			for range 2 {
				twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return MatMulInteger(l, o) })
				c.Fed = c.Fed[:1]
			}
		}
		for _, n := range []int64{1, 31, 33, 100} {
			c := twin.Case{Node: twin.Node("QuantizeLinear", 1), In: []*tensor.Tensor{floats(r, -9, 9, n), floats(r, 0.1, 1)},
				Fed: []int{0, 1}}
			twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return QuantizeLinear(l, o) })
			c = twin.Case{Node: twin.Node("DequantizeLinear", 1), In: []*tensor.Tensor{octets(r, tensor.Int8, n),
				floats(r, 0.1, 1)}, Fed: []int{0, 1}}
			twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return DequantizeLinear(l, o) })
		}
	}
}
