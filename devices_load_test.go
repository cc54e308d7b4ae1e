package stowage

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/backend/sim"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/selector"
	"github.com/stowage-ml/stowage/tensor"
)

// prepared waits until all arms are there.
func prepared(t *testing.T, s *Session, err error) *Session {
	t.Helper()
	must(t, s, err)
	return must(t, s, s.Prepare(context.Background()))
}

// job is a model of two launches.
func job(t *testing.T) *Model { return loaded(t, layers(1, 8)) }

// paced is a device whose launches take so long, which plans know.
func paced(t *testing.T, m *Model, name string, launch time.Duration) *fake {
	t.Helper()
	f := &fake{Config: sim.Config{Name: name, Kernels: ref.Backend{}, Launch: launch}, times: 1, latency: 1, rate: 1000}
	s, err := openOn(t, m, Options{Max: map[string]int64{"rows": 1}}, f)
	must(t, s, err)
	defer s.Close()
	p, err := s.Plan(nil)
	must(t, p, err)
	var ns int64
	for i := range p.Steps {
		ns += *p.Steps[i].EstNs
	}
	f.times = float64(launch) * float64(len(p.Steps)) / float64(max(ns, 1))
	f.Device = nil
	return f
}

// onPaced opens the job on some devices, without the CPU.
func onPaced(t *testing.T, m *Model, policy string, lanes int, list ...*fake) *Session {
	t.Helper()
	var names []string
	for _, f := range list {
		names = append(names, f.Config.Name)
	}
	opts := Options{Max: map[string]int64{"rows": 1}, Policy: policy, Concurrency: lanes, Devices: names}
	s, err := openOn(t, m, opts, list...)
	return prepared(t, s, err)
}

// arrivals runs n jobs that come one every gap, and returns the mean time from arrival to completion. at is
// called before each.
func arrivals(t *testing.T, s *Session, n int, gap time.Duration, at func(i int)) time.Duration {
	t.Helper()
	var mu sync.Mutex
	var sum time.Duration
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range n {
		if at != nil {
			at(i)
		}
		time.Sleep(time.Until(begin.Add(time.Duration(i) * gap)))
		arrived := begin.Add(time.Duration(i) * gap)
		wg.Go(func() {
			if _, err := s.Run(context.Background(), rows(1, 8)); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum += time.Since(arrived)
		})
	}
	wg.Wait()
	return sum / time.Duration(n)
}

// best repeats what depends on the machine's other work, until it is right.
func best(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 4 {
		if err = try(); err == nil {
			return
		}
	}
	t.Error(err)
}

// TestADeviceThatThrottlesIsLeft makes the faster of two devices five times slower in mid-run, under a load
// that it then cannot bear alone.
func TestADeviceThatThrottlesIsLeft(t *testing.T) {
	m := job(t)
	n := 240
	if testing.Short() {
		n = 120
	}
	best(t, func() error {
		means := map[string]time.Duration{}
		for _, policy := range []string{"static", "ect"} {
			list := []*fake{paced(t, m, "quick", 2*time.Millisecond), paced(t, m, "steady", 5*time.Millisecond/2)}
			s := onPaced(t, m, policy, 64, list...)
			means[policy] = arrivals(t, s, n, 7*time.Millisecond, func(i int) {
				if i == n/6 {
					list[0].SetSlowdown(5)
				}
			})
			settled(t, policy, s)
			shut(t, policy, s, list)
		}
		t.Logf("mean from arrival to completion: static %v, ect %v", means["static"], means["ect"])
		if means["ect"]*10 > means["static"] {
			return fmt.Errorf("got a mean of %v, want at most a tenth of static's %v", means["ect"], means["static"])
		}
		return nil
	})
}

// TestASlowSecondDeviceNeverMakesRunsSlower gives a hundred jobs to a device, and to it and one that is ten, or
// five, times slower.
func TestASlowSecondDeviceNeverMakesRunsSlower(t *testing.T) {
	m := job(t)
	total := func(list ...*fake) time.Duration {
		s := onPaced(t, m, "ect", 16, list...)
		defer shut(t, "pair", s, list)
		for range 2 {
			arrivals(t, s, 4, 0, nil)
		}
		begin := time.Now()
		arrivals(t, s, 100, 0, nil)
		return time.Since(begin)
	}
	for _, times := range []time.Duration{10, 5} {
		best(t, func() error {
			alone := total(paced(t, m, "quick", 2*time.Millisecond))
			pair := total(paced(t, m, "quick", 2*time.Millisecond), paced(t, m, "slow", times*2*time.Millisecond))
			t.Logf("100 jobs, %d to 1: the quick device %v, the pair %v", times, alone, pair)
			if pair > alone+alone/50 {
				return fmt.Errorf("%d to 1: got %v on the pair, want at most 1.02 of the quick device's %v", times, pair, alone)
			}
			return nil
		})
	}
}

// TestEqualDevicesShareIndependentRuns compares two devices with one.
func TestEqualDevicesShareIndependentRuns(t *testing.T) {
	m := job(t)
	best(t, func() error {
		var took [2]time.Duration
		for i := range took {
			var list []*fake
			for k := range i + 1 {
				list = append(list, paced(t, m, fmt.Sprintf("d%d", k), 2*time.Millisecond))
			}
			s := onPaced(t, m, "ect", 8, list...)
			arrivals(t, s, 8, 0, nil)
			begin := time.Now()
			arrivals(t, s, 60, 0, nil)
			took[i] = time.Since(begin)
			shut(t, "equal", s, list)
		}
		t.Logf("60 jobs: one device %v, two %v", took[0], took[1])
		if float64(took[0]) < 1.7*float64(took[1]) {
			return fmt.Errorf("got %v on two devices, want at most a 1.7th of %v", took[1], took[0])
		}
		return nil
	})
}

// TestDecisionsSayWhatWasComparedAndWhy reads the records of some runs.
func TestDecisionsSayWhatWasComparedAndWhy(t *testing.T) {
	m := job(t)
	for _, policy := range []string{"static", "load", "fit", "tiers", "ect", ""} {
		var got []Decision
		list := []*fake{paced(t, m, "quick", 2*time.Millisecond), paced(t, m, "slow", 14*time.Millisecond)}
		names, undo := fakes(list...)
		s, err := m.Open(&Options{Max: map[string]int64{"rows": 1}, Devices: names, Policy: policy, Kernels: reference,
			NoFuse: []string{"all"}, Decided: func(d Decision) { got = append(got, d) }})
		undo()
		prepared(t, s, err)
		for range 3 {
			if _, err := s.Run(context.Background(), rows(1, 8)); err != nil {
				t.Fatal(err)
			}
		}
		list[0].Lose()
		if _, err := s.Run(context.Background(), rows(1, 8)); err != nil {
			t.Fatal(err)
		}
		if len(got) != 5 {
			t.Fatalf("%q: got %d decisions, want one for each run, and one for the retry", policy, len(got))
		}
		want := policy
		if want == "" {
			want = "ect"
		}
		first, last := got[0], got[4]
		if first.Policy != want || first.Arm != "best" || first.Reason != "planned" || first.Source != "plan" ||
			first.CompleteNs <= 0 || first.Retry != 0 || fmt.Sprint(first.Devices) != "[quick]" {
			t.Errorf("%q: got %+v first", policy, first)
		}
		if want == "ect" && (first.RunnerUp == "" || first.RunnerUpNs < first.CompleteNs) {
			t.Errorf("%q: got the runner-up %q at %d", policy, first.RunnerUp, first.RunnerUpNs)
		}
		if last.Retry != 1 || last.Failed == nil || !strings.Contains(last.Failed.Error(), `"quick"`) ||
			fmt.Sprint(last.Devices) != "[slow]" {
			t.Errorf("%q: got %+v last", policy, last)
		}
		shut(t, policy, s, list)
	}
}

// TestAFullDeviceIsDoneWithout takes a device's memory away while the session is open.
func TestAFullDeviceIsDoneWithout(t *testing.T) {
	const width = 16
	m := loaded(t, layers(4, width))
	want := onHost(t, m, rows(5, width))
	for _, host := range []bool{true, false} {
		list := []*fake{fast(0, true), {Config: sim.Config{Name: "other"}, times: 0.5, latency: 1, rate: 1000}}
		opts := Options{Policy: "ect", Concurrency: 2, Devices: []string{"fast", "other"}}
		if host {
			opts.Devices = append(opts.Devices, plan.Host)
		}
		s, err := openOn(t, m, opts, list...)
		must(t, s, err)
		if got, err := s.Run(context.Background(), rows(1, width)); err != nil {
			t.Error(got, err)
		}
		list[0].SetBytes(1)
		inTurns(t, fmt.Sprintf("host %v", host), s, rows(5, width), want)
		settled(t, "full", s)
		shut(t, "full", s, list)
	}
}

// TestArmsStayWithinTheMemoryOfDevices opens sessions on devices that have room for a part only: no arm is
// kept that would not fit beside the others, and nothing is taken that is not there.
func TestArmsStayWithinTheMemoryOfDevices(t *testing.T) {
	const width, count = 16, 6
	weights := int64(count * width * width * 4)
	m := loaded(t, layers(count, width))
	want := onHost(t, m, rows(3, width))
	for _, blind := range []bool{false, true} {
		for _, limit := range []int64{weights / 8, weights / 2, weights, weights * 3 / 2, 4 * weights} {
			where := fmt.Sprintf("limit %d, blind %v", limit, blind)
			list := []*fake{fast(limit, blind), {Config: sim.Config{Name: "other", Bytes: limit}, times: 0.5, latency: 1,
				rate: 1000, blind: blind}}
			s, err := openOn(t, m, Options{Policy: "ect", Concurrency: 3, Max: map[string]int64{"rows": 3}}, list...)
			if err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			prepared(t, s, nil)
			opened := []int64{list[0].Used(), list[1].Used()}
			for range 3 {
				inTurns(t, where, s, rows(3, width), want)
			}
			for i, f := range list {
				if !blind && f.Used() > opened[i] {
					t.Errorf("%s: device %q: got %d bytes in use after runs, want the %d of before", where, f.Config.Name,
						f.Used(), opened[i])
				}
			}
			settled(t, where, s)
			shut(t, where, s, list)
		}
	}
}

// TestRunsOnTheHostAreCountedOnceThereAreDevices checks the books of a session that has none, and that they
// cost it no memory.
func TestRunsOnTheHostAreCountedOnceThereAreDevices(t *testing.T) {
	m := loaded(t, ladder(2))
	s, err := openOn(t, m, Options{Devices: []string{plan.Host}, Threads: 1})
	must(t, s, err)
	defer s.Close()
	list := peers(1)
	other, err := openOn(t, m, Options{}, list...)
	must(t, other, err)
	defer shut(t, "other", other, list)
	var standing selector.Standing
	s.every[0].Progress = func(int, int) { standing = fleet.Standing(plan.Host) }
	if _, err := s.Run(context.Background(), ladderFeed(0)); err != nil {
		t.Fatal(err)
	}
	s.every[0].Progress = nil
	if standing.InFlight != 1 {
		t.Errorf("during a run: got %+v, want one in flight", standing)
	}
	settled(t, "host", s)
	b, err := s.Bind(ladderFeed(0), nil)
	must(t, b, err)
	run := func() {
		if err := b.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(50, run); n != 0 {
		t.Errorf("got %v allocations in a bound run, want none", n)
	}
}

// TestUnboundedShapesGetArmsWhenTheyComeBack runs shapes that the session learns of in runs.
func TestUnboundedShapesGetArmsWhenTheyComeBack(t *testing.T) {
	m := loaded(t, layers(2, 8))
	list := peers(2)
	most := 0
	s, err := openOn(t, m, Options{Policy: "ect", Decided: func(d Decision) { most = max(most, d.Arms) }}, list...)
	must(t, s, err)
	want := map[int64]map[string]*tensor.Tensor{}
	for n := int64(1); n < 4; n++ {
		want[n] = onHost(t, m, rows(n, 8))
	}
	for i := range int64(60) {
		n := 1 + i%3
		got, err := s.Run(context.Background(), rows(n, 8))
		if err != nil || !sameResults(got, want[n]) {
			t.Fatalf("run %d: got wrong results, or %v", i, err)
		}
		if i == 5 {
			if err := s.Prepare(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if most < 2 {
		t.Errorf("got %d arms to choose from, want several", most)
	}
	shut(t, "unbounded", s, list)
}
