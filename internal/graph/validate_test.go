package graph

import (
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

const valid = `graph "g" {
  in x: float32[n]
  in c
  const k = float32[] [1.0]
  y, _ = A(x, _, k; a=1, b=2)
  z = If(c; else_branch=graph { capture x = x
    out x }, then_branch=graph { capture y = y
    in i
    w = B(y, i; body=graph { capture deep = y
      out deep })
    out w })
  out z
  out k
}`

func TestValidateAcceptsAGoodGraph(t *testing.T) {
	if err := Validate(mustParse(t, valid)); err != nil {
		t.Error(err)
	}
}

func thenOf(g *Graph) *Graph { return g.Nodes[1].Attrs[1].Graph }

func deepOf(g *Graph) *Graph { return thenOf(g).Nodes[0].Attrs[0].Graph }

// faults are ways to break the good graph in one place.
var faults = []struct {
	want string
	harm func(g *Graph)
}{
	{`output 0: got value 99 of`, func(g *Graph) { g.Outputs[0] = 99 }},
	{`output 0: got value -1 of`, func(g *Graph) { g.Outputs[0] = NoValue }},
	{`input 0: got value -1 of`, func(g *Graph) { g.Inputs[0] = NoValue }},
	{`input 1: value "x": got a second source`, func(g *Graph) { g.Inputs[1] = g.Inputs[0] }},
	{`input 0: value "x": got a second source`, func(g *Graph) { g.Values[g.Inputs[0]].Const = tensor.Of[int8](1) }},
	{`value "loose": got no source`, func(g *Graph) { g.AddValue(Value{Name: "loose"}) }},
	{`got the name "x" for both`, func(g *Graph) { g.Values[1].Name = "x" }},
	{`value 1: got no name`, func(g *Graph) { g.Values[1].Name = "" }},
	{`node 1: got no node`, func(g *Graph) { g.Nodes[1] = nil }},
	{`node 0, A: input 2: got value 77 of`, func(g *Graph) { g.Nodes[0].Inputs[2] = 77 }},
	{`node 0, A: output 1: got value 77 of`, func(g *Graph) { g.Nodes[0].Outputs[1] = 77 }},
	{`node 0, A: output 1: value "x": got a second source`, func(g *Graph) { g.Nodes[0].Outputs[1] = g.Inputs[0] }},
	{`node 1, If: output 0: value "k": got a second source`, func(g *Graph) { g.Nodes[1].Outputs[0] = g.Outputs[1] }},
	{`node 0, A: input 0: value "y": got a read before`, func(g *Graph) { g.Nodes[0].Inputs[0] = g.Nodes[0].Outputs[0] }},
	{`node 0, If: attribute "then_branch": subgraph "": capture 0: value "y": got a read before`, func(g *Graph) {
		g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0]
	}},
	{`node 0, : got no operator`, func(g *Graph) { g.Nodes[0].Op = "" }},
	{`attribute "a": got it after "b"`, func(g *Graph) {
		as := g.Nodes[0].Attrs
		as[0], as[1] = as[1], as[0]
	}},
	{`attribute "a": got it after "a"`, func(g *Graph) { g.Nodes[0].Attrs[1].Name = "a" }},
	{`attribute "a": got kind 99`, func(g *Graph) { g.Nodes[0].Attrs[0].Kind = 99 }},
	{`attribute "a": got no tensor`, func(g *Graph) { g.Nodes[0].Attrs[0].Kind = AttrTensor }},
	{`attribute "a": got no tensor`, func(g *Graph) {
		g.Nodes[0].Attrs[0] = Attr{Name: "a", Kind: AttrTensors, Tensors: []*tensor.Tensor{tensor.Of[int8](1), nil}}
	}},
	{`attribute "a": got no graph`, func(g *Graph) { g.Nodes[0].Attrs[0].Kind = AttrGraph }},
	{`attribute "a": got no graph`, func(g *Graph) {
		g.Nodes[0].Attrs[0] = Attr{Name: "a", Kind: AttrGraphs, Graphs: []*Graph{nil}}
	}},
	{`got 1 captures outside a subgraph`, func(g *Graph) { g.Captures = []Capture{{}} }},
	{`attribute "then_branch": subgraph "": capture 0: got value 50 of`, func(g *Graph) {
		thenOf(g).Captures[0].Outer = 50
	}},
	{`subgraph "": capture 0: value "i": got a second source`, func(g *Graph) {
		thenOf(g).Captures[0].Inner = thenOf(g).Inputs[0]
	}},
	{`subgraph "": output 0: got value 9 of`, func(g *Graph) { thenOf(g).Outputs[0] = 9 }},
	{`attribute "body": subgraph "": capture 0: got value -1 of`, func(g *Graph) {
		deepOf(g).Captures[0].Outer = NoValue
	}},
	{`subgraph "": value "new": got no source`, func(g *Graph) { deepOf(g).AddValue(Value{Name: "new"}) }},
	{`got more than 64 subgraphs inside one another`, func(g *Graph) {
		deepOf(g).Nodes = []*Node{{Op: "Loop", Attrs: Attrs{{Name: "g", Kind: AttrGraph, Graph: deepOf(g)}}}}
		deepOf(g).Captures[0] = Capture{Inner: 0, Outer: 0}
	}},
}

func TestValidateFindsEveryFault(t *testing.T) {
	for _, tt := range faults {
		g := mustParse(t, valid)
		tt.harm(g)
		if err := Validate(g); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got error %v, want %q", err, tt.want)
		}
	}
	if err := Validate(nil); err == nil {
		t.Error("no graph: got no error")
	}
}
