package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/npy"
	"github.com/stowage-ml/stowage/cmd/stowage/internal/values"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// put writes a file in a folder of its own and returns its path.
func put(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func encoded(t *testing.T, x *tensor.Tensor) []byte {
	t.Helper()
	b, err := npy.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRunShowsOutputs(t *testing.T) {
	path := save(t, scores())
	golden(t, "run.txt", good(t, "run", path, "--input", "x=[[1,0,-1],[1,1,0.5]]", "--input", "n=7"))
	golden(t, "run.json", good(t, "run", path, "--input", "x=[[1,1,1]]", "--input", "n=7", "--json"))
}

func TestInputsComeFromEveryFormat(t *testing.T) {
	model := save(t, copies(tensor.Float32, "a", "b"))
	x := tensor.Must(tensor.Shape{1, 2}, []float32{1.5, -2})
	doc, err := values.EncodeJSON("x", x)
	if err != nil {
		t.Fatal(err)
	}
	pb := stowage.WriteTensor("other name", x)
	for name, source := range map[string]string{
		"npy": put(t, "x.npy", encoded(t, x)), "npy by content": put(t, "x.dat", encoded(t, x)), "pb": put(t, "x.pb", pb),
		"json": put(t, "x.json", doc), "nested json": put(t, "x.json", []byte("[[1.5,-2]]")), "inline": "[[1.5,-2]]",
		"name with equals": put(t, "a=b.npy", encoded(t, x)),
	} {
		for _, prefix := range []string{"", "x="} {
			if out := good(t, "run", model, "--input", prefix+source); !strings.Contains(out, "values 1.5 -2\n") {
				t.Errorf("%s: got %s", name, out)
			}
		}
	}
	for name, stdin := range map[string][]byte{"npy": encoded(t, x), "pb": pb, "json": []byte(" [[1.5, -2]]\n")} {
		if r := cli(t, stdin, "run", model, "--input", "x=-"); !strings.Contains(r.out, "values 1.5 -2\n") {
			t.Errorf("%s on standard input: got %+v", name, r)
		}
	}
}

func TestRandomAndZerosFillWhatIsLeft(t *testing.T) {
	path := save(t, scores())
	one := good(t, "run", path, "--input", "n=3", "--input", "random", "--dim", "batch=2")
	if !strings.Contains(one, "y  float32[2,12]") || !strings.Contains(one, "values 3\n") {
		t.Errorf("got %s", one)
	}
	again := good(t, "run", path, "--input", "random", "--input", "n=3", "--dim", "batch=2")
	if again != one {
		t.Errorf("got two results from one seed:\n%s\n%s", one, again)
	}
	other := good(t, "run", path, "--input", "n=3", "--input", "random", "--dim", "batch=2", "--seed", "2")
	if other == one {
		t.Errorf("got one result from two seeds:\n%s", other)
	}
	if out := good(t, "run", path, "--input", "zeros"); !strings.Contains(out, "min 0  max 0  mean 0") {
		t.Errorf("got %s", out)
	}
	out := good(t, "run", path, "--input", "x=zeros:4x3", "--input", "zeros")
	if !strings.Contains(out, "y  float32[4,12]") {
		t.Errorf("got %s", out)
	}
}

func TestDimsThatAFileTellsHoldForRandomInputs(t *testing.T) {
	m := copies(tensor.Float32, "n", 2)
	m.Node("Identity", []string{m.Input("other", tensor.Int8, 1, "n")}, testkit.Outs("z"))
	m.Output("z", tensor.Int8, 1, "n")
	out := good(t, "run", save(t, m), "--input", "random", "--input", "x=[[1,2],[3,4],[5,6]]")
	if !strings.Contains(out, "z  int8[1,3]") {
		t.Errorf("got %s", out)
	}
}

func TestOutGivesFilesOfTheWantedFormat(t *testing.T) {
	path := save(t, scores())
	for _, c := range []struct{ format, y, n string }{
		{"auto", "y.npy", "n_out.npy"}, {"npy", "y.npy", "n_out.npy"}, {"pb", "y.pb", "n_out.pb"},
		{"json", "y.json", "n_out.json"}, {"png", "y.npy", "n_out.npy"},
	} {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		good(t, "run", path, "--input", "x=[[1,1,1]]", "--input", "n=7", "--out", dir, "--format", c.format)
		for name, dims := range map[string]string{c.y: "x", c.n: ""} {
			model := save(t, copies(tensor.Float32, 1, 12))
			if dims == "" {
				model = save(t, copies(tensor.Int64))
			}
			want := map[string]string{"x": "values 0 3 6 9", "": "values 7"}[dims]
			if out := good(t, "run", model, "--input", filepath.Join(dir, name)); !strings.Contains(out, want) {
				t.Errorf("%s: %s: got %s, want %s", c.format, name, out, want)
			}
		}
	}
}

func TestTypesThatNpyLacksAreWrittenAsPb(t *testing.T) {
	dir := t.TempDir()
	good(t, "run", save(t, copies(tensor.BFloat16, 2)), "--input", "[1,2]", "--out", dir)
	if _, err := os.Stat(filepath.Join(dir, "y.pb")); err != nil {
		t.Error(err)
	}
	r := cli(t, nil, "run", save(t, copies(tensor.BFloat16, 2)), "--input", "[1,2]", "--out", dir, "--format", "npy")
	if r.code != exitFailed || !strings.Contains(r.err, `output "y": npy: bfloat16[2]`) {
		t.Errorf("got %+v", r)
	}
}

func TestPicturesGoInAndOut(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 4, 2))
	for i := range 8 {
		img.SetNRGBA(i%4, i/4, color.NRGBA{uint8(30 * i), uint8(255 - i), 7, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	in := put(t, "in.png", b.Bytes())
	dir := t.TempDir()
	for _, dims := range [][]any{{1, 3, "h", "w"}, {"n", "h", "w", 3}} {
		out := good(t, "run", save(t, copies(tensor.Float32, dims...)), "--input", in, "--out", dir, "--format", "png")
		if !strings.Contains(out, "(0 is black, 1 is white)") {
			t.Errorf("%v: got %s", dims, out)
		}
		f, err := os.Open(filepath.Join(dir, "y.png"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(f)
		f.Close()
		if err != nil || got.Bounds() != img.Bounds() {
			t.Fatalf("%v: got %v, %v", dims, got, err)
		}
		for i := range 8 {
			r, g, bl, _ := got.At(i%4, i/4).RGBA()
			if want := img.NRGBAAt(i%4, i/4); uint8(r>>8) != want.R || uint8(g>>8) != want.G || uint8(bl>>8) != want.B {
				t.Errorf("%v: pixel %d: got %v, want %v", dims, i, got.At(i%4, i/4), want)
			}
		}
	}
	free := save(t, copies(tensor.Float32, 1, 3, "h", "w"))
	if out := good(t, "run", free, "--input", in, "--dim", "h=6,w=8"); !strings.Contains(out, "y  float32[1,3,6,8]") {
		t.Errorf("got %s, want the picture resized to --dim", out)
	}
	out := good(t, "run", free, "--input", in, "--image-scale=1", "--image-mean=7", "--image-std=1,1,2", "--bgr")
	if !strings.Contains(out, "values 0 0 0") {
		t.Errorf("got %s, want blue less 7 first", out)
	}
	r := cli(t, nil, "run", save(t, copies(tensor.Float32, 2, "h")), "--input", in)
	if r.code != exitUsage || !strings.Contains(r.err, "want dims that look like one: float32[2,h] does not") {
		t.Errorf("got %+v", r)
	}
}

func TestRunAboveABoundFails(t *testing.T) {
	r := cli(t, nil, "run", save(t, scores()), "--input", "x=[[1,1,1],[2,2,2]]", "--input", "n=1", "--max", "batch=1")
	if r.code != exitFailed || !strings.Contains(r.err, `"batch"`) || r.out != "" {
		t.Errorf("got %+v, want status 1 and the dim's name", r)
	}
}

func TestFileNamesAreSafeAndDiffer(t *testing.T) {
	f := fileNames{}
	for _, c := range []struct{ name, want string }{
		{"y", "y"}, {"a/b:0", "a_b_0"}, {"A/B:0", "A_B_0_2"}, {"..", "_.."}, {".hidden", "_.hidden"}, {"", "_"},
		{"é", "__2"}, {strings.Repeat("x", 200), strings.Repeat("x", 100)},
	} {
		if got := f.of(c.name); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRunJSONIsOneDocument(t *testing.T) {
	var r runReport
	out := good(t, "run", save(t, scores()), "--input", "random", "--json", "--out", t.TempDir())
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Outputs) != 2 || r.Outputs[0].Name != "y" || r.Outputs[0].File == "" {
		t.Errorf("got %+v, want two outputs, in order, in files", r)
	}
}
