package stowage_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// open loads a built model and opens a session that the test closes.
func open(t testing.TB, m *testkit.Model, opts *stowage.Options) *stowage.Session {
	t.Helper()
	model, err := stowage.LoadBytes(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type feeds = map[string]*tensor.Tensor

// want runs a session and compares one output's shape and elements.
func want[T tensor.Element](t *testing.T, s *stowage.Session, in feeds, name string, shape tensor.Shape, data ...T) {
	t.Helper()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tensor.Data[T](out[name])
	if err != nil {
		t.Fatal(err)
	}
	if !out[name].Shape().Equal(shape) || fmt.Sprint(got) != fmt.Sprint(data) {
		t.Fatalf("output %q: got %v %v, want %v %v", name, out[name], got, shape, data)
	}
}

// chain is x → Relu → Neg → Reshape → Add(x) → y, with a free batch.
func chain() *testkit.Model {
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, "batch", 4)
	m.Init("flat", tensor.Of[int64](-1))
	m.Init("back", tensor.Of[int64](-1, 4))
	r := m.Node("Relu", []string{"x"})
	n := m.Node("Neg", []string{r})
	f := m.Node("Reshape", []string{n, "flat"})
	a := m.Node("Abs", []string{f})
	b := m.Node("Reshape", []string{a, "back"})
	m.Node("Add", []string{b, "x"}, testkit.Outs("y"))
	m.Output("y", tensor.Float32, "batch", 4)
	return m
}

func TestRunComputesThroughViewsAndInPlaceResults(t *testing.T) {
	s := open(t, chain(), nil)
	x := tensor.Must(tensor.Shape{1, 4}, []float32{1, -2, 3, -4})
	want(t, s, feeds{"x": x}, "y", tensor.Shape{1, 4}, float32(2), -2, 6, -4)
	x2 := tensor.Must(tensor.Shape{2, 4}, []float32{1, -2, 3, -4, 0, 5, -6, 7})
	want(t, s, feeds{"x": x2}, "y", tensor.Shape{2, 4}, float32(2), -2, 6, -4, 0, 10, -6, 14)
	want(t, s, feeds{"x": x}, "y", tensor.Shape{1, 4}, float32(2), -2, 6, -4)
	x0 := tensor.Must(tensor.Shape{0, 4}, []float32{})
	want[float32](t, s, feeds{"x": x0}, "y", tensor.Shape{0, 4})
}

func TestPlanReusesOneBufferAlongAChain(t *testing.T) {
	p, err := open(t, chain(), &stowage.Options{Kernels: "reference"}).Plan(map[string]int64{"batch": 3})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Devices[0].ArenaBytes, int64(3*4*4); got != want {
		t.Errorf("arena: got %d bytes, want %d, the chain being in place\n%v", got, want, p)
	}
	again, err := open(t, chain(), &stowage.Options{Kernels: "reference"}).Plan(map[string]int64{"batch": 3})
	if err != nil || again.Digest != p.Digest {
		t.Errorf("digest: got %v, %v, want %v again", again, err, p.Digest)
	}
}

func TestBoundDimsKeepTheArenaAndRefuseMore(t *testing.T) {
	s := open(t, chain(), &stowage.Options{Max: map[string]int64{"batch": 2}})
	x := tensor.Must(tensor.Shape{1, 4}, []float32{1, -2, 3, -4})
	want(t, s, feeds{"x": x}, "y", tensor.Shape{1, 4}, float32(2), -2, 6, -4)
	for n := int64(1); n <= 2; n++ {
		p, err := s.Plan(map[string]int64{"batch": n})
		if reserved := s.Memory().ArenaBytes; err != nil || p.Devices[0].ArenaBytes != reserved {
			t.Errorf("batch %d: got arena %v, %v, want the %d bytes of the bound", n, p, err, reserved)
		}
	}
	big := tensor.Must(tensor.Shape{3, 4}, make([]float32, 12))
	_, err := s.Run(context.Background(), feeds{"x": big})
	if err == nil || !strings.Contains(err.Error(), `"batch" at most 2`) {
		t.Errorf("run above the bound: got error %v", err)
	}
}

func TestFeedsAreChecked(t *testing.T) {
	s := open(t, chain(), nil)
	ok := tensor.Must(tensor.Shape{1, 4}, []float32{1, 2, 3, 4})
	for _, c := range []struct {
		name string
		in   feeds
		want string
	}{
		{"missing", feeds{}, `input "x": got nothing, want float32[batch,4]`},
		{"unknown", feeds{"x": ok, "z": ok}, `input "z": no such input`},
		{"type", feeds{"x": tensor.Must(tensor.Shape{1, 4}, []int64{1, 2, 3, 4})}, `got int64[1,4], want float32[batch,4]`},
		{"rank", feeds{"x": tensor.Of[float32](1, 2, 3, 4)}, `got float32[4], want float32[batch,4]`},
		{"dim", feeds{"x": tensor.Must(tensor.Shape{1, 3}, []float32{1, 2, 3})}, `with dim 1 = 4`},
	} {
		_, err := s.Run(context.Background(), c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestBindingAllocatesNothing(t *testing.T) {
	s := open(t, chain(), nil)
	x := tensor.Must(tensor.Shape{1, 4}, []float32{1, -2, 3, -4})
	y := tensor.Must(tensor.Shape{1, 4}, make([]float32, 4))
	b, err := s.Bind(feeds{"x": x}, feeds{"y": y})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	run := func() {
		if err := b.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("got %v allocations per bound run, want 0", n)
	}
	if got := fmt.Sprint(tensor.Cast[float32](y.Bytes())); got != "[2 -2 6 -4]" {
		t.Errorf("bound output: got %v", got)
	}
}

// What a run allocates beyond its outputs and the map that holds them: nothing that grows with the
// model. The real models are static, and have up to 500 steps.
func TestRunsOfRealModelsAllocateOutputsAlone(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget what they hold")
	}
	root := testkit.Data(t)
	for _, name := range []string{"mnist", "light_squeezenet", "blazeface_back"} {
		s, in, b := boundModel(t, root, name, nil)
		ctx := context.Background()
		least := math.Inf(1)
		// A collection empties pools: what follows one does not count.
		for tries := 0; least != 0 && tries < 5; tries++ {
			least = min(least, testing.AllocsPerRun(1, func() {
				if err := b.Run(ctx); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if least != 0 {
			t.Errorf("%s: got %v allocations per bound run, want 0", name, least)
		}
		got, err := s.Run(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		outs := len(got)
		if n := testing.AllocsPerRun(2, func() {
			if _, err := s.Run(ctx, in); err != nil {
				t.Fatal(err)
			}
		}); n > float64(6+4*outs) {
			t.Errorf("%s: got %v allocations per run with %d outputs, want at most %d", name, n, outs, 6+4*outs)
		}
	}
}

func TestOutputsMayBeInputsConstantsAndRepeats(t *testing.T) {
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, 2)
	m.Init("c", tensor.Of[float32](7, 8))
	m.Node("Identity", []string{"x"}, testkit.Outs("same"))
	m.Node("Identity", []string{"c"}, testkit.Outs("fixed"))
	m.Node("Neg", []string{"x"}, testkit.Outs("n"))
	m.Node("Identity", []string{"n"}, testkit.Outs("n2"))
	m.Node("Relu", []string{"n"}, testkit.Outs("r"))
	for _, o := range []string{"same", "fixed", "n", "n2", "r", "x"} {
		m.Output(o, tensor.Float32, 2)
	}
	s := open(t, m, nil)
	in := feeds{"x": tensor.Of[float32](1, -2)}
	for name, v := range map[string][]float32{"same": {1, -2}, "fixed": {7, 8}, "n": {-1, 2}, "n2": {-1, 2},
		"r": {0, 2}, "x": {1, -2}} {
		want(t, s, in, name, tensor.Shape{2}, v...)
	}
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if &out["n"].Bytes()[0] == &out["n2"].Bytes()[0] || &out["same"].Bytes()[0] == &in["x"].Bytes()[0] {
		t.Error("outputs share memory with each other or with an input")
	}
}

// ifModel picks x+x or, when nested is set too, −x, all inside subgraphs that capture x.
func ifModel() *testkit.Model {
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, "n")
	m.Input("outer", tensor.Bool)
	m.Input("inner", tensor.Bool)
	deepThen := testkit.NewGraph("deep_then")
	deepThen.Node("Neg", []string{"x"}, testkit.Outs("dt"))
	deepThen.Output("dt", tensor.Float32, "n")
	deepElse := testkit.NewGraph("deep_else")
	deepElse.Node("Add", []string{"x", "x"}, testkit.Outs("de"))
	deepElse.Output("de", tensor.Float32, "n")
	then := testkit.NewGraph("then")
	then.Node("If", []string{"inner"}, testkit.Body("then_branch", deepThen), testkit.Body("else_branch", deepElse),
		testkit.Outs("t"))
	then.Output("t", tensor.Float32, "n")
	els := testkit.NewGraph("else")
	els.Node("Relu", []string{"x"}, testkit.Outs("e"))
	els.Output("e", tensor.Float32, "n")
	bodies := []testkit.Part{testkit.Body("then_branch", then), testkit.Body("else_branch", els)}
	m.Node("If", []string{"outer"}, append(bodies, testkit.Outs("a"))...)
	m.Node("If", []string{"inner"}, append(bodies, testkit.Outs("b"))...)
	m.Node("Sub", []string{"a", "b"}, testkit.Outs("y"))
	m.Output("y", tensor.Float32, "n")
	m.Output("a", tensor.Float32, "n")
	return m
}

func TestNestedIfReadsOuterValues(t *testing.T) {
	s := open(t, ifModel(), nil)
	x := tensor.Of[float32](1, -2, 3)
	flag := func(b bool) *tensor.Tensor { return tensor.Scalar(b) }
	for _, c := range []struct {
		outer, inner bool
		a, y         []float32
	}{
		{true, true, []float32{-1, 2, -3}, []float32{0, 0, 0}},
		{true, false, []float32{2, -4, 6}, []float32{1, -4, 3}},
		{false, true, []float32{1, 0, 3}, []float32{2, -2, 6}},
		{false, false, []float32{1, 0, 3}, []float32{0, 0, 0}},
	} {
		in := feeds{"x": x, "outer": flag(c.outer), "inner": flag(c.inner)}
		want(t, s, in, "a", tensor.Shape{3}, c.a...)
		want(t, s, in, "y", tensor.Shape{3}, c.y...)
	}
}

// loopModel doubles a growing vector: v = concat(v, v) for trips iterations, and collects sums.
func loopModel() *testkit.Model {
	m := testkit.NewModel(17)
	m.Input("v", tensor.Float32, "n")
	m.Input("trips", tensor.Int64)
	b := testkit.NewGraph("body")
	b.Input("i", tensor.Int64)
	b.Input("c", tensor.Bool)
	b.Input("cur", tensor.Float32, "k")
	b.Node("Identity", []string{"c"}, testkit.Outs("c_out"))
	b.Node("Concat", []string{"cur", "v"}, testkit.Int("axis", 0), testkit.Outs("next"))
	b.Node("ReduceSum", []string{"next"}, testkit.Int("keepdims", 0), testkit.Outs("sum"))
	b.Output("c_out", tensor.Bool)
	b.Output("next", tensor.Float32, "k2")
	b.Output("sum", tensor.Float32)
	m.Nodes("Loop", []string{"trips", "", "v"}, 2, testkit.Body("body", b), testkit.Outs("last", "sums"))
	m.Node("Neg", []string{"last"}, testkit.Outs("y"))
	m.Output("y", tensor.Float32, "m")
	m.Output("sums", tensor.Float32, "t")
	return m
}

func TestLoopCarriesValuesThatGrow(t *testing.T) {
	s := open(t, loopModel(), nil)
	v := tensor.Of[float32](1, 2)
	in := feeds{"v": v, "trips": tensor.Scalar[int64](2)}
	want(t, s, in, "y", tensor.Shape{6}, float32(-1), -2, -1, -2, -1, -2)
	want(t, s, in, "sums", tensor.Shape{2}, float32(6), 9)
	none := feeds{"v": v, "trips": tensor.Scalar[int64](0)}
	want(t, s, none, "y", tensor.Shape{2}, float32(-1), -2)
	want[float32](t, s, none, "sums", tensor.Shape{0})
}

func TestScanStacksAlongAnAxisAndInReverse(t *testing.T) {
	m := testkit.NewModel(17)
	m.Input("init", tensor.Float32, 2)
	m.Input("x", tensor.Float32, 2, "t")
	b := testkit.NewGraph("body")
	b.Input("acc", tensor.Float32, 2)
	b.Input("col", tensor.Float32, 2)
	b.Node("Add", []string{"acc", "col"}, testkit.Outs("acc2"))
	b.Node("Identity", []string{"acc2"}, testkit.Outs("row"))
	b.Output("acc2", tensor.Float32, 2)
	b.Output("row", tensor.Float32, 2)
	m.Nodes("Scan", []string{"init", "x"}, 2, testkit.Body("body", b), testkit.Int("num_scan_inputs", 1),
		testkit.Ints("scan_input_axes", 1), testkit.Ints("scan_input_directions", 1),
		testkit.Ints("scan_output_axes", -1), testkit.Outs("total", "rows"))
	m.Output("total", tensor.Float32, 2)
	m.Output("rows", tensor.Float32, 2, "t")
	s := open(t, m, nil)
	in := feeds{"init": tensor.Of[float32](0, 0), "x": tensor.Must(tensor.Shape{2, 3}, []float32{1, 2, 3, 10, 20, 30})}
	want(t, s, in, "total", tensor.Shape{2}, float32(6), 60)
	want(t, s, in, "rows", tensor.Shape{2, 3}, float32(3), 5, 6, 30, 50, 60)
}

func TestShapesThatDependOnDataAreStages(t *testing.T) {
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, "n")
	m.Input("target", tensor.Int64, 2)
	pos := m.Node("Relu", []string{"x"})
	nz := m.Node("NonZero", []string{pos})
	idx := m.Node("Squeeze", []string{nz, m.Init("zero", tensor.Of[int64](0))})
	g := m.Node("Gather", []string{"x", idx})
	m.Node("Neg", []string{g}, testkit.Outs("y"))
	doubled := m.Node("Add", []string{"target", "target"})
	half := m.Node("Div", []string{doubled, m.Init("two", tensor.Of[int64](2))})
	m.Node("Reshape", []string{pos, half}, testkit.Outs("z"))
	m.Output("y", tensor.Float32, "m")
	m.Output("z", tensor.Float32, "a", "b")
	s := open(t, m, nil)
	x := tensor.Of[float32](1, -2, 3, 4)
	in := feeds{"x": x, "target": tensor.Of[int64](2, 2)}
	for range 2 {
		want(t, s, in, "y", tensor.Shape{3}, float32(-1), -3, -4)
		want(t, s, in, "z", tensor.Shape{2, 2}, float32(1), 0, 3, 4)
	}
	in["target"] = tensor.Of[int64](-1, 1)
	want(t, s, in, "z", tensor.Shape{4, 1}, float32(1), 0, 3, 4)
	in["x"] = tensor.Of[float32](-1, -1, -1, -1)
	want[float32](t, s, in, "y", tensor.Shape{0})
}

func TestConcurrentRunsDoNotDisturbEachOther(t *testing.T) {
	s := open(t, chain(), &stowage.Options{Concurrency: 3})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				n := int64(1 + (g+i)%5)
				data := make([]float32, n*4)
				for k := range data {
					data[k] = float32(g*100 + i + k)
				}
				out, err := s.Run(context.Background(), feeds{"x": tensor.Must(tensor.Shape{n, 4}, data)})
				if err != nil {
					t.Error(err)
					return
				}
				for k, v := range tensor.Cast[float32](out["y"].Bytes()) {
					if v != 2*data[k] {
						t.Errorf("goroutine %d run %d: element %d: got %v, want %v", g, i, k, v, 2*data[k])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestCancelAndCloseEndRuns(t *testing.T) {
	s := open(t, chain(), nil)
	in := feeds{"x": tensor.Must(tensor.Shape{1, 4}, make([]float32, 4))}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled run: got error %v, want context.Canceled", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), in); !errors.Is(err, stowage.ErrClosed) {
		t.Errorf("run after close: got error %v, want ErrClosed", err)
	}
}

func TestModelsOutliveTheirSessions(t *testing.T) {
	model, err := stowage.LoadBytes(chain().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Close(); err == nil || !strings.Contains(err.Error(), "1 open sessions") {
		t.Errorf("close under a session: got error %v", err)
	}
	if err := errors.Join(s.Close(), model.Close(), model.Close()); err != nil {
		t.Error(err)
	}
	if _, err := model.Open(nil); err == nil {
		t.Error("open after close: got no error")
	}
	_, bind := s.Bind(nil, nil)
	_, plan := s.Plan(nil)
	if !errors.Is(bind, stowage.ErrClosed) || !errors.Is(plan, stowage.ErrClosed) {
		t.Errorf("after close: got %v and %v, want ErrClosed", bind, plan)
	}
}

func TestOpenListsEveryUnsupportedNode(t *testing.T) {
	m := testkit.NewModel(17)
	m.Input("x", tensor.Float32, 2)
	a := m.Node("NoSuchOp", []string{"x"}, testkit.Named("first"))
	m.Node("Other", []string{a}, testkit.Domain("com.example"), testkit.Named("second"), testkit.Outs("y"))
	m.Opset("com.example", 1)
	m.Output("y", tensor.Float32, 2)
	model, err := stowage.LoadBytes(m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Open(nil)
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("got error %v, want ErrUnsupported", err)
	}
	for _, part := range []string{"first", "second", "NoSuchOp", "com.example.Other"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not name %q: %v", part, err)
		}
	}
}

// boundModel opens a real model of fixed shapes until the test ends, and binds inputs of zeros.
func boundModel(t testing.TB, root, name string, o *stowage.Options) (*stowage.Session, feeds, *stowage.Binding) {
	t.Helper()
	model, err := stowage.Load(filepath.Join(root, "models", name, "model.onnx"))
	if err != nil {
		t.Skipf("no model: %v", err)
	}
	s, err := model.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), model.Close()); err != nil {
			t.Error(err)
		}
	})
	in := feeds{}
	for _, p := range model.Inputs() {
		shape := tensor.Shape{}
		for _, d := range p.Dims {
			shape = append(shape, d.Size)
		}
		if in[p.Name], err = tensor.Zeros(p.DType, shape); err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Bind(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, in, b
}
