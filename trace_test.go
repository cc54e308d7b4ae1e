package stowage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/tensor"
	"github.com/stowage-ml/stowage/trace"
)

// many runs a model from many callers at once.
func many(t *testing.T, s *Session, runs int) {
	t.Helper()
	in := map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{2, 8}, make([]float32, 16))}
	var group sync.WaitGroup
	for range runs {
		group.Go(func() {
			if _, err := s.Run(context.Background(), in); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// follow fails the test unless the events of each device in each lane follow one another, or lie inside
// one another.
func follow(t *testing.T, events []trace.Event) {
	t.Helper()
	type track struct {
		device string
		lane   int
	}
	open := map[track][]time.Duration{}
	for i := range events {
		e := &events[i]
		if e.Kind == trace.Queue || e.Kind == trace.Decide {
			continue
		}
		k := track{e.Device, e.Lane}
		ends := open[k]
		for len(ends) > 0 && ends[len(ends)-1] <= e.Start {
			ends = ends[:len(ends)-1]
		}
		if n := len(ends); n > 0 && e.Start+e.Took > ends[n-1] {
			t.Errorf("%v %+v on %v: ends at %v, beyond %v, where what it is in ends", e.Kind, e.What, k, e.Start+e.Took,
				ends[n-1])
		}
		open[k] = append(ends, e.Start+e.Took)
	}
}

// byRun lists the steps and copies of each run as they are in the trace, in a plan's words.
func byRun(events []trace.Event) (steps, copies map[int64][]string) {
	steps, copies = map[int64][]string{}, map[int64][]string{}
	for i := range events {
		e := &events[i]
		switch {
		case e.Stage == 0 || e.Kind != trace.Step && e.Kind != trace.Copy:
		default:
			steps[e.Run] = append(steps[e.Run], fmt.Sprintf("%03d %s on %s", e.What.Index, e.What.Op, e.Device))
			if e.Kind == trace.Copy {
				copies[e.Run] = append(copies[e.Run], fmt.Sprint(e.What.Name, e.What.From, e.What.To, e.What.Bytes))
			}
		}
	}
	for run := range steps {
		slices.Sort(steps[run])
		slices.Sort(copies[run])
	}
	return steps, copies
}

func TestTraceOfDevicesIsThePlan(t *testing.T) {
	const runs, lanes = 40, 3
	r := trace.New(trace.Events)
	s, err := openOn(t, loaded(t, ladder(6)), Options{Concurrency: lanes, Trace: r}, pair(0, 0)...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	var wantSteps, wantCopies []string
	used := map[string]bool{}
	for i, x := range p.Steps {
		wantSteps = append(wantSteps, fmt.Sprintf("%03d %s on %s", i, x.Op, x.Device))
		used[x.Device] = used[x.Device] || x.Kernel != "copy"
	}
	for _, c := range p.Copies {
		wantCopies = append(wantCopies, fmt.Sprint(c.Tensor, c.From, c.To, c.Bytes))
	}
	slices.Sort(wantCopies)
	if len(wantCopies) < 4 || !used["a"] || !used["b"] {
		t.Fatalf("got a plan with copies %q on %v, want a test of several devices", wantCopies, used)
	}
	many(t, s, runs)
	events, _ := r.Kept()
	follow(t, events)
	steps, copies := byRun(events)
	if len(steps) != runs {
		t.Errorf("got steps of %d runs, want %d", len(steps), runs)
	}
	for run := range steps {
		if !slices.Equal(steps[run], wantSteps) || !slices.Equal(copies[run], wantCopies) {
			t.Errorf("run %d: got steps %q and copies %q, want %q and %q", run, steps[run], copies[run], wantSteps, wantCopies)
		}
	}
	count := map[trace.Kind]int{}
	perLane := map[int]bool{}
	for _, e := range events {
		count[e.Kind]++
		perLane[e.Lane] = true
	}
	if count[trace.Run] != runs || count[trace.Wait] == 0 || count[trace.Queue] == 0 || len(perLane) > lanes {
		t.Errorf("got %v in %d lanes, want %d runs, and waits", count, len(perLane), runs)
	}
	for _, u := range s.Use() {
		if want := map[bool]int64{true: runs}[used[u.Name]]; u.Runs != want || used[u.Name] && u.Busy <= 0 {
			t.Errorf("device %s: got %+v, want %d runs", u.Name, u, want)
		}
	}
}

// Whatever arm a run has taken, its steps are on the devices that the decision names.
func TestTraceOfChoicesNamesTheDevicesThatRan(t *testing.T) {
	const runs = 60
	for _, policy := range []string{"ect", "load", "tiers"} {
		r := trace.New(trace.Events)
		s, err := openOn(t, loaded(t, ladder(6)), Options{Concurrency: 3, Trace: r, Policy: policy}, pair(0, 0)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		many(t, s, runs)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		events, _ := r.Kept()
		follow(t, events)
		chosen, ran := map[int64]*trace.Decision{}, map[int64]map[string]bool{}
		for i := range events {
			e := &events[i]
			switch {
			case e.Kind == trace.Decide:
				chosen[e.Run] = e.Decision
			case e.Kind == trace.Step:
				if ran[e.Run] == nil {
					ran[e.Run] = map[string]bool{}
				}
				ran[e.Run][e.Device] = true
			}
		}
		if len(chosen) != runs || len(ran) != runs {
			t.Errorf("%s: got decisions of %d runs and steps of %d, want %d", policy, len(chosen), len(ran), runs)
		}
		for run, d := range chosen {
			got, want := slices.Sorted(maps.Keys(ran[run])), slices.Sorted(slices.Values(d.Devices))
			if d.Policy != policy || !slices.Equal(got, want) {
				t.Errorf("run %d: got steps on %q, want those of %+v by %s", run, got, d, policy)
			}
		}
	}
}

func TestConstantsAreCopiedToADeviceOnce(t *testing.T) {
	r := trace.New(trace.Events)
	s, err := openOn(t, loaded(t, ladder(6)), Options{Concurrency: 2, Trace: r}, pair(0, 0)...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	many(t, s, 10)
	constants := map[string]int{}
	events, _ := r.Kept()
	for _, e := range events {
		if e.Kind == trace.Copy && e.Stage == 0 {
			constants[fmt.Sprint(e.What.Op, " to ", e.What.To, " of ", e.What.Bytes, " in run ", e.Run)]++
		}
	}
	if want := map[string]int{"Constant to a of 32 in run 0": 6}; !maps.Equal(constants, want) {
		t.Errorf("got %v, want %v", constants, want)
	}
}

func TestTraceSaysWhichDeviceFailed(t *testing.T) {
	r := trace.New(trace.Events)
	s, err := openOn(t, loaded(t, ladder(6)), Options{Trace: r}, pair(9, 0)[:1]...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{2, 8}, make([]float32, 16))}
	if _, err := s.Run(context.Background(), in); err == nil {
		t.Fatal("got no error, want one of device a")
	}
	events, _ := r.Kept()
	follow(t, events)
	var failed []string
	for _, e := range events {
		if strings.Contains(e.Err, "lost at call 9") {
			failed = append(failed, fmt.Sprint(e.Kind, " on ", e.Device))
		}
	}
	slices.Sort(failed)
	if len(failed) != 2 || !strings.HasSuffix(failed[0], " on a") || failed[1] != "run on cpu" {
		t.Errorf("got %q, want the run, and what failed on a", failed)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("got %v and no JSON: %s", err, &b)
	}
}

func TestSeveralSessionsShareARecorder(t *testing.T) {
	r := trace.New(trace.Events)
	m := loaded(t, ladder(3))
	var group sync.WaitGroup
	for range 4 {
		s, err := openOn(t, m, Options{Concurrency: 2, Trace: r}, pair(0, 0)...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		group.Go(func() { many(t, s, 10) })
	}
	group.Wait()
	events, _ := r.Kept()
	follow(t, events)
	if steps, _ := byRun(events); len(steps) != 40 {
		t.Errorf("got steps of %d runs, want 40", len(steps))
	}
}

// Progress counts the steps that have begun, on whatever device, one at a time.
func TestProgressCountsStepsOfAllDevices(t *testing.T) {
	var seen []string
	s, err := openOn(t, loaded(t, ladder(6)), Options{Progress: func(step, steps int) {
		seen = append(seen, fmt.Sprint(step, " of ", steps))
	}}, pair(0, 0)...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	many(t, s, 1)
	for i := range p.Steps {
		if want := fmt.Sprint(i, " of ", len(p.Steps)); i >= len(seen) || seen[i] != want {
			t.Fatalf("got %q, want %q at %d", seen, want, i)
		}
	}
}
