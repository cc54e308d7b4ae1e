package op

import (
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func ints1(name string, v ...int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func str1(name, v string) graph.Attr { return graph.Attr{Name: name, Kind: graph.AttrString, Str: v} }

func int1(name string, v int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func TestWindowsOfNamedExtentsReadWell(t *testing.T) {
	w := []graph.Dim{graph.Sym("w")}
	for _, c := range []struct {
		name       string
		attrs      graph.Attrs
		kernel     int64
		transposed bool
		want       string
	}{
		{"padded", graph.Attrs{ints1("pads", 1, 1)}, 3, false, "w"},
		{"unpadded", nil, 3, false, "w-2"},
		{"halved", graph.Attrs{ints1("pads", 1, 1), ints1("strides", 2)}, 3, false, "(w+1)/2"},
		{"halved automatically", graph.Attrs{str1("auto_pad", "SAME_UPPER"), ints1("strides", 2)}, 3, false, "(w+1)/2"},
		{"pooled", graph.Attrs{ints1("strides", 2)}, 2, false, "w/2"},
		{"doubled", graph.Attrs{ints1("strides", 2)}, 2, true, "w*2"},
		{"doubled with pads", graph.Attrs{ints1("strides", 2), ints1("pads", 1, 1)}, 4, true, "w*2"},
	} {
		lay := Windows
		if c.transposed {
			lay = TransposedWindows
		}
		axes, err := lay(c.attrs, w, graph.Of(c.kernel))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := axes[0].Out.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// windowAttrs lists attributes that between them use every rule.
func windowAttrs() []graph.Attrs {
	var out []graph.Attrs
	for _, mode := range []string{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"} {
		for stride := int64(1); stride <= 3; stride++ {
			for dilation := int64(1); dilation <= 2; dilation++ {
				for ceil := range int64(2) {
					out = append(out, graph.Attrs{str1("auto_pad", mode), int1("ceil_mode", ceil), ints1("dilations", dilation),
						ints1("pads", 1, 2), ints1("strides", stride)})
				}
			}
		}
	}
	return out
}

func TestNamedExtentsAgreeWithNumbers(t *testing.T) {
	for _, attrs := range windowAttrs() {
		for transposed, lay := range []func(graph.Attrs, []graph.Dim, []graph.Dim) ([]Axis, error){Windows,
			TransposedWindows} {
			named, err := lay(attrs, []graph.Dim{graph.Sym("w")}, graph.Of(3))
			if err != nil {
				t.Fatal(err)
			}
			for n := int64(6); n < 20; n++ {
				known, err := lay(attrs, graph.Of(n), graph.Of(3))
				if err != nil {
					t.Fatal(err)
				}
				bind := map[string]int64{"w": n}
				for i, pair := range [][2]graph.Dim{{named[0].Out, known[0].Out}, {named[0].Begin, known[0].Begin},
					{named[0].End, known[0].End}} {
					if got, ok := pair[0].Eval(bind); !ok || !pair[1].Is(got) {
						t.Errorf("%v, transposed %d, w=%d, part %d: got %v = %d, want %v", attrs, transposed, n, i, pair[0], got,
							pair[1])
					}
				}
			}
		}
	}
}

func TestWindowsCoverWhatTheyShould(t *testing.T) {
	for _, attrs := range windowAttrs() {
		for n := int64(6); n < 20; n++ {
			axes, err := Windows(attrs, graph.Of(n), graph.Of(3))
			if err != nil {
				t.Fatal(err)
			}
			a := &axes[0]
			get := func(d graph.Dim) int64 { v, _ := d.Int(); return v }
			last := (get(a.Out)-1)*a.Stride - get(a.Begin)
			ceil := attrs.Int("ceil_mode", 0) != 0 || attrs.Str("auto_pad", "") == "SAME_UPPER" ||
				attrs.Str("auto_pad", "") == "SAME_LOWER"
			switch end := last + get(a.Reach()); {
			case !ceil && end > n+get(a.End):
				t.Errorf("%v of %d: the last window ends at %d, beyond the padding", attrs, n, end)
			case last >= n:
				t.Errorf("%v of %d: the last window starts at %d, beyond the input", attrs, n, last)
			case end+a.Stride <= n+get(a.End):
				t.Errorf("%v of %d: the last window ends at %d, one more fits", attrs, n, end)
			}
		}
	}
}

// work infers a node of the given types and returns its work.
func work(t *testing.T, op string, attrs graph.Attrs, in ...Fact) Work {
	t.Helper()
	row := Lookup("", op)
	c := &Ctx{Node: &graph.Node{Op: op, Version: 22, Attrs: attrs}, In: in, Out: make([]Fact, row.Out.Max)}
	for i := range in {
		c.Node.Inputs = append(c.Node.Inputs, graph.ValueID(i))
	}
	if err := row.Infer(c); err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	return row.Work(c)
}

func fact(dt tensor.DType, dims ...int64) Fact { return Fact{DType: dt, Shape: graph.Of(dims...)} }

func TestWorkCountsMultiplyAdds(t *testing.T) {
	f := tensor.Float32
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		in    []Fact
		flops float64
		bytes float64
	}{
		{"Conv", graph.Attrs{int1("group", 2)}, []Fact{fact(f, 1, 4, 5, 5), fact(f, 6, 2, 3, 3)}, 2 * 6 * 9 * 2 * 9,
			4 * (100 + 108 + 54)},
		{"ConvTranspose", nil, []Fact{fact(f, 1, 2, 3, 3), fact(f, 2, 5, 2, 2)}, 2 * 18 * 20, 4 * (18 + 40 + 80)},
		{"MatMul", nil, []Fact{fact(f, 7, 2, 3), fact(f, 3, 4)}, 2 * 56 * 3, 4 * (42 + 12 + 56)},
		{"Gemm", graph.Attrs{int1("transA", 1)}, []Fact{fact(f, 3, 2), fact(f, 3, 4)}, 2 * 8 * 3, 4 * (6 + 12 + 8)},
		{"LSTM", graph.Attrs{int1("hidden_size", 2)}, []Fact{fact(f, 5, 3, 7), fact(f, 1, 8, 7), fact(f, 1, 8, 2)},
			2 * 15 * 8 * 9, 4 * (105 + 56 + 16 + 30 + 6 + 6)},
		{"MaxPool", graph.Attrs{ints1("kernel_shape", 2, 2)}, []Fact{fact(f, 1, 1, 3, 3)}, 4 * 4, 4*9 + 4*4 + 8*4},
		{"DynamicQuantizeLinear", nil, []Fact{fact(f, 10)}, 30, 40 + 10 + 4 + 1},
	} {
		got := work(t, c.op, c.attrs, c.in...)
		if want := (Work{c.flops, c.bytes}); got != want {
			t.Errorf("%s: got %v, want %v", c.op, got, want)
		}
	}
}

func TestUnknownRanksInferTheType(t *testing.T) {
	for _, op := range []string{"Conv", "ConvTranspose", "ConvInteger", "DeformConv", "MaxPool", "LpPool",
		"GlobalMaxPool",
		"MaxUnpool", "MatMul", "Gemm", "BatchNormalization", "InstanceNormalization", "GroupNormalization",
		"LayerNormalization", "RMSNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization", "RNN", "GRU",
		"LSTM", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"} {
		row := Lookup("", op)
		n := &graph.Node{Op: op, Version: 22, Attrs: graph.Attrs{ints1("kernel_shape", 2, 2), int1("num_groups", 1),
			int1("size", 1)}}
		c := &Ctx{Node: n, In: make([]Fact, row.In.Min), Out: make([]Fact, 1)}
		for i := range c.In {
			n.Inputs = append(n.Inputs, graph.ValueID(i))
			c.In[i].DType = tensor.Float32
		}
		t.Run(op, func(t *testing.T) {
			if err := row.Infer(c); err != nil {
				t.Fatal(err)
			}
			if c.Out[0].DType == tensor.Undefined {
				t.Error("got no type")
			}
			if _, known := c.Out[0].Shape.Concrete(); known && op != "Gemm" {
				t.Errorf("got %v, want unknown extents", c.Out[0].Shape)
			}
			if row.Work != nil {
				row.Work(c)
			}
		})
	}
}

func ExampleWindows() {
	axes, err := Windows(graph.Attrs{ints1("pads", 1, 1), ints1("strides", 2)}, []graph.Dim{graph.Sym("w")}, graph.Of(3))
	fmt.Println(axes[0].Out, err)
	// Output: (w+1)/2 <nil>
}
