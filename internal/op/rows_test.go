package op

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func TestSplitsByRowSaysWhichInputsHaveRows(t *testing.T) {
	const body = `graph "g" {
		in x: float32[4,3,8,8]
		in w: float32[5,3,1,1]
		in r: float32[4,5,8,8]
		c = Conv@13(x, w)
		y = Add@13(c, r)
		out y
	}`
	fused, err := graph.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	attrs := func(name string, v int64) graph.Attrs {
		return graph.Attrs{{Name: name, Kind: graph.AttrInt, Int: v}}
	}
	group := &graph.Node{Domain: Domain, Op: Fused, Version: 1, Inputs: []graph.ValueID{0, 1, 2},
		Outputs: []graph.ValueID{3}, Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: fused}}}
	for _, c := range []struct {
		name  string
		node  *graph.Node
		in    []tensor.Shape
		out   []tensor.Shape
		attrs graph.Attrs
		want  string
	}{
		{"Conv", nil, []tensor.Shape{{4, 3, 8, 8}, {5, 3, 1, 1}}, []tensor.Shape{{4, 5, 8, 8}}, nil, "[true false]"},
		{"Add", nil, []tensor.Shape{{4, 3}, {4, 3}}, []tensor.Shape{{4, 3}}, nil, "[true true]"},
		{"Add", nil, []tensor.Shape{{4, 3}, {1, 3}}, []tensor.Shape{{4, 3}}, nil, "[true false]"},
		{"Add", nil, []tensor.Shape{{3}, {4, 3}}, []tensor.Shape{{4, 3}}, nil, "[false true]"},
		{"Concat", nil, []tensor.Shape{{4, 3}, {4, 2}}, []tensor.Shape{{4, 5}}, attrs("axis", -1), "[true true]"},
		{"Concat", nil, []tensor.Shape{{4, 3}, {2, 3}}, []tensor.Shape{{6, 3}}, attrs("axis", 0), "no"},
		{"Split", nil, []tensor.Shape{{4, 6}}, []tensor.Shape{{4, 3}, {4, 3}}, attrs("axis", 1), "[true]"},
		{"MaxPool", nil, []tensor.Shape{{4, 3, 8}}, []tensor.Shape{{4, 3, 4}, {4, 3, 4}}, nil, "no"},
		{"MatMul", nil, []tensor.Shape{{4, 3}, {3, 2}}, []tensor.Shape{{4, 2}}, nil, "no"},
		{"Conv+Add", group, []tensor.Shape{{4, 3, 8, 8}, {5, 3, 1, 1}, {4, 5, 8, 8}}, []tensor.Shape{{4, 5, 8, 8}}, nil,
			"[true false true]"},
		{"Conv+Add, one residual for all", group, []tensor.Shape{{4, 3, 8, 8}, {5, 3, 1, 1}, {1, 5, 8, 8}},
			[]tensor.Shape{{4, 5, 8, 8}}, nil, "[true false false]"},
	} {
		n := c.node
		if n == nil {
			n = &graph.Node{Op: c.name, Version: 13, Attrs: c.attrs, Inputs: make([]graph.ValueID, len(c.in)),
				Outputs: make([]graph.ValueID, len(c.out))}
		}
		facts := func(ss []tensor.Shape) []Fact {
			out := make([]Fact, len(ss))
			for i, s := range ss {
				out[i] = Fact{DType: tensor.Float32, Shape: graph.Of(s...)}
			}
			return out
		}
		got := "no"
		if rows, ok := SplitsByRow(n, facts(c.in), facts(c.out)); ok {
			got = fmt.Sprint(rows)
		}
		if got != c.want {
			t.Errorf("%s of %v: got %s, want %s", c.name, c.in, got, c.want)
		}
	}
}
