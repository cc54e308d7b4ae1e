package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/onnx"
	"github.com/stowage-ml/stowage/tensor"
)

// TestFilesInTheRepositoryAreWhatIsGenerated compares the model's bytes and the picture's pixels:
// the same pixels may be packed in other bytes by another version of the encoder, and a fused
// multiply-add may round a sample the other way.
func TestFilesInTheRepositoryAreWhatIsGenerated(t *testing.T) {
	dir := filepath.Join("..", "..", "cmd", "stowage", "demodata")
	have, err := os.ReadFile(filepath.Join(dir, "demo.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, model().Bytes()) {
		t.Error("demo.onnx differs: run gendemo")
	}
	file, err := os.ReadFile(filepath.Join(dir, "demo.png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := scene()
	if img.Bounds() != want.Bounds() {
		t.Fatalf("demo.png: got %v, want %v: run gendemo", img.Bounds(), want.Bounds())
	}
	for y := range height {
		for x := range width {
			r, g, b, _ := img.At(x, y).RGBA()
			c := want.NRGBAAt(x, y)
			for _, d := range []int{int(r>>8) - int(c.R), int(g>>8) - int(c.G), int(b>>8) - int(c.B)} {
				if d < -1 || d > 1 {
					t.Fatalf("demo.png: pixel (%d,%d): got %v, want %v: run gendemo", x, y, img.At(x, y), c)
				}
			}
		}
	}
}

func TestRunWritesBothFiles(t *testing.T) {
	dir := t.TempDir()
	var stderr bytes.Buffer
	if rc := run([]string{"-o", dir}, &stderr); rc != 0 {
		t.Fatalf("got status %d: %s", rc, &stderr)
	}
	for _, name := range []string{"demo.onnx", "demo.png"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if rc := run([]string{"-o", filepath.Join(dir, "none")}, &stderr); rc != 1 {
		t.Errorf("no folder: got status %d, want 1", rc)
	}
	if rc := run([]string{"-x"}, &stderr); rc != 2 {
		t.Errorf("bad flag: got status %d, want 2", rc)
	}
}

// TestModelFindsTheSquare runs the model on a white square on black.
func TestModelFindsTheSquare(t *testing.T) {
	const h, w = 33, 40
	box := image.Rect(10, 8, 28, 22)
	data := make([]float32, 3*h*w)
	for i := range data {
		if (image.Point{i % w, i / w % h}).In(box) {
			data[i] = 1
		}
	}
	f, err := onnx.FromBytes(model().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	im, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	in := []*tensor.Tensor{tensor.Must(tensor.Shape{1, 3, h, w}, data)}
	out, err := conform.Interpreter{Backend: ref.Backend{}}.Run(im.Graph, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []tensor.Shape{{1, 3, h, w}, {1, 3, 16, 20}, {1, 3, 8, 10}, {1, 3, 4, 5}, {4, 2}} {
		if got := out[i].Shape(); !got.Equal(want) {
			t.Fatalf("output %d: got %v, want %v", i, got, want)
		}
	}
	corners := tensor.Cast[int64](out[4].Bytes())
	for i, p := range []image.Point{{10, 8}, {27, 8}, {10, 21}, {27, 21}} {
		if y, x := int(corners[2*i]), int(corners[2*i+1]); !image.Pt(x, y).In(image.Rect(p.X-2, p.Y-2, p.X+3, p.Y+3)) {
			t.Errorf("corner %d: got (%d,%d), want about %v", i, x, y, p)
		}
	}
	edges := tensor.Cast[float32](out[0].Bytes())
	on, off := peak(edges[15*w+8:15*w+12]), peak(edges[15*w+18:15*w+20])
	if on < 0.2 || off > on/2 {
		t.Errorf("red at the left side and in the middle: got %v and %v, want bright and dark", on, off)
	}
}

func peak(vs []float32) float32 {
	var most float32
	for _, v := range vs {
		most = max(most, v)
	}
	return most
}
