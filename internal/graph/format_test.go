package graph

import (
	"math"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

// mustParse reads a graph that the test itself wrote.
func mustParse(t *testing.T, text string) *Graph {
	t.Helper()
	g, err := Parse(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return g
}

const sample = `graph "main" {
  in x: float32[batch,3]
  in "odd name": ?["a b",2*seq+1,min(a,(a+2)/2),?,-1]
  in any: float16[...]
  in bare
  const w = float32[3,2] [1.0, -0.0, 1e-10, nan, inf, -inf]
  const s: ? = string[2] ["a\n", "\xff"]
  const loose: int64[n] = int64[2] [-1, 2]
  const b = bool[2] [true, false]
  const i4 = int4[3] hex "f107"
  const none = float64[0,3] []
  const zeros = float32[64,2] fill 0.0
  const h = float16[1] [0.5]
  y: float32[batch,2], _ = MatMul@13(x, _, w) as "layer \"1\""
  "in" = com.example.Split@1(y; alpha=1.0, axis=-1, e1=ints [], e2=floats [], e3=strs [], fs=[1.0, 2.5], is=[1, 2], ` +
	`mode="even", sp=sparse int64[1] [7], ss=["p", "q"], t=int64[] [3], ts=tensors [int64[] [3], bool[0] []], ` +
	`ty=type float32[2,n], value=1)
  () = "my domain" "Odd Op"("in")
  z = If@13(b; else_branch=graph "else" {
    capture y: float32[2] = y
    out y
  }, then_branch=graph {
    capture inner = x
    const k = float32[] [2.0]
    r = Mul@13(inner, k)
    q = Each(; bodies=graphs [graph {
      capture r2 = r
      out r2
    }, graph {
    }])
    out r
  })
  out z
  out y
}
`

func TestFormatOfParseIsTheSameText(t *testing.T) {
	if got := Format(mustParse(t, sample)); got != sample {
		t.Errorf("got:\n%s\nwant:\n%s", got, sample)
	}
}

func TestDimTextKeepsTheExpression(t *testing.T) {
	a, b := Sym("a"), Sym("b*c")
	for _, d := range []Dim{
		Known(0), Known(-3), Known(math.MaxInt64), Unknown(), a, b, Sym("min"), Sym("1a"), a.Add(b), a.Sub(b),
		a.Sub(Known(1)), a.Mul(b), a.Mul(Known(-2)), a.Add(b).Mul(a), a.Mul(b).Mul(a), a.Div(b),
		a.Div(a.Add(Known(1))).Add(b), a.CeilDiv(Known(2)), a.Min(b).Max(Known(4)),
		a.Max(b.Sub(Known(7))).Mul(Known(3)), Known(3).Div(a), a.Add(b.Add(Known(3))).Add(a),
	} {
		g := &Graph{Values: []Value{{Name: "x", Type: Type{tensor.Int8, Shape{d}}}}, Inputs: []ValueID{0}}
		text := Format(g)
		got := mustParse(t, text).Values[0].Shape[0]
		if !got.Same(d) && !d.IsUnknown() || got.String() != d.String() {
			t.Errorf("%v: got %v back from %s", d, got, text)
		}
	}
}

func TestEveryElementTypeComesBackBitForBit(t *testing.T) {
	for dt := tensor.Float32; dt.Valid(); dt++ {
		want, err := tensor.Zeros(dt, tensor.Shape{5})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Bytes() {
			want.Bytes()[i] = byte(0x81 + 37*i)
		}
		g := &Graph{Values: []Value{{Name: "c", Const: want}}}
		got := mustParse(t, Format(g)).Values[0].Const
		if got.String() != want.String() || string(got.Bytes()) != string(want.Bytes()) {
			t.Errorf("%v: got % x, want % x from %s", dt, got.Bytes(), want.Bytes(), Format(g))
		}
	}
	payload := tensor.Of(math.Float32frombits(0x7fc00001), 1)
	g := &Graph{Values: []Value{{Name: "c", Const: payload}}}
	if got := mustParse(t, Format(g)).Values[0].Const; string(got.Bytes()) != string(payload.Bytes()) {
		t.Errorf("NaN: got % x, want % x", got.Bytes(), payload.Bytes())
	}
}

func TestLargeConstantsAreAHashThatParseRefuses(t *testing.T) {
	data := make([]float32, inlineMax+1)
	data[3] = 1
	g := &Graph{Values: []Value{{Name: "c", Const: tensor.Of(data...)}}}
	text := Format(g)
	data[3] = 2
	if other := Format(g); other == text || !strings.Contains(text, "const c: ? = float32[65] #") {
		t.Errorf("got %s and, for other contents, %s", text, other)
	}
	if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "line 2: got the hash of float32[65]") {
		t.Errorf("got error %v", err)
	}
}

func TestParseNamesTheLineAndTheFault(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "line 1: got the end, want \"graph\""},
		{"graph {\n in x\n in x\n}", "line 3: got a second definition of \"x\""},
		{"graph {\n out x\n}", "no definition of \"x\""},
		{"graph {\n in x: float31[2]\n}", "got type \"float31\""},
		{"graph {\n in x: float32[a/0]\n}", "division by zero"},
		{"graph {\n in x: float32[99999999999999999999]\n}", "want a dim"},
		{"graph {\n const x = float32[2] [1.0]\n}", "got 1 elements for float32[2], want 2"},
		{"graph {\n const x = float32[1] [1.0, 2.0]\n}", "more than 1 elements"},
		{"graph {\n const x = int8[1] [128]\n}", "got element \"128\""},
		{"graph {\n const x = string[1] [a]\n}", "got element \"a\""},
		{"graph {\n const x = float32[n] [1.0]\n}", "constant of unknown shape"},
		{"graph {\n const x = float32[1000000000] fill 1.0\n}", "constants of more than"},
		{"graph {\n const x = float32[1] hex \"00\"\n}", "got 1 bytes in hexadecimal, want 4"},
		{"graph {\n capture a = b\n}", "outside a subgraph"},
		{"graph {\n y = Op(; a=[])\n}", "empty list"},
		{"graph {\n y = Op(; a=[1, 2.0])\n}", "want an integer"},
		{"graph {\n y = Op(; a=[\"p\", q])\n}", "want a string"},
		{"graph {\n out = Op()\n}", "want a word"},
		{"graph {} x", "after the graph"},
		{"graph {\n y = A(; b=" + strings.Repeat("graph { y = A(; b=", 100), "levels of nesting"},
		{"graph { in x: int8[" + strings.Repeat("(", 100), "levels of nesting"},
		{"graph { in x: int8[1" + strings.Repeat("+a", 300) + "] }", "operators in a dim"},
	}
	for _, tt := range tests {
		if _, err := Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got error %v, want %q", tt.text, err, tt.want)
		}
	}
}

func TestFormatOfABrokenGraphDoesNotPanic(t *testing.T) {
	g := &Graph{
		Values: []Value{{Name: "x"}},
		Nodes: []*Node{{Op: "A", Inputs: []ValueID{9}, Outputs: []ValueID{-5}, Attrs: Attrs{
			{Name: "k"}, {Name: "g", Kind: AttrGraph}, {Name: "t", Kind: AttrTensor},
			{Name: "b", Kind: AttrGraph, Graph: &Graph{Captures: []Capture{{Outer: 4, Inner: 2}}}},
		}}},
		Outputs:  []ValueID{3},
		Captures: []Capture{{Outer: 1, Inner: 0}},
	}
	want := `graph {
  capture x = !1
  !-5 = A(!9; k=!kind0, g=nil, t=nil, b=graph {
    capture !2 = !4
  })
  out !3
}
`
	if got := Format(g); got != want {
		t.Errorf("got:\n%s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("graph {\n in x: float32[(a+1)*(-2)/b,max(1,2)]\n}")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			return
		}
		once := Format(g)
		if strings.Contains(once, "] #") {
			return
		}
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, once)
		}
		if twice := Format(again); twice != once {
			t.Fatalf("got:\n%s\nwant:\n%s", twice, once)
		}
	})
}
