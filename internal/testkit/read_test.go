package testkit_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/onnx"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

func read(t *testing.T, m *testkit.Model) *graph.Graph {
	t.Helper()
	f, err := onnx.FromBytes(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	im, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Validate(im.Graph); err != nil {
		t.Fatal(err)
	}
	return im.Graph
}

func TestReaderSeesWhatIsWritten(t *testing.T) {
	m := testkit.NewModel(13)
	m.Opset("local", 1)
	m.Opset("com.example", 2)
	f := testkit.NewFunction("local", "Twice", []string{"a"}, []string{"b"})
	f.Opset("", 13)
	f.Default(testkit.Int("axis", 1))
	f.Node("Concat", []string{"a", "a"}, testkit.Outs("b"), testkit.Ref("axis", "axis", testkit.KindInt))
	m.Function(f)
	x := m.Input("x", tensor.Float32, "n", 2, nil)
	w := m.InitAs("w", tensor.Of(tensor.HalfOf(1), tensor.HalfOf(-2)), testkit.Typed)
	m.InitSparse("s", testkit.SparseTensor{
		Values: tensor.Of[float32](5), Indices: tensor.Of[int64](2), Shape: tensor.Shape{4},
	})
	then, other := testkit.NewGraph("then"), testkit.NewGraph("else")
	then.OutputOf(then.Node("Neg", []string{x}), testkit.Type{})
	other.OutputOf(other.Node("Add", []string{x, x}, testkit.Named("twice")), testkit.Type{})
	c := m.Const(tensor.Scalar(true), testkit.Outs("c"))
	y := m.Node("If", []string{c}, testkit.Body("then_branch", then), testkit.Body("else_branch", other))
	z := m.Node("Twice", []string{y}, testkit.Domain("local"), testkit.Named("call"), testkit.Outs("z"))
	m.Nodes("Op", []string{z, "", w, "s"}, 2, testkit.Domain("com.example"), testkit.Outs("p", "q"),
		testkit.Float("f", 1.5), testkit.String("s", "text"), testkit.Ints("is", 1, 2), testkit.PackedInts("ip", 3, -4),
		testkit.Floats("fs", 1, 2), testkit.PackedFloats("fp", 3), testkit.Strings("ss", "a", "b"),
		testkit.Tensor("t", tensor.Of[int8](7)), testkit.Tensors("ts", tensor.Of[int8](8)),
		testkit.TypeAttr("ty", testkit.TensorType(tensor.Int64, 3, "k")))
	m.Output("p", tensor.Float32, "n")
	m.Output("q", tensor.Float32, testkit.AnyRank)
	want := `graph "main" {
  in x: float32[n,2,?]
  const w = float16[2] [1.0, -2.0]
  const s = float32[4] [0.0, 0.0, 5.0, 0.0]
  const c = bool[] [true]
  If_1 = If@13(c; else_branch=graph "else" {
    capture x: float32[n,2,?] = x
    else/Add_1 = Add@13(x, x) as "twice"
    out else/Add_1
  }, then_branch=graph "then" {
    capture x: float32[n,2,?] = x
    then/Neg_1 = Neg@13(x)
    out then/Neg_1
  })
  z = Concat@13(If_1, If_1; axis=1) as "call"
  p: float32[n], q: float32[...] = com.example.Op@2(z, _, w, s; f=1.5, fp=[3.0], fs=[1.0, 2.0], ip=[3, -4], ` +
		`is=[1, 2], s="text", ss=["a", "b"], t=int8[1] [7], ts=tensors [int8[1] [8]], ty=type int64[3,k])
  out p
  out q
}
`
	if got := graph.Format(read(t, m)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestReaderFindsExternalData(t *testing.T) {
	in, ext := testkit.Big(100_000, 1), testkit.Big(100_000, 1)
	ext.External = "weights.bin"
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := ext.Save(path); err != nil {
		t.Fatal(err)
	}
	f, err := onnx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := graph.Format(im.Graph), graph.Format(read(t, in)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// compute runs a model on inputs that follow from their shapes.
func compute(t *testing.T, m *testkit.Model, in ...*tensor.Tensor) []float32 {
	t.Helper()
	out, err := conform.Interpreter{Backend: ref.Backend{}}.Run(read(t, m), in)
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Cast[float32](out[0].Bytes())
}

func picture(n, size int64) *tensor.Tensor {
	data := make([]float32, n*3*size*size)
	for i := range data {
		data[i] = float32(math.Sin(float64(i)))
	}
	return tensor.Must(tensor.Shape{n, 3, size, size}, data)
}

func TestGeneratedNetworksStayFinite(t *testing.T) {
	tests := map[string]struct {
		m    *testkit.Model
		want int
	}{
		"resnet": {testkit.ResNet{Blocks: []int{3, 4, 6, 3}, Width: 4, Classes: 5, Size: 32, Seed: 1}.Model(), 10},
		"mobilenet": {testkit.MobileNet{
			Stages: []testkit.MobileStage{{1, 4, 1, 1}, {6, 4, 3, 2}, {6, 8, 3, 2}},
			Stem:   8, Head: 16, Classes: 5, Size: 32, Seed: 1,
		}.Model(), 10},
	}
	for name, tt := range tests {
		out := compute(t, tt.m, picture(2, 32))
		if len(out) != tt.want {
			t.Errorf("%s: got %d outputs, want %d", name, len(out), tt.want)
		}
		checkScale(t, name, out)
	}
}

// checkScale checks that outputs are neither all the same nor far from 1.
func checkScale(t *testing.T, name string, out []float32) {
	t.Helper()
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range out {
		lo, hi = min(lo, float64(v)), max(hi, float64(v))
	}
	if !(hi-lo > 1e-3 && hi < 1e3 && lo > -1e3) {
		t.Errorf("%s: got outputs between %v and %v, want a spread of ordinary numbers", name, lo, hi)
	}
}

func TestEncodersOfBothOperatorSetsAgree(t *testing.T) {
	build := func(opset int64) *testkit.Model {
		return testkit.Encoder{Layers: 2, Hidden: 24, Heads: 3, FFN: 48, Vocab: 17, MaxPositions: 9, Opset: opset,
			Seed: 5}.Model()
	}
	shape := tensor.Shape{2, 4}
	ids := tensor.Must(shape, []int64{1, 2, 3, 4, 5, 6, 7, 16})
	mask := tensor.Must(shape, []int64{1, 1, 1, 1, 1, 1, 0, 0})
	kinds := tensor.Must(shape, []int64{0, 0, 1, 1, 0, 0, 0, 1})
	a, b := compute(t, build(13), ids, mask, kinds), compute(t, build(17), ids, mask, kinds)
	if len(a) != 2*4*24 || len(b) != len(a) {
		t.Fatalf("got %d and %d numbers, want %d", len(a), len(b), 2*4*24)
	}
	checkScale(t, "encoder", a)
	for i := range a {
		if d := math.Abs(float64(a[i] - b[i])); d > 1e-4 {
			t.Fatalf("element %d: got %v with ten nodes and %v with one", i, a[i], b[i])
		}
	}
	// What the mask hides changes nothing but its own rows.
	ids = tensor.Must(shape, []int64{1, 2, 3, 4, 5, 6, 9, 10})
	c := compute(t, build(13), ids, mask, kinds)
	for i := range 6 * 24 {
		if a[i] != c[i] {
			t.Fatalf("element %d: got %v and %v, want hidden tokens to have no effect", i, a[i], c[i])
		}
	}
}
