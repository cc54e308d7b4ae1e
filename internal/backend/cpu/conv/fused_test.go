package conv

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// tails are bodies behind a convolution of x, w and maybe b; S is the output's shape, C one element for
// each of its channels.
var tails = []string{
	`y = Relu@22(a)`,
	`in lo: float32[] in hi: float32[] y = Clip@22(a, lo, hi)`,
	`in r: float32[S] s = Add@22(a, r) y = Relu@22(s)`,
	`in m: float32[C] in n: float32[C] p = Mul@22(a, m) y = Add@22(p, n)`,
	`in m: float32[C] in n: float32[C] in r: float32[S] p = Mul@22(a, m) q = Add@22(p, n) s = Add@22(r, q) y = Relu@22(s)`,
	`in m: float32[C] y = Mul@22(m, a)`,
	`in n: float32[C] in r: float32[S] q = Add@22(n, a) s = Add@22(q, r) y = Relu@22(s)`,
	`in m: float32[C] p = Mul@22(a, m) y = Add@22(p, a)`,
	`g = Sigmoid@22(a) y = Mul@22(a, g)`,
	`f = Relu@22(a) in r: float32[S] s = Sub@22(r, f) y = Neg@22(s)`,
	`in s: float32[C] y = PRelu@22(a, s)`,
}

// fuse makes a group of the convolution and a tail, and draws the tail's operands.
func fuse(t *testing.T, c *problem, o *backend.Op, in []*tensor.Tensor, tail string, r *rand.Rand) (
	*backend.Op, []*tensor.Tensor) {
	t.Helper()
	shape := o.Out[0].Shape
	per := append(tensor.Shape{shape[1]}, make(tensor.Shape, len(shape)-2)...)
	for i := range per[1:] {
		per[1+i] = 1
	}
	text := "in x: float32" + c.x.String() + "\nin w: float32" + c.w.String() + "\n"
	if c.bias {
		text += "in b: float32" + tensor.Shape{c.w[0]}.String() + "\na = Conv@22(x, w, b)\n"
	} else {
		text += "a = Conv@22(x, w)\n"
	}
	tail = strings.NewReplacer("[S]", shape.String(), "[C]", per.String()).Replace(tail)
	for _, word := range []string{" in ", " y =", " p =", " q =", " s =", " g ="} {
		tail = strings.ReplaceAll(tail, word, "\n"+word[1:])
	}
	body, err := graph.Parse("graph {\n" + text + tail + "\nout y\n}")
	if err != nil {
		t.Fatal(err)
	}
	body.Nodes[0].Attrs = o.Node.Attrs
	f := *o
	f.Node = &graph.Node{Domain: op.Domain, Op: op.Fused, Outputs: []graph.ValueID{graph.ValueID(len(body.Inputs))},
		Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: body}}}
	f.In = nil
	for i, v := range body.Inputs {
		f.Node.Inputs = append(f.Node.Inputs, graph.ValueID(i))
		s, _ := body.Values[v].Shape.Concrete()
		if i >= len(in) {
			in = append(in, draw(r, s))
		}
		switch name := body.Values[v].Name; name {
		case "lo", "hi":
			tensor.Cast[float32](in[i].Bytes())[0] = map[string]float32{"lo": -3, "hi": 7}[name]
		}
		a := backend.Arg{DType: tensor.Float32, Shape: s}
		if len(s) < len(shape) && i > 0 || c.constant && i == 1 {
			a.Const = in[i]
		}
		f.In = append(f.In, a)
	}
	return &f, in
}

// TestRandomFusedConvolutions compares all kernels of groups with the reference.
func TestRandomFusedConvolutions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	kernels := 0
	for n := range 96 {
		c := randomProblem(r)
		o, in, ok := c.operands(r)
		if !ok {
			continue
		}
		o, in = fuse(t, c, o, in, tails[n%len(tails)], r)
		want := reference(t, o, in)
		team := backend.NewTeam(c.threads)
		for _, l := range simd.Levels() {
			cs, err := Fused(l, o)
			if err != nil {
				t.Fatalf("%v: %v: %v", l, c, err)
			}
			kernels += len(cs)
			for i := range cs {
				got := perform(t, o, &cs[i], in, team)
				if cs[i].Name == "conv-winograd" {
					closeTo(t, c, got, want)
					continue
				}
				for j := range want {
					if math.Abs(float64(got[j]-want[j])) > 3e-6*(1+math.Abs(float64(want[j]))) {
						t.Fatalf("%v %s: %v: %s: element %d: got %v, want %v", l, cs[i].Name, c, tails[n%len(tails)], j, got[j], want[j])
					}
				}
			}
		}
		team.Close()
	}
	if kernels < 150 {
		t.Errorf("got %d kernels, want at least 150", kernels)
	}
}

// TestResidualMayBeTheInput has an operand of the tail that the convolution reads too: its layout is
// the same for both.
func TestResidualMayBeTheInput(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	c := &problem{x: tensor.Shape{1, 32, 9, 9}, w: tensor.Shape{32, 32, 3, 3}, strides: []int64{1, 1},
		dilations: []int64{1, 1}, pads: []int64{1, 1, 1, 1}, group: 1, constant: true, threads: 1}
	o, in, _ := c.operands(r)
	o, in = fuse(t, c, o, in, "s = Add@22(a, x) y = Relu@22(s)", r)
	want := reference(t, o, in)
	for _, l := range simd.Levels() {
		cs, err := Fused(l, o)
		if cs = withoutTransforms(cs); err != nil || len(cs) != 2 {
			t.Fatalf("%v: got %d kernels and %v, want 2", l, len(cs), err)
		}
		for i := range cs {
			got := perform(t, o, &cs[i], in, nil)
			for j := range want {
				if got[j] != want[j] {
					t.Fatalf("%v %s: element %d: got %v, want %v", l, cs[i].Name, j, got[j], want[j])
				}
			}
		}
	}
}

func withoutTransforms(cs []backend.Candidate) []backend.Candidate {
	return slices.DeleteFunc(slices.Clone(cs), func(k backend.Candidate) bool { return k.Name == "conv-winograd" })
}

// TestGroupsThatAreNotOffered has bodies that do not begin with a convolution of the group's inputs.
func TestGroupsThatAreNotOffered(t *testing.T) {
	f := backend.Arg{DType: tensor.Float32, Shape: tensor.Shape{1, 2, 3, 3}}
	w := backend.Arg{DType: tensor.Float32, Shape: tensor.Shape{2, 2, 1, 1}}
	for _, text := range []string{
		"in x: float32[1,2,3,3]\nin w: float32[2,2,1,1]\na = Neg@22(x)\ny = Relu@22(a)\nout y",
		"in x: float32[1,2,3,3]\nin w: float32[2,2,1,1]\na = Conv@22(x, w)\ny = Softmax@22(a)\nout y",
	} {
		body, err := graph.Parse("graph {\n" + text + "\n}")
		if err != nil {
			t.Fatal(err)
		}
		o := &backend.Op{Node: &graph.Node{Domain: op.Domain, Op: op.Fused, Inputs: []graph.ValueID{0, 1},
			Outputs: []graph.ValueID{2}, Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: body}}},
			In: []backend.Arg{f, w}, Out: []backend.Arg{f}}
		if cs, err := Fused(simd.Generic, o); err != nil || len(cs) != 0 {
			t.Errorf("%s: got %d kernels and %v, want none", text, len(cs), err)
		}
	}
}

// TestCallsAllocateNothing runs every candidate under the allocation counter.
func TestCallsAllocateNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	c := &problem{x: tensor.Shape{1, 24, 9, 9}, w: tensor.Shape{40, 24, 3, 3}, strides: []int64{1, 1},
		dilations: []int64{1, 1}, pads: []int64{1, 1, 1, 1}, group: 1, bias: true, constant: true, threads: 1}
	o, in, _ := c.operands(r)
	o, in = fuse(t, c, o, in, tails[4], r)
	for _, l := range simd.Levels() {
		cs, err := Fused(l, o)
		if err != nil || len(withoutTransforms(cs)) != 4 {
			t.Fatalf("%v: got %d kernels and %v, want 4 and maybe one by transforms", l, len(cs), err)
		}
		for i := range cs {
			call, _, _ := callOf(o, &cs[i], in, nil)
			if n := testing.AllocsPerRun(10, func() {
				if err := cs[i].Kernel(call); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%v %s: got %v allocations a call, want none", l, cs[i].Name, n)
			}
		}
	}
}
