package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform/twin"
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
		o, call := twin.Prepare(t, &single, in, func(int) bool { return true })
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
		testGroup(t, size, uint64(i), `in x: float32[1,K,M] in kw: int8[N,K,3] in kz: int8[] in ks: float32[] in kb: float32[N,1]
			a, sa, za = DynamicQuantizeLinear@11(x) m = ConvInteger@11(a, kw, za, kz; pads=[1, 1]) s = Mul@14(sa, ks)
			f = Cast@13(m; to=1) y = Mul@14(f, s) z = Add@14(kb, y) out z`)
	}
}

func testGroup(t *testing.T, size [3]int64, seed uint64, text string) {
	t.Helper()
	o, call, out := newGroup(t, size, seed, text)
	want := tensor.Cast[float32](out.Bytes())
	for _, l := range simd.Levels() {
		for threads := 1; threads <= 2; threads++ {
			o.Threads = threads
			cs, err := Fused(l, o)
			if err != nil || len(cs) != 1 {
				t.Fatalf("%s: got %d kernels, error %v", text, len(cs), err)
			}
			got := tensor.Cast[float32](run(t, "fused", &cs[0], call, threads)[0])
			for i, w := range want {
				if math.Abs(float64(got[i]-w)) > 1e-6*math.Abs(float64(w)) {
					t.Fatalf("%v %s: element %d: got %v, want %v", l, text, i, got[i], w)
				}
			}
		}
	}
}

// scales returns numbers for an operand of that name: small ones, and above 0 but for a bias.
func scales(r *rand.Rand, name string, s tensor.Shape) *tensor.Tensor {
	switch name {
	case "klo":
		return floats(r, -0.1, 0, s...)
	case "khi":
		return floats(r, 0.3, 0.5, s...)
	case "kb", "kc", "x":
		return floats(r, -0.01, 0.01, s...)
	}
	return floats(r, 0.001, 0.01, s...)
}

// newGroup reads a body whose extents are named, gives it operands, of which those called k… are known
// beforehand, and computes it with the reference.
func newGroup(t *testing.T, size [3]int64, seed uint64, text string) (*backend.Op, *backend.Call, *tensor.Tensor) {
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
			values[v] = scales(r, body.Values[v].Name, s)
		}
		a := backend.Arg{DType: values[v].DType(), Shape: s}
		if body.Values[v].Name[0] == 'k' {
			a.Const = values[v]
		}
		o.Node.Inputs = append(o.Node.Inputs, graph.ValueID(i))
		o.In, call.In = append(o.In, a), append(call.In, backend.ViewOf(values[v]))
	}
	out := reference(t, body, values)
	o.Out = []backend.Arg{{DType: out.DType(), Shape: out.Shape()}}
	call.Out[0].DType = out.DType()
	if err := call.Alloc(0, out.Shape()); err != nil {
		t.Fatal(err)
	}
	return o, call, out
}

func TestConvolutionsBetweenConversionsRoundAlike(t *testing.T) {
	for i, size := range [][3]int64{{9, 5, 7}, {40, 17, 20}, {16, 64, 30}} {
		for _, text := range []string{
			`in x: uint8[1,K,M,M] in sx: float32[] in zx: uint8[] in kw: int8[N,K,3,3] in ks: float32[N] in kz: int8[N]
				in kb: float32[N] in sy: float32[] in zy: uint8[]
				a = DequantizeLinear@13(x, sx, zx) w = DequantizeLinear@13(kw, ks, kz; axis=0)
				c = Conv@13(a, w, kb; pads=[1, 1, 1, 1], strides=[2, 2]) r = Relu@14(c) y = QuantizeLinear@13(r, sy, zy) out y`,
			`in x: int8[2,K,M,M] in sx: float32[] in kw: uint8[N,K,1,1] in ks: float32[] in kz: uint8[] in sy: float32[]
				in klo: float32[] in khi: float32[]
				a = DequantizeLinear@13(x, sx) w = DequantizeLinear@13(kw, ks, kz) c = Conv@13(a, w)
				r = Clip@13(c, klo, khi) y = QuantizeLinear@13(r, sy) out y`,
		} {
			o, call, out := newGroup(t, size, uint64(i), text)
			for _, l := range simd.Levels() {
				cs, err := Fused(l, o)
				if err != nil || len(cs) != 1 {
					t.Fatalf("%s: got %d kernels, error %v", text, len(cs), err)
				}
				for j, got := range run(t, text, &cs[0], call, 1)[0] {
					if w := out.Bytes()[j]; got != w && got != w+1 && got != w-1 {
						t.Fatalf("%v %s: element %d: got %d, want %d", l, text, j, got, w)
					}
				}
			}
		}
	}
}
