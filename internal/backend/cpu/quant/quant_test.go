package quant

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

type family = func(l simd.Level, o *backend.Op) ([]backend.Candidate, error)

// octets returns a tensor of random 8-bit integers, among them many of the extremes.
func octets(r *rand.Rand, dt tensor.DType, shape ...int64) *tensor.Tensor {
	n, _ := tensor.Shape(shape).Elements()
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
		if r.IntN(8) == 0 {
			b[i] = []byte{0, 127, 128, 255}[r.IntN(4)]
		}
	}
	t, err := tensor.FromBytes(dt, shape, b)
	if err != nil {
		panic(err)
	}
	return t
}

func floats(r *rand.Rand, low, high float32, shape ...int64) *tensor.Tensor {
	n, _ := tensor.Shape(shape).Elements()
	v := make([]float32, n)
	for i := range v {
		v[i] = low + (high-low)*r.Float32()
	}
	return tensor.Must(shape, v)
}

// teams are those of so many workers.
var teams = [...]*backend.Team{nil, backend.NewTeam(1), backend.NewTeam(2)}

// run runs a kernel twice on memory that held something else, and returns its outputs.
func run(t *testing.T, what string, c *backend.Candidate, call *backend.Call, threads int) [][]byte {
	t.Helper()
	call.Team, call.Scratch = teams[threads], make([]byte, c.Scratch)
	var out [][]byte
	for i := range call.Out {
		out = append(out, call.Out[i].Data)
	}
	for _, b := range append(out, call.Scratch) {
		for i := range b {
			b[i] = 0xa5
		}
	}
	for range 2 {
		if err := c.Kernel(call); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if threads == 1 && !raced {
		if n := testing.AllocsPerRun(3, func() { _ = c.Kernel(call) }); n > 0 {
			t.Fatalf("%s: got %v allocations a call, want none", what, n)
		}
	}
	return out
}

// check compares every kernel of every level with the reference, bit for bit, with operands known
// beforehand and not, with one worker and with two.
func check(t *testing.T, f family, n *graph.Node, in []*tensor.Tensor) {
	t.Helper()
	compare(t, f, n, in, []int{0, 1, 2, 3})
}

// checkConstant is check for operands that must be known beforehand.
func checkConstant(t *testing.T, f family, n *graph.Node, in []*tensor.Tensor) {
	t.Helper()
	compare(t, f, n, in, []int{2, 3})
}

// compare is check for some variants: bit 0 says that there are two workers, bit 1 that operands but
// the first are known.
func compare(t *testing.T, f family, n *graph.Node, in []*tensor.Tensor, variants []int) {
	t.Helper()
	o, call := twin.Prepare(t, n, in, func(int) bool { return true })
	cs, err := ref.Backend{}.Candidates(o)
	if err != nil || len(cs) == 0 {
		t.Fatalf("%s: got %d reference kernels, error %v", n.Op, len(cs), err)
	}
	want := run(t, n.Op, &cs[0], call, 2)
	for _, l := range simd.Levels() {
		for _, variant := range variants {
			threads := 1 + variant&1
			o, call := twin.Prepare(t, n, in, func(i int) bool { return variant&2 != 0 && i > 0 })
			o.Threads = threads
			cs, err := f(l, o)
			if err != nil || len(cs) == 0 {
				t.Fatalf("%s: got %d kernels, error %v", n.Op, len(cs), err)
			}
			for _, c := range cs {
				what := fmt.Sprintf("%s %v %s variant %d inputs %v", c.Name, l, n.Op, variant, o.In)
				for i, got := range run(t, what, &c, call, threads) {
					if !bytes.Equal(got, want[i]) && !bothNaN(got, want[i]) {
						t.Fatalf("%s: output %d: got %v, want %v", what, i, short(got), short(want[i]))
					}
				}
			}
		}
	}
}

// bothNaN reports whether two tensors are one NaN each.
func bothNaN(a, b []byte) bool {
	x, y := tensor.Cast[float32](a), tensor.Cast[float32](b)
	return len(x) == 1 && len(y) == 1 && x[0] != x[0] && y[0] != y[0]
}

func short(b []byte) []byte { return b[:min(len(b), 64)] }

func node(name string, outs int, attrs ...graph.Attr) *graph.Node {
	n := &graph.Node{Op: name, Version: 24, Attrs: attrs}
	for i := range outs {
		n.Outputs = append(n.Outputs, graph.ValueID(100+i))
	}
	return n
}

var types = []tensor.DType{tensor.Uint8, tensor.Int8}

var shapes = [][2]tensor.Shape{
	{{1, 1}, {1, 1}}, {{3, 5}, {5, 7}}, {{1, 384}, {384, 400}}, {{2, 31}, {31, 300}}, {{20, 64}, {64, 33}},
	{{300, 20}, {20, 40}}, {{2, 3, 4}, {4, 5}}, {{2, 1, 6, 9}, {3, 9, 8}}, {{7}, {7, 3}}, {{4, 7}, {7}},
	{{0, 3}, {3, 4}}, {{3, 0}, {0, 4}}, {{3, 4}, {4, 0}}, {{150, 130}, {130, 1100}},
}

// sizes returns shapes, and only the small ones of them in short tests.
func sizes() [][2]tensor.Shape {
	if testing.Short() {
		return shapes[:len(shapes)-1]
	}
	return shapes
}

func TestMatMulIntegerIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, s := range sizes() {
		for pair := range 4 {
			a, b := types[pair&1], types[pair>>1]
			n := s[1][len(s[1])-1]
			if len(s[1]) == 1 {
				n = 1
			}
			in := []*tensor.Tensor{octets(r, a, s[0]...), octets(r, b, s[1]...), nil, nil}
			switch (i + pair) % 4 {
			case 0:
				in = in[:2]
			case 1:
				in[2] = octets(r, a)
				in = in[:3]
			case 2:
				in[2], in[3] = octets(r, a, 1), octets(r, b)
			case 3:
				in[3] = octets(r, b, n)
			}
			check(t, MatMulInteger, node("MatMulInteger", 1), in)
		}
	}
}

func TestQLinearMatMulIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, s := range sizes() {
		for pair := range 8 {
			a, b, y := types[pair&1], types[pair>>1&1], types[pair>>2]
			n := s[1][len(s[1])-1]
			if len(s[1]) == 1 {
				n = 1
			}
			scaleB, zeroB := floats(r, 0.001, 0.1), octets(r, b)
			if (i+pair)%2 == 0 {
				scaleB, zeroB = floats(r, 0.001, 0.1, n), octets(r, b, n)
			}
			in := []*tensor.Tensor{octets(r, a, s[0]...), floats(r, 0.001, 0.1), octets(r, a), octets(r, b, s[1]...),
				scaleB, zeroB, floats(r, 0.01, 1), octets(r, y)}
			check(t, QLinearMatMul, node("QLinearMatMul", 1), in)
		}
	}
}

func TestConversionsEqualTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range []tensor.Shape{{}, {1}, {40}, {3, 50}, {2, 3, 20}, {4, 1, 3, 70}, {0, 3}, {20, 1333}} {
		for axis := -1; axis < len(s); axis++ {
			for _, dt := range types {
				scale, zeros := floats(r, 0.01, 1), octets(r, dt)
				as := graph.Attrs{}
				if axis >= 0 {
					scale, zeros = floats(r, 0.01, 1, s[axis]), octets(r, dt, s[axis])
					as = graph.Attrs{{Name: "axis", Kind: graph.AttrInt, Int: int64(axis)}}
				}
				x := floats(r, -100, 100, s...)
				if v := tensor.Cast[float32](x.Bytes()); len(v) > 3 {
					v[0], v[1], v[2] = float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))
				}
				check(t, QuantizeLinear, node("QuantizeLinear", 1, as...), []*tensor.Tensor{x, scale, zeros})
				check(t, DequantizeLinear, node("DequantizeLinear", 1, as...), []*tensor.Tensor{octets(r, dt, s...), scale, zeros})
				check(t, DequantizeLinear, node("DequantizeLinear", 1, as...), []*tensor.Tensor{octets(r, dt, s...), scale})
			}
		}
		for _, high := range []float32{-1, 0, 5, 1e-42} {
			check(t, DynamicQuantizeLinear, node("DynamicQuantizeLinear", 3), []*tensor.Tensor{floats(r, -2, high, s...)})
			check(t, DynamicQuantizeLinear, node("DynamicQuantizeLinear", 3), []*tensor.Tensor{floats(r, 0, high, s...)})
		}
	}
	for _, odd := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		x := floats(r, -1, 1, 70)
		tensor.Cast[float32](x.Bytes())[33] = odd
		check(t, DynamicQuantizeLinear, node("DynamicQuantizeLinear", 3), []*tensor.Tensor{x})
	}
}
