package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// reference computes a body node by node.
func reference(t *testing.T, body *graph.Graph, values []*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	for _, n := range body.Nodes {
		single := *n
		single.Outputs = []graph.ValueID{100}
		var in []*tensor.Tensor
		for _, v := range n.Inputs {
			in = append(in, values[v])
		}
		o, call := prepare(t, &single, in, func(int) bool { return true })
		cs, err := ref.Backend{}.Candidates(o)
		if err != nil || len(cs) == 0 {
			t.Fatalf("%s: got %d reference kernels, error %v", n.Op, len(cs), err)
		}
		run(t, n.Op, &cs[0], call, 2)
		values[n.Outputs[0]], _ = call.Out[0].Tensor()
	}
	return values[body.Outputs[0]]
}

func TestGroupsEqualTheirMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range [][3]int64{{1, 384, 200}, {5, 30, 40}, {200, 33, 70}} {
		text := fmt.Sprintf(`graph {
			in a: uint8[%d,%d] in kb: int8[%d,%d] in za: uint8[] in kz: int8[] in s: float32[] in kc: float32[%d]
			m = MatMulInteger@11(a, kb, za, kz) f = Cast@13(m; to=1) y = Mul@14(f, s) z = Add@14(kc, y) w = Relu@14(z)
			out w }`, size[0], size[1], size[1], size[2], size[2])
		body, err := graph.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]*tensor.Tensor, len(body.Values))
		o := &backend.Op{Node: &graph.Node{Domain: op.Domain, Op: "Fused", Outputs: []graph.ValueID{99},
			Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: body}}}}
		call := &backend.Call{Out: make([]backend.View, 1)}
		for i, v := range body.Inputs {
			s, _ := body.Values[v].Shape.Concrete()
			if dt := body.Values[v].DType; isOctet(dt) {
				values[v] = octets(r, dt, s...)
			} else {
				values[v] = floats(r, -0.01, 0.01, s...)
			}
			a := backend.Arg{DType: values[v].DType(), Shape: s}
			if body.Values[v].Name[0] == 'k' {
				a.Const = values[v]
			}
			o.Node.Inputs = append(o.Node.Inputs, graph.ValueID(i))
			o.In, call.In = append(o.In, a), append(call.In, backend.ViewOf(values[v]))
		}
		out := reference(t, body, values)
		want := tensor.Cast[float32](out.Bytes())
		o.Out = []backend.Arg{{DType: tensor.Float32, Shape: out.Shape()}}
		call.Out[0].DType = tensor.Float32
		if err := call.Alloc(0, out.Shape()); err != nil {
			t.Fatal(err)
		}
		for _, l := range simd.Levels() {
			for threads := 1; threads <= 2; threads++ {
				o.Threads = threads
				cs, err := Fused(l, o)
				if err != nil || len(cs) != 1 {
					t.Fatalf("got %d kernels, error %v", len(cs), err)
				}
				got := tensor.Cast[float32](run(t, "fused", &cs[0], call, threads)[0])
				for i, w := range want {
					if math.Abs(float64(got[i]-w)) > 1e-6*math.Abs(float64(w)) {
						t.Fatalf("%v %v: element %d: got %v, want %v", l, size, i, got[i], w)
					}
				}
			}
		}
	}
}
