package stowage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
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

// fake is a simulated device for one test, and what plans know of it.
type fake struct {
	sim.Config
	times, latency, rate float64
	// blind says that plans do not know of the device's limit.
	blind bool
	*sim.Device
}

// fakes puts devices of the test's own in the place of those that options name, until the returned
// function is called; the names are theirs.
func fakes(list ...*fake) (names []string, undo func()) {
	before := openDevice
	for _, f := range list {
		names = append(names, f.Config.Name)
	}
	openDevice = func(name string, kernels backend.Backend) (backend.Device, plan.Device, error) {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, plan.Device{}, fmt.Errorf("got %q", name)
		}
		f := list[i]
		if f.Kernels == nil {
			f.Kernels = kernels
		}
		f.Device = sim.New(f.Config)
		p := simPlanned(f.Device, f.times)
		p.Latency, p.Rate = f.latency, f.rate
		if f.blind {
			p.Capacity = 0
		}
		return f.Device, p, nil
	}
	return names, func() { openDevice = before }
}

// randomFakes draws one to three devices.
func randomFakes(r *rand.Rand) []*fake {
	var out []*fake
	for i := range 1 + r.IntN(3) {
		f := &fake{times: []float64{0.01, 0.2, 0.5, 1, 2}[r.IntN(5)], latency: float64(r.IntN(3000)),
			rate: 0.1 + 10*r.Float64()}
		f.Config = sim.Config{Name: fmt.Sprintf("d%d", i), Slowdown: float64(1 + r.IntN(3)),
			Latency: time.Duration(r.IntN(2)*r.IntN(20)) * time.Microsecond}
		out = append(out, f)
	}
	return out
}

// TestRandomGraphsOnDevicesEqualInterpreter runs random graphs on random sets of devices, both with all
// devices at once and step by step in poisoned memory. Every bit must agree with the interpreter.
func TestRandomGraphsOnDevicesEqualInterpreter(t *testing.T) {
	plain := kernelSet
	defer func() { kernelSet = plain }()
	kernelSet = func(string, []string) (backend.Backend, error) { return ref.Backend{}, nil }
	n := *randomGraphs
	if testing.Short() {
		n = min(n, 150)
	}
	compared, away := 0, 0
	for i := range n {
		seed := *randomSeed + uint64(i)
		done, steps := newRandomModel(seed).compareOnDevices(t, seed)
		compared, away = compared+done, away+steps
	}
	t.Logf("%d of %d graphs compared, %d steps on devices beside the host", compared, n, away)
	if 2*compared < n || away < n {
		t.Errorf("got %d comparisons of %d graphs with %d steps beside the host, want more", compared, n, away)
	}
}

// compareOnDevices returns 1 when the model could be compared, and the launches and copies beside the host.
func (m *randomModel) compareOnDevices(t *testing.T, seed uint64) (done, away int) {
	t.Helper()
	model, err := LoadBytes(m.model.Bytes())
	if err != nil {
		t.Errorf("seed %d: load: %v", seed, err)
		return 0, 0
	}
	defer model.Close()
	list := randomFakes(m.r)
	names, undo := fakes(list...)
	defer undo()
	opts := &Options{Plans: m.r.IntN(3), NoFuse: rounding, Devices: names}
	if m.r.IntN(3) > 0 {
		opts.Devices = append([]string{plan.Host}, names...)
	}
	if m.r.IntN(2) == 0 {
		opts.Max = m.bounds
	}
	for _, poisoned := range []bool{false, true} {
		s, err := model.Open(opts)
		if err != nil {
			t.Errorf("seed %d: open: %v", seed, err)
			return 0, 0
		}
		lane := <-s.lanes
		lane.Poison = poisoned
		s.lanes <- lane
		for run := range 2 {
			if m.same(t, fmt.Sprintf("seed %d: poisoned %v: run %d", seed, poisoned, run), model, s) {
				done = 1
			}
		}
		for _, f := range list {
			away += int(f.Calls())
		}
		shut(t, fmt.Sprintf("seed %d", seed), s, list)
	}
	return done, away
}

// shut closes a session, which must give back all memory of its devices.
func shut(t *testing.T, where string, s *Session, list []*fake) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("%s: close: %v", where, err)
	}
	empty(t, where, list)
}

// empty fails the test unless the devices have no memory in use.
func empty(t *testing.T, where string, list []*fake) {
	t.Helper()
	for _, f := range list {
		if f.Device == nil { // it was not asked for
			continue
		}
		if n := f.Used(); n != 0 {
			t.Errorf("%s: device %q: got %d bytes in use, want 0", where, f.Config.Name, n)
		}
	}
}

// TestModelsOnDevicesEqualHost runs real models on simulated devices: the results have the host's bits,
// each tensor is copied at most once to a device, and runs launch and copy what the plan says.
func TestModelsOnDevicesEqualHost(t *testing.T) {
	dirs, err := conform.Models(filepath.Join(testkit.Data(t), "models"))
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := Load(filepath.Join(dir, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			sets, err := conform.Inputs(dir)
			if err != nil || len(sets) == 0 || len(sets[0]) != len(m.inputs) {
				t.Skipf("no inputs: %v", err)
			}
			feeds, dims := map[string]*tensor.Tensor{}, map[string]int64{}
			for k, x := range sets[0] {
				feeds[m.inputs[k].Name] = x
				for a, d := range m.inputs[k].Dims {
					if d.Size < 0 && d.Name != "" {
						dims[d.Name] = x.Shape()[a]
					}
				}
			}
			m.onDevices(t, feeds, dims)
		})
	}
}

// onDevices compares a model on several sets of devices with the host, all with the same kernels.
func (m *Model) onDevices(t *testing.T, feeds map[string]*tensor.Tensor, dims map[string]int64) {
	t.Helper()
	plain := kernelSet
	defer func() { kernelSet = plain }()
	// The host may use no blocked kernels either, so that every device computes with the same.
	kernelSet = func(name string, off []string) (backend.Backend, error) {
		b, err := namedKernels(name, off)
		return sim.New(sim.Config{Kernels: b}).Backend(), err
	}
	want := m.runIn(t, feeds, false)
	for _, set := range []struct {
		name  string
		host  bool
		times []float64
	}{{"cpu,sim", true, []float64{0.5}}, {"sim", false, []float64{1}}, {"cpu,sim,sim", true, []float64{0.5, 0.6}}} {
		var list []*fake
		for i, times := range set.times {
			list = append(list, &fake{Config: sim.Config{Name: fmt.Sprintf("d%d", i)}, times: times, latency: 500, rate: 5})
		}
		names, undo := fakes(list...)
		if set.host {
			names = append([]string{plan.Host}, names...)
		}
		s, err := m.Open(&Options{Devices: names, Policy: "static"})
		undo()
		if err != nil {
			t.Fatalf("%s: %v", set.name, err)
		}
		p, err := s.Plan(dims)
		if err != nil {
			t.Fatalf("%s: %v", set.name, err)
		}
		oncePerDestination(t, set.name, p)
		for run := range 2 {
			before := calls(list)
			got, err := s.Run(context.Background(), feeds)
			if err != nil {
				t.Fatalf("%s: %v", set.name, err)
			}
			for name, x := range want {
				if !conform.Same(got[name], x) {
					t.Errorf("%s: output %q: got other bits than on the host", set.name, name)
				}
			}
			if want := awaySteps(p); run > 0 && p.Later == 0 && calls(list)-before != want {
				t.Errorf("%s: got %d launches and copies, want the %d of the plan", set.name, calls(list)-before, want)
			}
		}
		shut(t, set.name, s, list)
	}
}

func calls(list []*fake) (n int64) {
	for _, f := range list {
		n += f.Calls()
	}
	return n
}

func awaySteps(p *Plan) (n int64) {
	for i := range p.Steps {
		if p.Steps[i].Device != plan.Host {
			n++
		}
	}
	return n
}

// oncePerDestination checks that a plan copies each tensor to a device at most once.
func oncePerDestination(t *testing.T, where string, p *Plan) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range p.Copies {
		if strings.Contains(c.From, " ") { // a change of layout
			continue
		}
		if k := c.Tensor + " to " + c.To; seen[k] {
			t.Errorf("%s: %s is copied twice", where, k)
		} else {
			seen[k] = true
		}
	}
}
