package backend_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// randomBody is a body of nodes over float32 [3,3] and operands that are broadcast to it.
type randomBody struct {
	r *rand.Rand
	g *graph.Graph
	// full are the values of shape [3,3].
	full []graph.ValueID
	in   []*tensor.Tensor
}

func (b *randomBody) input(shape ...int64) graph.ValueID {
	n, _ := tensor.Shape(shape).Elements()
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(b.r.NormFloat64())
	}
	b.in = append(b.in, tensor.Must(shape, data))
	v := b.value(fmt.Sprint("in", len(b.in)))
	b.g.Inputs = append(b.g.Inputs, v)
	return v
}

func (b *randomBody) value(name string) graph.ValueID {
	return b.g.AddValue(graph.Value{Name: name, Type: graph.Type{DType: tensor.Float32}})
}

func (b *randomBody) pick() graph.ValueID { return b.full[b.r.IntN(len(b.full))] }

// node adds a node with one output; wide says that it has more operators than elementwise ones.
func (b *randomBody) node(wide bool) {
	unary, binary := []string{"Relu", "Neg", "Tanh", "Abs"}, []string{"Add", "Mul", "Sub", "PRelu", "Max"}
	n := &graph.Node{Version: 13, Inputs: []graph.ValueID{b.pick()}}
	switch k := b.r.IntN(10); {
	case k < 4:
		n.Op = unary[b.r.IntN(len(unary))]
	case k < 8 || !wide:
		n.Op = binary[b.r.IntN(len(binary))]
		n.Inputs = append(n.Inputs, b.pick())
	default:
		n.Op = []string{"MatMul", "Transpose", "Softmax", "Identity"}[b.r.IntN(4)]
		if n.Op == "MatMul" {
			n.Inputs = append(n.Inputs, b.pick())
		}
	}
	v := b.value(fmt.Sprint("v", len(b.g.Values)))
	n.Outputs = []graph.ValueID{v}
	b.g.Nodes = append(b.g.Nodes, n)
	b.full = append(b.full, v)
	if wide && b.r.IntN(4) == 0 {
		b.reshape(v)
	}
}

// reshape adds a view of [3,3] as [9], a node on it, and a view back.
func (b *randomBody) reshape(v graph.ValueID) {
	for _, axis := range []int64{0, -1} {
		out := b.value(fmt.Sprint("v", len(b.g.Values)))
		b.g.Nodes = append(b.g.Nodes, &graph.Node{Op: "Flatten", Version: 13, Inputs: []graph.ValueID{v},
			Outputs: []graph.ValueID{out}, Attrs: graph.Attrs{{Name: "axis", Kind: graph.AttrInt, Int: 1 + axis}}})
		neg := b.value(fmt.Sprint("v", len(b.g.Values)))
		b.g.Nodes = append(b.g.Nodes, &graph.Node{Op: "Neg", Version: 13, Inputs: []graph.ValueID{out},
			Outputs: []graph.ValueID{neg}})
	}
}

func newRandomBody(seed uint64) *randomBody {
	b := &randomBody{r: rand.New(rand.NewPCG(seed, 2)), g: &graph.Graph{}}
	for range 1 + b.r.IntN(3) {
		b.full = append(b.full, b.input(3, 3))
	}
	inputs := len(b.full)
	wide := b.r.IntN(2) == 0
	for range 1 + b.r.IntN(9) {
		b.node(wide)
	}
	b.g.Outputs = []graph.ValueID{b.full[len(b.full)-1]}
	if b.r.IntN(4) == 0 && len(b.full) > inputs+1 {
		b.g.Outputs = append(b.g.Outputs, b.full[inputs+b.r.IntN(len(b.full)-inputs-1)])
	}
	return b
}

// fusedNode wraps a body in a node.
func fusedNode(g *graph.Graph) *graph.Node {
	n := &graph.Node{Domain: op.Domain, Op: op.Fused, Version: 1,
		Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: g}}}
	for i := range g.Inputs {
		n.Inputs = append(n.Inputs, graph.ValueID(i))
	}
	for i := range g.Outputs {
		n.Outputs = append(n.Outputs, graph.ValueID(len(g.Inputs)+i))
	}
	return n
}

// TestBodiesComputeWhatTheirNodesDo runs random bodies node by node in fresh memory, and as one
// kernel: in poisoned memory, and in the place of each input that the output may overwrite.
func TestBodiesComputeWhatTheirNodesDo(t *testing.T) {
	for seed := range uint64(3000) {
		b := newRandomBody(seed)
		if err := graph.Validate(b.g); err != nil {
			t.Fatal(err)
		}
		want, err := conform.Interpreter{Backend: ref.Backend{}}.Run(b.g, b.in)
		if err != nil {
			t.Fatal(err)
		}
		n := fusedNode(b.g)
		o, call := prepare(n, b.in, want)
		ks, err := ref.Backend{}.Candidates(o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		places := append([]int{-1}, op.Lookup(n.Domain, n.Op).Overwrites(n)...)
		for _, place := range places {
			what := fmt.Sprintf("seed %d, in place of %d:\n%s", seed, place, graph.Format(b.g))
			runBody(t, what, ks[0], call, b.in, want, place)
		}
	}
}

// prepare describes the node's operands, and a call with poisoned outputs.
func prepare(n *graph.Node, in, out []*tensor.Tensor) (*backend.Op, *backend.Call) {
	o := &backend.Op{Node: n}
	c := &backend.Call{}
	for _, x := range in {
		o.In = append(o.In, backend.Arg{DType: x.DType(), Shape: x.Shape()})
		c.In = append(c.In, backend.View{})
	}
	for _, x := range out {
		o.Out = append(o.Out, backend.Arg{DType: x.DType(), Shape: x.Shape()})
		c.Out = append(c.Out, backend.View{DType: x.DType(), Shape: x.Shape()})
	}
	return o, c
}

// runBody calls a kernel with the first output in the place of an input, or, for −1, of its own.
func runBody(t *testing.T, what string, k backend.Candidate, c *backend.Call, in, want []*tensor.Tensor, place int) {
	t.Helper()
	poison := func(n int64) []byte { return bytes.Repeat([]byte{0xff}, int(n)) }
	for i := range in {
		c.In[i] = backend.ViewOf(in[i])
		c.In[i].Data = bytes.Clone(c.In[i].Data)
	}
	for i := range c.Out {
		c.Out[i].Data = poison(int64(len(want[i].Bytes())))
	}
	c.Scratch = poison(k.Scratch)
	if place >= 0 {
		c.Out[0].Data = c.In[place].Data
	}
	if err := k.Kernel(c); err != nil {
		t.Fatalf("%s\n%v", what, err)
	}
	for i := range want {
		if !bytes.Equal(c.Out[i].Data, want[i].Bytes()) {
			t.Fatalf("%s\noutput %d: got %v, want %v", what, i, tensor.Cast[float32](c.Out[i].Data),
				tensor.Cast[float32](want[i].Bytes()))
		}
	}
	for i := range in {
		if i != place && !bytes.Equal(c.In[i].Data, in[i].Bytes()) {
			t.Fatalf("%s\ninput %d is changed", what, i)
		}
	}
}

// chain is a body of n nodes, each of which may overwrite what it reads.
func chain(n int) *graph.Graph {
	b := &randomBody{r: rand.New(rand.NewPCG(1, 1)), g: &graph.Graph{}}
	v := b.input(3, 3)
	for i := range n {
		out := b.value(fmt.Sprint("v", i))
		b.g.Nodes = append(b.g.Nodes, &graph.Node{Op: "Neg", Version: 13, Inputs: []graph.ValueID{v},
			Outputs: []graph.ValueID{out}})
		v = out
	}
	b.g.Outputs = []graph.ValueID{v}
	return b.g
}

func TestChainsNeedNoScratchAndAllocateNothing(t *testing.T) {
	g := chain(5)
	x := tensor.Must(tensor.Shape{3, 3}, make([]float32, 9))
	o, c := prepare(fusedNode(g), []*tensor.Tensor{x}, []*tensor.Tensor{x})
	ks, err := ref.Backend{}.Candidates(o)
	if err != nil {
		t.Fatal(err)
	}
	if ks[0].Scratch != 0 {
		t.Errorf("scratch: got %d bytes, want 0", ks[0].Scratch)
	}
	c.In[0] = backend.ViewOf(x)
	c.Out[0].Data = make([]byte, 36)
	allocs := testing.AllocsPerRun(10, func() {
		if err := ks[0].Kernel(c); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want 0", allocs)
	}
}

func TestBodiesThatCannotBeAreRefused(t *testing.T) {
	x := tensor.Must(tensor.Shape{3, 3}, make([]float32, 9))
	change := map[string]func(*graph.Graph){
		"an output without a node": func(g *graph.Graph) { g.Outputs[0] = g.Inputs[0] },
		"an unknown operator":      func(g *graph.Graph) { g.Nodes[0] = &graph.Node{Op: "Nought", Outputs: g.Nodes[0].Outputs} },
		"a control node":           func(g *graph.Graph) { g.Nodes[0] = &graph.Node{Op: "If", Outputs: g.Nodes[0].Outputs} },
		"another number of inputs": func(g *graph.Graph) { g.Inputs = append(g.Inputs, g.Inputs[0]) },
	}
	for what, f := range change {
		g := chain(2)
		n := fusedNode(g)
		f(g)
		c := &op.Ctx{Node: n, In: []op.Fact{op.FactOf(x)}, Out: make([]op.Fact, 1)}
		if err := op.Lookup(n.Domain, n.Op).Infer(c); err == nil {
			t.Errorf("%s: got no error", what)
		}
	}
}
