package op

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// sized reads dims such as "b,3,?"; "…" is an unknown rank.
func sized(text string) graph.Shape {
	if text == "…" {
		return nil
	}
	return dims(strings.ReplaceAll(text, ",", " "))
}

// flt is a float32 value of the given dims.
func flt(text string) Fact { return Fact{DType: tensor.Float32, Shape: sized(text)} }

// i64 is an int64 value of the given dims.
func i64(text string) Fact { return Fact{DType: tensor.Int64, Shape: sized(text)} }

// vector is a constant list of numbers.
func vector[T tensor.Element](ns ...T) Fact { return FactOf(tensor.Of(ns...)) }

// valued is an int64 vector whose contents are dims.
func valued(text string) Fact {
	d := sized(text)
	return Fact{DType: tensor.Int64, Shape: graph.Of(int64(len(d))), Value: d}
}

// described is a node's outputs as inference tells them: type, dims and known contents.
func described(n *graph.Node, outputs int, in ...Fact) string {
	n.Inputs, n.Outputs = nil, make([]graph.ValueID, outputs)
	for i := range in {
		id := graph.ValueID(i)
		if in[i].DType == tensor.Undefined {
			id = graph.NoValue
		}
		n.Inputs = append(n.Inputs, id)
	}
	c := &Ctx{Node: n, In: in, Out: make([]Fact, outputs)}
	r := Lookup(n.Domain, n.Op)
	if err := r.Infer(c); err != nil {
		return "error: " + err.Error()
	}
	if r.Work != nil {
		if w := r.Work(c); w.FLOPs < 0 || w.Bytes < 0 {
			return fmt.Sprintf("work %v", w)
		}
	}
	var words []string
	for _, f := range c.Out {
		w := f.DType.String() + f.Shape.String()
		if f.Value != nil {
			w += "=" + graph.Shape(f.Value).String()
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// inference is one node and what is inferred of it; a want that begins with "error" is the
// beginning of the message.
type inference struct {
	n    *graph.Node
	in   []Fact
	want string
}

func op(name string, attrs ...graph.Attr) *graph.Node {
	slices.SortFunc(attrs, func(a, b graph.Attr) int { return strings.Compare(a.Name, b.Name) })
	return &graph.Node{Op: name, Version: 24, Attrs: attrs}
}

func before(version int, n *graph.Node) *graph.Node { n.Version = version - 1; return n }

func intAttr(name string, v int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func intsAttr(name string, v ...int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func strAttr(name, v string) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrString, Str: v}
}

func check(t *testing.T, cases []inference) {
	t.Helper()
	for _, c := range cases {
		got := described(c.n, strings.Count(c.want, " ")+1, c.in...)
		if strings.HasPrefix(c.want, "error") {
			got = described(c.n, 1, c.in...)
		}
		if got != c.want && !(strings.HasPrefix(c.want, "error") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s of %v: got %s, want %s", c.n.Op, c.in, got, c.want)
		}
	}
}

func TestInferIndexing(t *testing.T) {
	check(t, []inference{
		{op("Gather"), []Fact{flt("a,b"), i64("c,d")}, "float32[c,d,b]"},
		{op("Gather", intAttr("axis", -1)), []Fact{flt("a,b"), i64("")}, "float32[a]"},
		{op("Gather"), []Fact{valued("a,3,c"), vector[int64](2, -2)}, "int64[2]=[c,3]"},
		{op("Gather"), []Fact{valued("a,b"), FactOf(tensor.Scalar[int64](0))}, "int64[]=[a]"},
		{op("Gather"), []Fact{valued("a,b"), vector[int64](5)}, "int64[1]"},
		{op("Gather"), []Fact{flt("…"), i64("2")}, "float32[...]"},
		{op("Gather", intAttr("axis", 2)), []Fact{flt("a,b"), i64("c")}, "error: axis"},
		{op("Gather"), []Fact{flt(""), i64("c")}, "error: axis"},
		{op("GatherElements"), []Fact{flt("a,b"), i64("c,d")}, "float32[c,d]"},
		{op("GatherElements"), []Fact{flt("a,b"), i64("c")}, "error: indices"},
		{op("GatherND"), []Fact{flt("a,b,c"), i64("n,2")}, "float32[n,c]"},
		{op("GatherND", intAttr("batch_dims", 1)), []Fact{flt("a,b,c"), i64("a,1")}, "float32[a,c]"},
		{op("GatherND"), []Fact{flt("a,b"), i64("n,k")}, "float32[...]"},
		{op("ScatterElements"), []Fact{flt("a,b"), i64("c,d"), flt("c,d")}, "float32[a,b]"},
		{op("ScatterElements"), []Fact{flt("a"), i64("c"), i64("c")}, "error: input 2"},
		{op("ScatterND"), []Fact{flt("a,b"), i64("n,1"), flt("n,b")}, "float32[a,b]"},
		{op("ScatterND"), []Fact{flt("a,b"), i64("n,3"), flt("n")}, "error: indices"},
		{op("TensorScatter"), []Fact{flt("b,h,m,d"), flt("b,h,s,d"), i64("b")}, "float32[b,h,m,d]"},
		{op("OneHot"), []Fact{i64("a,b"), FactOf(tensor.Scalar[int64](7)), flt("2")}, "float32[a,b,7]"},
		{op("OneHot", intAttr("axis", 0)), []Fact{i64("a"), vector[float32](3), flt("2")}, "float32[3,a]"},
		{op("OneHot"), []Fact{i64("a"), valued("n"), flt("2")}, "float32[a,n]"},
		{op("OneHot"), []Fact{i64("a"), i64(""), flt("2")}, "float32[a,?]"},
		{op("NonZero"), []Fact{flt("a,b")}, "int64[2,?]"},
		{op("Compress", intAttr("axis", 1)), []Fact{flt("a,b"), Fact{DType: tensor.Bool}}, "float32[a,?]"},
		{op("Compress"), []Fact{flt("a,b"), Fact{DType: tensor.Bool}}, "float32[?]"},
		{op("TopK"), []Fact{flt("a,9"), vector[int64](4)}, "float32[a,4] int64[a,4]"},
		{op("TopK"), []Fact{flt("a,b"), valued("k")}, "float32[a,k] int64[a,k]"},
		{op("TopK"), []Fact{flt("a,3"), vector[int64](4)}, "error: k"},
		{before(10, op("TopK", intAttr("k", 2))), []Fact{flt("a,b")}, "float32[a,2] int64[a,2]"},
		{op("Unique"), []Fact{flt("a,b")}, "float32[?] int64[?] int64[a*b] int64[?]"},
		{op("Unique", intAttr("axis", 1)), []Fact{flt("a,b")}, "float32[a,?] int64[?] int64[b] int64[?]"},
		{op("NonMaxSuppression"), []Fact{flt("a,b,4"), flt("a,c,b")}, "int64[?,3]"},
		{op("CumSum"), []Fact{flt("a,b"), i64("")}, "float32[a,b]"},
	})
}

func TestInferReductions(t *testing.T) {
	keep0 := intAttr("keepdims", 0)
	check(t, []inference{
		{op("ReduceSum"), []Fact{flt("a,b,c"), vector[int64](-1)}, "float32[a,b,1]"},
		{op("ReduceSum", keep0), []Fact{flt("a,b,c"), vector[int64](1, 0)}, "float32[c]"},
		{op("ReduceSum", keep0), []Fact{flt("a,b,c")}, "float32[]"},
		{op("ReduceSum"), []Fact{flt("a,b"), i64("?")}, "float32[?,?]"},
		{op("ReduceSum", keep0), []Fact{flt("a,b"), i64("1")}, "float32[?]"},
		{op("ReduceSum", keep0), []Fact{flt("a,b"), i64("?")}, "float32[...]"},
		{op("ReduceSum", intAttr("noop_with_empty_axes", 1)), []Fact{flt("a,b")}, "float32[a,b]"},
		{before(13, op("ReduceSum", intsAttr("axes", 0))), []Fact{flt("a,b")}, "float32[1,b]"},
		{op("ReduceSum"), []Fact{flt("a,b"), vector[int64](2)}, "error: axis"},
		{op("ReduceProd", keep0), []Fact{valued("a,3")}, "int64[]=[a*3]"},
		{op("ReduceMax"), []Fact{valued("4,9")}, "int64[1]=[9]"},
		{op("ReduceMean"), []Fact{valued("4,9")}, "int64[1]"},
		{op("ArgMax", intAttr("axis", -1), keep0), []Fact{flt("a,b")}, "int64[a]"},
		{op("ArgMin"), []Fact{flt("0,b")}, "error: axis 0"},
		{op("Softmax"), []Fact{flt("a,b")}, "float32[a,b]"},
		{op("Softmax", intAttr("axis", 2)), []Fact{flt("a,b")}, "error: axis"},
		{before(13, op("Softmax", intAttr("axis", 2))), []Fact{flt("a,b")}, "float32[a,b]"},
	})
}

func TestInferResizing(t *testing.T) {
	none := Fact{}
	check(t, []inference{
		{op("Resize"), []Fact{flt("n,c,h,w"), none, vector[float32](1, 1, 2, 0.5)}, "float32[n,c,h*2,w/2]"},
		{op("Resize"), []Fact{flt("n,c,h,w"), none, vector[float32](1, 1, 1.5, 0.3)}, "float32[n,c,(h*3)/2,?]"},
		{op("Resize"), []Fact{flt("1,1,10,7"), none, vector[float32](1, 1, 0.7, 1.3)}, "float32[1,1,7,9]"},
		{op("Resize"), []Fact{flt("n,c,h,w"), none, none, valued("n,c,a,9")}, "float32[n,c,a,9]"},
		{op("Resize"), []Fact{flt("n,c,h,w"), none, vector[float32](), i64("4")}, "float32[?,?,?,?]"},
		{op("Resize", intsAttr("axes", 3)), []Fact{flt("n,c,h,w"), none, none, i64("1")}, "float32[n,c,h,?]"},
		{op("Resize", strAttr("keep_aspect_ratio_policy", "not_larger")),
			[]Fact{flt("4,6"), none, none, vector[int64](8, 8)}, "float32[5,8]"},
		{op("Resize", strAttr("keep_aspect_ratio_policy", "not_larger")),
			[]Fact{flt("h,6"), none, none, vector[int64](8, 8)}, "float32[?,?]"},
		{op("Resize"), []Fact{flt("a"), none, vector[float32](-1)}, "error: scales"},
		{op("Resize"), []Fact{flt("a"), none, none, vector[int64](1, 2)}, "error: sizes"},
		{op("Resize"), []Fact{flt("2"), none, vector[float32](3e38)}, "float32[9223372036854775807]"},
		{op("GridSample"), []Fact{flt("n,c,h,w"), flt("n,a,b,2")}, "float32[n,c,a,b]"},
		{op("GridSample"), []Fact{flt("n,c,h,w"), flt("n,a,b,3")}, "error: grid"},
		{op("AffineGrid"), []Fact{flt("n,2,3"), valued("n,c,h,w")}, "float32[n,h,w,2]"},
		{op("AffineGrid"), []Fact{flt("n,2,3"), i64("4")}, "float32[...]"},
		{op("RoiAlign", intAttr("output_width", 3)), []Fact{flt("n,c,h,w"), flt("r,4"), i64("r")}, "float32[r,c,1,3]"},
		{op("MaxRoiPool", intsAttr("pooled_shape", 2, 3)), []Fact{flt("n,c,h,w"), flt("r,5")}, "float32[r,c,2,3]"},
		{op("Col2Im"), []Fact{flt("n,12,l"), valued("h,w"), vector[int64](2, 3)}, "float32[n,2,h,w]"},
	})
}

func TestInferSignalsAndLosses(t *testing.T) {
	none := Fact{}
	ten := FactOf(tensor.Scalar[int64](10))
	check(t, []inference{
		{op("DFT"), []Fact{flt("b,n,1")}, "float32[b,n,2]"},
		{op("DFT", intAttr("onesided", 1)), []Fact{flt("b,n,1"), ten}, "float32[b,6,2]"},
		{op("DFT", intAttr("onesided", 1), intAttr("inverse", 1)), []Fact{flt("b,6,2")}, "float32[b,10,1]"},
		{op("DFT"), []Fact{flt("b,n,m,1"), none, FactOf(tensor.Scalar[int64](1))}, "float32[b,n,m,2]"},
		{op("DFT"), []Fact{flt("b,n,m,1"), ten, i64("")}, "float32[?,?,?,2]"},
		{op("DFT"), []Fact{flt("b,n,3")}, "error: input"},
		{op("STFT"), []Fact{flt("b,100,1"), ten, none, ten}, "float32[b,10,6,2]"},
		{op("STFT"), []Fact{flt("b,100,1"), ten, flt("20")}, "float32[b,9,11,2]"},
		{op("HannWindow"), []Fact{ten}, "float32[10]"},
		{op("HammingWindow", intAttr("output_datatype", 11)), []Fact{valued("n")}, "float64[n]"},
		{op("MelWeightMatrix"), []Fact{ten, ten, ten, flt(""), flt("")}, "float32[6,10]"},
		{op("Det"), []Fact{flt("a,b,n,n")}, "float32[a,b]"},
		{op("Det"), []Fact{flt("2,3")}, "error: X"},
		{op("Einsum", strAttr("equation", "bij,bjk->bik")), []Fact{flt("b,i,j"), flt("b,j,k")}, "float32[b,i,k]"},
		{op("Einsum", strAttr("equation", "...ij,jk")), []Fact{flt("a,b,i,j"), flt("j,k")}, "float32[a,b,i,k]"},
		{op("Einsum", strAttr("equation", "ij,jk")), []Fact{flt("2,3"), flt("4,5")}, "error: operand 1"},
		{op("NegativeLogLikelihoodLoss", strAttr("reduction", "none")), []Fact{flt("n,c,d"), i64("n,d")}, "float32[n,d]"},
		{op("SoftmaxCrossEntropyLoss"), []Fact{flt("n,c,d"), i64("n,d")}, "float32[] float32[n,c,d]"},
		{op("SoftmaxCrossEntropyLoss", strAttr("reduction", "all")), []Fact{flt("n,c"), i64("n")}, "error: reduction"},
	})
}

func TestInferAttention(t *testing.T) {
	none := Fact{}
	heads := []graph.Attr{intAttr("q_num_heads", 4), intAttr("kv_num_heads", 2)}
	check(t, []inference{
		{op("Attention"), []Fact{flt("b,4,l,8"), flt("b,2,s,8"), flt("b,2,s,6")},
			"float32[b,4,l,6] float32[b,2,s,8] float32[b,2,s,6] float32[b,4,l,s]"},
		{op("Attention", heads...), []Fact{flt("b,l,32"), flt("b,s,16"), flt("b,s,12"), none, flt("b,2,p,8"), flt("b,2,p,6")},
			"float32[b,l,24] float32[b,2,p+s,8] float32[b,2,p+s,6] float32[b,4,l,p+s]"},
		{op("Attention"), []Fact{flt("b,l,32"), flt("b,s,16"), flt("b,s,12")}, "error: q_num_heads"},
		{op("Attention", heads...), []Fact{flt("b,l,33"), flt("b,s,16"), flt("b,s,12")}, "error: Q"},
		{op("Attention"), []Fact{flt("…"), flt("b,2,s,8"), flt("b,2,s,6")}, "float32[...]"},
		{op("RotaryEmbedding"), []Fact{flt("b,h,s,d"), flt("m,k"), flt("m,k"), i64("b,s")}, "float32[b,h,s,d]"},
		{op("RotaryEmbedding"), []Fact{flt("b,s,d"), flt("m,k"), flt("m,k"), i64("b,s")}, "error: num_heads"},
	})
}
