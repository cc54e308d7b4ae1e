package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// asCommand is set in the environment of a test binary that is to be the command.
const asCommand = "STOWAGE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// result is what one command line gave.
type result struct {
	code     int
	out, err string
}

// cli runs one command line, and checks what holds for all: an error is one line, and comes with
// a status other than 0.
func cli(t *testing.T, stdin []byte, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(args, bytes.NewReader(stdin), &out, &err)
	r := result{code, out.String(), err.String()}
	oneLine := strings.HasPrefix(r.err, "stowage: ") && strings.Index(r.err, "\n") == len(r.err)-1
	if r.code == exitGood && r.err != "" || r.code != exitGood && !oneLine {
		t.Errorf("%q: got status %d and error %q, want one line exactly when it fails", args, r.code, r.err)
	}
	return r
}

// good is cli for command lines that must work.
func good(t *testing.T, args ...string) string {
	t.Helper()
	r := cli(t, nil, args...)
	if r.code != exitGood {
		t.Fatalf("%q: got status %d: %s", args, r.code, r.err)
	}
	return r.out
}

// golden compares text with testdata/name, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// scores is a model of two inputs: x float32[batch,3] times a constant, and n int64[] as it is.
func scores() *testkit.Model {
	m := testkit.NewModel(17)
	m.ProducerVersion = "1"
	m.Meta("author", "a test")
	x := m.Input("x", tensor.Float32, "batch", 3)
	n := m.Input("n", tensor.Int64)
	w := make([]float32, 36)
	for i := range w {
		w[i] = float32(i % 12)
	}
	weights := m.Init("w", tensor.Must(tensor.Shape{3, 12}, w))
	m.Node("MatMul", []string{x, weights}, testkit.Outs("y"), testkit.Named("mul"))
	m.Node("Identity", []string{n}, testkit.Outs("n/out"))
	m.Output("y", tensor.Float32, "batch", 12)
	m.Output("n/out", tensor.Int64)
	return m
}

// copies is a model whose output is its input, a picture of 3 channels and free size.
func copies(dt tensor.DType, dims ...any) *testkit.Model {
	m := testkit.NewModel(17)
	m.Node("Identity", []string{m.Input("x", dt, dims...)}, testkit.Outs("y"))
	m.Output("y", dt, dims...)
	return m
}

// save writes a model to a folder of its own and returns the file's path.
func save(t *testing.T, m *testkit.Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), modelFile)
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBadUsageIsOneLineAndStatus2(t *testing.T) {
	model := save(t, scores())
	for _, c := range []struct {
		args string
		want string
	}{
		{"bogus", "stowage: unexpected argument bogus"},
		{"run", `stowage: expected "<model>"`},
		{"run M --foo", "stowage: unknown flag --foo"},
		{"inspect /no/such.onnx", "/no/such.onnx"},
		{"plan M --dim batch", `--dim: got "batch", want dim=size`},
		{"plan M --dim batch=-1", `dim "batch": got "-1", want a whole number`},
		{"plan M --dim batch=1/2", `dim "batch": got 2 sizes, want one`},
		{"plan M --max other=1", `"other"`},
		{"run M", "got no source for x float32[batch,3], n int64[]; want --input NAME=FILE"},
		{"run M --input z=1", `input "z": got no such input, want one of x float32[batch,3], n int64[]`},
		{"run M --input 1", `input "1": got no name for it`},
		{"run M --input x=1 --input x=2", `input "x": got float32[], want float32[batch,3]`},
		{"run M --input x=[[1,2,3]] --input x=[[1,2,3]]", `input "x": got two sources, want one`},
		{"run M --input x=[[1,2]]", `input "x": got float32[1,2], want float32[batch,3]`},
		{"run M --input x=random:1xa", `shape "1xa"`},
		{"run M --input n=1.5", `input "n": values: JSON tensor: at byte 3: got 1.5, want int64`},
		{"run M --input x=/no/such.npy", "/no/such.npy"},
		{"run M --input x=main.go", "main.go: got a file of unknown kind"},
		{"run M --input x=-", `input "x": standard input: `},
		{"run - --input x=-", "standard input: "},
		{"run M --input random --format gif", "--format"},
		{"plan M --no-kernel gemmm", `options: NoKernel: got "gemmm", want one of ["gemm" "gemv"]`},
		{"plan M --no-kernel Atmul", `options: NoKernel: got "Atmul", want one of ["matmul"]`},
		{"bench M --threads=-1", "Threads: got -1"},
		{"run M --input random --threads -1", "Threads: got -1, want at least 0"},
		{"bench M --runs 0", "got --runs 0, want at least 1"},
		{"bench M --concurrency 0", "got --concurrency 0, want at least 1"},
		{"bench M --concurrency=-3", "got --concurrency -3, want at least 1"},
		{"bench M --warmup=-1", "got --warmup -1, want at least 0"},
		{"bench M --policy x", `Policy: `},
		{"bench M --rate=-1", "got --rate -1, want at least 0 runs a second"},
		{"bench M --rate=NaN", "got --rate NaN"},
		{"bench M --trace -", `trace: got "-", want the name of a file`},
		{"run M --input random --trace -", `trace: got "-", want the name of a file`},
		{"run M --input random --trace /no/such/dir/t.json", "/no/such/dir/t.json"},
		{"bench M --data /no/such", "/no/such"},
		{"bench M --data . --dim batch=1", "got --data with --input or --dim"},
		{"bench M --data .", `folder ".": got neither`},
		{"test /no/such", "/no/such"},
		{"test testdata", `folder "testdata": got no model.onnx`},
		{"test . --rtol=-1", "tolerance: want 0 or more"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "M", model))
		if r := cli(t, nil, args...); r.code != exitUsage || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%s: got status %d, %q and output %q, want status 2 and %q", c.args, r.code, r.err, r.out, c.want)
		}
	}
}

func TestHelpIsNotAnError(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"test", "-h"}, {"bench", "--help"}} {
		if out := good(t, args...); !strings.HasPrefix(out, "Usage: stowage") {
			t.Errorf("%q: got %q", args, out)
		}
	}
}

func TestNoVerbIsBadUsage(t *testing.T) {
	if r := cli(t, nil); r.code != exitUsage || !strings.Contains(r.err, "want one: stowage --help") || r.out != "" {
		t.Errorf("got status %d, %q and output %q", r.code, r.err, r.out)
	}
}

func TestVersionSaysTheSystem(t *testing.T) {
	var r versionReport
	err := json.Unmarshal([]byte(good(t, "version", "--json")), &r)
	if err != nil || r.Go == "" || r.OS == "" || r.Arch == "" {
		t.Errorf("got %+v, %v", r, err)
	}
	if out := good(t, "version"); !strings.HasPrefix(out, "stowage ") || !strings.HasSuffix(out, r.OS+"/"+r.Arch+"\n") {
		t.Errorf("got %q", out)
	}
}

func TestInspectDescribesTheModel(t *testing.T) {
	path := save(t, scores())
	golden(t, "inspect.txt", good(t, "inspect", path))
	golden(t, "inspect.json", good(t, "inspect", "--json", path))
}

func TestInspectListsAllThatCannotRun(t *testing.T) {
	m := scores()
	m.Node("FooBar", []string{"y"}, testkit.Named("first"))
	m.Node("Bar", []string{"y"}, testkit.Named("second"), testkit.Domain("com.example"))
	m.Opset("com.example", 1)
	path := save(t, m)
	golden(t, "unsupported.txt", good(t, "inspect", path))
	r := cli(t, nil, "run", path, "--input", "random")
	if r.code != exitUsage || !strings.Contains(r.err, `"first"`) || !strings.Contains(r.err, `"second"`) {
		t.Errorf("run: got status %d and %q, want status 2 and both nodes' names", r.code, r.err)
	}
}

func TestAModelOnStandardInput(t *testing.T) {
	r := cli(t, scores().Bytes(), "inspect", "-")
	if r.code != exitGood || !strings.Contains(r.out, "MatMul×1") {
		t.Errorf("got %+v", r)
	}
	r = cli(t, []byte("no model"), "inspect", "-")
	if r.code != exitUsage || !strings.Contains(r.err, "standard input: ") {
		t.Errorf("got %+v", r)
	}
}

func TestPlanIsForTheDimsGiven(t *testing.T) {
	path := save(t, scores())
	for _, args := range [][]string{
		{"--dim", "batch=5"}, {"--max", "batch=5"}, {"--max", "batch=9", "--dim", "batch=5"},
	} {
		if out := good(t, append([]string{"plan", path}, args...)...); !strings.Contains(out, "float32[5,12]") {
			t.Errorf("%v: got\n%s\nwant a step that makes float32[5,12]", args, out)
		}
	}
	var p struct {
		Devices []struct {
			ArenaBytes *int64 `json:"arena_bytes"`
		} `json:"devices"`
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal([]byte(good(t, "plan", "--json", path)), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Devices) == 0 || p.Devices[0].ArenaBytes == nil || p.Digest == "" {
		t.Errorf("JSON: got %+v, want a device, its arena and a digest", p)
	}
}
