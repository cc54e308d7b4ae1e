package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// traced is what a trace's events say: kinds, and threads' names.
type traced struct {
	kinds   map[string]int
	threads []string
	failed  []string
}

// readTrace reads the file of --trace, which must be whole.
func readTrace(t *testing.T, path string) traced {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name, Cat string
			Args      struct{ Name, Error string }
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	out := traced{kinds: map[string]int{}}
	for _, e := range file.TraceEvents {
		out.kinds[e.Cat]++
		if e.Name == "thread_name" {
			out.threads = append(out.threads, e.Args.Name)
		}
		if e.Args.Error != "" {
			out.failed = append(out.failed, e.Cat+": "+e.Args.Error)
		}
	}
	return out
}

func TestRunWritesATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	good(t, "run", save(t, scores()), "--input", "random", "--dim", "batch=2", "--trace", path, "--devices", "sim:1")
	got := readTrace(t, path)
	if got.kinds["run"] != 1 || got.kinds["step"] == 0 || got.kinds["copy"] == 0 || got.kinds["decision"] != 1 ||
		len(got.failed) != 0 {
		t.Errorf("got %+v, want one run with a decision, steps and copies", got)
	}
	if want := []string{"decisions", "cpu, lane 0", "sim:1, lane 0"}; !slices.Equal(got.threads, want) {
		t.Errorf("got threads %q, want %q", got.threads, want)
	}
}

func TestBenchWritesATraceOfAllRuns(t *testing.T) {
	t.Setenv(asCommand, "1")
	path := filepath.Join(t.TempDir(), "t.json")
	good(t, "bench", save(t, scores()), "--cold=1", "--runs=9", "--warmup=2", "--concurrency=2", "--trace", path)
	got := readTrace(t, path)
	// The first run, two to warm up in each lane, and those that are timed.
	if got.kinds["run"] != 1+4+9 || !slices.Equal(got.threads, []string{"cpu, lane 0", "cpu, lane 1"}) {
		t.Errorf("got %+v, want 14 runs in two lanes", got)
	}
}

func TestAnInterruptedRunWritesATrace(t *testing.T) {
	for _, verb := range []string{"run", "bench"} {
		path := filepath.Join(t.TempDir(), "t.json")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var out, err bytes.Buffer
		e := &env{ctx: ctx, stdin: strings.NewReader(""), stdout: &out, stderr: &err}
		failure := dispatch([]string{verb, save(t, scores()), "--input", "random", "--trace", path}, e)
		if failure == nil || !strings.Contains(failure.Error(), context.Canceled.Error()) {
			t.Errorf("%s: got error %v, want %v", verb, failure, context.Canceled)
		}
		got := readTrace(t, path)
		if len(got.failed) != 1 || !strings.HasPrefix(got.failed[0], "run: ") {
			t.Errorf("%s: got %+v, want a run that failed", verb, got)
		}
	}
}

func TestAModelThatDoesNotOpenLeavesATraceToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	r := cli(t, nil, "run", save(t, scores()), "--input", "random", "--trace", path, "--devices", "nowhere")
	if r.code != exitUsage || !strings.Contains(r.err, "nowhere") {
		t.Errorf("got %+v", r)
	}
	if got := readTrace(t, path); len(got.threads) != 0 {
		t.Errorf("got %+v, want nothing on any device", got)
	}
}
