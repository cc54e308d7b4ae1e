package fuse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/fuse"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

func inferred(g *graph.Graph, known map[graph.ValueID]op.Fact, _ fuse.Facts) (fuse.Facts, error) {
	inf := infer.New(g)
	for v, f := range known {
		inf.Set(v, f)
	}
	return inf, inf.All()
}

func parse(t *testing.T, text string) *graph.Graph {
	t.Helper()
	g, err := graph.Parse(text)
	if err == nil {
		err = graph.Validate(g)
	}
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return g
}

// lines wraps lines in a graph whose form is that of graph.Format.
func lines(l ...string) string { return "graph {\n  " + strings.Join(l, "\n  ") + "\n}\n" }

// fused applies the rules that are not off, and checks that the result is a valid graph, that the
// graph before is as it was, and that there is nothing left to do.
func fused(t *testing.T, g *graph.Graph, off ...string) *graph.Graph {
	t.Helper()
	before := graph.Format(g)
	var in []op.Fact
	for _, v := range g.Inputs {
		in = append(in, op.Fact{DType: g.Values[v].DType, Shape: g.Values[v].Shape})
	}
	o := fuse.Options{Infer: inferred, In: in, Off: off}
	out, err := fuse.Fuse(g, o)
	if err == nil {
		err = graph.Validate(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if graph.Format(g) != before {
		t.Fatalf("the graph before is changed:\n%s", graph.Format(g))
	}
	again, err := fuse.Fuse(out, o)
	if err != nil {
		t.Fatal(err)
	}
	if again != out {
		t.Fatalf("a second time it is not the same graph:\n%s\nafter:\n%s", graph.Format(again), graph.Format(out))
	}
	return out
}

// shape summarises a graph: its nodes' operators, each Fused one with those in it.
func shape(g *graph.Graph) string {
	var out []string
	for _, n := range g.Nodes {
		name := n.Op
		if op.IsFused(n) {
			name = "{" + shape(n.Attrs.Graph("body")) + "}"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// only returns the names of all rules but the given ones.
func only(on ...string) []string {
	return slices.DeleteFunc(fuse.Rules(), func(r string) bool { return slices.Contains(on, r) })
}

func TestRulesBeforeAndAfter(t *testing.T) {
	for _, tt := range rewrites {
		t.Run(tt.name, func(t *testing.T) {
			got := graph.Format(fused(t, parse(t, tt.before), only(tt.rule)...))
			if got != tt.after {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.after)
			}
			if off := fused(t, parse(t, tt.before), fuse.All); graph.Format(off) != graph.Format(parse(t, tt.before)) {
				t.Errorf("with all rules off: got:\n%s", graph.Format(off))
			}
		})
	}
}

func TestGroups(t *testing.T) {
	for _, tt := range groups {
		t.Run(tt.name, func(t *testing.T) {
			if got := shape(fused(t, parse(t, lines(tt.before...)))); got != tt.after {
				t.Errorf("got  %s\nwant %s", got, tt.after)
			}
		})
	}
}

func TestUnknownRuleIsRefused(t *testing.T) {
	if err := fuse.CheckOff([]string{"anchor", fuse.All}); err != nil {
		t.Error(err)
	}
	if err := fuse.CheckOff([]string{"anchors"}); err == nil {
		t.Error("got no error for a name that no rule has")
	}
}

// TestCombinationsOfRulesComputeTheSame applies every subset of the rules that do something to a
// graph to every graph of the tests, and computes each different result.
func TestCombinationsOfRulesComputeTheSame(t *testing.T) {
	texts := map[string]string{}
	for _, tt := range rewrites {
		texts[tt.name] = tt.before
	}
	for _, tt := range groups {
		texts[tt.name] = lines(tt.before...)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			g := parse(t, text)
			in := inputs(t, g, 1)
			want, err := conform.Interpreter{Backend: ref.Backend{}}.Run(g, in)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{graph.Format(g): true}
			active := activeRules(t, g)
			for subset := range 1 << len(active) {
				var on []string
				for i, r := range active {
					if subset>>i&1 != 0 {
						on = append(on, r)
					}
				}
				out := fused(t, g, only(on...)...)
				if text := graph.Format(out); !seen[text] {
					seen[text] = true
					same(t, fmt.Sprint("with ", on), out, in, want)
				}
			}
		})
	}
}

// activeRules returns the rules that change a graph alone, or without which the others change it in
// another way.
func activeRules(t *testing.T, g *graph.Graph) []string {
	all := graph.Format(fused(t, g))
	var out []string
	for _, r := range fuse.Rules() {
		if graph.Format(fused(t, g, r)) != all || graph.Format(fused(t, g, only(r)...)) != graph.Format(g) {
			out = append(out, r)
		}
	}
	return out
}

// inputs makes tensors for a graph's inputs, with 3 for every named extent.
func inputs(t *testing.T, g *graph.Graph, seed uint64) []*tensor.Tensor {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var out []*tensor.Tensor
	for _, v := range g.Inputs {
		s := make(tensor.Shape, len(g.Values[v].Shape))
		for i, d := range g.Values[v].Shape {
			n, ok := d.Int()
			if !ok {
				n = 3
			}
			s[i] = n
		}
		x, err := tensor.Zeros(g.Values[v].DType, s)
		if err != nil {
			t.Fatal(err)
		}
		switch x.DType() {
		case tensor.Float32:
			for i := range tensor.Cast[float32](x.Bytes()) {
				tensor.Cast[float32](x.Bytes())[i] = float32(r.NormFloat64())
			}
		case tensor.Int64:
			for i := range tensor.Cast[int64](x.Bytes()) {
				tensor.Cast[int64](x.Bytes())[i] = r.Int64N(3)
			}
		}
		out = append(out, x)
	}
	return out
}

// same runs a graph and compares its float32 outputs within 1e-5 of the largest, for another order
// of roundings.
func same(t *testing.T, what string, g *graph.Graph, in, want []*tensor.Tensor) {
	t.Helper()
	got, err := conform.Interpreter{Backend: ref.Backend{}}.Run(g, in)
	if err != nil {
		t.Errorf("%s: %v in\n%s", what, err, graph.Format(g))
		return
	}
	for i := range want {
		a, b := tensor.Cast[float32](got[i].Bytes()), tensor.Cast[float32](want[i].Bytes())
		peak := 0.0
		for _, x := range b {
			peak = max(peak, math.Abs(float64(x)))
		}
		if got[i].String() != want[i].String() {
			t.Errorf("%s: output %d: got %v, want %v", what, i, got[i], want[i])
			return
		}
		for k := range b {
			if math.Abs(float64(a[k]-b[k])) > 1e-5*peak {
				t.Errorf("%s: output %d, element %d: got %v, want %v in\n%s", what, i, k, a[k], b[k], graph.Format(g))
				return
			}
		}
	}
}
