package stowage

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/backend/sim"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// gpu is a device with kernels for the operators in ops.
func gpu(ops string, times, latency, rate float64) *fake {
	return &fake{Config: sim.Config{Name: "gpu", Kernels: only{ref.Backend{}, ops}},
		times: times, latency: latency, rate: rate}
}

// planOn opens a model with the reference kernels and returns the plan, after runs that agree with the host.
func planOn(t *testing.T, b *testkit.Model, feeds map[string]*tensor.Tensor, list ...*fake) *Plan {
	t.Helper()
	m := loaded(t, b)
	s, err := openOn(t, m, Options{}, list...)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "plan", s, list)
	p, err := s.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Run(context.Background(), feeds)
	if err != nil {
		t.Fatal(err)
	}
	if !sameResults(got, onHost(t, m, feeds)) {
		t.Error("got other results than on the host")
	}
	checkPlan(t, p)
	return p
}

// checkPlan checks what every plan has to be like.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	oncePerDestination(t, "plan", p)
	segment := make([]int, len(p.Steps))
	next := 0
	for i, x := range p.Segments {
		for k := x.First; k <= x.Last; k++ {
			if k != next || p.Steps[k].Device != x.Device {
				t.Errorf("segment %d: got step %d on %q, want step %d on %q", i, k, p.Steps[k].Device, next, x.Device)
			}
			segment[k], next = i, k+1
		}
	}
	if next != len(p.Steps) {
		t.Errorf("got segments up to step %d, want %d", next, len(p.Steps))
	}
	var longest int64
	for i := range p.Steps {
		x := &p.Steps[i]
		for _, k := range x.Reads {
			if segment[k] > segment[i] {
				t.Errorf("segment %d waits for segment %d", segment[i], segment[k])
			}
		}
		if x.Device == "" || x.Reason == "" || (x.RunnerUp == "") != (x.MarginNs == nil) {
			t.Errorf("step %d: got device %q, reason %q, runner-up %q, margin %v", i, x.Device, x.Reason, x.RunnerUp, x.MarginNs)
		}
		if x.EstNs != nil {
			longest = max(longest, *x.EstNs)
		}
	}
	if span := *p.MakespanNs; span > *p.CostNs || span < longest {
		t.Errorf("got a makespan of %d, want it from %d to the sum %d", span, longest, *p.CostNs)
	}
}

func deviceOf(p *Plan, op string) (out []string) {
	for i := range p.Steps {
		if p.Steps[i].Op == op {
			out = append(out, p.Steps[i].Device)
		}
	}
	return out
}

// TestOneHostOnlyOpDoesNotMakeCopiesGoToAndFro has a chain of ten operators of which the device cannot run the
// fifth: between the ends there are two copies, or the short part goes along when that is cheaper.
func TestOneHostOnlyOpDoesNotMakeCopiesGoToAndFro(t *testing.T) {
	chain := func() *testkit.Model {
		b := testkit.NewModel(24)
		x := b.Input("x", tensor.Float32, 4, 4)
		for i := range 10 {
			x = b.Node([]string{"Sigmoid", "Neg"}[b2i(i == 4)], []string{x})
		}
		b.OutputOf(x, testkit.TensorType(tensor.Float32, 4, 4))
		return b
	}
	feed := map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{4, 4}, make([]float32, 16))}
	cheap := planOn(t, chain(), feed, gpu("Sigmoid", 0.01, 100, 100))
	if len(cheap.Copies) != 4 { // in, to the host and back, out
		t.Errorf("cheap copies: got %d, want 4\n%v", len(cheap.Copies), cheap)
	}
	dear := planOn(t, chain(), feed, gpu("Sigmoid", 0.5, 3500, 100))
	if n := len(dear.Copies); n != 2 && n != 0 {
		t.Errorf("dear copies: got %d, want 2 or 0\n%v", n, dear)
	}
}

// TestShapeArithmeticStaysOnTheHost reshapes by a computed shape whose values are known only in a run.
func TestShapeArithmeticStaysOnTheHost(t *testing.T) {
	b := testkit.NewModel(24)
	x := b.Input("x", tensor.Float32, 32, 32)
	k := b.Input("k", tensor.Int64, 1)
	more := b.Node("Add", []string{k, b.Const(tensor.Of[int64](1))})
	list := b.Node("Concat", []string{more, b.Const(tensor.Of[int64](-1))},
		testkit.Int("axis", 0))
	y := b.Node("Sigmoid", []string{b.Node("Tanh", []string{x})})
	y = b.Node("Sigmoid", []string{b.Node("Reshape", []string{y, list})})
	b.OutputOf(y, testkit.TensorType(tensor.Float32, testkit.AnyRank))
	feed := map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{32, 32}, make([]float32, 1024)),
		"k": tensor.Of[int64](15)}
	p := planOn(t, b, feed, gpu("Tanh Sigmoid Reshape Add Concat", 0.1, 100, 100))
	for _, name := range []string{"Add", "Concat"} {
		if got := deviceOf(p, name); slices.ContainsFunc(got, func(d string) bool { return d != plan.Host }) {
			t.Errorf("%s: got %v, want the host", name, got)
		}
	}
	if got := deviceOf(p, "Tanh"); len(got) != 1 || got[0] != "gpu" {
		t.Errorf("Tanh: got %v, want the device", got)
	}
}

// TestSegmentsWaitForOneAnotherInNoCircle has an operator on the host between two on the device, one of which
// feeds the other as well.
func TestSegmentsWaitForOneAnotherInNoCircle(t *testing.T) {
	b := testkit.NewModel(24)
	a := b.Node("Sigmoid", []string{b.Input("x", tensor.Float32, 64, 64)})
	c := b.Node("Sub", []string{b.Node("Neg", []string{a}), a})
	b.OutputOf(c, testkit.TensorType(tensor.Float32, 64, 64))
	feed := map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{64, 64}, make([]float32, 4096))}
	p := planOn(t, b, feed, gpu("Sigmoid Sub", 0.01, 1, 1000))
	var got []string
	for _, x := range p.Segments {
		got = append(got, x.Device)
	}
	if want := []string{"gpu", "cpu", "gpu"}; !slices.Equal(got, want) {
		t.Errorf("got segments on %q, want %q\n%v", got, want, p)
	}
	text, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(text), `"segments":[{"device":"gpu","first":0`) ||
		!strings.Contains(string(text), `"makespan_ns":`) || !strings.Contains(p.String(), "segment cpu: steps") {
		t.Errorf("got %s, %v, want segments and the makespan", text, err)
	}
}

// TestManyReadersTakeOneCopy has a tensor that three operators on one device read and one on the host.
func TestManyReadersTakeOneCopy(t *testing.T) {
	b := testkit.NewModel(24)
	x := b.Node("Relu", []string{b.Input("x", tensor.Float32, 64, 64)})
	y := b.Node("Neg", []string{x})
	for range 3 {
		y = b.Node("Sub", []string{x, y})
	}
	b.OutputOf(y, testkit.TensorType(tensor.Float32, 64, 64))
	feed := map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{64, 64}, make([]float32, 4096))}
	maker := &fake{Config: sim.Config{Name: "maker", Kernels: only{ref.Backend{}, "Relu"}},
		times: 0.001, latency: 1, rate: 1000}
	p := planOn(t, b, feed, gpu("Sub", 0.001, 1, 1000), maker)
	n := 0
	for _, c := range p.Copies {
		n += b2i(c.From == "maker")
	}
	if n != 2 {
		t.Errorf("got %d copies of what the host and three on the device read, want 2\n%v", n, p)
	}
}

// assigned gives kernels on each device times of a test's choice.
type assigned struct{ ns map[string]int64 }

func (a assigned) Kernel(o *backend.Op, _ op.Work, _ *backend.Candidate) (ns int64, source string) {
	return a.ns[o.Node.Name], "test"
}

// TestSeveralDevicesAreNeverSlowerThanOne compares the estimates of random graphs on several devices with those
// on each of them alone.
func TestSeveralDevicesAreNeverSlowerThanOne(t *testing.T) {
	plain := kernelSet
	defer func() { kernelSet = plain }()
	kernelSet = func(string, []string) (backend.Backend, error) { return ref.Backend{}, nil }
	n := 60
	if testing.Short() {
		n = 20
	}
	for seed := range uint64(n) {
		m := newRandomModel(1000 + seed)
		model, err := LoadBytes(m.model.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 3))
		list := randomFakes(r)
		names, undo := fakes(list...)
		times := func(devices ...string) (sum, span int64) {
			s, err := model.Open(&Options{NoFuse: rounding, Devices: devices})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			defer s.Close()
			p, err := s.Plan(m.bounds)
			if err != nil {
				return math.MaxInt64, math.MaxInt64
			}
			checkPlan(t, p)
			return *p.CostNs, *p.MakespanNs
		}
		_, span := times(append([]string{plan.Host}, names...)...)
		best, _ := times(plan.Host)
		for _, name := range names {
			alone, _ := times(name)
			best = min(best, alone)
		}
		if span > best+best/50+1000 {
			t.Errorf("seed %d: got %d ns on all devices, want at most the %d of the best alone", seed, span, best)
		}
		undo()
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPlacementGoesByTimeNotBySize has seven parts in turn fast on the one and on the other device: what is
// chosen costs as little as the best of all ways.
func TestPlacementGoesByTimeNotBySize(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		b := testkit.NewModel(24)
		x := b.Input("x", tensor.Float32, 16, 16)
		var host, away []int64
		for range 7 {
			host, away = append(host, 1000*(1+r.Int64N(9))), append(away, 1000*(1+r.Int64N(9)))
		}
		costs := assigned{map[string]int64{}}
		for i := range 7 {
			name := fmt.Sprintf("part%d", i)
			x = b.Node("Sigmoid", []string{x}, testkit.Named(name))
			costs.ns[name] = host[i]
		}
		b.OutputOf(x, testkit.TensorType(tensor.Float32, 16, 16))
		const copyNs = 1500
		least := int64(math.MaxInt64)
		for set := range 1 << 7 {
			var ns int64
			at := 0
			for i := range 7 {
				to := set >> i & 1
				ns += []int64{host[i], away[i]}[to] + copyNs*int64(at^to)
				at = to
			}
			least = min(least, ns+copyNs*int64(at))
		}
		if got := planned(t, b, costs, away, copyNs); got != least {
			t.Errorf("seed %d: got %d ns, want %d", seed, got, least)
		}
	}
}

// planned is the estimate for a chain with given times on the host and elsewhere.
func planned(t *testing.T, b *testkit.Model, costs assigned, away []int64, copyNs int64) int64 {
	t.Helper()
	m := loaded(t, b)
	s, err := openOn(t, m, Options{Devices: []string{plan.Host}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	far := assignedFar{sim.New(sim.Config{Kernels: ref.Backend{}}).Backend()}
	both := bothCosts{costs, away}
	dev := plan.Device{Name: "gpu", Backend: far, Latency: float64(copyNs), Rate: 1e9}
	u := plan.NewUnit(s.unit.Graph, ref.Backend{}, plan.Limits{Cost: both, Devices: []plan.Device{dev}})
	in, _ := s.shapes(nil)
	st, err := u.Next(u.Entry, in)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for i := range st.Steps {
		sum += st.Steps[i].EstNs
	}
	return sum
}

// assignedFar marks its kernels.
type assignedFar struct{ backend.Backend }

func (b assignedFar) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	out, err := b.Backend.Candidates(o)
	for i := range out {
		out[i].Source = "far"
	}
	return out, err
}

// bothCosts knows the times of parts on the host and elsewhere.
type bothCosts struct {
	assigned
	away []int64
}

// Transfer implements plan.Coster.
func (bothCosts) Transfer(_, _ string, bytes int64) int64 { return 30_000 + bytes/5 }

func (c bothCosts) Kernel(o *backend.Op, w op.Work, k *backend.Candidate) (ns int64, source string) {
	if k.Source == "far" {
		return c.away[o.Node.Name[len(o.Node.Name)-1]-'0'], "test"
	}
	return c.assigned.Kernel(o, w, k)
}
