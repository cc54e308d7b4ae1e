package rnn

import (
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

func noise(r *rand.Rand, shape ...int64) *tensor.Tensor {
	n, _ := tensor.Shape(shape).Elements()
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32()*1.6 - 0.8
	}
	return tensor.Must(shape, v)
}

// small makes recurrence weights so small that differences fade from step to step.
func small(t *tensor.Tensor) *tensor.Tensor {
	h := float32(t.Shape()[2])
	for i, v := 0, tensor.Cast[float32](t.Bytes()); i < len(v); i++ {
		v[i] /= h
	}
	return t
}

// butFirst says that all inputs but the first are known beforehand.
func butFirst(i int) bool { return i > 0 }

// teams are those of so many workers.
var teams = [...]*backend.Team{nil, backend.NewTeam(1), backend.NewTeam(2)}

// run runs a kernel on memory that held something else, and returns its outputs.
func run(t *testing.T, what string, c *backend.Candidate, call *backend.Call, threads int) (out [][]float32) {
	t.Helper()
	call.Team, call.Scratch = teams[threads], make([]byte, c.Scratch)
	for i := range call.Out {
		out = append(out, tensor.Cast[float32](call.Out[i].Data))
	}
	for _, v := range append(out, tensor.Cast[float32](call.Scratch)) {
		for i := range v {
			v[i] = float32(math.NaN())
		}
	}
	for range 2 {
		if err := c.Kernel(call); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if threads == 1 {
		if n := testing.AllocsPerRun(3, func() { _ = c.Kernel(call) }); n > 0 {
			t.Fatalf("%s: got %v allocations a call, want none", what, n)
		}
	}
	return out
}

// check compares every kernel of every level with the reference, with weights known beforehand and
// not, with one worker and with two.
func check(t *testing.T, f family, n *graph.Node, in []*tensor.Tensor) {
	t.Helper()
	o, call := twin.Prepare(t, n, in, butFirst)
	cs, err := ref.Backend{}.Candidates(o)
	if err != nil || len(cs) == 0 {
		t.Fatalf("%s: got %d reference kernels, error %v", n.Op, len(cs), err)
	}
	want := run(t, n.Op, &cs[0], call, 2)
	for _, l := range simd.Levels() {
		for variant := range 4 {
			threads := 1 + variant&1
			o, call := twin.Prepare(t, n, in, func(i int) bool { return variant&2 != 0 && i > 0 })
			o.Threads = threads
			cs, err := f(l, o)
			if err != nil || len(cs) == 0 {
				t.Fatalf("%s: got %d kernels, error %v", n.Op, len(cs), err)
			}
			what := fmt.Sprintf("%s %v variant %d inputs %v attributes %v", n.Op, l, variant, o.In, n.Attrs)
			for i, got := range run(t, what, &cs[0], call, threads) {
				for j, w := range want[i] {
					if !(math.Abs(float64(got[j]-w)) <= 3e-5*(1+math.Abs(float64(w)))) {
						t.Fatalf("%s: output %d: element %d: got %v, want %v", what, i, j, got[j], w)
					}
				}
			}
		}
	}
}

// network makes a random node and its inputs.
func random(r *rand.Rand, name string, gates int64, acts []string) (*graph.Node, []*tensor.Tensor) {
	dirs, seq, batch, ins, h := int64(1), r.Int64N(6), 1+r.Int64N(6), 1+r.Int64N(20), 1+r.Int64N(40)
	n := &graph.Node{Op: name, Version: 22, Outputs: []graph.ValueID{90, 91, 92}}
	number := func(name string, v int64) {
		n.Attrs = append(n.Attrs, graph.Attr{Name: name, Kind: graph.AttrInt, Int: v})
	}
	direction := []string{"forward", "reverse", "bidirectional"}[r.IntN(3)]
	if direction == "bidirectional" {
		dirs = 2
	}
	if r.IntN(3) == 0 {
		n.Attrs = append(n.Attrs, graph.Attr{Name: "clip", Kind: graph.AttrFloat, Float: 0.3})
	}
	n.Attrs = append(n.Attrs, graph.Attr{Name: "direction", Kind: graph.AttrString, Str: direction})
	x, first := noise(r, seq, batch, ins), noise(r, dirs, batch, h)
	if r.IntN(3) == 0 {
		number("layout", 1)
		x, first = noise(r, batch, seq, ins), noise(r, batch, dirs, h)
	}
	number("linear_before_reset", r.Int64N(2))
	number("input_forget", r.Int64N(2))
	if r.IntN(2) == 0 {
		a := graph.Attr{Name: "activations", Kind: graph.AttrStrings}
		for range dirs * int64(len(acts)) {
			a.Strs = append(a.Strs, []string{"Tanh", "Sigmoid", "HardSigmoid", "Softsign"}[r.IntN(4)])
		}
		n.Attrs = append(n.Attrs, a)
	}
	in := []*tensor.Tensor{x, noise(r, dirs, gates*h, ins), small(noise(r, dirs, gates*h, h)), nil, nil, nil}
	if r.IntN(4) > 0 {
		in[3] = noise(r, dirs, 2*gates*h)
	}
	if r.IntN(4) == 0 {
		lens := make([]int32, batch)
		for i := range lens {
			lens[i] = r.Int32N(int32(seq + 1))
		}
		in[4] = tensor.Must(tensor.Shape{batch}, lens)
	}
	if r.IntN(2) == 0 {
		in[5] = first
	}
	if gates < 4 {
		n.Outputs = n.Outputs[:2]
		return n, in
	}
	in = append(in, nil, nil)
	if r.IntN(2) == 0 {
		in[6] = first
	}
	if r.IntN(3) == 0 {
		in[7] = noise(r, dirs, 3*h)
	}
	if r.IntN(3) == 0 {
		n.Outputs[r.IntN(3)] = graph.NoValue
	}
	return n, in
}

func TestNetworksEqualTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n, in := random(r, "LSTM", 4, []string{"Sigmoid", "Tanh", "Tanh"})
		check(t, LSTM, n, in)
		n, in = random(r, "GRU", 3, []string{"Sigmoid", "Tanh"})
		check(t, GRU, n, in)
		n, in = random(r, "RNN", 1, []string{"Tanh"})
		check(t, RNN, n, in)
	}
}

func TestEveryActivationEqualsTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, name := range []string{"Relu", "tanh", "SIGMOID", "Softsign", "Softplus", "Affine", "HardSigmoid", "LeakyRelu",
		"ThresholdedRelu", "Elu"} {
		for variant := range 3 {
			n := &graph.Node{Op: "RNN", Version: 22, Outputs: []graph.ValueID{90, 91}, Attrs: graph.Attrs{
				{Name: "activation_alpha", Kind: graph.AttrFloats, Floats: []float32{0.4}[:variant/2]},
				{Name: "activation_beta", Kind: graph.AttrFloats, Floats: []float32{0.3}[:variant&1]},
				{Name: "activations", Kind: graph.AttrStrings, Strs: []string{name}}}}
			check(t, RNN, n, []*tensor.Tensor{noise(r, 1, 2, 5), noise(r, 1, 19, 5), noise(r, 1, 19, 19), noise(r, 1, 38)})
		}
	}
	n := &graph.Node{Op: "RNN", Version: 22, Outputs: []graph.ValueID{90}, Attrs: graph.Attrs{
		{Name: "activations", Kind: graph.AttrStrings, Strs: []string{"ScaledTanh"}}}}
	o, _ := twin.Prepare(t, n, []*tensor.Tensor{noise(r, 1, 2, 5), noise(r, 1, 4, 5), noise(r, 1, 4, 4)}, butFirst)
	if cs, err := RNN(simd.Best(), o); err != nil || len(cs) > 0 {
		t.Errorf("ScaledTanh: got %d kernels and error %v, want none", len(cs), err)
	}
}

func TestLargeNetworksEqualTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	both := graph.Attrs{{Name: "direction", Kind: graph.AttrString, Str: "bidirectional"}}
	check(t, LSTM, &graph.Node{Op: "LSTM", Version: 22, Outputs: []graph.ValueID{90}, Attrs: both},
		[]*tensor.Tensor{noise(r, 30, 1, 40), noise(r, 2, 256, 40), noise(r, 2, 256, 64), noise(r, 2, 512)})
	check(t, GRU, &graph.Node{Op: "GRU", Version: 22, Outputs: []graph.ValueID{90}},
		[]*tensor.Tensor{noise(r, 12, 14, 40), noise(r, 1, 192, 40), noise(r, 1, 192, 64)})
}

func TestLengthsOutOfRangeAreErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, length := range []int32{-1, 4} {
		n := &graph.Node{Op: "RNN", Version: 22, Outputs: []graph.ValueID{90}}
		lens := tensor.Must(tensor.Shape{2}, []int32{3, length})
		in := []*tensor.Tensor{noise(r, 3, 2, 4), noise(r, 1, 5, 4), noise(r, 1, 5, 5), nil, lens}
		o, call := twin.Prepare(t, n, in, butFirst)
		cs, err := RNN(simd.Best(), o)
		if err != nil || len(cs) == 0 {
			t.Fatalf("got %d kernels, error %v", len(cs), err)
		}
		call.Scratch = make([]byte, cs[0].Scratch)
		if err := cs[0].Kernel(call); err == nil {
			t.Errorf("length %d: got no error", length)
		}
	}
}
