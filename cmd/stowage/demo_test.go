package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/cmd/stowage/demodata"
	"github.com/stowage-ml/stowage/tensor"
)

func TestDemoNeedsNothingAndWritesWhatItSays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	out := good(t, "demo", "--out", dir)
	wrote := regexp.MustCompile(`(?m)^wrote    ([^:\n]*)`).FindAllStringSubmatch(out, -1)
	if len(wrote) < 4 {
		t.Errorf("got\n%s\nwant the model, the picture, the plan and an output at least", out)
	}
	for _, w := range wrote {
		if info, err := os.Stat(w[1]); err != nil || info.Size() == 0 {
			t.Errorf("%s: got %v, %v, want a file", w[1], info, err)
		}
	}
	plan, err := os.ReadFile(filepath.Join(dir, demoPlan))
	if err != nil || !strings.Contains(string(plan), "arena") || !strings.Contains(string(plan), "Conv") {
		t.Errorf("plan: got %q, %v", plan, err)
	}
}

func TestDemoDrawsThePicturesEdges(t *testing.T) {
	dir := t.TempDir()
	good(t, "demo", "--out", dir)
	b, err := os.ReadFile(filepath.Join(dir, "edges.png"))
	if err != nil {
		t.Fatal(err)
	}
	edges, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(demodata.Picture))
	if err != nil {
		t.Fatal(err)
	}
	if edges.Bounds() != picture.Bounds() {
		t.Errorf("got %v, want the picture's %v", edges.Bounds(), picture.Bounds())
	}
	bright, r := 0, edges.Bounds()
	for y := range r.Dy() {
		for x := range r.Dx() {
			if red, green, blue, _ := edges.At(x, y).RGBA(); max(red, green, blue) > 0x8000 {
				bright++
			}
		}
	}
	if share := float64(bright) / float64(r.Dx()*r.Dy()); share < 0.005 || share > 0.5 {
		t.Errorf("got %.1f%% of bright pixels, want lines on a dark ground", share*100)
	}
}

func TestTheCommandThatDemoSuggestsWorks(t *testing.T) {
	dir := t.TempDir()
	out := good(t, "demo", "--out", dir)
	_, line, found := strings.Cut(out, "try      stowage ")
	if !found {
		t.Fatalf("got %s, want a line that starts with try", out)
	}
	if got := good(t, strings.Fields(line)...); !strings.Contains(got, "wrote "+filepath.Join(dir, "edges.png")) {
		t.Errorf("got %s", got)
	}
}

func TestDemoWantsAModelOfOnePicture(t *testing.T) {
	v := demoVerb{Out: t.TempDir()}
	for name, c := range map[string]struct {
		model []byte
		want  string
	}{
		"two inputs": {scores().Bytes(), "got 2 inputs, want 1"},
		"no picture": {copies(tensor.Float32, 5).Bytes(), "want dims that look like one"},
		"no model":   {[]byte("x"), ""},
	} {
		e := &env{ctx: t.Context()}
		if err := v.show(e, c.model, demodata.Picture); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
