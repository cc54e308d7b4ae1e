package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stowage-ml/stowage/bench/engine"
)

// childRuns is how often a child runs its model, so that memory has settled.
const childRuns = 4

// childReport is what a child prints when it ends.
type childReport struct {
	PeakRSS int64 `json:"peak_rss"`
	Arena   int64 `json:"arena"`
}

// ready is the line that a child prints when its first output is there.
const ready = "ready"

// child runs one model with one engine in a process of its own: child ENGINE SPEC RUNS, where the
// engine "arena" is ONNX Runtime with an account of its memory arena on standard error.
func child(args []string, stdout io.Writer) error {
	s, runs, err := childArgs(args)
	if err != nil {
		return err
	}
	var e engine.Engine
	if args[0] == "arena" {
		e, err = engine.OpenVerbose(s)
	} else {
		e, err = engine.Open(args[0], s, 1)
	}
	if err != nil {
		return err
	}
	for i := range runs {
		if err := e.Run(); err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintln(stdout, ready)
		}
	}
	r := childReport{PeakRSS: peakRSS()}
	if st, ok := e.(*engine.StowageEngine); ok {
		r.Arena = st.ArenaBytes()
	}
	if err := json.NewEncoder(stdout).Encode(r); err != nil {
		return err
	}
	return e.Close()
}

// childArgs reads the arguments of a child: an engine, the file of a spec, and a number.
func childArgs(args []string) (s *engine.Spec, n int, err error) {
	if len(args) != 3 {
		return nil, 0, fmt.Errorf("child: got %d arguments, want an engine, a spec and a number", len(args))
	}
	if n, err = strconv.Atoi(args[2]); err != nil {
		return nil, 0, err
	}
	s, err = engine.Load(args[1])
	return s, n, err
}

// peakRSS returns the largest resident set that this process has had.
func peakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib * 1024
		}
	}
	return 0
}

// spawned is what the parent sees of a child.
type spawned struct {
	childReport
	// first is the time from the start of the process to its first output.
	first  time.Duration
	stderr []byte
}

func spawn(what, spec string, runs int) (*spawned, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "child", what, spec, strconv.Itoa(runs))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out := &spawned{}
	lines := bufio.NewReader(pipe)
	line, err := lines.ReadString('\n')
	out.first = time.Since(start)
	if err == nil && strings.TrimSpace(line) != ready {
		err = fmt.Errorf("got %q, want %q", line, ready)
	}
	if err == nil {
		err = json.NewDecoder(lines).Decode(&out.childReport)
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("child %s: %w: %s", what, err, bytes.TrimSpace(stderr.Bytes()))
	}
	out.stderr = stderr.Bytes()
	return out, nil
}

var arenaTotal = regexp.MustCompile(`Total allocated bytes: (\d+)`)

// arenaOf returns the most that ONNX Runtime's arena says that it has reserved; 0 when it says nothing.
func arenaOf(log []byte) int64 {
	most := int64(0)
	for _, m := range arenaTotal.FindAllSubmatch(log, -1) {
		if n, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return most
}
