package op

import (
	"errors"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// inferBody infers a graph's nodes one after another.
func inferBody(g *graph.Graph, in []Fact) ([]Fact, error) {
	if len(in) != len(g.Inputs) {
		return nil, errors.New("wrong number of inputs")
	}
	facts := make([]Fact, len(g.Values))
	for i := range g.Values {
		if t := g.Values[i].Const; t != nil {
			facts[i] = FactOf(t)
		}
	}
	for i, v := range g.Inputs {
		facts[v] = in[i]
	}
	for _, n := range g.Nodes {
		c := Ctx{Node: n, In: make([]Fact, len(n.Inputs)), Out: make([]Fact, len(n.Outputs))}
		for i, v := range n.Inputs {
			c.In[i] = facts[v]
		}
		if err := Lookup("", n.Op).Infer(&c); err != nil {
			return nil, err
		}
		for i, v := range n.Outputs {
			facts[v] = c.Out[i]
		}
	}
	out := make([]Fact, len(g.Outputs))
	for i, v := range g.Outputs {
		out[i] = facts[v]
	}
	return out, nil
}

// body makes a graph with so many inputs and values, and the given nodes and outputs.
func body(inputs, values int, outputs []graph.ValueID, nodes ...*graph.Node) *graph.Graph {
	g := &graph.Graph{Values: make([]graph.Value, values), Nodes: nodes, Outputs: outputs}
	for i := range inputs {
		g.Inputs = append(g.Inputs, graph.ValueID(i))
	}
	return g
}

func op1(name string, out graph.ValueID, attrs graph.Attrs, in ...graph.ValueID) *graph.Node {
	return &graph.Node{Op: name, Version: 21, Inputs: in, Outputs: []graph.ValueID{out}, Attrs: attrs}
}

// constant is a body without inputs that returns zeros.
func constant(t *testing.T, dt tensor.DType, shape ...int64) *graph.Graph {
	x, err := tensor.Zeros(dt, shape)
	if err != nil {
		t.Fatal(err)
	}
	g := body(0, 1, []graph.ValueID{0})
	g.Values[0].Const = x
	return g
}

func inferControl(name string, version, outs int, attrs graph.Attrs, in ...Fact) ([]Fact, error) {
	n := &graph.Node{Op: name, Version: version, Attrs: attrs, Outputs: make([]graph.ValueID, outs)}
	for i := range in {
		id := graph.ValueID(i)
		if in[i].DType == tensor.Undefined {
			id = graph.NoValue
		}
		n.Inputs = append(n.Inputs, id)
	}
	c := Ctx{Node: n, In: in, Out: make([]Fact, outs), Body: inferBody}
	err := Lookup("", name).Infer(&c)
	return c.Out, err
}

func graphAttr(name string, g *graph.Graph) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrGraph, Graph: g}
}

func TestIfJoinsItsBranches(t *testing.T) {
	wrong := body(0, 2, []graph.ValueID{1}, op1("Transpose", 1, graph.Attrs{intsAttr("perm", 0)}, 0))
	wrong.Values[0].Const = tensor.Must(tensor.Shape{1, 1}, []float32{1})
	either := Fact{DType: tensor.Bool, Shape: graph.Shape{}}
	for _, c := range []struct {
		name       string
		cond       Fact
		then, othr *graph.Graph
		want       string
	}{
		{"the same", either, constant(t, tensor.Float32, 2, 3), constant(t, tensor.Float32, 2, 3), "float32[2,3]"},
		{"one extent", either, constant(t, tensor.Float32, 2, 3), constant(t, tensor.Float32, 2, 4), "float32[2,?]"},
		{"other ranks", either, constant(t, tensor.Float32, 2), constant(t, tensor.Float32, 2, 4), "float32[...]"},
		{"true", FactOf(tensor.Scalar(true)), constant(t, tensor.Int64, 1), constant(t, tensor.Float32, 2), "int64[1]"},
		{"false", FactOf(tensor.Of(false)), constant(t, tensor.Int64, 1), constant(t, tensor.Float32, 2), "float32[2]"},
		{"one that cannot be", either, wrong, constant(t, tensor.Float32, 2), "float32[2]"},
		{"the other that cannot be", either, constant(t, tensor.Float32, 2), wrong, "float32[2]"},
	} {
		attrs := graph.Attrs{graphAttr("else_branch", c.othr), graphAttr("then_branch", c.then)}
		out, err := inferControl("If", 21, 1, attrs, c.cond)
		if got := out[0].DType.String() + out[0].Shape.String(); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	attrs := graph.Attrs{graphAttr("else_branch", constant(t, tensor.Int64)), graphAttr("then_branch", wrong)}
	if _, err := inferControl("If", 21, 2, attrs, either); err == nil {
		t.Error("two outputs of bodies with one: got no error")
	}
	attrs[1].Graph = constant(t, tensor.Float32)
	if _, err := inferControl("If", 21, 1, attrs, either); err == nil {
		t.Error("branches of two types: got no error")
	}
}

// growing is a Loop body that appends the second carried value to the first, hands the second
// on, and scans the second.
func growing(cond graph.ValueID) *graph.Graph {
	g := body(4, 6, []graph.ValueID{cond, 4, 3, 3}, op1("Concat", 4, graph.Attrs{intAttr("axis", 0)}, 2, 3))
	g.Values[5].Const = tensor.Scalar(false)
	return g
}

func TestLoopGivesUpWhatItsBodyChanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		attrs   graph.Attrs
		in      []Fact
		carried string
		scan    string
	}{
		{"counted", graph.Attrs{graphAttr("body", growing(1))}, []Fact{FactOf(tensor.Scalar[int64](5)), {}}, "[?,b]", "[5,2,b]"},
		{"named", graph.Attrs{graphAttr("body", growing(1))}, []Fact{valued("n"), {}}, "[?,b]", "[n,2,b]"},
		{"unknown count", graph.Attrs{graphAttr("body", growing(1))}, []Fact{unknownList(1), {}}, "[?,b]", "[?,2,b]"},
		{"it may stop", graph.Attrs{graphAttr("body", growing(5))}, []Fact{FactOf(tensor.Scalar[int64](5)), {}}, "[?,b]", "[?,2,b]"},
		{"it may not start", graph.Attrs{graphAttr("body", growing(1))},
			[]Fact{FactOf(tensor.Scalar[int64](5)), {DType: tensor.Bool, Shape: graph.Shape{}}}, "[?,b]", "[?,2,b]"},
		{"it does not start", graph.Attrs{graphAttr("body", growing(1))},
			[]Fact{{}, FactOf(tensor.Scalar(false))}, "[0,b]", "[0,2,b]"},
		{"no round", graph.Attrs{graphAttr("body", growing(1))}, []Fact{FactOf(tensor.Scalar[int64](-1)), {}}, "[0,b]", "[0,2,b]"},
	} {
		out, err := inferControl("Loop", 21, 3, c.attrs, append(c.in, flt("0,b"), flt("2,b"))...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := out[0].Shape.String(); got != c.carried {
			t.Errorf("%s: carried: got %s, want %s", c.name, got, c.carried)
		}
		if got := out[1].Shape.String(); got != "[2,b]" {
			t.Errorf("%s: kept: got %s, want [2,b]", c.name, got)
		}
		if got := out[2].Shape.String(); got != c.scan {
			t.Errorf("%s: scanned: got %s, want %s", c.name, got, c.scan)
		}
	}
	attrs := graph.Attrs{graphAttr("body", growing(1))}
	if _, err := inferControl("Loop", 21, 1, attrs, Fact{}, Fact{}, flt("0,b")); err == nil {
		t.Error("a body with too many inputs: got no error")
	}
	if _, err := inferControl("Loop", 21, 1, nil, Fact{}, Fact{}); err == nil {
		t.Error("no body: got no error")
	}
}

func TestScanTakesElements(t *testing.T) {
	// The body adds the element to the state, and returns the sum as state and as output.
	g := body(2, 3, []graph.ValueID{2, 2}, op1("Add", 2, nil, 0, 1))
	attrs := func(more ...graph.Attr) graph.Attrs {
		return append(graph.Attrs{graphAttr("body", g), intAttr("num_scan_inputs", 1)}, more...)
	}
	for _, c := range []struct {
		attrs       graph.Attrs
		in          Fact
		state, scan string
	}{
		{attrs(), flt("s,3"), "[3]", "[s,3]"},
		{attrs(intsAttr("scan_input_axes", -1)), flt("3,s"), "[3]", "[s,3]"},
		{attrs(intsAttr("scan_output_axes", -1)), flt("7,3"), "[3]", "[3,7]"},
	} {
		out, err := inferControl("Scan", 21, 2, c.attrs, flt("3"), c.in)
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
			continue
		}
		if a, b := out[0].Shape.String(), out[1].Shape.String(); a != c.state || b != c.scan {
			t.Errorf("%v: got %s and %s, want %s and %s", c.in, a, b, c.state, c.scan)
		}
	}
	if _, err := inferControl("Scan", 8, 2, attrs(), flt("3"), flt("s,3")); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("opset 8: got %v, want what is not supported", err)
	}
	for _, bad := range []graph.Attrs{
		{graphAttr("body", g)}, attrs(intsAttr("scan_input_axes", 2)), attrs(intsAttr("scan_output_axes", 2)),
		attrs(intsAttr("scan_input_axes", 0, 0)), attrs(intsAttr("scan_output_axes", 0, 0)),
	} {
		if _, err := inferControl("Scan", 21, 2, bad, flt("3"), flt("s,3")); err == nil {
			t.Errorf("%v: got no error", bad)
		}
	}
}
