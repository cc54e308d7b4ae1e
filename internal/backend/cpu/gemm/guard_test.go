package gemm

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

func TestNothingBesideTheOperandsIsTouched(t *testing.T) {
	for _, l := range simd.Levels() {
		for i, s := range [][3]int64{{1, 7, 37}, {1, 40, 300}, {3, 600, 900}, {4, 33, 5}, {5, 17, 50}, {13, 9, 16}, {50, 65, 47},
			{9, 31, 1}, {45, 70, 300}} {
			for trans := range int64(4) {
				a, b := tensor.Shape{s[0], s[1]}, tensor.Shape{s[1], s[2]}
				if trans&1 != 0 {
					a[0], a[1] = a[1], a[0]
				}
				if trans&2 != 0 {
					b[0], b[1] = b[1], b[0]
				}
				in := []*tensor.Tensor{noise(uint64(i), a...), noise(2, b...), noise(3, s[2])}
				c := twin.Case{Node: twin.Node("Gemm", 1, twin.Int("transA", trans&1), twin.Int("transB", trans>>1)), In: in,
					Fed: []int{0, 1, 2}, Abs: float64(s[1]) * 1e-6}
				for range 2 {
					twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return Gemm(l, o) })
					c.Fed = c.Fed[:1]
				}
			}
		}
	}
}
