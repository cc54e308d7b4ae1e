package prog

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

// group is a fused node, its operands and what the reference makes of each value of its body.
type group struct {
	op     *backend.Op
	call   *backend.Call
	body   *graph.Graph
	values []*tensor.Tensor
}

// newGroup reads a body whose inputs have types, and gives them contents: those called k… are
// known constants.
func newGroup(t testing.TB, text string) *group {
	t.Helper()
	body, err := graph.Parse("graph {\n" + text + "\n}")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	g := &group{op: &backend.Op{}, call: &backend.Call{}, body: body, values: make([]*tensor.Tensor, len(body.Values))}
	g.op.Node = &graph.Node{Domain: op.Domain, Op: "Fused", Outputs: []graph.ValueID{graph.ValueID(len(body.Inputs))},
		Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: body}}}
	for i, v := range body.Inputs {
		s, _ := body.Values[v].Shape.Concrete()
		n, _ := s.Elements()
		data := make([]float32, n)
		for j := range data {
			data[j] = float32(rng.NormFloat64() * 2)
			if body.Values[v].Name[0] == 'k' {
				data[j] = float32(math.Abs(float64(data[j]))) + 0.125
			}
		}
		x := tensor.Must(s, data)
		g.values[v] = x
		a := backend.Arg{DType: tensor.Float32, Shape: s}
		if body.Values[v].Name[0] == 'k' {
			a.Const = x
		}
		g.op.Node.Inputs = append(g.op.Node.Inputs, graph.ValueID(i))
		g.op.In, g.call.In = append(g.op.In, a), append(g.call.In, backend.ViewOf(x))
	}
	for _, n := range body.Nodes {
		g.values[n.Outputs[0]] = evaluate(t, n, g.values)
	}
	out := g.values[body.Outputs[0]]
	g.op.Out = []backend.Arg{{DType: tensor.Float32, Shape: out.Shape()}}
	return g
}

// evaluate runs a node with the reference kernel.
func evaluate(t testing.TB, n *graph.Node, values []*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	ctx := op.Ctx{Node: n, In: make([]op.Fact, len(n.Inputs)), Out: make([]op.Fact, 1)}
	o := backend.Op{Node: n, In: make([]backend.Arg, len(n.Inputs)), Out: make([]backend.Arg, 1)}
	c := backend.Call{In: make([]backend.View, len(n.Inputs)), Out: make([]backend.View, 1)}
	for i, v := range n.Inputs {
		if v == graph.NoValue {
			continue
		}
		x := values[v]
		ctx.In[i] = op.FactOf(x)
		o.In[i], c.In[i] = backend.Arg{DType: x.DType(), Shape: x.Shape(), Const: x}, backend.ViewOf(x)
	}
	if err := op.Lookup(n.Domain, n.Op).Infer(&ctx); err != nil {
		t.Fatal(err)
	}
	s, _ := ctx.Out[0].Shape.Concrete()
	o.Out[0] = backend.Arg{DType: ctx.Out[0].DType, Shape: s}
	out, _ := tensor.Zeros(ctx.Out[0].DType, s)
	c.Out[0] = backend.ViewOf(out)
	ks, err := ref.Backend{}.Candidates(&o)
	if err != nil || len(ks) == 0 {
		t.Fatalf("%s: got %d kernels and %v", n.Op, len(ks), err)
	}
	c.Scratch = make([]byte, ks[0].Scratch)
	if err := ks[0].Kernel(&c); err != nil {
		t.Fatal(err)
	}
	return out
}

func floatsOf(x *tensor.Tensor) []float32 { return tensor.Cast[float32](x.Bytes()) }

// near reports whether a result is as exact as chains are: a few units of the last place of the
// operands' size, which is around 1.
func near(got, want float32) bool {
	g, w := float64(got), float64(want)
	return g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= 3e-6*(1+math.Abs(w))
}

func compare(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !near(got[i], want[i]) {
			t.Errorf("%s: element %d: got %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// anchored lists bodies whose first node stands for the anchor; %s is the shape of the output.
var anchored = []string{
	`in x: float32[S] a = Neg@22(x) out a`,
	`in x: float32[S] a = Neg@22(x) y = Relu@22(a) out y`,
	`in x: float32[S] in r: float32[S] a = Neg@22(x) s = Add@22(a, r) y = Relu@22(s) out y`,
	`in x: float32[S] in r: float32[S] a = Neg@22(x) s = Add@22(r, a) y = Sub@22(r, s) out y`,
	`in x: float32[S] a = Neg@22(x) s = Sigmoid@22(a) y = Mul@22(s, a) out y`,
	`in x: float32[S] a = Neg@22(x) s = Sigmoid@22(a) u = Mul@22(s, a) y = Add@22(u, s) out y`,
	`in x: float32[S] a = Neg@22(x) s = HardSigmoid@22(a; alpha=0.25) y = Mul@22(a, s) out y`,
	`in x: float32[S] in kc: float32[C] in kd: float32[C] a = Neg@22(x) s = Mul@22(a, kc) y = Add@22(kd, s) out y`,
	`in x: float32[S] in c: float32[C] in kd: float32[] a = Neg@22(x) s = Mul@22(c, a) y = Add@22(s, kd) out y`,
	`in x: float32[S] in c: float32[C] in d: float32[1] a = Neg@22(x) s = Mul@22(a, d) y = Add@22(s, c) out y`,
	`in x: float32[S] in c: float32[C] in d: float32[1] a = Neg@22(x) e = Exp@22(c) s = Div@22(e, d) y = Sub@22(s, a) out y`,
	`in x: float32[S] in kl: float32[] in h: float32[] a = Neg@22(x) s = Clip@13(a, kl, h) y = PRelu@22(a, s) out y`,
	`in x: float32[S] in kl: float32[] a = Neg@22(x) s = Clip@13(a, _, kl) n = Neg@22(s) y = Max@13(s, n, a) out y`,
	`in x: float32[S] in kl: float32[] a = Neg@22(x) s = Clip@13(a, kl) l = Log@22(s) y = Pow@15(s, l) out y`,
	`in x: float32[S] in r: float32[S] in q: float32[S] a = Neg@22(x) b = Add@22(a, r) c = Mul@22(b, q) d = Sub@22(a, c)
		e = Tanh@22(b) f = Elu@22(d) g = Softplus@22(c) h = Sum@13(e, f, g) i = Min@13(h, a, r) y = Mean@13(i, q, x) out y`,
	`in x: float32[S] a = Neg@22(x) b = Gelu@20(a) c = Erf@13(a) d = Abs@22(c) e = Sqrt@22(d) f = Floor@22(a)
		g = Add@22(b, e) y = Add@22(f, g) out y`,
	`in x: float32[S] in r: float32[S] a = Neg@22(x) b = Relu@22(a) c = Identity@22(b) y = Mul@22(c, r) out y`,
}

func TestProgramsOnTilesAreWhatTheReferenceMakes(t *testing.T) {
	for _, l := range simd.Levels() {
		for i, text := range anchored {
			for _, s := range []string{"2,5,3,7", "1,16,40,41", "3,21,2", "2,1,9"} {
				t.Run(fmt.Sprintf("%v/%d/%s", l, i, s), func(t *testing.T) {
					testTiles(t, l, text, s)
				})
			}
		}
	}
}

// testTiles runs a body on tiles of all kinds.
func testTiles(t *testing.T, l simd.Level, text, shape string) {
	s := parseShape(t, shape)
	c, unit := s[1], ""
	for range s[2:] {
		unit += ",1"
	}
	g := newGroup(t, replace(text, "S", shape, "C", fmt.Sprint(c)+unit))
	p, ok := Compile(l, g.op, g.body.Nodes[0], 1)
	if !ok {
		t.Fatal("got no program")
	}
	testPlanes(t, g, p, int(s[0]), int(c))
	for _, b := range []int{8, 16} {
		testBlocks(t, g, p, b)
	}
	last := s[len(s)-1]
	g = newGroup(t, replace(text, "S", shape, "C", fmt.Sprint(last)))
	if p, ok = Compile(l, g.op, g.body.Nodes[0], len(s)-1); !ok {
		t.Fatal("got no program for the last axis")
	}
	testRows(t, g, p, int(last))
}

func testPlanes(t *testing.T, g *group, p *Program, n, channels int) {
	want := floatsOf(g.values[g.body.Outputs[0]])
	got := append([]float32{}, floatsOf(g.values[g.body.Nodes[0].Outputs[0]])...)
	size := len(want) / (n * channels)
	scratch := make([]float32, p.Scratch())
	for i := range n * channels {
		p.Run(g.call, &Tile{Data: got[i*size:][:size], At: i * size, Channel: i % channels}, scratch)
	}
	compare(t, "planes", got, want)
}

// testRows runs one tile for each part of a row, and with nothing beside the operands' memory.
func testRows(t *testing.T, g *group, p *Program, width int) {
	want := floatsOf(g.values[g.body.Outputs[0]])
	got := append([]float32{}, floatsOf(g.values[g.body.Nodes[0].Outputs[0]])...)
	scratch := make([]float32, p.Scratch())
	for row := range len(want) / width {
		for from := 0; from < width; from += 5 {
			at := row*width + from
			n := min(5, width-from)
			p.Run(g.call, &Tile{Data: got[at : at+n : at+n], At: at, Channel: from, Mode: Vector}, scratch)
		}
	}
	compare(t, "rows", got, want)
}

// blocked returns a tensor in blocks of channels.
func blocked(x *tensor.Tensor, b int) []float32 {
	s := x.Shape()
	n, c, inner := int(s[0]), int(s[1]), 1
	for _, d := range s[2:] {
		inner *= int(d)
	}
	blocks := (c + b - 1) / b
	out := make([]float32, n*blocks*inner*b)
	for i, v := range floatsOf(x) {
		at, ch, k := i%inner, i/inner%c, i/inner/c
		out[((k*blocks+ch/b)*inner+at)*b+ch%b] = v
	}
	return out
}

func testBlocks(t *testing.T, g *group, p *Program, b int) {
	out := g.values[g.body.Outputs[0]]
	want, got := blocked(out, b), blocked(g.values[g.body.Nodes[0].Outputs[0]], b)
	call := *g.call
	call.In = append([]backend.View{}, g.call.In...)
	for _, i := range p.Full() {
		x := tensor.Of(blocked(g.values[g.body.Inputs[i]], b)...)
		call.In[i] = backend.ViewOf(x)
	}
	n, c := int(out.Shape()[0]), int(out.Shape()[1])
	blocks := (c + b - 1) / b
	size := len(want) / (n * blocks)
	scratch := make([]float32, p.Scratch())
	for i := range n * blocks {
		at := i * size
		p.Run(&call, &Tile{Data: got[at:][:size], At: at, Channel: i % blocks * b, Mode: Blocked, Block: b}, scratch)
	}
	compare(t, fmt.Sprintf("blocks of %d", b), got, want)
}
