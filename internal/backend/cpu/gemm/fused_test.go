package gemm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// fused returns a group whose body is given as text, its operands, and what the reference makes of
// it, node by node.
func fused(t *testing.T, text string) (o *backend.Op, call *backend.Call, want []float32) {
	t.Helper()
	body, err := graph.Parse("graph {\n" + text + "\n}")
	if err != nil {
		t.Fatal(err)
	}
	values := make([]*tensor.Tensor, len(body.Values))
	o, call = &backend.Op{Node: &graph.Node{Domain: op.Domain, Op: "Fused", Outputs: []graph.ValueID{99},
		Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: body}}}}, &backend.Call{}
	for i, v := range body.Inputs {
		s, _ := body.Values[v].Shape.Concrete()
		values[v] = noise(uint64(i), s...)
		if dt := body.Values[v].DType; dt != tensor.Float32 {
			values[v] = octetNoise(uint64(i), dt, s)
		}
		a := backend.Arg{DType: values[v].DType(), Shape: s}
		if body.Values[v].Name[0] == 'k' {
			a.Const = values[v]
		}
		o.Node.Inputs = append(o.Node.Inputs, graph.ValueID(i))
		o.In, call.In = append(o.In, a), append(call.In, backend.ViewOf(values[v]))
	}
	for _, n := range body.Nodes {
		single := *n
		single.Outputs = []graph.ValueID{100}
		var in []*tensor.Tensor
		for _, v := range n.Inputs {
			in = append(in, values[v])
		}
		oo, _ := twin.Prepare(t, &single, in, func(int) bool { return true })
		data := oracle(t, &single, in)
		if values[n.Outputs[0]], err = tensor.FromBytes(oo.Out[0].DType, oo.Out[0].Shape, data); err != nil {
			t.Fatal(err)
		}
	}
	out := values[body.Outputs[0]]
	o.Out = []backend.Arg{{DType: tensor.Float32, Shape: out.Shape()}}
	call.Out = []backend.View{{DType: tensor.Float32}}
	if err := call.Alloc(0, out.Shape()); err != nil {
		t.Fatal(err)
	}
	return o, call, tensor.Cast[float32](out.Bytes())
}

// octetNoise returns a tensor of random 8-bit integers.
func octetNoise(seed uint64, dt tensor.DType, s tensor.Shape) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 8))
	n, _ := s.Elements()
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	t, err := tensor.FromBytes(dt, s, b)
	if err != nil {
		panic(err)
	}
	return t
}

func TestDequantisedOperandsEqualTheReference(t *testing.T) {
	for _, m := range []int{1, 4, 5, 150} {
		for _, size := range [][2]int{{30, 40}, {384, 300}, {1100, 9}, {7, 1}} {
			if testing.Short() && m*size[0]*size[1] > 1<<18 {
				continue
			}
			for _, text := range []string{
				`in a: float32[M,K] in kq: uint8[K,N] in ks: float32[] in kz: uint8[]
					b = DequantizeLinear@13(kq, ks, kz) y = MatMul@13(a, b) out y`,
				`in a: float32[M,K] in kq: int8[N,K] in ks: float32[] in kc: float32[N]
					q = Transpose@13(kq) b = DequantizeLinear@13(q, ks) m = MatMul@13(a, b) y = Add@14(m, kc) z = Relu@14(y) out z`,
				`in a: float32[1,M,K] in kq: int8[N,K] in ks: float32[N] in kz: int8[N]
					d = DequantizeLinear@13(kq, ks, kz; axis=0) b = Transpose@13(d; perm=[1, 0]) y = MatMul@13(a, b) out y`,
				`in a: float32[M,K] in kq: uint8[K,N] in ks: float32[N] in kz: uint8[N]
					b = DequantizeLinear@13(kq, ks, kz; axis=-1) m = MatMul@13(a, b) z = Tanh@13(m) out z`,
				`in a: float32[M,K] in kq: int8[N,K] in ks: float32[N] in kc: float32[N]
					b = DequantizeLinear@13(kq, ks; axis=0) y = Gemm@13(a, b, kc; transB=1) out y`,
			} {
				for name, n := range map[string]int{"M": m, "K": size[0], "N": size[1]} {
					text = strings.ReplaceAll(strings.ReplaceAll(text, "["+name, fmt.Sprint("[", n)), ","+name, fmt.Sprint(",", n))
				}
				testGroup(t, text, float64(size[0])*3e-4)
			}
		}
	}
}

func TestGroupsEqualTheirMembers(t *testing.T) {
	for _, text := range []string{
		`in a: float32[20,30] in kb: float32[30,40] in kc: float32[40]
			m = MatMul@13(a, kb) y = Add@14(m, kc) z = Relu@14(y) out z`,
		`in a: float32[20,30] in b: float32[30,40] in c: float32[1,40] in r: float32[20,40]
			m = MatMul@13(a, b) y = Add@14(c, m) s = Sigmoid@13(y) t = Mul@14(s, y) z = Add@14(t, r) out z`,
		`in a: float32[2,150,64] in kb: float32[64,530] in kc: float32[530] in r: float32[2,150,530]
			m = MatMul@13(a, kb) y = Add@14(m, kc) s = Tanh@13(y) z = Add@14(r, s) out z`,
		`in a: float32[2,150,20] in b: float32[2,20,53] in c: float32[53]
			m = MatMul@13(a, b) y = Mul@14(m, c) z = Tanh@13(y) out z`,
		`in a: float32[1,600] in kb: float32[600,300] in kc: float32[300]
			m = MatMul@13(a, kb) y = Add@14(m, kc) z = Tanh@13(y) out z`,
		`in a: float32[400,600] in b: float32[600,300] in c: float32[300]
			m = MatMul@13(a, b) y = Sub@14(c, m) z = Tanh@13(y) out z`,
		`in a: float32[60,30] in kb: float32[30,1] in kc: float32[1]
			m = MatMul@13(a, kb) y = Add@14(m, kc) z = Sigmoid@13(y) out z`,
		`in a: float32[30,6] in kb: float32[40,30] in kc: float32[40]
			m = Gemm@13(a, kb, kc; alpha=0.5, transA=1, transB=1) z = Sigmoid@13(m) out z`,
		`in a: float32[6,30] in kb: float32[30,40] in kc: float32[40]
			m = MatMul@13(a, kb) y = Add@14(m, kc) s = Sigmoid@13(m) z = Mul@14(s, y) out z`,
	} {
		testGroup(t, text, 1e-4)
	}
}

// testGroup compares a group with its members; bound is what results may differ by.
func testGroup(t *testing.T, text string, bound float64) {
	t.Helper()
	o, call, want := fused(t, text)
	for _, l := range simd.Levels() {
		for threads := 1; threads <= 2; threads++ {
			o.Threads = threads
			cs, err := Fused(l, o)
			if err != nil || len(cs) != 1 {
				t.Fatalf("%s: got %d kernels, error %v", text, len(cs), err)
			}
			try(t, text, &cs[0], call, threads, want, bound)
		}
	}
}
