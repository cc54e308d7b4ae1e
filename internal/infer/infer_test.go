package infer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

func parse(t *testing.T, text string) *graph.Graph {
	t.Helper()
	g, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// inferrer knows the inputs as the graph declares them.
func inferrer(g *graph.Graph) *Inferrer {
	inf := New(g)
	for _, v := range g.Inputs {
		inf.Set(v, op.Fact{DType: g.Values[v].DType, Shape: g.Values[v].Shape})
	}
	return inf
}

func find(t *testing.T, g *graph.Graph, name string) graph.ValueID {
	t.Helper()
	for i := range g.Values {
		if g.Values[i].Name == name {
			return graph.ValueID(i)
		}
	}
	t.Fatalf("no value %q", name)
	return graph.NoValue
}

func TestShapesFollowNamesThroughShapeArithmetic(t *testing.T) {
	g := parse(t, `graph "g" {
		in x: float32[batch,seq,8]
		const zero = int64[] [0]
		const rest = int64[1] [-1]
		s = Shape@17(x)
		b = Gather@17(s, zero)
		b1 = Unsqueeze@17(b, axes)
		const axes = int64[1] [0]
		t = Concat@17(b1, rest; axis=0)
		y = Reshape@17(x, t)
		out y
	}`)
	inf := inferrer(g)
	if err := inf.All(); err != nil {
		t.Fatal(err)
	}
	if got := inf.Fact(find(t, g, "y")).Shape.String(); got != "[batch,seq*8]" {
		t.Errorf("got %s, want [batch,seq*8]", got)
	}
}

func TestKnownInputsAreEvaluated(t *testing.T) {
	g := parse(t, `graph "g" {
		const x = int64[2] [3, 4]
		y = Mystery@17(x)
		z = BitwiseNot@18(x)
		out z
	}`)
	inf := New(g)
	calls := 0
	inf.Eval = func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
		calls++
		if n.Op != "BitwiseNot" || len(in) != 1 || in[0].Len() != 2 {
			return nil, fmt.Errorf("got %s of %v", n.Op, in)
		}
		return []*tensor.Tensor{tensor.Of[int64](-4, -5)}, nil
	}
	if err := inf.All(); err != nil {
		t.Fatal(err)
	}
	got, ok := inf.Fact(find(t, g, "z")).Ints()
	if !ok || fmt.Sprint(got) != "[-4 -5]" || calls != 1 {
		t.Errorf("got %v, %v after %d calls, want [-4 -5] after one", got, ok, calls)
	}
}

func TestDeclarationsFillGapsAndContradictionsWarn(t *testing.T) {
	g := parse(t, `graph "g" {
		in x: float32[n,4]
		y: float32[?,5] = Relu@17(x)
		z: float32[m,2] = Mystery@17(x)
		out y
		out z
	}`)
	for _, declared := range []bool{true, false} {
		inf := inferrer(g)
		inf.Declared = declared
		var warnings []string
		inf.Warn = func(s string) { warnings = append(warnings, s) }
		if err := inf.All(); err != nil {
			t.Fatal(err)
		}
		if got := inf.Fact(find(t, g, "y")).Shape.String(); got != "[n,4]" {
			t.Errorf("declared %v: y: got %s, want what is inferred, [n,4]", declared, got)
		}
		want := map[bool]string{true: "[m,2]", false: "[...]"}[declared]
		if got := inf.Fact(find(t, g, "z")).Shape.String(); got != want {
			t.Errorf("declared %v: z: got %s, want %s", declared, got, want)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], `value "y": the file declares shape [?,5], inferred [n,4]`) {
			t.Errorf("got warnings %q", warnings)
		}
	}
}

func TestVisitSeesBodiesWithTheirCaptures(t *testing.T) {
	g := parse(t, `graph "g" {
		in c: bool[]
		in x: float32[n]
		y = If@17(c; else_branch=graph "e" {
			capture inner = x
			e = Neg@17(inner)
			out e
		}, then_branch=graph "t" {
			capture inner = x
			t = Relu@17(inner)
			out t
		})
		out y
	}`)
	inf := inferrer(g)
	var seen []string
	inf.Visit = func(n *graph.Node, in, out []op.Fact) {
		seen = append(seen, fmt.Sprintf("%s %v%v", n.Op, out[0].DType, out[0].Shape))
	}
	if err := inf.All(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(seen, ", ")
	if !strings.Contains(got, "Neg float32[n]") || !strings.Contains(got, "Relu float32[n]") ||
		!strings.HasSuffix(got, "If float32[n]") {
		t.Errorf("got %s", got)
	}
}

func TestImpossibleShapesAreErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`graph "g" {
			const s = int64[2] [4611686018427387904, 4]
			y = ConstantOfShape@17(s) as "big"
			out y
		}`, `node ConstantOfShape "big": output "y": shape [4611686018427387904,4]: the number of elements overflows`},
		{`graph "g" {
			in x: float32[2,3]
			in w: float32[4,5]
			y = MatMul@17(x, w) as "m"
			out y
		}`, `node MatMul "m":`},
	} {
		g := parse(t, c.text)
		err := inferrer(g).All()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q in it", err, c.want)
		}
	}
}

func TestContentsAreMaterialised(t *testing.T) {
	dims := func(ns ...int64) []graph.Dim {
		var out []graph.Dim
		for _, n := range ns {
			out = append(out, graph.Known(n))
		}
		return out
	}
	for _, c := range []struct {
		f    op.Fact
		want string
	}{
		{op.Fact{DType: tensor.Int64, Shape: graph.Of(2), Value: dims(3, 4)}, "int64[2]"},
		{op.Fact{DType: tensor.Int32, Shape: graph.Of(), Value: dims(3)}, "int32[]"},
		{op.Fact{DType: tensor.Bool, Shape: graph.Of(1), Value: dims(1)}, "bool[1]"},
		{op.Fact{DType: tensor.Int64, Shape: graph.Of(1), Value: []graph.Dim{graph.Sym("n")}}, "none"},
		{op.Fact{DType: tensor.Int64, Shape: graph.Of(3), Value: dims(1)}, "none"},
		{op.Fact{DType: tensor.Float32, Shape: graph.Of(1)}, "none"},
	} {
		got := "none"
		if x := Contents(&c.f); x != nil {
			got = x.String()
		}
		if got != c.want {
			t.Errorf("%+v: got %s, want %s", c.f, got, c.want)
		}
	}
}
