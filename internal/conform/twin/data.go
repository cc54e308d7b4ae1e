package twin

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Floats returns a float32 tensor of numbers from −1 to 1.
func Floats(seed uint64, shape ...int64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 7))
	return fill(shape, func() float32 { return 2*r.Float32() - 1 })
}

// Odd returns a float32 tensor with NaN, infinities, zeros of both signs and denormals among its
// numbers, each one element in oneIn.
func Odd(seed uint64, oneIn int, shape ...int64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 8))
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
		math.SmallestNonzeroFloat32, math.MaxFloat32}
	return fill(shape, func() float32 {
		if r.IntN(oneIn) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return 2*r.Float32() - 1
	})
}

func fill(shape tensor.Shape, next func() float32) *tensor.Tensor {
	n, _ := shape.Elements()
	vs := make([]float32, n)
	for i := range vs {
		vs[i] = next()
	}
	return tensor.Must(shape, vs)
}

// Fused makes a Fused node whose body is given as the lines of a graph's text.
func Fused(t testing.TB, lines string) *graph.Node {
	t.Helper()
	body, err := graph.Parse("graph {\n" + lines + "\n}")
	if err != nil {
		t.Fatal(err)
	}
	n := Node(op.Fused, 1, graph.Attr{Name: "body", Kind: graph.AttrGraph, Graph: body})
	n.Domain = op.Domain
	return n
}
