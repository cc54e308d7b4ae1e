package rnn

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
		for _, s := range [][4]int64{{3, 1, 5, 7}, {2, 3, 17, 33}, {9, 2, 3, 16}} {
			in := []*tensor.Tensor{noise(r, s[0], s[1], s[2]), noise(r, 2, 4*s[3], s[2]), small(noise(r, 2, 4*s[3], s[3])),
				noise(r, 2, 8*s[3])}
			c := twin.Case{Node: twin.Node("LSTM", 3, twin.Str("direction", "bidirectional")), In: in, Fed: []int{0, 1, 2, 3},
				Abs: 2e-5}
			for range 2 {
				twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return LSTM(l, o) })
				c.Fed = c.Fed[:1]
			}
		}
	}
}
