package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// layout writes a folder in ONNX's test layout; sets holds the inputs and outputs of each data
// set, by file name.
func layout(t *testing.T, dir string, model []byte, sets ...map[string]*tensor.Tensor) string {
	t.Helper()
	write := func(path string, b []byte) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, modelFile), model)
	for i, set := range sets {
		for name, x := range set {
			file, tensorName, _ := strings.Cut(name, " ")
			write(filepath.Join(dir, setPrefix+strconv.Itoa(i), file+".pb"), stowage.WriteTensor(tensorName, x))
		}
	}
	return dir
}

type tensors = map[string]*tensor.Tensor

func TestModelsPassFailOrAreSkipped(t *testing.T) {
	ok := copies(tensor.Float32, "n").Bytes()
	one, near, far := tensor.Of[float32](1, 2), tensor.Of[float32](1, 2.0001), tensor.Of[float32](1, 2.1)
	unsupported := copies(tensor.Float32, "n")
	unsupported.Node("FooBar", []string{"x"})
	unsupported.Node("FooBaz", []string{"x"})
	for name, c := range map[string]struct {
		model  []byte
		sets   []tensors
		status string
		reason string
	}{
		"equal":             {ok, []tensors{{"input_0": one, "output_0": one}}, passed, ""},
		"near":              {ok, []tensors{{"input_0": near, "output_0": one}}, passed, ""},
		"two sets":          {ok, []tensors{{"input_0": one, "output_0": one}, {"input_0": tensor.Of[float32](7), "output_0": tensor.Of[float32](7)}}, passed, ""},
		"no reference":      {ok, []tensors{{"input_0": one}}, passed, ""},
		"far":               {ok, []tensors{{"input_0": far, "output_0": one}}, missed, "test_data_set_0: got 1 of 1 outputs out of bounds"},
		"other shape":       {ok, []tensors{{"input_0": tensor.Of[float32](1), "output_0": one}}, missed, "1 of 1 outputs"},
		"second set":        {ok, []tensors{{"input_0": one, "output_0": one}, {"input_0": far, "output_0": one}}, missed, "test_data_set_1: "},
		"no data":           {ok, nil, missed, "got no test_data_set_* folder"},
		"no input":          {ok, []tensors{{"output_0": one}}, missed, "inputs: got 0 files, want 1"},
		"two inputs":        {ok, []tensors{{"input_0": one, "input_1": one, "output_0": one}}, missed, "inputs: got 2 files, want 1"},
		"wrong type":        {ok, []tensors{{"input_0": tensor.Of(1.0, 2.0), "output_0": one}}, missed, "float64"},
		"position too high": {ok, []tensors{{"input_3": one, "output_0": one}}, missed, "want a position below 1"},
		"broken model":      {ok[:len(ok)/2], []tensors{{"input_0": one, "output_0": one}}, missed, ""},
		"unsupported":       {unsupported.Bytes(), nil, skipped, `FooBar "" (opset 17): unknown operator, and 1 more`},
	} {
		dir := layout(t, t.TempDir(), c.model, c.sets...)
		r := cli(t, nil, "test", "--json", dir)
		var report testReport
		if err := json.Unmarshal([]byte(r.out), &report); err != nil || len(report.Cases) != 1 {
			t.Errorf("%s: got %q, %v", name, r.out, err)
			continue
		}
		got := report.Cases[0]
		if got.Status != c.status || !strings.Contains(got.Reason, c.reason) || (got.Reason == "") != (c.status == passed) {
			t.Errorf("%s: got %s: %s, want %s: %s", name, got.Status, got.Reason, c.status, c.reason)
		}
		if (r.code == exitFailed) != (c.status == missed) || report.Passed+report.Failed+report.Skipped != 1 {
			t.Errorf("%s: got status %d and %+v", name, r.code, report)
		}
	}
}

func TestStoredTensorsGoByNameElseByPosition(t *testing.T) {
	m := testkit.NewModel(17)
	for _, name := range []string{"a", "b"} {
		m.Node("Identity", []string{m.Input(name, tensor.Int32, 1)}, testkit.Outs(name+"2"))
		m.Output(name+"2", tensor.Int32, 1)
	}
	one, two := tensor.Of[int32](1), tensor.Of[int32](2)
	for name, c := range map[string]struct {
		set tensors
		ok  bool
	}{
		"position":          {tensors{"input_0": one, "input_1": two, "output_0": one, "output_1": two}, true},
		"swapped":           {tensors{"input_0": one, "input_1": two, "output_0": two, "output_1": one}, false},
		"names":             {tensors{"input_0 b": two, "input_1 a": one, "output_0 b2": two, "output_1 a2": one}, true},
		"foreign names":     {tensors{"input_0 p": one, "input_1 q": two, "output_0 r": one, "output_1 s": two}, true},
		"only some outputs": {tensors{"input_0": one, "input_1": two, "output_1": two}, true},
		"one name twice":    {tensors{"input_0 b": two, "input_1 b": one}, false},
	} {
		r := cli(t, nil, "test", layout(t, t.TempDir(), m.Bytes(), c.set))
		if (r.code == exitGood) != c.ok {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestFoldersAreSearchedAndTheCountsCloseTheOutput(t *testing.T) {
	root := t.TempDir()
	one := tensor.Of[float32](1)
	model := copies(tensor.Float32, "n").Bytes()
	for _, name := range []string{"b", "a/deep", "c"} {
		layout(t, filepath.Join(root, name), model, tensors{"input_0": one, "output_0": one})
	}
	bad := layout(t, filepath.Join(root, "d"), model, tensors{"input_0": one, "output_0": tensor.Of[float32](9)})
	r := cli(t, nil, "test", root, filepath.Join(root, "c"), bad)
	want := "failed  " + bad + ": test_data_set_0: got 1 of 1 outputs out of bounds\n" +
		"    test_data_set_0 y: max abs 8, max rel 0.889, atol 0.0009, rtol 0.001; " +
		"1 of 1 elements, first at 0: got 1, want 9\n" +
		"3 passed, 1 failed, 0 skipped\n"
	if r.code != exitFailed || r.out != want || r.err != "stowage: test: got 1 of 4 models that failed, want 0\n" {
		t.Errorf("got %d, %q\n%s\nwant\n%s", r.code, r.err, r.out, want)
	}
	out := good(t, "test", "-v", filepath.Join(root, "a"))
	want = "passed  " + filepath.Join(root, "a", "deep") + ": atol 1e-4 of peak, rtol 0.001\n"
	if !strings.HasPrefix(out, want) {
		t.Errorf("got %q, want %q first", out, want)
	}
}

func TestDataSetsRunInOrderOfTheirNumber(t *testing.T) {
	var sets []tensors
	for range 11 {
		sets = append(sets, tensors{"input_0": tensor.Of[float32](1), "output_0": tensor.Of[float32](1)})
	}
	sets[2]["output_0"], sets[10]["output_0"] = tensor.Of[float32](5), tensor.Of[float32](5)
	r := cli(t, nil, "test", layout(t, t.TempDir(), copies(tensor.Float32, "n").Bytes(), sets...))
	if !strings.Contains(r.out, "test_data_set_2: got 1 of 1") {
		t.Errorf("got %+v, want set 2 to fail first", r)
	}
}

func TestTolerancesAreTheOnesAskedFor(t *testing.T) {
	dir := layout(t, t.TempDir(), copies(tensor.Float32, "n").Bytes(),
		tensors{"input_0": tensor.Of[float32](1.5, 100), "output_0": tensor.Of[float32](1, 100)})
	for _, c := range []struct {
		flags string
		ok    bool
	}{
		{"--rtol=0.6", true}, {"--atol=0.5", true}, {"--atol=0.4 --rtol=0.2", true}, {"--atol=0.4", false},
		{"--rtol=0.4", false},
	} {
		if r := cli(t, nil, append(strings.Fields("test "+c.flags), dir)...); (r.code == exitGood) != c.ok {
			t.Errorf("%s: got %+v", c.flags, r)
		}
	}
}

func TestModelsThatQuantizeHaveBoundsOfTheirOwn(t *testing.T) {
	one, byteOne := tensor.Scalar[float32](1), tensor.Must(tensor.Shape{1, 1}, []uint8{2})
	rounds := copies(tensor.Float32, "n")
	rounds.Node("QuantizeLinear", []string{rounds.Input("a", tensor.Float32), rounds.Init("s", one)}, testkit.Outs("c"))
	rounds.Output("c", tensor.Uint8)
	products := copies(tensor.Float32, "n")
	factors := []string{products.Input("a", tensor.Uint8, 1, 1), products.Init("b", byteOne)}
	products.Node("MatMulInteger", factors, testkit.Outs("c"))
	products.Output("c", tensor.Int32, 1, 1)
	for name, c := range map[string]struct {
		model *testkit.Model
		a, c  *tensor.Tensor
		y     float32
		bound string
		ok    bool
	}{
		"rounds, within":     {rounds, one, tensor.Scalar[uint8](1), 2.9, "atol 2% of peak", true},
		"rounds, beyond":     {rounds, one, tensor.Scalar[uint8](1), 3.3, "", false},
		"rounds, integer":    {rounds, one, tensor.Scalar[uint8](2), 1, "", false},
		"products, within":   {products, byteOne, tensor.Must(tensor.Shape{1, 1}, []int32{4}), 13, "atol 12.5% of peak", true},
		"products, beyond":   {products, byteOne, tensor.Must(tensor.Shape{1, 1}, []int32{4}), 14, "", false},
		"products, integers": {products, byteOne, tensor.Must(tensor.Shape{1, 1}, []int32{5}), 1, "", false},
	} {
		x, y := tensor.Of[float32](1, 100), tensor.Of(c.y, 100)
		set := tensors{"input_0": x, "input_1": c.a, "output_0": y, "output_1": c.c}
		r := cli(t, nil, "test", layout(t, t.TempDir(), c.model.Bytes(), set))
		if (r.code == exitGood) != c.ok || !strings.Contains(r.out, c.bound) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestACrashIsAFailureThatSaysWhere(t *testing.T) {
	v := testVerb{Timeout: time.Minute}
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"panic":     {func() { panic("BUG: boom") }, "crash: BUG: boom at test_test.go:"},
		"nil":       {func() { var p *caseResult; p.Status = "x" }, "nil pointer dereference at test_test.go:"},
		"nested":    {func() { defer func() { panic(recover()) }(); panic("inner") }, "crash: inner at test_test.go:"},
		"out range": {func() { s := []int{}; i := len(os.Args); s[i] = 1 }, "at test_test.go:"},
	} {
		r := v.guard(t.Context(), "dir", func(context.Context, *caseResult) { c.do() })
		if r.Status != missed || !strings.Contains(r.Reason, c.want) {
			t.Errorf("%s: got %s: %s, want %s", name, r.Status, r.Reason, c.want)
		}
	}
}

func TestTimeIsLimitedWhetherTheModelListensOrNot(t *testing.T) {
	v := testVerb{Timeout: 20 * time.Millisecond}
	stop := make(chan struct{})
	defer close(stop)
	for name, do := range map[string]func(context.Context, *caseResult){
		"listens":       func(ctx context.Context, c *caseResult) { <-ctx.Done(); c.stop(ctx.Err()) },
		"does not":      func(context.Context, *caseResult) { <-stop },
		"ends too late": func(ctx context.Context, c *caseResult) { <-ctx.Done(); c.Status, c.Reason = missed, "other" },
	} {
		r := v.guard(t.Context(), "dir", do)
		if r.Status != missed || r.Reason != "timeout: got no end within 20ms" || r.MS < 20 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestSharedNodeCases runs a few of ONNX's own cases, as a user would.
func TestSharedNodeCases(t *testing.T) {
	dir := filepath.Join(testkit.Data(t), "onnx-node")
	out := good(t, "test", filepath.Join(dir, "test_identity"), filepath.Join(dir, "test_matmul_2d"))
	if out != "2 passed, 0 failed, 0 skipped\n" {
		t.Errorf("got %s", out)
	}
}
