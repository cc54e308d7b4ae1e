package stowage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/backend/sim"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// only offers kernels for some operators.
type only struct {
	backend.Backend
	ops string
}

func (b only) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	if !slices.Contains(strings.Fields(b.ops), o.Node.Op) {
		return nil, nil
	}
	return b.Backend.Candidates(o)
}

// ladder is a model of two chains that meet at every rung, with a constant in each.
func ladder(rungs int) *testkit.Model {
	b := testkit.NewModel(24)
	b.Input("x", tensor.Float32, 2, 8)
	l, r := "x", "x"
	for i := range rungs {
		w := b.Init(fmt.Sprintf("w%d", i), tensor.Of(1, 2, 3, 4, 5, 6, 7, float32(i)))
		l, r = b.Node("Mul", []string{l, w}), b.Node("Sigmoid", []string{r})
		l, r = b.Node("Add", []string{l, r}), b.Node("Sub", []string{r, l})
		l = b.Node("Tanh", []string{l})
	}
	b.OutputOf(l, testkit.TensorType(tensor.Float32, 2, 8))
	b.OutputOf(r, testkit.TensorType(tensor.Float32, 2, 8))
	return b
}

// pair is two devices that each get a part of a ladder, with copies that take no time.
func pair(failA, failB int64) []*fake {
	a := &fake{Config: sim.Config{Name: "a", FailAt: failA}, times: 0.5, latency: 1, rate: 1000}
	b := &fake{Config: sim.Config{Name: "b", FailAt: failB}, times: 0.6, latency: 1, rate: 1000}
	a.Kernels, b.Kernels = only{ref.Backend{}, "Mul Add Tanh Sub"}, only{ref.Backend{}, "Sigmoid Sub"}
	return []*fake{a, b}
}

// openOn opens a model on the host and some devices.
func openOn(t *testing.T, m *Model, opts Options, list ...*fake) (*Session, error) {
	t.Helper()
	names, undo := fakes(list...)
	defer undo()
	if opts.Devices == nil {
		opts.Devices = append([]string{plan.Host}, names...)
	}
	opts.NoFuse, opts.Kernels = []string{"all"}, reference
	if opts.Policy == "" {
		opts.Policy = "static"
	}
	return m.Open(&opts)
}

func loaded(t *testing.T, b *testkit.Model) *Model {
	t.Helper()
	m, err := LoadBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// must ends the test unless err is nil.
func must[T any](t *testing.T, x T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func ladderFeed(n int) map[string]*tensor.Tensor {
	data := make([]float32, 16)
	for i := range data {
		data[i] = float32((i*7+n)%13)/13 - 0.5
	}
	return map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{2, 8}, data)}
}

// quiet fails the test unless there are as many goroutines as before, soon.
func quiet(t *testing.T, before int) {
	t.Helper()
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(wait)
	}
	t.Errorf("got %d goroutines, want the %d of before", runtime.NumGoroutine(), before)
}

// ladderWants returns the results for feeds 0 to n−1.
func ladderWants(t *testing.T, m *Model, n int) []map[string]*tensor.Tensor {
	t.Helper()
	s, err := openOn(t, m, Options{Devices: []string{plan.Host}})
	must(t, s, err)
	defer s.Close()
	var out []map[string]*tensor.Tensor
	for i := range n {
		r, err := s.Run(context.Background(), ladderFeed(i))
		out = append(out, must(t, r, err))
	}
	return out
}

func sameResults(got, want map[string]*tensor.Tensor) bool {
	for name, x := range want {
		if !conform.Same(got[name], x) {
			return false
		}
	}
	return true
}

// TestDeviceFailuresEndRunsWithTheDevicesName makes a device fail at its k-th call, for every k of three
// runs: each run ends, with right results or an error that names the device, and Close frees everything.
func TestDeviceFailuresEndRunsWithTheDevicesName(t *testing.T) {
	m := loaded(t, ladder(6))
	want := ladderWants(t, m, 3)
	before := runtime.NumGoroutine()
	for _, second := range []bool{false, true} {
		ran := false
		for k, failed := int64(1), true; failed; k++ {
			list := pair(k, 0)
			if second {
				list = pair(0, k)
			}
			where := fmt.Sprintf("second %v, call %d", second, k)
			name := fmt.Sprintf("device %q", list[b2i(second)].Config.Name)
			s, err := openOn(t, m, Options{}, list...)
			if failed = err != nil; failed {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%s: open: got %v, want the device's name", where, err)
				}
				empty(t, where, list)
				continue
			}
			for i := range want {
				got, err := s.Run(context.Background(), ladderFeed(i))
				switch {
				case err == nil && failed:
					t.Errorf("%s: run %d: got no error after the device failed", where, i)
				case err == nil && !sameResults(got, want[i]):
					t.Errorf("%s: run %d: got wrong results", where, i)
				case err != nil && !strings.Contains(err.Error(), name):
					t.Errorf("%s: run %d: got %v, want the device's name", where, i, err)
				}
				failed, ran = failed || err != nil, true
			}
			shut(t, where, s, list)
			if k > 1000 {
				t.Fatalf("%s: got no end", where)
			}
		}
		if !ran {
			t.Error("got no session opened, want some")
		}
	}
	quiet(t, before)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestManyRunsOnDevicesWithCancellations runs a model from many callers, some of whom give up: every
// result is right, every error is the caller's own, and nothing is left behind.
func TestManyRunsOnDevicesWithCancellations(t *testing.T) {
	m := loaded(t, ladder(8))
	want := ladderWants(t, m, 8)
	before := runtime.NumGoroutine()
	list := pair(0, 0)
	list[0].Latency, list[1].Slowdown = 3*time.Microsecond, 2
	s, err := openOn(t, m, Options{Concurrency: 4}, list...)
	if err != nil {
		t.Fatal(err)
	}
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				if i%3 == 1 {
					time.AfterFunc(time.Duration(i*g)*10*time.Microsecond, cancel)
				}
				got, err := s.Run(ctx, ladderFeed(g))
				switch {
				case err == nil && !sameResults(got, want[g]):
					t.Errorf("caller %d, run %d: got wrong results", g, i)
				case err != nil && (i%3 != 1 || !errors.Is(err, context.Canceled)):
					t.Errorf("caller %d, run %d: %v", g, i, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	shut(t, "hammer", s, list)
	quiet(t, before)
}

// TestFailuresDuringManyRuns makes a device fail while several runs are in flight.
func TestFailuresDuringManyRuns(t *testing.T) {
	m := loaded(t, ladder(6))
	want := ladderWants(t, m, 4)
	before := runtime.NumGoroutine()
	for k := int64(1); k < 200; k += 7 {
		list := pair(0, k)
		s, err := openOn(t, m, Options{Concurrency: 4}, list...)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 4 {
					got, err := s.Run(context.Background(), ladderFeed(g))
					if err == nil && !sameResults(got, want[g]) {
						t.Errorf("call %d: caller %d, run %d: got wrong results", k, g, i)
					}
					if err != nil && !strings.Contains(err.Error(), `device "b"`) {
						t.Errorf("call %d: caller %d, run %d: got %v, want the device's name", k, g, i, err)
					}
				}
			})
		}
		wg.Wait()
		shut(t, fmt.Sprintf("call %d", k), s, list)
	}
	quiet(t, before)
}

// TestOpenThatFailsHalfWayFreesEverything opens sessions of which a later lane finds no memory.
func TestOpenThatFailsHalfWayFreesEverything(t *testing.T) {
	m := loaded(t, ladder(6))
	before := runtime.NumGoroutine()
	list := []*fake{{Config: sim.Config{Name: "a"}, times: 0.5, latency: 1, rate: 1000}}
	opts := Options{NoFallback: true, Devices: []string{"a"}}
	probe, err := openOn(t, m, opts, list...)
	if err != nil {
		t.Fatal(err)
	}
	arena := probe.every[0].AwayBytes()[0]
	constants := list[0].Used() - arena
	shut(t, "probe", probe, list)
	if arena == 0 {
		t.Fatal("got no memory on the device, want some")
	}
	for lanes := range int64(4) {
		list[0].Bytes, list[0].blind = constants+arena*lanes+arena/2, true
		opts.Concurrency = 4
		s, err := openOn(t, m, opts, list...)
		if err == nil {
			t.Errorf("room for %d lanes: got no error, want one", lanes)
			shut(t, "opened", s, list)
		} else if !strings.Contains(err.Error(), `device "a"`) {
			t.Errorf("room for %d lanes: got %v, want the device's name", lanes, err)
		}
		empty(t, fmt.Sprintf("room for %d lanes", lanes), list)
	}
	quiet(t, before)
}
