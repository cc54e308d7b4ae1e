package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// both is two runs on two devices in two lanes, added in the order in which things end.
func both() *Recorder {
	r := New(100)
	up := &What{Index: 0, Op: "Transfer", Name: "x", From: "cpu", To: "gpu", Bytes: 4096, EstNs: 2400}
	conv := &What{Index: 1, Op: "Conv", Name: "first \"<layer>\"", Kernel: "conv", Source: "opencl", EstNs: 9000,
		Reads: []int{0}}
	down := &What{Index: 2, Op: "Transfer", Name: "y", From: "gpu", To: "cpu", Bytes: 16, EstNs: -1}
	loop := &What{Index: 3, Op: "Loop", EstNs: -1, Reads: []int{2, 2}}
	add := &What{Index: 0, Name: "Add+Relu more", Kernel: "prog", Source: "avx2", EstNs: 100}
	for i, start := range []time.Duration{1000, 1500} {
		run, stage := int64(i+1), int64(10*i+1)
		at := func(kind Kind, device string, from, to time.Duration, what *What, stage int64) {
			r.Add(Event{Kind: kind, Device: device, Lane: i, Run: run, Start: start + from, Took: to - from, What: what,
				Stage: stage})
		}
		at(Copy, "gpu", 5, 1005, up, stage)
		at(Wait, "cpu", 5, 11_021, down, 0)
		at(Step, "gpu", 1010, 11_010, conv, stage)
		at(Copy, "gpu", 11_011, 11_020, down, stage)
		at(Step, "cpu", 11_025, 11_090, add, stage+1)
		at(Body, "cpu", 11_022, 11_095, nil, 0)
		at(Step, "cpu", 11_021, 11_100, loop, stage)
		at(Run, "cpu", 0, 11_111, nil, 0)
	}
	r.Add(Event{Kind: Queue, Device: "cpu", Lane: 0, Run: 3, Start: 2000, Took: 11_000})
	r.Add(Event{Kind: Plan, Device: "cpu", Run: 3, Start: 13_001, Took: 2_000_000})
	r.Add(Event{Kind: Wait, Device: "cpu", Run: 3, Start: 2_013_001, Took: 2})
	r.Add(Event{Kind: Run, Device: "cpu", Run: 3, Start: 13_000, Took: 2_100_000, Err: "context canceled"})
	r.Add(Event{Kind: Decide, Run: 3, Start: 14_000, Decision: &Decision{Policy: "ect", Source: "ledger", Arm: "gpu",
		Reason: "done first", Devices: []string{"gpu"}, Of: 4,
		Arms: []Arm{{"cpu", 90_000, ""}, {"gpu", 11_000, ""}, {"gpu1", -1, "lost"}}}})
	return r
}

func written(t *testing.T, r *Recorder) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheFileHasThisForm(t *testing.T) {
	got := written(t, both())
	path := filepath.Join("testdata", "both.json")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// file is what a viewer reads.
type file struct {
	Unit   string `json:"displayTimeUnit"`
	Other  struct{ Dropped int64 }
	Events []struct {
		Name, Cat, Ph, ID, Bp string
		Ts, Dur               float64
		Pid, Tid              int
		Args                  map[string]any
	} `json:"traceEvents"`
}

func parsed(t *testing.T, text string) *file {
	t.Helper()
	var f struct {
		file
		OtherData struct{ Dropped int64 }
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	f.Other = f.OtherData
	return &f.file
}

func TestThreadsAreDevicesAndLanes(t *testing.T) {
	f := parsed(t, written(t, both()))
	names := map[int]string{}
	for _, e := range f.Events {
		if e.Ph == "M" && e.Name == "thread_name" {
			names[e.Tid] = e.Args["name"].(string)
		}
		if e.Pid != 1 {
			t.Errorf("%s: got process %d, want 1", e.Name, e.Pid)
		}
	}
	want := "map[1:decisions 2:cpu, lane 0 3:cpu, lane 1 4:gpu, lane 0 5:gpu, lane 1]"
	if got := fmt.Sprint(names); got != want || f.Unit != "ns" {
		t.Errorf("got %s in %s, want %s in ns", got, f.Unit, want)
	}
}

func TestSlicesOfAThreadNestOrFollow(t *testing.T) {
	f := parsed(t, written(t, both()))
	open := map[int][]float64{}
	last := 0.0
	for _, e := range f.Events {
		if e.Ph != "X" {
			continue
		}
		if e.Ts < last {
			t.Errorf("%s: starts at %v behind one of %v", e.Name, e.Ts, last)
		}
		last = e.Ts
		ends := open[e.Tid]
		for len(ends) > 0 && ends[len(ends)-1] <= e.Ts {
			ends = ends[:len(ends)-1]
		}
		const half = 0.0005
		if n := len(ends); n > 0 && e.Ts+e.Dur > ends[n-1]+half {
			t.Errorf("%s: ends at %v, beyond %v, where what it is in ends", e.Name, e.Ts+e.Dur, ends[n-1])
		}
		open[e.Tid] = append(ends, e.Ts+e.Dur)
	}
	if len(open) != 4 {
		t.Errorf("got slices on %d threads, want 4", len(open))
	}
}

func TestArrowsLeadFromCopiesToTheirReaders(t *testing.T) {
	f := parsed(t, written(t, both()))
	var got []string
	for i, e := range f.Events {
		if e.Ph == "s" {
			to := f.Events[i+1]
			if to.Ph != "f" || to.ID != e.ID || to.Bp != "e" {
				t.Fatalf("got %+v behind %+v, want its end", to, e)
			}
			got = append(got, fmt.Sprintf("%d at %v to %d at %v", e.Tid, e.Ts, to.Tid, to.Ts))
		}
	}
	want := []string{"4 at 2.004 to 4 at 2.01", "5 at 2.504 to 5 at 2.51", "4 at 12.019 to 2 at 12.021",
		"5 at 12.519 to 3 at 12.521"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheOldestEventsAreDropped(t *testing.T) {
	for _, limit := range []int{-1, 1, 2, 255, 256, 257, 1000} {
		r := New(limit)
		const n = 600
		for i := range n {
			r.Add(Event{Kind: Step, Start: time.Duration(i), Run: int64(i)})
			kept, dropped := r.Kept()
			want := min(i+1, max(limit, 1))
			if i%37 == 0 && (len(kept) != want || dropped != int64(i+1-want) || kept[len(kept)-1].Run != int64(i)) {
				t.Fatalf("limit %d: got %d and %d dropped after %d, want %d", limit, len(kept), dropped, i+1, want)
			}
		}
		kept, _ := r.Kept()
		for i := range kept {
			if want := int64(n - len(kept) + i); kept[i].Run != want {
				t.Errorf("limit %d: got event %d at %d, want %d", limit, kept[i].Run, i, want)
			}
		}
		if f := parsed(t, written(t, r)); f.Other.Dropped != int64(n-len(kept)) {
			t.Errorf("limit %d: the file says %d dropped, want %d", limit, f.Other.Dropped, n-len(kept))
		}
	}
}

func TestEventsComeFromManyAtOnce(t *testing.T) {
	const writers, each = 8, 500
	for _, limit := range []int{10, 1000, writers * each} {
		r := New(limit)
		var group, readers sync.WaitGroup
		stop := make(chan struct{})
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					r.Kept()
				}
			}
		})
		for w := range writers {
			group.Go(func() {
				lane := r.OpenLane()
				defer r.CloseLane(lane)
				for i := range each {
					r.Add(Event{Kind: Step, Device: fmt.Sprint(w), Run: int64(i), Start: r.Now()})
				}
			})
		}
		group.Wait()
		close(stop)
		readers.Wait()
		kept, dropped := r.Kept()
		if len(kept) != limit || dropped != int64(writers*each-limit) {
			t.Errorf("limit %d: got %d kept and %d dropped", limit, len(kept), dropped)
		}
		seen := map[string]bool{}
		for _, e := range kept {
			key := fmt.Sprint(e.Device, " ", e.Run)
			if seen[key] {
				t.Fatalf("limit %d: got %s twice", limit, key)
			}
			seen[key] = true
		}
	}
}

func TestLanesHaveTheLeastFreeNumber(t *testing.T) {
	r := New(1)
	a, b, c := r.OpenLane(), r.OpenLane(), r.OpenLane()
	r.CloseLane(b)
	if d, e := r.OpenLane(), r.OpenLane(); a != 0 || b != 1 || c != 2 || d != 1 || e != 3 {
		t.Errorf("got %d %d %d, then %d %d, want 0 1 2, then 1 3", a, b, c, d, e)
	}
	if r.NextRun() != 1 || r.NextRun() != 2 || r.NextStage() != 1 {
		t.Error("runs and stages: want numbers from 1")
	}
}

func TestWithoutARecorderNothingIsKept(t *testing.T) {
	var r *Recorder
	if n := testing.AllocsPerRun(10, func() {
		r.Add(Event{Kind: Step, Start: r.Now()})
		r.Decide(0, 1, Decision{Arm: "cpu"})
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	if kept, dropped := r.Kept(); kept != nil || dropped != 0 {
		t.Errorf("got %v and %d dropped", kept, dropped)
	}
	if f := parsed(t, written(t, r)); len(f.Events) != 1 || f.Events[0].Name != "process_name" {
		t.Errorf("got %+v, want the process's name alone", f.Events)
	}
}

func TestAnEventThatHasRoomAllocatesNothing(t *testing.T) {
	r := New(256)
	w := &What{Op: "Add"}
	r.Add(Event{})
	add := func() { r.Add(Event{Kind: Step, Device: "cpu", What: w, Start: r.Now()}) }
	if n := testing.AllocsPerRun(1000, add); n != 0 {
		t.Errorf("got %v allocations an event, want 0", n)
	}
}

func TestDecisionsAreKeptAsTheyAre(t *testing.T) {
	r := New(10)
	arms := []Arm{{"cpu", 1, ""}}
	r.Decide(2, 7, Decision{Policy: "ect", Arm: "cpu", Arms: arms})
	arms[0].Ns = 5
	kept, _ := r.Kept()
	if e := kept[0]; e.Kind != Decide || e.Lane != 2 || e.Run != 7 || e.Decision.Arms[0].Ns != 1 {
		t.Errorf("got %+v of %+v", e, e.Decision)
	}
}

// full is a file on a disk that is full after n bytes.
type full struct{ n int }

func (f *full) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errors.New("disk is full")
	}
	return len(b), nil
}

func TestErrorsOfTheFileAreReturned(t *testing.T) {
	size := len(written(t, both()))
	for _, n := range []int{0, 4096, size - 1} {
		if err := both().Write(&full{n}); err == nil || !strings.Contains(err.Error(), "trace: write: disk is full") {
			t.Errorf("%d bytes: got error %v", n, err)
		}
	}
	if err := both().Write(&full{size}); err != nil {
		t.Error(err)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for k := Run; k <= Decide; k++ {
		if s := k.String(); s == "unknown" {
			t.Errorf("kind %d: got %q", k, s)
		}
	}
	for _, k := range []Kind{0, Decide + 1} {
		if s := k.String(); s != "unknown" {
			t.Errorf("kind %d: got %q, want unknown", k, s)
		}
	}
}

// BenchmarkAdd times events in a recorder that is full.
func BenchmarkAdd(b *testing.B) {
	r, w := New(1024), &What{Op: "Add"}
	for range 1024 {
		r.Add(Event{})
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			since := r.Now()
			r.Add(Event{Kind: Step, Device: "cpu", What: w, Start: since, Took: r.Now() - since})
		}
	})
}
