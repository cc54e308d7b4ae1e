package onnx

import (
	"fmt"
	"strings"
	"testing"
)

// opset17 is a field of a function: its import of the standard operators.
var opset17 = pb{}.msg(9, pb{}.str(1, "").int(2, 17))

// What the models of the table below share.
var (
	fnSquare = fnOf(fnHead("Square", "a", "b"), opset17, fnNode("Mul", "m", "a a", "t"), fnNode("Relu", "", "t", "b"))
	fnFourth = fnOf(fnHead("Fourth", "a", "b"), opset17, fnNode("f:Square", "s", "a", "t"), fnNode("f:Square", "s", "t",
		"b"))
	fnClip     = fnOf(fnHead("Clip3", "a lo hi", "b"), opset17, fnNode("Clip", "", "a lo hi", "b"))
	fnSwap     = fnOf(fnHead("Swap", "a b", "b a c c"), opset17, fnNode("Add", "", "a b", "c"))
	fnConstant = fnOf(fnHead("K", "", "k"), opset17,
		pb{}.msg(7, call1("Constant", "", "", "k", refAttr("value_int", "v", int(attrInt)))))
	fnBranch = fnOf(fnHead("B", "c x", "y"), opset17, fnNode("Relu", "", "x", "r"), pb{}.msg(7, call1("If", "", "c", "y",
		then(body(node("f:Square", "", "r", "q"), out("q"))), els(body(out("x"))))))
	fnOver     = fnOf(fnHead("Square", "a", "b"), opset17, pb{}.str(13, "neg"), fnNode("Neg", "", "a", "b"))
	fnUnsorted = fnOf(fnHead("U", "a", "b"), fnNode("Relu", "2", "t", "b"), fnNode("Relu", "1", "a", "t"))
)

var inlineTests = []struct {
	name string
	in   pb
	want string
}{
	{"names are unique", model(fnSquare, graphOf(in("x"), node("f:Square", "p", "x", "p/t"), node("f:Square", "p", "p/t",
		"y"), out("y"))), `
(x) -> (y)
Mul "p/m"(x, x) -> (p/t#1)
Relu "p"(p/t#1) -> (p/t)
Mul "p/#2/m"(p/t, p/t) -> (p/#2/t)
Relu "p/#2"(p/#2/t) -> (y)`},
	{"functions call functions", model(fnSquare, fnFourth, graphOf(in("x"), node("f:Fourth", "", "x", "y"), out("y"))), `
(x) -> (y)
Mul "Fourth#1/s/m"(x, x) -> (Fourth#1/s/t)
Relu "Fourth#1/s"(Fourth#1/s/t) -> (Fourth#1/t)
Mul "Fourth#1/s/#2/m"(Fourth#1/t, Fourth#1/t) -> (Fourth#1/s/#2/t)
Relu "Fourth#1/s/#2"(Fourth#1/s/#2/t) -> (y)`},
	{"inputs may be left out", model(fnClip, graphOf(in("x"), node("f:Clip3", "a", "x _ x", "y"), node("f:Clip3", "b",
		"y", "z"), out("z"))), `
(x) -> (z)
Clip "a"(x, , x) -> (y)
Clip "b"(y, , ) -> (z)`},
	{"outputs that have another name are copied", model(fnSwap, graphOf(in("x"), in("y"), node("f:Swap", "s", "x y",
		"p q r t"),
		out("p"), out("q"), out("r"), out("t"))), `
(x, y) -> (p, q, r, t)
Add "s"(x, y) -> (r)
Identity "s"(y) -> (p)
Identity "s"(x) -> (q)
Identity "s"(r) -> (t)`},
	{"outputs may be left out", model(fnSwap, graphOf(in("x"), node("f:Swap", "s", "x x", "_ _ _ t"), out("t"))), `
(x) -> (t)
Add "s"(x, x) -> (t)`},
	{"subgraphs of functions read the call's values", model(fnSquare, fnBranch, graphOf(in("c"), in("x"), node("f:B", "b",
		"c x", "y"), out("y"))), `
(c, x) -> (y)
Relu "b"(x) -> (b/r)
If "b"(c) -> (y)
  () -> (x)
  capture x
  () -> (q)
  capture r
  Mul "Square#1/m"(r, r) -> (Square#1/t)
  Relu "Square#1"(Square#1/t) -> (q)`},
	{"calls in subgraphs", model(fnSquare, graphOf(in("x"), node("If", "", "x", "y", then(body(node("f:Square", "p", "x",
		"q"), out("q"))),
		els(body(out("x")))), out("y"))), `
(x) -> (y)
If(x) -> (y)
  () -> (x)
  capture x
  () -> (q)
  capture x
  Mul "p/m"(x, x) -> (p/t)
  Relu "p"(p/t) -> (q)`},
	{"overloads", model(fnSquare, fnOver, graphOf(in("x"), pb{}.msg(1, call1("f:Square", "p", "x", "y").str(8, "neg")),
		out("y"))), `
(x) -> (y)
Neg "p"(x) -> (y)`},
	{"nodes of functions are sorted", model(fnUnsorted, graphOf(in("x"), node("f:U", "p", "x", "y"), out("y"))), `
(x) -> (y)
Relu "p/1"(x) -> (p/t)
Relu "p/2"(p/t) -> (y)`},
	{"constants of attributes", model(fnConstant, graphOf(node("f:K", "a", "", "y", intAttr("v", 3)), out("y"))), `
() -> (y)
const y int64[]`},
}

func TestFunctionsAreInlined(t *testing.T) {
	for _, tt := range inlineTests {
		t.Run(tt.name, func(t *testing.T) {
			got := dump(mustImport(t, tt.in).Graph)
			if want := strings.TrimPrefix(tt.want, "\n") + "\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFunctionAttributes(t *testing.T) {
	// F passes its attribute on to G under another name; G has a default.
	g := fnOf(fnHead("G", "a", "b"), opset17, pb{}.msg(11, intAttr("k", 5)),
		pb{}.msg(7, call1("Op", "", "a", "b", refAttr("axis", "k", int(attrInt)), refAttr("gone", "nothing",
			int(attrInt)))))
	f := fnOf(fnHead("F", "a", "b"), opset17, pb{}.str(6, "j"),
		pb{}.msg(7, call1("f:G", "", "a", "b", refAttr("k", "j", int(attrInt)))))
	tests := []struct {
		name string
		call pb
		want int64
	}{
		{"passed through", node("f:F", "", "x", "y", intAttr("j", 7)), 7},
		{"default through", node("f:F", "", "x", "y"), 5},
		{"passed", node("f:G", "", "x", "y", intAttr("k", 8)), 8},
		{"default", node("f:G", "", "x", "y"), 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			im := mustImport(t, model(f, g, graphOf(in("x"), tt.call, out("y"))))
			as := im.Graph.Nodes[0].Attrs
			if got := as.Int("axis", -1); got != tt.want || len(as) != 1 {
				t.Errorf("got axis %d of %d attributes, want %d of 1", got, len(as), tt.want)
			}
		})
	}
}

func TestFunctionAttributeGraphsReadTheCaller(t *testing.T) {
	f := fnOf(fnHead("F", "c x", "y"), opset17,
		pb{}.msg(7, call1("If", "", "c", "y", refAttr("then_branch", "g", int(attrGraph)), els(body(out("x"))))))
	im := mustImport(t, model(f, graphOf(in("c"), in("x"), node("f:F", "f", "c c", "y", graphAttr("g", body(node("Neg",
		"", "x", "n"), out("n")))), out("y"))))
	want := `(c, x) -> (y)
If "f"(c) -> (y)
  () -> (x)
  capture x
  () -> (n)
  capture x
  Neg(x) -> (n)
`
	if got := dump(im.Graph); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	bodies := im.Graph.Nodes[0].Bodies()
	if a, b := bodies[0].Captures[0].Outer, bodies[1].Captures[0].Outer; a != 0 || b != 1 {
		t.Errorf("got captures of %d and %d, want the function's x, which is 0, and the caller's, 1", a, b)
	}
}

func TestFunctionsHaveTheirOwnOpsets(t *testing.T) {
	f := fnOf(fnHead("F", "a", "b"), pb{}.msg(9, pb{}.str(1, "").int(2, 13)), fnNode("Identity", "", "a", "t"),
		fnNode("acme:Zap", "", "t", "b"))
	im := mustImport(t, model(f, pb{}.msg(8, pb{}.str(1, "acme").int(2, 4)),
		graphOf(in("x"), node("f:F", "", "x", "y"), node("Identity", "", "y", "z"), out("z"))))
	var got []int
	for _, n := range im.Graph.Nodes {
		got = append(got, n.Version)
	}
	if fmt.Sprint(got) != "[13 4 17]" {
		t.Errorf("got versions %v, want [13 4 17]: the function's, the model's for what it lacks, the model's", got)
	}
}

func TestFunctionTypesMeetTheCallers(t *testing.T) {
	f := fnOf(fnHead("F", "a", "b"), fnNode("Relu", "", "a", "t"), fnNode("Relu", "", "t", "b"),
		pb{}.msg(12, value("t", 1, "k"), value("b", 1, "k")))
	im := mustImport(t, model(f, graphOf(in("x"), node("f:F", "p", "x", "y"), out("y", 3))))
	got := map[string]string{}
	for _, v := range im.Graph.Values {
		got[v.Name] = v.Shape.String()
	}
	if got["p/t"] != "[k]" || got["y"] != "[3]" || len(im.Warnings) != 0 {
		t.Errorf("got %v and warnings %v, want p/t [k] and y [3]", got, im.Warnings)
	}
}

func TestFunctionsAreRefused(t *testing.T) {
	self := fnOf(fnHead("A", "a", "b"), fnNode("f:B", "n", "a", "b"))
	other := fnOf(fnHead("B", "a", "b"), fnNode("f:A", "m", "a", "b"))
	one := fnOf(fnHead("One", "a", "b"), fnNode("Relu", "", "a", "b"))
	lost := fnOf(fnHead("Lost", "a", "b"), fnNode("Relu", "r", "q", "b"))
	none := fnOf(fnHead("None", "a", "b"), fnNode("Relu", "r", "a", "q"))
	ref := fnOf(fnHead("Ref", "a", "b"), pb{}.msg(7, call1("Relu", "", "a", "b", refAttr("k", "k", int(attrFloat)))))
	inner := fnOf(fnHead("Inner", "c", "y"), pb{}.msg(7, call1("If", "", "c", "y", then(body(
		node("If", "", "c", "z", refAttr("then_branch", "g", int(attrGraph))), out("z"))))))
	x := in("x")
	tests := []struct {
		name string
		in   pb
		want string
	}{
		{"recursion", model(self, other, graphOf(x, node("f:A", "n", "x", "y"))),
			`onnx: node f.A "n": function "f.A": node f.B "n": function "f.B": node f.A "m": function "f.A" calls itself`},
		{"same name", model(one, one, graphOf()), `two functions are called "f.One"`},
		{"too many inputs", model(one, graphOf(x, node("f:One", "n", "x x", "y"))),
			`node f.One "n": got 2 inputs, want at most 1`},
		{"too many outputs", model(one, graphOf(x, node("f:One", "n", "x", "y z"))), "got 2 outputs, want at most 1"},
		{"callers' names are hidden", model(lost, graphOf(x, in("q"), node("f:Lost", "n", "x", "y"))),
			`value "q" is not defined`},
		{"output not computed", model(none, graphOf(x, node("f:None", "n", "x", "y"))),
			`output 0: value "b" is not defined`},
		{"type of a reference", model(ref, graphOf(x, node("f:Ref", "n", "x", "y", intAttr("k", 1)))),
			`attribute "k": got type 2 from attribute "k" of the function, want 1`},
		{"graph two levels down", model(inner, graphOf(x, node("f:Inner", "n", "x", "y", graphAttr("g", body(out("x")))))),
			"passed to a function and used in a subgraph there is not supported"},
		{"two inputs of a name", model(fnOf(fnHead("D", "a a", "a")), graphOf(x, node("f:D", "", "x x", "y"))),
			`two inputs are called "a"`},
		{"cycle", model(fnOf(fnHead("C", "a", "b"), fnNode("Add", "p", "a b", "b")), graphOf(x, node("f:C", "", "x", "y"))),
			`the nodes form a cycle, each reading from the next: Add "p"`},
		{"output left out", model(fnOf(fnHead("O", "a", "a")), graphOf(node("f:O", "", "", "y"), out("y"))),
			`output "y" is an optional value that is left out`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := importError(t, tt.in); !strings.HasPrefix(got, "onnx: ") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestExpansionIsBounded imports functions that call the next twice, thirty deep, a chain of
// calls that is longer than any program's, and calls that nest subgraphs within subgraphs.
func TestExpansionIsBounded(t *testing.T) {
	var twice, chain []pb
	branch := func(name, next string) pb {
		inner := body(node(next, "", "a", "z"), out("z"))
		for range 40 {
			inner = body(node("If", "", "a", "z", then(inner)), out("z"))
		}
		return fnOf(fnHead(name, "a", "b"), pb{}.msg(7, call1("If", "", "a", "b", then(inner))))
	}
	for i := range 1000 {
		name, next := fmt.Sprint("F", i), fmt.Sprint("f:F", i+1)
		if i < 30 {
			twice = append(twice, fnOf(fnHead(name, "a", "b"), fnNode(next, "", "a", "t"), fnNode(next, "", "t", "b")))
		}
		chain = append(chain, fnOf(fnHead(name, "a", "b"), fnNode(next, "", "a", "b")))
	}
	last := fnOf(fnHead("F30", "a", "b"), fnNode("Relu", "", "a", "b"))
	g := graphOf(in("x"), node("f:F0", "", "x", "y"), out("y"))
	m, err := Decode(model(cat(twice...), last, g))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importWithin(m, nil, 16<<20); err == nil || !strings.Contains(err.Error(),
		"more than 16777216 bytes of memory") {
		t.Errorf("got %.200v, want a limit on memory", err)
	}
	if got := importError(t, model(cat(chain...), g)); !strings.Contains(got, "calls are nested more than 200 deep") {
		t.Errorf("got %.200s, want a limit on calls", got)
	}
	got := importError(t, model(branch("F0", "f:F1"), branch("F1", "f:F30"), last, g))
	if !strings.Contains(got, "subgraphs are nested more than 64 deep") {
		t.Errorf("got %.200s, want a limit on subgraphs", got)
	}
}

func TestCopiesOfFunctionsWithoutStandardOpset(t *testing.T) {
	f := fnOf(fnHead("Same", "a", "a"))
	im := mustImport(t, cat(pb{}.int(1, 8), f, graphOf(in("x"), node("f:Same", "", "x", "y"), out("y"))))
	if n := im.Graph.Nodes[0]; n.Op != "Identity" || n.Version != MaxOpset || len(im.Unsupported) != 0 {
		t.Errorf("got %s of version %d and %v, want an Identity that runs", n.Label(), n.Version, im.Unsupported)
	}
}
