package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSavedPlansAreFollowedByEveryVerb(t *testing.T) {
	model := save(t, scores())
	file := filepath.Join(t.TempDir(), "plans.json")
	tune := []string{"--threads", "1", "--kernels", "generic"}
	with := func(args ...string) []string { return append(args, tune...) }
	first := good(t, with("plan", model, "--save", file)...)
	digest := func(out string) string {
		_, after, _ := strings.Cut(out, "digest ")
		d, _, _ := strings.Cut(after, "\n")
		return d
	}
	again := good(t, with("plan", model, "--plan", file, "--save", file+"2")...)
	if digest(first) == "" || digest(first) != digest(again) {
		t.Errorf("got digest %q, want %q", digest(again), digest(first))
	}
	a, _ := os.ReadFile(file)
	b, _ := os.ReadFile(file + "2")
	if len(a) == 0 || string(a) != string(b) {
		t.Errorf("got other bytes when saved again:\n%s\nwant\n%s", b, a)
	}
	if got, want := good(t, with("run", model, "--plan", file, "--input", "x=[[1,0,-1]]", "--input", "n=7")...),
		good(t, with("run", model, "--input", "x=[[1,0,-1]]", "--input", "n=7")...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	good(t, with("bench", model, "--plan", file, "--runs", "1", "--cold", "0", "--replan")...)
	for _, c := range []struct{ args, want string }{
		{"--plan " + file + " --kernels reference --threads 1", "saved plan: kernels: got one for generic, want reference"},
		{"--plan " + filepath.Join(t.TempDir(), "none"), "no such file"},
		{"--plan " + model, "saved plan: invalid character"},
		{"--plan " + put(t, "empty", nil), "saved plan: unexpected end"},
	} {
		r := cli(t, nil, append([]string{"plan", model}, strings.Fields(c.args)...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: got status %d and %q, want %d and %q", c.args, r.code, r.err, exitUsage, c.want)
		}
	}
	good(t, "plan", model, "--plan", file, "--kernels", "reference", "--replan")
}
