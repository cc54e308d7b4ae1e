package graph

import (
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

// patchCase is a patch, written with names, and the texts before and after.
type patchCase struct {
	name, before string
	patch        func(f *finder) *Patch
	after        string
}

// finder looks things up by name in the graph before.
type finder struct {
	t *testing.T
	g *Graph
}

func (f *finder) id(name string) ValueID {
	for i := range f.g.Values {
		if f.g.Values[i].Name == name {
			return ValueID(i)
		}
	}
	f.t.Fatalf("no value %q", name)
	return NoValue
}

func (f *finder) node(op string) *Node {
	for _, n := range f.g.Nodes {
		if n.Op == op {
			return n
		}
	}
	f.t.Fatalf("no node %q", op)
	return nil
}

func (f *finder) replace(from, to string) map[ValueID]ValueID {
	return map[ValueID]ValueID{f.id(from): f.id(to)}
}

const chain = `graph {
  in x: float32[n]
  a = A(x)
  b: float32[n] = B(a)
  c = C(b, a)
  out c
}
`

var patchCases = []patchCase{
	{
		"an empty patch changes nothing", chain,
		func(f *finder) *Patch { return &Patch{} }, chain,
	},
	{
		"nodes that no output depends on go, inputs stay",
		`graph { in x  in y  const k = int8[] [1]  a = A(x)  b = B(a, k)  c = C(x)  out c }`,
		func(f *finder) *Patch { return &Patch{} },
		"graph {\n  in x\n  in y\n  c = C(x)\n  out c\n}\n",
	},
	{
		"a replaced value's node goes", chain,
		func(f *finder) *Patch { return &Patch{Replace: f.replace("b", "a")} },
		"graph {\n  in x: float32[n]\n  a = A(x)\n  c = C(a, a)\n  out c\n}\n",
	},
	{
		"replacements are followed",
		"graph { in x  a = A(x)  b = B(a)  c = C(b)  out c }",
		func(f *finder) *Patch {
			return &Patch{Replace: map[ValueID]ValueID{f.id("b"): f.id("a"), f.id("a"): f.id("x")}}
		},
		"graph {\n  in x\n  c = C(x)\n  out c\n}\n",
	},
	{
		"the value that takes an output's place takes its name and its type",
		"graph { in x  a = A(x)  o: float32[2] = B(a)  p = C(a)  out o  out p }",
		func(f *finder) *Patch { return &Patch{Replace: f.replace("o", "a")} },
		"graph {\n  in x\n  o: float32[2] = A(x)\n  p = C(o)\n  out o\n  out p\n}\n",
	},
	{
		"an output cannot be an input by another name",
		"graph { in x  o: float32[2] = B@9(x)  p = C@9(x)  out o  out p }",
		func(f *finder) *Patch { return &Patch{Replace: f.replace("o", "x")} },
		"graph {\n  in x\n  p = C@9(x)\n  o: float32[2] = Identity@9(x) as \"o\"\n  out o\n  out p\n}\n",
	},
	{
		"an output cannot be two",
		"graph { in x  a = A(x)  b = B(a)  c = C(a)  out a  out b  out c }",
		func(f *finder) *Patch {
			return &Patch{Replace: map[ValueID]ValueID{f.id("b"): f.id("a"), f.id("c"): f.id("a")}}
		},
		"graph {\n  in x\n  a = A(x)\n  b = Identity@13(a) as \"b\"\n  c = Identity@13(a) as \"c\"\n" +
			"  out a\n  out b\n  out c\n}\n",
	},
	{
		"an output that is a constant by another name has a twin",
		"graph { in x  const k = int8[] [1]  a = A(x, k)  b = B(k)  out a  out b }",
		func(f *finder) *Patch { return &Patch{Replace: f.replace("b", "k")} },
		"graph {\n  in x\n  const k = int8[] [1]\n  const b = int8[] [1]\n  a = A(x, k)\n  out a\n  out b\n}\n",
	},
	{
		"a constant takes the place and the name of what computed it", chain,
		func(f *finder) *Patch {
			return &Patch{Const: map[ValueID]*tensor.Tensor{f.id("b"): tensor.Of[float32](1, 2)}}
		},
		"graph {\n  in x: float32[n]\n  const b = float32[2] [1.0, 2.0]\n  a = A(x)\n  c = C(b, a)\n  out c\n}\n",
	},
	{
		"a node stays for its other outputs, the constant keeps the name",
		"graph { in x  a, b = A(x)  c = C(a, b)  out c  out a }",
		func(f *finder) *Patch {
			return &Patch{Const: map[ValueID]*tensor.Tensor{f.id("a"): tensor.Of[int8](1)}}
		},
		"graph {\n  in x\n  const a = int8[1] [1]\n  \"a~2\", b = A(x)\n  c = C(a, b)\n  out c\n  out a\n}\n",
	},
	{
		"a captured constant is read inside, and the capture goes",
		"graph { in x  const k = int8[] [1]  y = If(x; g=graph { capture k = k  capture x = x  z = A(k, x)  out z })\n" +
			"out y }",
		func(f *finder) *Patch {
			n := *f.node("If")
			body := n.Attrs[0].Graph
			consts := map[ValueID]*tensor.Tensor{body.Captures[0].Inner: tensor.Scalar[int8](1)}
			inner, err := Apply(body, &Patch{Const: consts})
			if err != nil {
				f.t.Fatal(err)
			}
			n.Attrs = Attrs{{Name: "g", Kind: AttrGraph, Graph: inner}}
			return &Patch{Swap: map[*Node]*Node{f.node("If"): &n}}
		},
		"graph {\n  in x\n  y = If(x; g=graph {\n    capture x = x\n    const k = int8[] [1]\n    z = A(k, x)\n" +
			"    out z\n  })\n  out y\n}\n",
	},
	{
		"captures follow replacements and new numbers",
		"graph { in x  dead = D(x)  a = A(x)  b = B(a)  y = Loop(; g=graphs [graph { capture q = b  out q }])  out y }",
		func(f *finder) *Patch { return &Patch{Replace: f.replace("b", "a")} },
		"graph {\n  in x\n  a = A(x)\n  y = Loop(; g=graphs [graph {\n    capture q = a\n    out q\n  }])\n  out y\n}\n",
	},
	{
		"an inserted node stands before its first reader", chain,
		func(f *finder) *Patch {
			p := &Patch{Replace: map[ValueID]ValueID{}}
			y := p.NewValue(f.g, Value{Name: "y"})
			p.Replace[f.id("b")] = y
			p.Insert = []*Node{{Op: "F", Inputs: []ValueID{f.id("x")}, Outputs: []ValueID{y}}}
			return p
		},
		"graph {\n  in x: float32[n]\n  a = A(x)\n  y = F(x)\n  c = C(y, a)\n  out c\n}\n",
	},
	{
		"an inserted node may compute a removed node's value", chain,
		func(f *finder) *Patch {
			return &Patch{
				Remove: []*Node{f.node("B"), f.node("C")},
				Insert: []*Node{{Op: "BC", Inputs: []ValueID{f.id("a"), NoValue}, Outputs: []ValueID{f.id("c")}}},
			}
		},
		"graph {\n  in x: float32[n]\n  a = A(x)\n  c = BC(a, _)\n  out c\n}\n",
	},
	{
		"nodes move when what they read is computed later",
		"graph { in x  a = A(x)  b = B(x)  c = C(b)  d = D(a, c)  out d }",
		func(f *finder) *Patch {
			n := *f.node("A")
			n.Inputs = []ValueID{f.id("c")}
			return &Patch{Swap: map[*Node]*Node{f.node("A"): &n}}
		},
		"graph {\n  in x\n  b = B(x)\n  c = C(b)\n  a = A(c)\n  d = D(a, c)\n  out d\n}\n",
	},
	{
		"new values get names of their own", chain,
		func(f *finder) *Patch {
			p := &Patch{}
			y, z := p.NewValue(f.g, Value{Name: "a"}), p.NewValue(f.g, Value{})
			n := *f.node("C")
			n.Inputs = []ValueID{y, z, f.id("a")}
			p.Insert = []*Node{{Op: "F", Outputs: []ValueID{y, z}}}
			p.Swap = map[*Node]*Node{f.node("C"): &n}
			return p
		},
		"graph {\n  in x: float32[n]\n  a = A(x)\n  \"a~2\", \"~1\" = F()\n  c = C(\"a~2\", \"~1\", a)\n  out c\n}\n",
	},
}

func TestApply(t *testing.T) {
	for _, tt := range patchCases {
		t.Run(tt.name, func(t *testing.T) {
			g := mustParse(t, tt.before)
			before := Format(g)
			out, err := Apply(g, tt.patch(&finder{t, g}))
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(out); err != nil {
				t.Error(err)
			}
			if got := Format(out); got != tt.after {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.after)
			}
			if Format(g) != before {
				t.Errorf("the graph before is changed:\n%s", Format(g))
			}
		})
	}
}

func TestApplySharesNodesThatDoNotChange(t *testing.T) {
	g := mustParse(t, "graph { in x  a = A(x)  b = B(a)  c = C(b)  out c }")
	f := &finder{t, g}
	out, err := Apply(g, &Patch{Replace: f.replace("c", "b")})
	if err != nil {
		t.Fatal(err)
	}
	if out.Nodes[0] != g.Nodes[0] || out.Nodes[1] != g.Nodes[1] {
		t.Error("nodes A and B are copies, want the same")
	}
}

func TestApplyRefusesAPatchThatCannotBe(t *testing.T) {
	tests := []struct {
		want  string
		patch func(f *finder) *Patch
	}{
		{`patch "p": replacement: got value 9 of 4`, func(f *finder) *Patch {
			return &Patch{Replace: map[ValueID]ValueID{f.id("a"): 9}}
		}},
		{`replacement of value 1 by -1`, func(f *finder) *Patch {
			return &Patch{Replace: map[ValueID]ValueID{f.id("a"): NoValue}}
		}},
		{`constant: got value 9 of 4`, func(f *finder) *Patch {
			return &Patch{Const: map[ValueID]*tensor.Tensor{9: tensor.Of[int8]()}}
		}},
		{`constant for value 0: got an input`, func(f *finder) *Patch {
			return &Patch{Const: map[ValueID]*tensor.Tensor{f.id("x"): tensor.Of[int8]()}}
		}},
		{`replacement of value 1 by 0: got no value or a constant too`, func(f *finder) *Patch {
			return &Patch{Replace: f.replace("a", "x"), Const: map[ValueID]*tensor.Tensor{f.id("a"): tensor.Of[int8]()}}
		}},
		{`got a ring of replacements`, func(f *finder) *Patch {
			return &Patch{Replace: map[ValueID]ValueID{f.id("a"): f.id("b"), f.id("b"): f.id("a")}}
		}},
		{`got 1 nodes to remove or swap that are not in the graph`, func(f *finder) *Patch {
			return &Patch{Remove: []*Node{{Op: "A"}}}
		}},
		{`N: got value 9 of 4`, func(f *finder) *Patch {
			return &Patch{Insert: []*Node{{Op: "N", Inputs: []ValueID{9}}}}
		}},
		{`C: value "b": got a read of what nothing computes`, func(f *finder) *Patch {
			return &Patch{Remove: []*Node{f.node("B")}}
		}},
		{`output 0: value "c": got a read of what nothing computes`, func(f *finder) *Patch {
			return &Patch{Remove: []*Node{f.node("C")}}
		}},
		{`N: value "b": got a second source`, func(f *finder) *Patch {
			return &Patch{Insert: []*Node{{Op: "N", Outputs: []ValueID{f.id("b")}}}}
		}},
		{`N: value "x": got a second source`, func(f *finder) *Patch {
			return &Patch{Insert: []*Node{{Op: "N", Outputs: []ValueID{f.id("x")}}}}
		}},
		{`got a cycle`, func(f *finder) *Patch { return &Patch{Replace: f.replace("a", "c")} }},
	}
	for _, tt := range tests {
		g := mustParse(t, chain)
		p := tt.patch(&finder{t, g})
		p.Name = "p"
		if _, err := Apply(g, p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got error %v, want %q", err, tt.want)
		}
	}
}
