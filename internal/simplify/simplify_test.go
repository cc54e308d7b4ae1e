package simplify_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/onnx"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/simplify"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

func eval(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return plan.Eval(ref.Backend{}, n, in)
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

func simple(t *testing.T, g *graph.Graph, lim simplify.Limits) *graph.Graph {
	t.Helper()
	out, err := simplify.Simplify(g, eval, lim)
	if err == nil {
		err = graph.Validate(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// body wraps lines in a graph whose form is that of graph.Format.
func body(lines ...string) string {
	return "graph {\n  " + strings.Join(lines, "\n  ") + "\n}\n"
}

var cases = []struct{ name, before, after string }{
	{
		"what depends on constants alone is folded, in one go",
		body("in x: float32[2]", "const a = float32[2] [1.0, 2.0]", "const b = float32[2] [3.0, 4.0]",
			"c = Add@13(a, b)", "d = Mul@13(c, c)", "y = Add@13(x, d)", "out y"),
		body("in x: float32[2]", "const d = float32[2] [16.0, 36.0]", "y = Add@13(x, d)", "out y"),
	},
	{
		"a fill becomes its contents",
		body("in x: float32[100]", "const s = int64[1] [100]",
			"w = ConstantOfShape@13(s; value=float32[1] [0.5])", "y = Add@13(x, w)", "out y"),
		body("in x: float32[100]", "const w = float32[100] fill 0.5", "y = Add@13(x, w)", "out y"),
	},
	{
		"a folded output keeps its name",
		body("const a = int64[1] [1]", "y = Add@13(a, a)", "out y"),
		body("const y = int64[1] [2]", "out y"),
	},
	{
		"what is random stays",
		body("r = RandomNormal@13(; shape=[2])", "out r"),
		body("r = RandomNormal@13(; shape=[2])", "out r"),
	},
	{
		"a node that cannot be computed stays",
		body("const a = float32[2] [1.0, 2.0]", "const b = float32[3] [1.0, 2.0, 3.0]", "c = Add@13(a, b)",
			"d = NoSuchOperator@13(a)", "out c", "out d"),
		body("const a = float32[2] [1.0, 2.0]", "const b = float32[3] [1.0, 2.0, 3.0]", "c = Add@13(a, b)",
			"d = NoSuchOperator@13(a)", "out c", "out d"),
	},
	{
		"an output whose size depends on contents is folded too",
		body("const a = int64[3] [0, 5, 6]", "y = NonZero@13(a)", "out y"),
		body("const y = int64[1,2] [1, 2]", "out y"),
	},
	{
		"packed weights stay packed, an integer bias does not",
		body("in x: float32[2]", "const w = int8[2] [1, 2]", "const b = int32[2] [3, 4]", "const s = float32[] [0.5]",
			"wf = DequantizeLinear@13(w, s)", "bf = DequantizeLinear@13(b, s)", "m = Mul@13(x, wf)", "y = Add@13(m, bf)",
			"out y"),
		body("in x: float32[2]", "const w = int8[2] [1, 2]", "const s = float32[] [0.5]", "const bf = float32[2] [1.5, 2.0]",
			"wf = DequantizeLinear@13(w, s)", "m = Mul@13(x, wf)", "y = Add@13(m, bf)", "out y"),
	},
	{
		"packed weights of a product are not transposed, others are",
		body("in x: float32[1,2]", "const w = int8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"t = Transpose@13(w)", "d = DequantizeLinear@13(t, s)", "y = MatMul@13(x, d)",
			"u = Transpose@13(w; perm=[1, 0])", "e = DequantizeLinear@13(u, s)", "z = Mul@13(y, e)", "out z"),
		body("in x: float32[1,2]", "const w = int8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"const u = int8[2,3] [1, 3, 5, 2, 4, 6]", "t = Transpose@13(w)", "d = DequantizeLinear@13(t, s)",
			"y = MatMul@13(x, d)", "e = DequantizeLinear@13(u, s)", "z = Mul@13(y, e)", "out z"),
	},
	{
		"packed weights of a convolution stay packed if its data are quantised too",
		body("in x: float32[1,1,2,2]", "in q: uint8[1,1,2,2]", "const w = int8[1,1,1,1] [4]", "const s = float32[] [0.5]",
			"d = DequantizeLinear@13(w, s)", "y = Conv@13(x, d)", "p = DequantizeLinear@13(q, s)",
			"const v = int8[1,1,1,1] [6]", "e = DequantizeLinear@13(v, s)", "z = Conv@13(p, e)", "out y", "out z"),
		body("in x: float32[1,1,2,2]", "in q: uint8[1,1,2,2]", "const s = float32[] [0.5]",
			"const v = int8[1,1,1,1] [6]", "const d = float32[1,1,1,1] [2.0]", "y = Conv@13(x, d)",
			"p = DequantizeLinear@13(q, s)", "e = DequantizeLinear@13(v, s)", "z = Conv@13(p, e)", "out y", "out z"),
	},
	{
		"copies are skipped, and an output's name stays",
		body("in x: float32[2]", "a = Identity@13(x)", "b = Neg@13(a)", "c = Identity@13(b)", "y = Identity@13(c)", "out y"),
		body("in x: float32[2]", "y = Neg@13(x)", "out y"),
	},
	{
		"a copy stays between names that must both be",
		body("in x: float32[2]", "a = Neg@13(x)", "b = Identity@13(a)", "t = Identity@13(x)", "c = Identity@13(t)",
			"out a", "out b", "out c"),
		body("in x: float32[2]", "a = Neg@13(x)", "b = Identity@13(a)", "c = Identity@13(x)", "out a", "out b", "out c"),
	},
	{
		"of two copies with an output's name the first gives way",
		body("in x: float32[2]", "a = Neg@13(x)", "b = Identity@13(a)", "c = Identity@13(a)", "out b", "out c"),
		body("in x: float32[2]", "b = Neg@13(x)", "c = Identity@13(b)", "out b", "out c"),
	},
	{
		"dropout passes on unless it trains or its mask is read",
		body("in x: float32[2]", "const r = float32[] [0.5]", "const no = bool[] [false]", "const yes = bool[] [true]",
			"a = Dropout@7(x; ratio=0.5)", "b, _ = Dropout@13(a, r, no)", "c, m = Dropout@13(b, r)", "d = Neg@13(c)",
			"e = Dropout@13(d, r, yes)", "f, mask = Dropout@13(e, r, no)", "out f", "out mask"),
		body("in x: float32[2]", "const r = float32[] [0.5]", "const no = bool[] [false]", "const yes = bool[] [true]",
			"d = Neg@13(x)", "e = Dropout@13(d, r, yes)", "f, mask = Dropout@13(e, r, no)", "out f", "out mask"),
	},
	{
		"the branch that is taken takes the place of its If",
		body("in x: float32[2]", "const c = bool[] [true]", "a = Neg@13(x)",
			"y, z = If@13(c; else_branch=graph { capture x = x  out x  out x }, then_branch=graph {",
			"  capture p = a  const one = float32[] [1.0]  a = Add@13(p, one)  b = Mul@13(a, p)  out b  out p })",
			"w = Neg@13(y)", "out w", "out z"),
		body("in x: float32[2]", "const one = float32[] [1.0]", "z = Neg@13(x)", "a = Add@13(z, one)", "b = Mul@13(a, z)",
			"w = Neg@13(b)", "out w", "out z"),
	},
	{
		"a condition that folds decides too, branch inside branch",
		body("in x: float32[2]", "const c = bool[] [true]", "not = Not@13(c)",
			"y = If@13(not; else_branch=graph { capture x = x  capture c = c",
			"  i = If@13(c; else_branch=graph { capture x = x  out x }, then_branch=graph {",
			"    capture x = x  n = Neg@13(x)  out n })",
			"  out i }, then_branch=graph { capture x = x  out x })", "out y"),
		body("in x: float32[2]", "y = Neg@13(x)", "out y"),
	},
	{
		"a captured constant is folded inside, and the capture goes",
		body("in x: float32[2]", "in c: bool[]", "const k = float32[] [2.0]",
			"y = If@13(c; else_branch=graph { capture x = x  capture k = k  a = Add@13(k, k)  i = Identity@13(a)",
			"  m = Mul@13(x, i)  out m }, then_branch=graph { capture x = x  r = Relu@13(x)  dead = Neg@13(r)  out r })",
			"out y"),
		body("in x: float32[2]", "in c: bool[]", "y = If@13(c; else_branch=graph {", "  capture x = x",
			"  const a = float32[] [4.0]", "  m = Mul@13(x, a)", "  out m", "}, then_branch=graph {", "  capture x = x",
			"  r = Relu@13(x)", "  out r", "})", "out y"),
	},
	{
		"an If with constant branches is not folded when its condition is not",
		body("in c: bool[]", "const k = float32[] [2.0]", "y = If@13(c; else_branch=graph {", "  const k = float32[] [2.0]",
			"  out k", "}, then_branch=graph {", "  const j = float32[] [3.0]", "  out j", "})", "out y"),
		body("in c: bool[]", "y = If@13(c; else_branch=graph {", "  const k = float32[] [2.0]", "  out k",
			"}, then_branch=graph {", "  const j = float32[] [3.0]", "  out j", "})", "out y"),
	},
	{
		"a loop's body is simplified, its inputs and outputs stay",
		body("in n: int64[]", "in x: float32[2]", "const k = float32[] [2.0]",
			"y = Loop@13(n, _, x; body=graph { in i  in c  in s  capture k = k  q = Mul@13(k, k)  t = Mul@13(s, q)",
			"  d = Identity@13(c)  out d  out t })", "out y"),
		body("in n: int64[]", "in x: float32[2]", "y = Loop@13(n, _, x; body=graph {", "  in i", "  in c", "  in s",
			"  const q = float32[] [4.0]", "  t = Mul@13(s, q)", "  d = Identity@13(c)", "  out d", "  out t", "})", "out y"),
	},
	{
		"what no output needs goes",
		body("in x", "in unused", "const k = int8[] [1]", "a = Neg@13(x)", "b = Neg@13(a)", "y = Abs@13(x)", "out y"),
		body("in x", "in unused", "y = Abs@13(x)", "out y"),
	},
}

func TestSimplify(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			g := parse(t, tt.before)
			text := graph.Format(g)
			out := simple(t, g, simplify.Limits{})
			if got := graph.Format(out); got != tt.after {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.after)
			}
			if graph.Format(g) != text {
				t.Errorf("the graph before is changed:\n%s", graph.Format(g))
			}
			if again := simple(t, out, simplify.Limits{}); again != out {
				t.Errorf("a second time it is not the same graph:\n%s", graph.Format(again))
			}
		})
	}
}

func TestLimitsLeaveNodesAlone(t *testing.T) {
	fill := body("const s = int64[1] [1000]", "w = ConstantOfShape@13(s)", "out w")
	double := body("const a = float32[4] [1.0, 2.0, 3.0, 4.0]", "b = Concat@13(a, a; axis=0)", "out b")
	twice := body("const a = float32[4] [1.0, 2.0, 3.0, 4.0]", "b = Neg@13(a)", "c = Abs@13(a)", "out b", "out c")
	dynamic := body("const a = int64[2] [5, 6]", "y = NonZero@13(a)", "out y")
	tests := []struct {
		name, before string
		lim          simplify.Limits
		left         int
	}{
		{"a fill at the limit", fill, simplify.Limits{OutputBytes: 4000}, 0},
		{"a fill above the limit", fill, simplify.Limits{OutputBytes: 3999}, 1},
		{"growth at the limit", double, simplify.Limits{OutputBytes: 1, Growth: 1}, 0},
		{"a small total", double, simplify.Limits{TotalBytes: 31}, 1},
		{"a total for one of two", twice, simplify.Limits{TotalBytes: 31}, 1},
		{"work for one of two", twice, simplify.Limits{FLOPs: 7}, 1},
		{"contents above the limit", dynamic, simplify.Limits{TotalBytes: 15}, 1},
		{"contents at the limit", dynamic, simplify.Limits{TotalBytes: 16}, 0},
	}
	for _, tt := range tests {
		if got := len(simple(t, parse(t, tt.before), tt.lim).Nodes); got != tt.left {
			t.Errorf("%s: got %d nodes left, want %d", tt.name, got, tt.left)
		}
	}
}

func TestHugeFillIsNeverComputed(t *testing.T) {
	g := parse(t, body("const s = int64[2] [4000000, 4000000]", "w = ConstantOfShape@13(s)", "out w"))
	out, err := simplify.Simplify(g, func(*graph.Node, []*tensor.Tensor) ([]*tensor.Tensor, error) {
		t.Error("the node is computed")
		return nil, errors.New("no")
	}, simplify.Limits{})
	if err != nil || out != g {
		t.Errorf("got error %v and another graph: %t", err, out != g)
	}
}

func TestViewsOfWeightsAreNotCopied(t *testing.T) {
	g := parse(t, body("in x: float32[2,3]", "const w = float32[6] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]",
		"const s = int64[2] [2, 3]", "r = Reshape@13(w, s)", "i = Identity@13(r)", "y = Add@13(x, i)", "out y"))
	weights := g.Values[1].Const.Bytes()
	out := simple(t, g, simplify.Limits{})
	for i := range out.Values {
		if c := out.Values[i].Const; c != nil && (c.String() != "float32[2,3]" || &c.Bytes()[0] != &weights[0]) {
			t.Errorf("%q: got %v in other memory, want a view", out.Values[i].Name, c)
		}
	}
}

func TestBranchesThatPrepareOneWeightShareIt(t *testing.T) {
	g := parse(t, body("in x: float32[2,2]", "in c: bool[]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
		"y = If@13(c; else_branch=graph { capture x = x  capture w = w  u = Transpose@13(w; perm=[1, 0])",
		"  a = Add@13(x, u)  out a }, then_branch=graph { capture x = x  capture w = w",
		"  u = Transpose@13(w; perm=[1, 0])  a = Mul@13(x, u)  out a })", "out y"))
	var seen []*tensor.Tensor
	for _, b := range simple(t, g, simplify.Limits{}).Nodes[0].Bodies() {
		for i := range b.Values {
			if c := b.Values[i].Const; c != nil {
				seen = append(seen, c)
			}
		}
	}
	if len(seen) != 2 || seen[0] != seen[1] {
		t.Errorf("got constants %v, want one for both branches", seen)
	}
}

// TestRealModelsStayWhole looks at every model of the test data: what is left is a valid graph
// with the same inputs and outputs, and nothing more to do.
func TestRealModelsStayWhole(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Data(t), "*", "*", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := onnx.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		im, err := f.Import()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out := simple(t, im.Graph, simplify.Limits{})
		if got, want := ports(out), ports(im.Graph); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
		if again := simple(t, out, simplify.Limits{}); again != out {
			t.Errorf("%s: a second time it is not the same graph", file)
		}
		if name := filepath.Base(filepath.Dir(file)); strings.HasPrefix(name, "light_") {
			for _, n := range out.Nodes {
				if n.Op == "ConstantOfShape" {
					t.Errorf("%s: %s is left", file, n.Label())
				}
			}
		}
		f.Close()
	}
}

func ports(g *graph.Graph) string {
	var names []string
	for _, v := range g.Inputs {
		names = append(names, g.ValueName(v))
	}
	names = append(names, "->")
	for _, v := range g.Outputs {
		names = append(names, g.ValueName(v))
	}
	return strings.Join(names, " ")
}
