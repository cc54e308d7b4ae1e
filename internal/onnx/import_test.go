package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// then and els are the branches of an If in every test.
func then(g pb) pb { return graphAttr("then_branch", g) }
func els(g pb) pb  { return graphAttr("else_branch", g) }

// What the models of the table below share.
var (
	ifDeepest = body(node("Add", "", "x w", "z"), out("z"))
	ifMiddle  = body(node("If", "", "c", "m", then(ifDeepest), els(ifDeepest)), out("m"))
	ifOuter   = body(node("Mul", "", "x x", "o"), out("o"))
)

var importTests = []struct {
	name string
	in   pb
	want string
}{
	{"initialisers that are inputs are constants in IR 3", modelIR(3, graphOf(
		in("w", 1), in("x", 1), initial("w", 2), node("Add", "", "x w", "y"), out("y"))), `
(x) -> (y)
const w float32[1]
Add(x, w) -> (y)`},
	{"initialisers that are inputs are constants in IR 8", model(graphOf(
		in("x", 1), in("w", 1), initial("w", 2), node("Add", "", "x w", "y"), out("y"))), `
(x) -> (y)
const w float32[1]
Add(x, w) -> (y)`},
	{"nodes are sorted and move no further than they must", model(graphOf(in("x"),
		node("Relu", "4", "c", "d"), node("Relu", "1", "x", "a"), node("Add", "3", "a b", "c"),
		node("Relu", "2", "x", "b"), node("Relu", "5", "x", "e"), out("d"))), `
(x) -> (d)
Relu "1"(x) -> (a)
Relu "2"(x) -> (b)
Add "3"(a, b) -> (c)
Relu "4"(c) -> (d)
Relu "5"(x) -> (e)`},
	{"what a subgraph reads is sorted before its node", model(graphOf(in("c"), in("x"),
		node("If", "", "c", "y", then(ifMiddle), els(ifOuter)), node("Relu", "", "x", "w"), out("y"))), `
(c, x) -> (y)
Relu(x) -> (w)
If(c) -> (y)
  () -> (o)
  capture x
  Mul(x, x) -> (o)
  () -> (m)
  capture c
  capture x
  capture w
  If(c) -> (m)
    () -> (z)
    capture x
    capture w
    Add(x, w) -> (z)
    () -> (z)
    capture x
    capture w
    Add(x, w) -> (z)`},
	{"a subgraph may return an outer value and hide an outer name", model(graphOf(in("c"), in("x"),
		node("If", "", "c", "y", then(body(out("x"))), els(body(initial("x", 1), out("x")))), out("y"))), `
(c, x) -> (y)
If(c) -> (y)
  () -> (x)
  const x float32[1]
  () -> (x)
  capture x`},
	{"a subgraph's input hides an initialiser of that name", model(graphOf(in("n"), node("Loop", "", "n _ n", "y",
		graphAttr("body", body(in("i"), in("c"), in("v"), initial("v", 1), out("c"), out("v")))), out("y"))), `
(n) -> (y)
Loop(n, , n) -> (y)
  (i, c, v) -> (c, v)`},
	{"constants of every form", model(graphOf(
		node("Constant", "", "", "a", attr("value", attrTensor, pb{}.msg(5, float1("", 1)))),
		node("Constant", "", "", "b", intAttr("value_int", 1)),
		node("Constant", "", "", "c", attr("value_ints", attrInts, pb{}.packed(8, 1, 2))),
		node("Constant", "", "", "d", attr("value_float", attrFloat, pb{}.f32(2, 1))),
		node("Constant", "", "", "e", attr("value_floats", attrFloats, pb{}.f32(7, 1).f32(7, 2))),
		node("Constant", "", "", "f", attr("value_string", attrString, pb{}.str(4, "s"))),
		node("Constant", "", "", "g", attr("value_strings", attrStrings, pb{}.str(9, "s", "t", "u"))),
		node("Constant", "", "", "h", attr("sparse_value", attrSparse, pb{}.msg(22, sparseOf()))),
		node("ai.onnx:Constant", "", "", "i", attr("value_ints", attrInts, pb{})),
		node("Constant", "", "", "_", intAttr("value_int", 1)),
		out("h"))), `
() -> (h)
const a float32[1]
const b int64[]
const c int64[2]
const d float32[]
const e float32[2]
const f string[]
const g string[3]
const h float32[2,3]
const i int64[0]`},
	{"sparse initialisers are dense", model(graphOf(pb{}.msg(15, sparseOf()), in("s"), out("s"))), `
() -> (s)
const s float32[2,3]`},
	{"optional operands", model(graphOf(in("x"), node("Clip", "", "x _ x", "y"),
		node("Dropout", "", "y", "z _"), node("Split", "", "z", "_ w"), out("w"))), `
(x) -> (w)
Clip(x, , x) -> (y)
Dropout(y) -> (z, )
Split(z) -> (, w)`},
	{"unknown operators stay", model(graphOf(in("x"), node("acme:Zap", "z", "x", "y"), out("y"))), `
(x) -> (y)
acme.Zap "z"(x) -> (y)`},
	{"a graph may return its input, and lists it once", model(graphOf(in("x"), out("x"), out("x"))), `
(x) -> (x)`},
	{"initialisers without a name are left out", model(graphOf(initial("", 1))), `
() -> ()`},
}

func TestImportBuildsTheGraph(t *testing.T) {
	for _, tt := range importTests {
		t.Run(tt.name, func(t *testing.T) {
			got := dump(mustImport(t, tt.in).Graph)
			if want := strings.TrimPrefix(tt.want, "\n") + "\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// sparseOf is a 2 by 3 tensor with a 5 at [1,2].
func sparseOf() pb {
	indices := pb{}.int(1, 1).int(1, 2).int(2, 7).packed(7, 1, 2)
	return pb{}.msg(1, float1("s", 5)).msg(2, indices).packed(3, 2, 3)
}

// What the models of the table below share.
var (
	badSparse = func(dims, indices pb) pb {
		return model(graphOf(pb{}.msg(15, append(pb{}.msg(1, float1("s", 5)).msg(2, indices), dims...))))
	}
	inX, outY = in("x"), out("y")
)

var refusedTests = []struct {
	name string
	in   pb
	want string
}{
	{"undefined input", model(graphOf(inX, node("Add", "a", "x q", "y"), outY)),
		`onnx: node Add "a": input 1: value "q" is not defined`},
	{"undefined output", model(graphOf(inX, outY)), `onnx: output 0: value "y" is not defined`},
	{"undefined in a subgraph", model(graphOf(inX, node("If", "i", "x", "y", then(body(node("Relu", "r", "q", "z"))),
		els(body())), outY)),
		`onnx: node If "i": attribute "then_branch": subgraph "g": node Relu "r": input 0: value "q" is not defined`},
	{"name of a sibling graph", model(graphOf(inX, node("If", "i", "x", "y", then(body(node("Relu", "", "x", "z"),
		out("z"))),
		els(body(out("z")))), outY)), `value "z" is not defined`},
	{"cycle", model(graphOf(inX, node("Relu", "r", "x", "a"), node("Add", "p", "a c", "b"), node("Relu", "q", "b", "c"))),
		`onnx: the nodes form a cycle, each reading from the next: Add "p", Relu "q"`},
	{"cycle of one", model(graphOf(node("Relu", "", "a", "a"))), `cycle, each reading from the next: Relu → "a"`},
	{"cycle through a subgraph", model(graphOf(inX, node("If", "i", "x", "y", then(body(out("y"))),
		els(body(out("x")))))),
		`cycle, each reading from the next: If "i"`},
	{"computed twice", model(graphOf(inX, node("Relu", "a", "x", "y"), node("Relu", "b", "x", "y"))),
		`onnx: value "y" is computed twice, by node Relu "a" and by node Relu "b"`},
	{"twice by one node", model(graphOf(inX, node("Split", "a", "x", "y y"))), `value "y" is computed twice`},
	{"input computed", model(graphOf(inX, node("Relu", "a", "x", "x"))),
		`value "x" is computed by node Relu "a", but is also an input or an initialiser`},
	{"two inputs", model(graphOf(inX, inX)), `two inputs are called "x"`},
	{"input without a name", model(graphOf(in(""))), `input 0 has no name`},
	{"two initialisers", model(graphOf(initial("w", 1), initial("w", 1))), `two initialisers are called "w"`},
	{"bad initialiser", model(graphOf(pb{}.msg(5, pb{}.int(1, 2).int(2, 1).str(8, "w")))),
		`onnx: tensor "w": float32[2]: got 0 bytes of raw_data, want 8`},
	{"arity", model(graphOf(inX, node("Identity", "i", "x x", "y"))), `onnx: node Identity "i": got 2 inputs, want 1`},
	{"arity of outputs", model(graphOf(inX, node("Identity", "i", "x", "y z"))),
		`node Identity "i": got 2 outputs, want 1`},
	{"rank", model(graphOf(in("x", make([]any, 17)...))), `value "x": got rank 17, want at most 16`},
	{"rank of a value", model(graphOf(inX, node("Relu", "", "x", "y"), info("y", make([]any, 17)...))), "got rank 17"},
	{"constant without a value", model(graphOf(node("Constant", "c", "", "y"))), `node Constant "c": got no value`},
	{"constant of two values", model(graphOf(node("Constant", "c", "", "y", intAttr("value_int", 1),
		intAttr("value_int", 1)))),
		`got attribute "value_int" and another value`},
	{"constant of no form", model(graphOf(node("Constant", "c", "", "y", intAttr("value_oops", 1)))),
		`attribute "value_oops": got type 2`},
	{"constant of a wrong type", model(graphOf(node("Constant", "c", "", "y", intAttr("value", 1)))), `got type 2`},
	{"constant of no tensor", model(graphOf(node("Constant", "c", "", "y", attr("value", attrTensor, nil)))),
		"got no tensor"},
	{"constant of two outputs", model(graphOf(node("Constant", "c", "", "y z", intAttr("value_int", 1)))),
		"got 2 outputs, want 1"},
	{"attribute twice", model(graphOf(inX, node("Relu", "r", "x", "y", intAttr("a", 1), intAttr("b", 1), intAttr("a",
		1)))),
		`attribute "a" is given twice`},
	{"attribute of no type", model(graphOf(inX, node("Relu", "r", "x", "y", pb{}.str(1, "a")))),
		`attribute "a": got neither a type nor a value`},
	{"attribute of an unknown type", model(graphOf(inX, node("Relu", "r", "x", "y", attr("a", 77, nil)))), "got type 77"},
	{"attribute without its tensor", model(graphOf(inX, node("Relu", "r", "x", "y", attr("a", attrTensor, nil)))),
		"got no tensor"},
	{"attribute without its graph", model(graphOf(inX, node("Relu", "r", "x", "y", attr("a", attrGraph, nil)))),
		"got no graph"},
	{"node without an operator", model(graphOf(inX, node("", "n", "x", "y"))), `onnx: node ? "n": got no operator`},
	{"attribute without a name", model(graphOf(inX, node("Relu", "r", "x", "y", intAttr("", 1)))),
		`node Relu "r": attribute 0 has no name`},
	{"reference outside a function", model(graphOf(inX, node("Relu", "r", "x", "y", refAttr("a", "b", 2)))),
		`attribute "a" refers to attribute "b" of a function, but is in none`},
	{"sparse index", badSparse(pb{}.int(3, 4), pb{}.int(1, 1).int(2, 7).packed(7, 4)), "index 0: got 4, want 0 to 3"},
	{"sparse coordinate", badSparse(pb{}.int(3, 4).int(3, 2), pb{}.int(1, 1).int(1, 2).int(2, 7).packed(7, 1, -1)),
		"index 0: got -1 in dim 1, want 0 to 1"},
	{"sparse index type", badSparse(pb{}.int(3, 4), pb{}.int(1, 1).int(2, 6).packed(5, 1)), "want int64"},
	{"sparse index shape", badSparse(pb{}.int(3, 4), pb{}.int(1, 2).int(2, 7).packed(7, 1, 2)), "want [1] or [1,1]"},
	{"sparse rank", badSparse(pb{}.packed(3, make([]int64, 17)...), pb{}.int(1, 1).int(2, 7).packed(7, 0)), "got rank 17"},
	{"sparse dims", badSparse(pb{}.int(3, -4), pb{}.int(1, 1).int(2, 7).packed(7, 1)), "got dims [-4]"},
	{"sparse and huge", badSparse(pb{}.int(3, 1<<50), pb{}.int(1, 1).int(2, 7).packed(7, 1)), "bytes of memory"},
}

func TestImportRefuses(t *testing.T) {
	for _, tt := range refusedTests {
		t.Run(tt.name, func(t *testing.T) {
			if got := importError(t, tt.in); !strings.HasPrefix(got, "onnx: ") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDeclaredTypes(t *testing.T) {
	seq := pb{}.msg(13, pb{}.str(1, "s").msg(2, pb{}.msg(4, pb{})))
	im := mustImport(t, model(graphOf(
		in("x", "n", 0, -1, nil, 3), pb{}.msg(11, value("odd", 99, 1), pb{}.str(1, "bare")),
		pb{}.msg(11, pb{}.str(1, "unranked").msg(2, pb{}.msg(1, pb{}.int(1, 7)))),
		initial("w", 1), info("w", 1), info("nobody", 1),
		node("Relu", "", "x", "y"), info("y", "m", 2), pb{}.msg(12, pb{}.str(1, "y")),
		node("Relu", "", "y", "s"), seq,
		node("Relu", "", "y", "z"), info("z", 1, 2), out("z", 1, "k"),
		node("If", "", "x", "v", then(body(out("x"))), els(body(out("x")))),
	)))
	want := map[string]string{
		"x": "float32[n,0,?,?,3]", "odd": "undefined[1]", "bare": "undefined[...]", "unranked": "int64[...]",
		"w": "float32[1]", "y": "float32[m,2]", "s": "undefined[...]", "z": "float32[1,k]", "v": "undefined[...]",
	}
	got := map[string]string{}
	for _, v := range im.Graph.Values {
		got[v.Name] = v.DType.String() + v.Shape.String()
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	inner := im.Graph.Nodes[len(im.Graph.Nodes)-1].Bodies()[0].Values[0]
	if s := inner.DType.String() + inner.Shape.String(); s != want["x"] {
		t.Errorf("captured x: got %s, want %s", s, want["x"])
	}
	untyped := []Untyped{{"odd", "got element type 99, want one of 1 to 26"}, {"bare", "the input has no element type"},
		{"s", "got a sequence, want a tensor"}}
	if !slices.Equal(im.Untyped, untyped) {
		t.Errorf("got %v, want %v", im.Untyped, untyped)
	}
	if len(im.Warnings) != 0 {
		t.Errorf("got warnings %q, want none", im.Warnings)
	}
}

func TestClashesAreWarnings(t *testing.T) {
	im := mustImport(t, model(
		graphOf(in("w", 2), initial("w", 1), info("w", 1, 1), in("x", 1), info("x", 2),
			node("Relu", "", "x", "y"), info("y", 1), out("y", 2), initial("", 1)),
		pb{}.msg(20, pb{}), pb{}.msg(8, pb{}.str(1, "ai.onnx").int(2, 16))))
	want := []string{
		`the model imports two versions of domain "": 17 and 16`,
		`training information is left out`,
		`value "w": got two types, float32[1] and float32[2]; the first counts`,
		`an initialiser without a name is left out`,
		`value "w": got two types, float32[1] and float32[1,1]; the first counts`,
		`value "x": got two types, float32[1] and float32[2]; the first counts`,
		`value "y": got two types, float32[1] and float32[2]; the second counts`,
	}
	if !slices.Equal(im.Warnings, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(im.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

func TestWarningsEnd(t *testing.T) {
	var parts []pb
	for i := range 1000 {
		parts = append(parts, in(fmt.Sprint("x", i), 1), info(fmt.Sprint("x", i), 2))
	}
	im := mustImport(t, model(graphOf(parts...)))
	if n := len(im.Warnings); n != 101 || im.Warnings[100] != "more warnings are left out" {
		t.Errorf("got %d warnings that end with %q, want 101 and a note", n, im.Warnings[n-1])
	}
}

func TestUnsupportedNodesAreListed(t *testing.T) {
	opset := func(domain string, v int64) pb { return pb{}.msg(8, pb{}.str(1, domain).int(2, v)) }
	g := graphOf(in("x"), node("Identity", "a", "x", "b"), node("acme:Zap", "c", "b", "d"), node("Nonesuch", "e", "d",
		"f"))
	tests := []struct {
		name string
		in   pb
		want []Unsupported
	}{
		{"domain not imported, operator unknown", model(g), []Unsupported{
			{"Zap", "acme", 0, "c", `domain "acme" is not imported`}, {"Nonesuch", "", 17, "e", "unknown operator"}}},
		{"unknown operator of a domain", cat(model(g), opset("acme", 3)), []Unsupported{
			{"Zap", "acme", 3, "c", "unknown operator"}, {"Nonesuch", "", 17, "e", "unknown operator"}}},
		{"opset too new", cat(opset("", 27), opset("acme", 1), g), []Unsupported{
			{"Identity", "", 27, "a", "got opset 27, want 7 to 26"}, {"Zap", "acme", 1, "c", "unknown operator"},
			{"Nonesuch", "", 27, "e", "got opset 27, want 7 to 26"}}},
		{"opset absurd", cat(opset("", -1<<40), opset("acme", 1<<40), g), []Unsupported{
			{"Identity", "", -1, "a", "got opset -1, want 7 to 26"}, {"Zap", "acme", 1 << 30, "c", "unknown operator"},
			{"Nonesuch", "", -1, "e", "got opset -1, want 7 to 26"}}},
		{"no opset in IR 1", cat(pb{}.int(1, 1), graphOf(in("x"), node("Identity", "a", "x", "b"))), []Unsupported{
			{"Identity", "", 1, "a", "got opset 1, want 7 to 26"}}},
		{"no opset", cat(pb{}.int(1, 8), graphOf(in("x"), node("Identity", "a", "x", "b"))), []Unsupported{
			{"Identity", "", 0, "a", `domain "" is not imported`}}},
		{"list of types", model(graphOf(in("x"), node("Identity", "a", "x", "b", attr("t", attrTypes, pb{}.msg(15,
			pb{}))))),
			[]Unsupported{{"Identity", "", 17, "a", `attribute "t" is a list of types`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustImport(t, tt.in).Unsupported; !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestEveryKindOfAttribute(t *testing.T) {
	g, w := body(out("x")), float1("", 1)
	im := mustImport(t, model(graphOf(in("x"), node("acme:Zap", "", "x", "y",
		attr("float", attrFloat, pb{}.f32(2, 1.5)), attr("int", attrInt, pb{}.int(3, -2)),
		attr("string", attrString, pb{}.str(4, "\xffs")), attr("tensor", attrTensor, pb{}.msg(5, w)), graphAttr("graph", g),
		attr("floats", attrFloats, pb{}.f32(7, 1).f32(7, 2)), attr("ints", attrInts, pb{}.packed(8, 1, 2)),
		attr("strings", attrStrings, pb{}.str(9, "a", "")), attr("tensors", attrTensors, pb{}.msg(10, w, w)),
		attr("graphs", attrGraphs, pb{}.msg(11, g, g)), attr("sparse", attrSparse, pb{}.msg(22, sparseOf())),
		attr("sparses", attrSparses, pb{}.msg(23, sparseOf(), sparseOf())),
		attr("type", attrType, pb{}.msg(14, pb{}.msg(1, pb{}.int(1, 7).msg(2, shapeOf(2))))),
		attr("zero", attrInt, nil), attr("none", attrFloats, nil), pb{}.str(1, "untyped").int(3, 7),
	), out("y"))))
	as := im.Graph.Nodes[0].Attrs
	if !slices.IsSortedFunc(as, func(a, b graph.Attr) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("attributes are not in order of name")
	}
	got := map[string]string{}
	for _, a := range as {
		v := [...]any{graph.AttrInt: a.Int, graph.AttrFloat: a.Float, graph.AttrString: a.Str, graph.AttrTensor: a.Tensor,
			graph.AttrInts: a.Ints, graph.AttrFloats: a.Floats, graph.AttrStrings: a.Strs, graph.AttrTensors: a.Tensors,
			graph.AttrGraph: a.Graph != nil, graph.AttrGraphs: len(a.Graphs), graph.AttrSparse: a.Tensor,
			graph.AttrType: fmt.Sprint(a.Type.DType, a.Type.Shape)}
		got[a.Name] = fmt.Sprintf("%d %q", a.Kind, fmt.Sprint(v[a.Kind]))
	}
	want := map[string]string{
		"float": `2 "1.5"`, "int": `1 "-2"`, "string": `3 "\xffs"`, "tensor": `4 "float32[1]"`, "graph": `5 "true"`,
		"floats": `7 "[1 2]"`, "ints": `6 "[1 2]"`, "strings": `8 "[a ]"`, "tensors": `9 "[float32[1] float32[1]]"`,
		"graphs": `10 "2"`, "sparse": `11 "float32[2,3]"`, "sparses": `9 "[float32[2,3] float32[2,3]]"`,
		"type": `12 "int64 [2]"`, "zero": `1 "0"`, "none": `7 "[]"`, "untyped": `1 "7"`,
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: got %s, want %s", name, got[name], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d attributes, want %d", len(got), len(want))
	}
}

func TestMeta(t *testing.T) {
	im := mustImport(t, cat(pb{}.str(2, "p").str(3, "1.2").str(4, "org").int(5, 9).str(6, "doc"),
		model(graphOf(), pb{}.msg(14, pb{}.str(1, "k").str(2, "v")), pb{}.msg(8, pb{}.str(1, "acme").int(2, 3)))))
	want := Meta{Graph: "g", Producer: "p", ProducerVersion: "1.2", Domain: "org", Version: 9, Doc: "doc", IR: 8,
		Opsets: map[string]int64{"": 17, "acme": 3}, Custom: map[string]string{"k": "v"}}
	if fmt.Sprint(im.Meta) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", im.Meta, want)
	}
}

func TestWeightsAreCountedOnce(t *testing.T) {
	im := mustImport(t, model(graphOf(initial("w", 1), pb{}.msg(15, sparseOf()),
		pb{}.msg(5, pb{}.int(1, 2).int(2, 8).str(8, "s8").str(6, "abc", "d")),
		node("Constant", "", "", "a", attr("value_ints", attrInts, pb{}.packed(8, 1, 2))))))
	if want := int64(4 + 24 + 4 + 16); im.WeightBytes != want {
		t.Errorf("got %d bytes, want %d", im.WeightBytes, want)
	}
	if got := tensor.Cast[float32](im.Graph.Values[2].Const.Bytes()); !slices.Equal(got, []float32{0, 0, 0, 0, 0, 5}) {
		t.Errorf("dense: got %v, want a 5 at the end", got)
	}
}

// TestLongChains sorts a chain that stands backwards, and finds the cycle when its ends meet.
func TestLongChains(t *testing.T) {
	const n = 50000
	var nodes []pb
	for i := range n {
		nodes = append(nodes, node("Relu", "", fmt.Sprint("v", n-1-i), fmt.Sprint("v", n-i)))
	}
	im := mustImport(t, model(graphOf(in("v0"), cat(nodes...), out(fmt.Sprint("v", n)))))
	if got := im.Graph.ValueName(im.Graph.Nodes[n-1].Outputs[0]); got != "v50000" {
		t.Errorf("the last node computes %q, want v50000", got)
	}
	got := importError(t, model(graphOf(cat(nodes...), node("Relu", "", "v50000", "v0"))))
	if !strings.Contains(got, `Relu → "v50000", Relu → "v49999"`) || !strings.HasSuffix(got, ", …") {
		t.Errorf("got %.300s, want the first nodes of the cycle", got)
	}
}

// TestCapturesAreBounded reads many outer values in a graph far down: each takes a value in
// every graph between.
func TestCapturesAreBounded(t *testing.T) {
	const n = 2000
	var inputs []pb
	ins := make([]string, n)
	for i := range n {
		ins[i] = fmt.Sprint("v", i)
		inputs = append(inputs, in(ins[i]))
	}
	g := body(node("Sum", "", strings.Join(ins, " "), "y"), out("y"))
	for range 50 {
		g = body(node("If", "", "v0", "y", then(g)), out("y"))
	}
	file := model(graphOf(cat(inputs...), node("If", "", "v0", "y", then(g)), out("y")))
	mustImport(t, file)
	m, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importWithin(m, nil, 4<<20); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
		t.Errorf("got %.200v, want a limit on memory", err)
	}
}
