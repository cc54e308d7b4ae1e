package op

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// dims reads extents as they are printed: numbers, names, "?" for unknown.
func dims(s string) graph.Shape {
	out := graph.Shape{}
	for _, word := range strings.Fields(s) {
		switch n, err := strconv.ParseInt(word, 10, 64); {
		case err == nil:
			out = append(out, graph.Known(n))
		case word == "?":
			out = append(out, graph.Unknown())
		default:
			out = append(out, graph.Sym(word))
		}
	}
	return out
}

// list is an int64 tensor of one dimension of which the contents are known, as far as they go.
func list(vals ...graph.Dim) Fact {
	return Fact{DType: tensor.Int64, Shape: graph.Of(int64(len(vals))), Value: vals}
}

// fixed is a constant list.
func fixed(ns ...int64) Fact { return FactOf(tensor.Of(ns...)) }

// unknownList is a list of which only the length is known.
func unknownList(n int64) Fact { return Fact{DType: tensor.Int64, Shape: graph.Of(n)} }

// inferred runs a row on facts.
func inferred(t *testing.T, name string, outs int, attrs graph.Attrs, in ...Fact) ([]Fact, error) {
	t.Helper()
	n := &graph.Node{Op: name, Version: 21, Attrs: attrs}
	for i := range in {
		id := graph.ValueID(i)
		if in[i].DType == tensor.Undefined && in[i].Shape == nil {
			id = graph.NoValue
		}
		n.Inputs = append(n.Inputs, id)
	}
	n.Outputs = make([]graph.ValueID, outs)
	r := Lookup("", name)
	if r == nil {
		t.Fatalf("%s: no row", name)
	}
	c := Ctx{Node: n, In: in, Out: make([]Fact, outs)}
	err := r.Infer(&c)
	return c.Out, err
}

// print shows a fact's shape and, where there are any, its contents.
func print(f *Fact) string {
	s := f.Shape.String()
	if d, ok := f.Dims(); ok {
		s += "=" + graph.Shape(d).String()
	}
	return s
}

func TestShapesOfNamedDims(t *testing.T) {
	b, s := graph.Sym("b"), graph.Sym("s")
	scalar := func(d graph.Dim) Fact { return Fact{DType: tensor.Int64, Shape: graph.Shape{}, Value: []graph.Dim{d}} }
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    []Fact
		want  string
	}{
		{"Add", nil, []Fact{flt("b,1,3"), flt("s,3")}, "[b,s,3]"},
		{"Add", nil, []Fact{flt("b"), flt("s")}, "[?]"},
		{"Add", nil, []Fact{flt("?,4"), flt("8,1")}, "[8,4]"},
		{"Add", nil, []Fact{flt("b"), {DType: tensor.Float32}}, "[...]"},
		{"Where", nil, []Fact{{DType: tensor.Bool, Shape: sized("b,1")}, flt("s"), flt("1")}, "[b,s]"},
		{"Max", nil, []Fact{flt("b,1"), flt("s"), flt("3,1,1")}, "[3,b,s]"},
		{"Shape", nil, []Fact{flt("b,3,s")}, "[3]=[b,3,s]"},
		{"Shape", graph.Attrs{intAttr("start", -1)}, []Fact{flt("b,3,s")}, "[1]=[s]"},
		{"Size", nil, []Fact{flt("b,3")}, "[]=[b*3]"},
		{"Reshape", nil, []Fact{flt("b,s,8"), fixed(0, 0, 2, 4)}, "[b,s,2,4]"},
		{"Reshape", nil, []Fact{flt("b,s,8"), fixed(0, -1)}, "[b,s*8]"},
		{"Reshape", nil, []Fact{flt("b,s,8"), fixed(-1, 8)}, "[b*s,8]"},
		{"Reshape", nil, []Fact{flt("b,s,8"), fixed(0, -1, 4, 2)}, "[b,s,4,2]"},
		{"Reshape", nil, []Fact{flt("?,4,8"), fixed(0, -1)}, "[?,32]"},
		{"Reshape", nil, []Fact{flt("b,s,8"), list(b, s, graph.Known(-1), graph.Known(2))}, "[b,s,4,2]"},
		{"Reshape", nil, []Fact{flt("b,s,8"), list(b.Mul(s), graph.Known(-1))}, "[b*s,8]"},
		{"Reshape", nil, []Fact{flt("b,8"), valued("?,2")}, "[b*4,2]"},
		{"Reshape", nil, []Fact{flt("b,8"), list(b.Sub(graph.Known(1)), graph.Known(2))}, "[b*4,2]"},
		{"Reshape", nil, []Fact{flt("b,8"), unknownList(3)}, "[?,?,?]"},
		{"Reshape", nil, []Fact{{DType: tensor.Float32}, fixed(0, 4)}, "[?,4]"},
		{"Squeeze", nil, []Fact{flt("b,1,s"), fixed(1)}, "[b,s]"},
		{"Squeeze", nil, []Fact{flt("b,1,s")}, "[...]"},
		{"Squeeze", nil, []Fact{flt("b,1,s"), unknownList(1)}, "[?,?]"},
		{"Unsqueeze", nil, []Fact{flt("b,s"), fixed(0, -1)}, "[1,b,s,1]"},
		{"Unsqueeze", nil, []Fact{flt("b"), unknownList(2)}, "[?,?,?]"},
		{"Flatten", nil, []Fact{flt("b,3,4")}, "[b,12]"},
		{"ConstantOfShape", nil, []Fact{valued("b,4")}, "[b,4]"},
		{"Expand", nil, []Fact{flt("1,s"), list(b, graph.Known(1))}, "[b,s]"},
		{"Expand", nil, []Fact{flt("1,8"), unknownList(3)}, "[?,?,8]"},
		{"Range", nil, []Fact{scalar(graph.Known(0)), scalar(s), scalar(graph.Known(1))}, "[s]"},
		{"Range", nil, []Fact{scalar(b), scalar(b.Add(graph.Known(3))), scalar(graph.Known(1))}, "[3]=[b,b+1,b+2]"},
		{"Range", nil, []Fact{unknownList(1), scalar(s), scalar(graph.Known(1))}, "[?]"},
		{"Transpose", graph.Attrs{intsAttr("perm", 2, 0, 1)}, []Fact{flt("b,s,3")}, "[3,b,s]"},
		{"Concat", graph.Attrs{intAttr("axis", 1)}, []Fact{flt("b,2"), flt("?,s"), flt("b,3")}, "[b,s+5]"},
		{"Slice", nil, []Fact{flt("b,s"), fixed(0), fixed(1<<63 - 1), fixed(1)}, "[b,s]"},
		{"Slice", nil, []Fact{flt("b,s"), fixed(1), fixed(1<<31 - 1), fixed(1)}, "[b,max(s-1,0)]"},
		{"Slice", nil, []Fact{flt("b,s"), fixed(-1), fixed(1<<63 - 1), fixed(1)}, "[b,min(s,1)]"},
		{"Slice", nil, []Fact{flt("b,s"), fixed(0), fixed(-1), fixed(1)}, "[b,max(s-1,0)]"},
		{"Slice", nil, []Fact{flt("b,8"), fixed(0), valued("s"), fixed(1)}, "[b,min(s,8)]"},
		{"Slice", nil, []Fact{flt("b,s"), fixed(0), valued("s"), fixed(1)}, "[b,s]"},
		{"Slice", nil, []Fact{flt("b,8"), fixed(0), unknownList(1), fixed(1)}, "[b,?]"},
		{"Slice", nil, []Fact{flt("b,8"), unknownList(1), unknownList(1)}, "[?,8]"},
		{"Slice", nil, []Fact{flt("b,8"), fixed(0), fixed(4), unknownList(1)}, "[?,?]"},
		{"Slice", nil, []Fact{flt("b,8"), fixed(0), fixed(4), fixed(1), unknownList(1)}, "[b,?]"},
		{"Pad", nil, []Fact{flt("b,s"), fixed(0, 1, 0, 2)}, "[b,s+3]"},
		{"Pad", nil, []Fact{flt("b,s"), unknownList(4)}, "[?,?]"},
		{"Tile", nil, []Fact{flt("b,s"), list(graph.Known(2), b)}, "[b*2,b*s]"},
		{"Trilu", nil, []Fact{flt("b,s")}, "[b,s]"},
		{"DepthToSpace", graph.Attrs{intAttr("blocksize", 2)}, []Fact{flt("b,8,s,s")}, "[b,2,s*2,s*2]"},
		{"SpaceToDepth", graph.Attrs{intAttr("blocksize", 2)}, []Fact{flt("b,2,s,4")}, "[b,8,s/2,2]"},
		{"CenterCropPad", nil, []Fact{flt("b,8"), valued("4,s")}, "[4,s]"},
		{"PRelu", nil, []Fact{flt("b,3,s"), flt("3,1")}, "[b,3,s]"},
		{"Pow", nil, []Fact{flt("b,1"), unknownList(4)}, "[b,4]"},
	} {
		out, err := inferred(t, c.op, 1, c.attrs, c.in...)
		if err != nil {
			t.Errorf("%s %v: %v", c.op, c.in, err)
			continue
		}
		if got := print(&out[0]); got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.op, c.in, got, c.want)
		}
	}
}

func TestContentsOfShapeArithmetic(t *testing.T) {
	b, s := graph.Sym("b"), graph.Sym("s")
	boolean := func(s string) Fact {
		return Fact{DType: tensor.Bool, Shape: graph.Of(int64(len(sized(s)))), Value: sized(s)}
	}
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    []Fact
		want  string
	}{
		{"Add", nil, []Fact{valued("b,3"), fixed(2)}, "[2]=[b+2,5]"},
		{"Add", nil, []Fact{fixed(1<<63 - 1), valued("1")}, "[1]"},
		{"Sub", nil, []Fact{list(b.Add(s)), list(b)}, "[1]=[s]"},
		{"Sub", nil, []Fact{fixed(-1 << 63), valued("1")}, "[1]"},
		{"Mul", nil, []Fact{valued("b,3"), valued("s,4")}, "[2]=[b*s,12]"},
		{"Mul", nil, []Fact{fixed(1 << 62), valued("2")}, "[1]"},
		{"Div", nil, []Fact{list(b.Mul(graph.Known(4)), graph.Known(-7)), fixed(2)}, "[2]=[b*2,-3]"},
		{"Div", nil, []Fact{list(b.Sub(graph.Known(1)), graph.Known(6)), fixed(2)}, "[2]=[?,3]"},
		{"Div", nil, []Fact{valued("b,3"), fixed(0)}, "[2]"},
		{"Mod", nil, []Fact{valued("7,b"), fixed(4)}, "[2]=[3,b+(b/4)*(-4)]"},
		{"Mod", nil, []Fact{valued("-7"), fixed(4)}, "[1]"},
		{"Neg", nil, []Fact{valued("b,3")}, "[2]=[b*(-1),-3]"},
		{"Max", nil, []Fact{valued("b,3"), fixed(0), valued("b,5")}, "[2]=[b,5]"},
		{"Min", nil, []Fact{valued("b,3"), valued("4,?")}, "[2]=[min(b,4),?]"},
		{"Min", nil, []Fact{valued("b,3"), fixed(0)}, "[2]=[0,0]"},
		{"Equal", nil, []Fact{valued("b,b,3,b"), valued("-1,b,4,3")}, "[4]=[0,1,0,?]"},
		{"Less", nil, []Fact{valued("2,b"), fixed(3)}, "[2]=[1,?]"},
		{"And", nil, []Fact{boolean("0,1,?"), boolean("?,1,1")}, "[3]=[0,1,?]"},
		{"Or", nil, []Fact{boolean("0,1,?"), boolean("1,?,0")}, "[3]=[1,1,?]"},
		{"Not", nil, []Fact{boolean("0,1,?")}, "[3]=[1,0,?]"},
		{"Where", nil, []Fact{boolean("1,0,?,?"), valued("b,2,3,s"), valued("4,s,5,s")}, "[4]=[b,s,?,s]"},
		{"Cast", graph.Attrs{intAttr("to", 6)}, []Fact{list(b, graph.Known(1<<40))}, "[2]=[b,?]"},
		{"Cast", graph.Attrs{intAttr("to", 9)}, []Fact{valued("b,5,0")}, "[3]=[?,1,0]"},
		{"Cast", graph.Attrs{intAttr("to", 1)}, []Fact{valued("b,5")}, "[2]"},
		{"CastLike", nil, []Fact{valued("b"), unknownList(1)}, "[1]=[b]"},
		{"Concat", graph.Attrs{intAttr("axis", 0)}, []Fact{valued("b"), unknownList(2), fixed(-1)}, "[4]=[b,?,?,-1]"},
		{"Slice", nil, []Fact{valued("b,s,3,4"), fixed(-1), fixed(0), fixed(0), fixed(-2)}, "[2]=[4,s]"},
		{"Slice", nil, []Fact{valued("b,s,3"), fixed(1), fixed(1<<63 - 1)}, "[2]=[s,3]"},
		{"Squeeze", nil, []Fact{valued("b"), fixed(0)}, "[]=[b]"},
		{"Unsqueeze", nil, []Fact{{DType: tensor.Int64, Shape: graph.Shape{}, Value: sized("b")}, fixed(0)}, "[1]=[b]"},
		{"Reshape", nil, []Fact{valued("b,s,3,4"), fixed(2, -1)}, "[2,2]=[b,s,3,4]"},
		{"Transpose", nil, []Fact{valued("b,3")}, "[2]=[b,3]"},
		{"Expand", nil, []Fact{valued("b"), fixed(2)}, "[2]=[b,b]"},
		{"Identity", nil, []Fact{valued("b")}, "[1]=[b]"},
		{"ConstantOfShape", graph.Attrs{{Name: "value", Kind: graph.AttrTensor, Tensor: tensor.Of[int64](7)}},
			[]Fact{fixed(2)}, "[2]=[7,7]"},
	} {
		out, err := inferred(t, c.op, 1, c.attrs, c.in...)
		if err != nil {
			t.Errorf("%s %v: %v", c.op, c.in, err)
			continue
		}
		if got := print(&out[0]); got != c.want {
			t.Errorf("%s: got %s, want %s", c.op, got, c.want)
		}
	}
}

func TestSplitOfNamedDims(t *testing.T) {
	for _, c := range []struct {
		in   []Fact
		n    int
		want []string
	}{
		{[]Fact{valued("b,2,s,4"), fixed(1, 3)}, 2, []string{"[1]=[b]", "[3]=[2,s,4]"}},
		{[]Fact{flt("b,2"), unknownList(2)}, 2, []string{"[?,2]", "[?,2]"}},
		{[]Fact{flt("b,2")}, 2, []string{"[(b+1)/2,2]", "[?,2]"}},
		{[]Fact{{DType: tensor.Float32, Shape: graph.Shape{graph.Sym("b").Mul(graph.Known(4))}}}, 2,
			[]string{"[b*2]", "[b*2]"}},
		{[]Fact{flt("5")}, 3, []string{"[2]", "[2]", "[1]"}},
	} {
		out, err := inferred(t, "Split", c.n, nil, c.in...)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(out))
		for i := range out {
			got[i] = print(&out[i])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Split of %s: got %v, want %v", c.in, got, c.want)
		}
	}
}

// TestSymbolsMeanTheirNumbers infers with names, then with numbers in their place, and compares
// what the names evaluate to.
func TestSymbolsMeanTheirNumbers(t *testing.T) {
	far := int64(1<<63 - 1)
	for _, n := range []int64{0, 1, 2, 3, 5, 8} {
		bind := map[string]int64{"s": n}
		num := func(f Fact) Fact {
			for i, d := range f.Shape {
				if v, ok := d.Eval(bind); ok {
					f.Shape = f.Shape.Clone()
					f.Shape[i] = graph.Known(v)
				}
			}
			return f
		}
		for _, in := range [][]Fact{
			{flt("s"), fixed(0), fixed(far)}, {flt("s"), fixed(2), fixed(far)}, {flt("s"), fixed(-2), fixed(far)},
			{flt("s"), fixed(0), fixed(-2)}, {flt("s"), fixed(1), fixed(-1)}, {flt("s"), fixed(-3), fixed(-1)},
			{flt("s"), fixed(1), fixed(4)}, {flt("s"), fixed(0), fixed(far), fixed(0), fixed(2)},
			{flt("s"), fixed(1), fixed(far), fixed(0), fixed(3)}, {flt("s"), fixed(-1), fixed(-far - 1), fixed(0), fixed(-1)},
			{flt("s"), fixed(far), fixed(-far), fixed(0), fixed(-2)}, {flt("s"), fixed(3), fixed(0), fixed(0), fixed(-1)},
			{flt("s"), fixed(-2), fixed(0), fixed(0), fixed(-1)},
		} {
			named, err := inferred(t, "Slice", 1, nil, in...)
			if err != nil {
				t.Fatal(err)
			}
			exact, err := inferred(t, "Slice", 1, nil, append([]Fact{num(in[0])}, in[1:]...)...)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := named[0].Shape[0].Eval(bind)
			if want, _ := exact[0].Shape[0].Int(); !ok || got != want {
				t.Errorf("s=%d, %v: %v is %d, want %d", n, in[1:], named[0].Shape, got, want)
			}
		}
	}
}

func TestRefusesWhatCanNeverBeRight(t *testing.T) {
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    []Fact
	}{
		{"Add", nil, []Fact{flt("b,2"), flt("3")}},
		{"Add", nil, []Fact{flt("2"), unknownList(2)}},
		{"Concat", nil, []Fact{flt("b,2"), flt("b")}},
		{"Concat", nil, []Fact{flt("2,b"), flt("3,b")}},
		{"Transpose", graph.Attrs{intsAttr("perm", 0)}, []Fact{flt("b,s")}},
		{"Slice", nil, []Fact{flt("b"), fixed(0), fixed(1), fixed(1)}},
		{"Squeeze", nil, []Fact{flt("b,2"), fixed(1)}},
		{"Tile", nil, []Fact{flt("b"), fixed(-1)}},
		{"Expand", nil, []Fact{flt("2"), fixed(3)}},
		{"Cast", graph.Attrs{intAttr("to", 0)}, []Fact{flt("b")}},
		{"BitCast", graph.Attrs{intAttr("to", 11)}, []Fact{flt("b")}},
		{"EyeLike", nil, []Fact{flt("b")}},
		{"Trilu", nil, []Fact{flt("b")}},
	} {
		if out, err := inferred(t, c.op, 1, c.attrs, c.in...); err == nil {
			t.Errorf("%s of %s: got %s, want an error", c.op, c.in, print(&out[0]))
		}
	}
}
