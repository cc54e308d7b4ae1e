package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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
		var in []*tensor.Tensor
		for _, v := range n.Inputs {
			in = append(in, values[v])
		}
		single.Outputs = nil
		for i := range n.Outputs {
			single.Outputs = append(single.Outputs, graph.ValueID(100+i))
		}
		o, call := prepare(t, &single, in, func(int) bool { return true })
		cs, err := ref.Backend{}.Candidates(o)
		if err != nil || len(cs) == 0 {
			t.Fatalf("%s: got %d reference kernels, error %v", n.Op, len(cs), err)
		}
		run(t, n.Op, &cs[0], call, 2)
		for i, v := range n.Outputs {
			values[v], _ = call.Out[i].Tensor()
		}
	}
	return values[body.Outputs[0]]
}

func TestGroupsEqualTheirMembers(t *testing.T) {
	for i, size := range [][3]int64{{1, 384, 200}, {5, 30, 40}, {200, 33, 70}} {
		testGroup(t, size, uint64(i), `in a: uint8[M,K] in kb: int8[K,N] in za: uint8[] in kz: int8[] in s: float32[] in kc: float32[N]
			m = MatMulInteger@11(a, kb, za, kz) f = Cast@13(m; to=1) y = Mul@14(f, s) z = Add@14(kc, y) w = Relu@14(z)
			out w`)
		testGroup(t, size, uint64(i), `in x: float32[2,M,K] in kb: uint8[K,N] in kz: uint8[] in ks: float32[] in kc: float32[N]
			a, sa, za = DynamicQuantizeLinear@11(x) s = Mul@14(sa, ks) m = MatMulInteger@11(a, kb, za, kz)
			f = Cast@13(m; to=1) y = Mul@14(f, s) z = Add@14(kc, y) out z`)
		testGroup(t, size, uint64(i), `in x: float32[M,K] in kb: int8[K,N] in kz: int8[N] in ks: float32[N]
			a, sa, za = DynamicQuantizeLinear@11(x) m = MatMulInteger@11(a, kb, za, kz)
			f = Cast@13(m; to=1) s = Mul@14(ks, sa) y = Mul@14(f, s) out y`)
	}
}

func testGroup(t *testing.T, size [3]int64, seed uint64, text string) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, seed))
	for i, name := range []string{"M", "K", "N"} {
		for _, mark := range []string{"[", ","} {
			text = strings.ReplaceAll(text, mark+name, fmt.Sprint(mark, size[i]))
		}
	}
	body, err := graph.Parse("graph {" + text + "}")
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
