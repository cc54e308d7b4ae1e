package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlanHTMLIsOnePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.html")
	out := good(t, "plan", save(t, scores()), "--dim", "batch=4", "--html", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MatMul", "float32[4,12]", `<svg id="graph"`, "n/out"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got no %q, want it in the page", want)
		}
	}
	if !strings.Contains(out, path) {
		t.Errorf("got %q, want the file's name", out)
	}
	if out = good(t, "plan", save(t, scores()), "--html", path, "--json"); !strings.HasPrefix(out, "{") {
		t.Errorf("with --json: got %q, want JSON", out)
	}
	r := cli(t, nil, "plan", save(t, scores()), "--html", filepath.Join(path, "below.html"))
	if r.code != exitFailed || !strings.Contains(r.err, "below.html") {
		t.Errorf("a file that cannot be written: got status %d and %q, want 1 and its name", r.code, r.err)
	}
}
