package stowage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/backend/sim"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/exec"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// peers is n devices, "a" first, that are all a little better than the host.
func peers(n int) []*fake {
	var out []*fake
	for i := range n {
		out = append(out, &fake{Config: sim.Config{Name: string(rune('a' + i)), Kernels: ref.Backend{}},
			times: 0.5 + float64(i)/10, latency: 1, rate: 1000})
	}
	return out
}

// settled fails the test unless nothing is in flight on a session's devices, soon, and the books are right.
func settled(t *testing.T, where string, s *Session) {
	t.Helper()
	for _, name := range s.Devices() {
		if got := fleet.Standing(name); got.InFlight != 0 || got.WorkNs != 0 || got.Bytes != 0 {
			t.Errorf("%s: device %q: got %+v in flight, want nothing", where, name, got)
		}
	}
	if err := fleet.Validate(); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

// TestALostDeviceIsDoneWithout loses a device at its k-th call, for every k of some runs: every run has the
// right result, with the CPU in the list and without.
func TestALostDeviceIsDoneWithout(t *testing.T) {
	m := loaded(t, ladder(4))
	want := ladderWants(t, m, 3)
	before := runtime.NumGoroutine()
	for _, policy := range []string{"static", "ect"} {
		for _, host := range []bool{true, false} {
			for k, was := int64(1), true; was; k++ {
				list := peers(2)
				list[0].LoseAt = k
				opts := Options{Policy: policy, Devices: []string{"a", "b"}}
				if host {
					opts.Devices = append(opts.Devices, plan.Host)
				}
				where := fmt.Sprintf("%s, host %v, call %d", policy, host, k)
				retried := 0
				opts.Decided = func(d Decision) { retried += d.Retry }
				s, err := openOn(t, m, opts, list...)
				if err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				for i := range want {
					got, err := s.Run(context.Background(), ladderFeed(i))
					if err != nil || !sameResults(got, want[i]) {
						t.Errorf("%s: run %d: got wrong results, or %v", where, i, err)
					}
				}
				if was = list[0].Calls() >= k; was && !s.frontier.Lost(1) {
					t.Errorf("%s: got a device that is not marked as lost", where)
				}
				if retried > 1 {
					t.Errorf("%s: got %d retries, want one at most", where, retried)
				}
				settled(t, where, s)
				shut(t, where, s, list)
				if k > 500 {
					t.Fatalf("%s: got no end", where)
				}
			}
		}
	}
	quiet(t, before)
}

// TestAllDevicesLost loses every device: the host takes over, unless that is not allowed, which then is
// what the error says; a bound output has the right result.
func TestAllDevicesLost(t *testing.T) {
	m := loaded(t, ladder(4))
	want := ladderWants(t, m, 1)[0]
	for _, no := range []bool{false, true} {
		list := peers(2)
		s, err := openOn(t, m, Options{Devices: []string{"a", "b"}, NoFallback: no, Policy: "ect"}, list...)
		must(t, s, err)
		b, err := s.Bind(ladderFeed(0), nil)
		must(t, b, err)
		if err := b.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i, f := range list {
			f.Lose()
			for range 3 {
				err = b.Run(context.Background())
				got := map[string]*tensor.Tensor{}
				for name := range want {
					got[name] = b.Output(name)
				}
				if gone := no && i == 1; !gone && (err != nil || !sameResults(got, want)) {
					t.Errorf("no fallback %v, %d devices lost: got wrong results, or %v", no, i+1, err)
				} else if says := `device "a" is lost, device "b" is lost`; gone &&
					(!errors.Is(err, exec.ErrNoArm) || !errors.Is(err, ErrDeviceLost) || !strings.Contains(err.Error(), says)) {
					t.Errorf("all lost: got %v, want an error that says so", err)
				}
			}
		}
		settled(t, "all lost", s)
		shut(t, "all lost", s, list)
	}
}

// TestADeviceThatIsLostAlreadyIsLeftOutAtOpen shares one device among sessions.
func TestADeviceThatIsLostAlreadyIsLeftOutAtOpen(t *testing.T) {
	m := loaded(t, ladder(3))
	want := ladderWants(t, m, 1)[0]
	d := sim.New(sim.Config{Name: "shared", Kernels: ref.Backend{}})
	before := openDevice
	defer func() { openDevice = before }()
	openDevice = func(string, backend.Backend) (backend.Device, plan.Device, error) { return d, simPlanned(d, 0.5), nil }
	opts := &Options{Kernels: reference, NoFuse: []string{"all"}, Devices: []string{plan.Host, "shared"}}
	first, err := m.Open(opts)
	must(t, first, err)
	d.Lose()
	if _, err := first.Run(context.Background(), ladderFeed(0)); err != nil {
		t.Error(err)
	}
	calls := d.Calls()
	second, err := m.Open(opts)
	must(t, second, err)
	for _, s := range []*Session{first, second} {
		if got, err := s.Run(context.Background(), ladderFeed(0)); err != nil || !sameResults(got, want) {
			t.Errorf("got wrong results, or %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if d.Calls() != calls || d.Used() != 0 {
		t.Errorf("got %d calls and %d bytes in use of a lost device, want none", d.Calls()-calls, d.Used())
	}
}

// TestAThousandRunsOnDevicesThatFail runs a model from many callers at the same time, some of whom give
// up, while one device after the other is lost: whoever stays gets the right bits.
func TestAThousandRunsOnDevicesThatFail(t *testing.T) {
	m := loaded(t, ladder(5))
	want := ladderWants(t, m, 8)
	before := runtime.NumGoroutine()
	list := peers(3)
	list[0].LoseAt, list[0].Latency, list[1].Slowdown = 3000, 3*time.Microsecond, 2
	s, err := openOn(t, m, Options{Concurrency: 8, Policy: "ect"}, list...)
	prepared(t, s, err)
	n := 1000
	if testing.Short() {
		n = 200
	}
	var arms sync.Map
	var wg sync.WaitGroup
	var done atomic.Int64
	s.frontier.Decided = func(d *exec.Decision) { arms.Store(d.Name, true) }
	for g := range n {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if g%5 == 1 {
				time.AfterFunc(time.Duration(g)*30*time.Microsecond, cancel)
			}
			if done.Add(1) == int64(n*2/3) {
				list[1].Lose()
			}
			got, err := s.Run(ctx, ladderFeed(g%8))
			switch {
			case err == nil && !sameResults(got, want[g%8]):
				t.Errorf("run %d: got wrong results", g)
			case errors.Is(err, backend.ErrLost): // two devices were lost during one run
			case err != nil && (g%5 != 1 || !errors.Is(err, context.Canceled)):
				t.Errorf("run %d: %v", g, err)
			}
		})
	}
	wg.Wait()
	if got, err := s.Run(context.Background(), ladderFeed(0)); err != nil || !sameResults(got, want[0]) {
		t.Errorf("after all: got wrong results, or %v", err)
	}
	used := 0
	arms.Range(func(_, _ any) bool { used++; return true })
	if used < 2 {
		t.Errorf("got %d arms taken, want several", used)
	}
	settled(t, "hammer", s)
	shut(t, "hammer", s, list)
	quiet(t, before)
}

// armsOf returns the names of a session's arms for some feeds.
func armsOf(t *testing.T, s *Session, feeds map[string]*tensor.Tensor) (names []string) {
	t.Helper()
	in := declared{}
	for i, v := range s.unit.Graph.Inputs {
		x := feeds[s.inputs[i].name]
		in[v] = typed{dtype: x.DType(), shape: x.Shape(), value: x}
	}
	w, err := s.unit.Ways(s.unit.Entry, in)
	must(t, w, err)
	for _, x := range w.Resolve(2) {
		names = append(names, x.Arm.Name)
	}
	if err := w.Err(); err != nil && strings.Contains(err.Error(), "BUG") {
		t.Error(err)
	}
	return names
}

// everyArm runs each arm of a session by itself, side by side and step by step in poisoned memory.
func everyArm(t *testing.T, s *Session, feeds, want map[string]*tensor.Tensor) {
	t.Helper()
	names := armsOf(t, s, feeds)
	t.Log(names)
	taken := ""
	s.frontier.Decided = func(d *exec.Decision) { taken = d.Name }
	for _, poisoned := range []bool{false, true} {
		s.every[0].Poison = poisoned
		for _, name := range names {
			s.frontier.Only = name
			got, err := s.Run(context.Background(), feeds)
			if err != nil {
				t.Fatalf("arm %q: %v", name, err)
			}
			if !sameResults(got, want) {
				t.Errorf("arm %q, poisoned %v: got other bits than on the host", name, poisoned)
			}
			if s.frontier.Only != taken && len(names) > 1 {
				t.Errorf("got arm %q, want %q", taken, name)
			}
		}
	}
}

// TestEveryArmHasTheBitsOfTheHost runs the arms of a model.
func TestEveryArmHasTheBitsOfTheHost(t *testing.T) {
	m := loaded(t, ladder(5))
	want := ladderWants(t, m, 1)[0]
	list := peers(2)
	s, err := openOn(t, m, Options{Policy: "ect"}, list...)
	prepared(t, s, err)
	if n := len(armsOf(t, s, ladderFeed(0))); n < 4 {
		t.Errorf("got %d arms, want the best, each device alone and the host", n)
	}
	everyArm(t, s, ladderFeed(0), want)
	shut(t, "arms", s, list)
}

// TestEveryArmOfModelsHasTheBitsOfTheHost runs the arms of real models on two simulated devices, all with the
// same kernels.
func TestEveryArmOfModelsHasTheBitsOfTheHost(t *testing.T) {
	dirs, err := conform.Models(filepath.Join(testkit.Data(t), "models"))
	must(t, dirs, err)
	plain := kernelSet
	defer func() { kernelSet = plain }()
	kernelSet = func(name string, off []string) (backend.Backend, error) {
		b, err := namedKernels(name, off)
		return sim.New(sim.Config{Kernels: b}).Backend(), err
	}
	for i, dir := range dirs {
		if testing.Short() && i%4 != 1 {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := Load(filepath.Join(dir, "model.onnx"))
			must(t, m, err)
			defer m.Close()
			sets, err := conform.Inputs(dir)
			if err != nil || len(sets) == 0 || len(sets[0]) != len(m.inputs) {
				t.Skipf("no inputs: %v", err)
			}
			feeds := map[string]*tensor.Tensor{}
			for k, x := range sets[0] {
				feeds[m.inputs[k].Name] = x
			}
			want := m.runIn(t, feeds, false)
			list := []*fake{{Config: sim.Config{Name: "p"}, times: 0.5, latency: 500, rate: 5},
				{Config: sim.Config{Name: "q"}, times: 0.6, latency: 500, rate: 5}}
			names, undo := fakes(list...)
			s, err := m.Open(&Options{Devices: append(names, plan.Host)})
			undo()
			prepared(t, s, err)
			everyArm(t, s, feeds, want)
			shut(t, dir, s, list)
		})
	}
}
