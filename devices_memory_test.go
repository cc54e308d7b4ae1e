package stowage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/backend/sim"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// layers is a chain of products with weights of width×width elements.
func layers(n, width int64) *testkit.Model {
	b := testkit.NewModel(24)
	x := b.Input("x", tensor.Float32, "rows", width)
	for i := range n {
		data := make([]float32, width*width)
		for k := range data {
			data[k] = float32((int64(k)*5+i)%7)/14 - 0.2
		}
		x = b.Node("MatMul", []string{x, b.Init(fmt.Sprintf("w%d", i), tensor.Must(tensor.Shape{width, width}, data))})
		x = b.Node("Tanh", []string{x})
	}
	b.OutputOf(x, testkit.TensorType(tensor.Float32, "rows", width))
	return b
}

func rows(n, width int64) map[string]*tensor.Tensor {
	data := make([]float32, n*width)
	for i := range data {
		data[i] = float32(i%11)/11 - 0.4
	}
	return map[string]*tensor.Tensor{"x": tensor.Must(tensor.Shape{n, width}, data)}
}

// fast is a device that is better for everything, with so much memory.
func fast(bytes int64, blind bool) *fake {
	return &fake{Config: sim.Config{Name: "fast", Bytes: bytes}, times: 0.01, latency: 1, rate: 1000, blind: blind}
}

// onHost runs a model on the host.
func onHost(t *testing.T, m *Model, feeds map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	t.Helper()
	s, err := m.Open(&Options{Kernels: reference, NoFuse: []string{"all"}})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	out, err := s.Run(context.Background(), feeds)
	if err != nil {
		t.Error(err)
	}
	return out
}

// TestDevicesWithTooLittleMemoryGetLessToDo gives a device a part of the bytes of the weights, which plans
// know or find out when it refuses: the rest runs elsewhere, the plan says so, and the limit holds.
func TestDevicesWithTooLittleMemoryGetLessToDo(t *testing.T) {
	const width, count = 16, 8
	weights := int64(count * width * width * 4)
	m := loaded(t, layers(count, width))
	want := onHost(t, m, rows(3, width))
	for _, blind := range []bool{false, true} {
		for _, lanes := range []int{1, 3} {
			for _, limit := range []int64{1, weights / 16, weights / 2, weights * 7 / 10, weights, 2 * weights} {
				for _, bounded := range []bool{false, true} {
					where := fmt.Sprintf("limit %d of %d, blind %v, lanes %d, bounded %v", limit, weights, blind, lanes, bounded)
					opts := Options{Concurrency: lanes}
					if bounded {
						opts.Max = map[string]int64{"rows": 3}
					}
					f := fast(limit, blind)
					s, err := openOn(t, m, opts, f)
					if err != nil {
						t.Errorf("%s: %v", where, err)
						continue
					}
					inTurns(t, where, s, rows(3, width), want)
					p, err := s.Plan(map[string]int64{"rows": 3})
					if err != nil {
						t.Fatalf("%s: %v", where, err)
					}
					// Callers that find out at the same time may each give up a part.
					alone := !blind || bounded || lanes == 1
					checkLimit(t, where, p, limit, int64(lanes), weights, alone)
					shut(t, where, s, []*fake{f})
				}
			}
		}
	}
}

// inTurns runs a session from several callers, who must all get what they want.
func inTurns(t *testing.T, where string, s *Session, feeds, want map[string]*tensor.Tensor) {
	t.Helper()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 2 {
				if got, err := s.Run(context.Background(), feeds); err != nil {
					t.Errorf("%s: run: %v", where, err)
				} else if !sameResults(got, want) {
					t.Errorf("%s: got wrong results", where)
				}
			}
		})
	}
	wg.Wait()
}

// checkLimit checks what a plan takes of the second device, at least something when alone, and that it says
// why nothing more is there.
func checkLimit(t *testing.T, where string, p *Plan, limit, lanes, weights int64, alone bool) {
	t.Helper()
	d := p.Devices[1]
	if total := d.WeightBytes + lanes*d.ArenaBytes; total > limit {
		t.Errorf("%s: got a plan of %d bytes", where, total)
	}
	onHost, told := 0, false
	for i := range p.Steps {
		if p.Steps[i].Device == plan.Host {
			onHost++
			told = told || strings.Contains(p.Steps[i].Reason, "no room where it would be better")
		}
	}
	switch {
	case limit < weights && (onHost == 0 || !told):
		t.Errorf("%s: got %d steps on the host, the reason given: %v, want some and a reason\n%v", where, onHost, told, p)
	case limit == 2*weights && onHost > 0:
		t.Errorf("%s: got %d steps on the host, want none", where, onHost)
	case alone && limit >= weights/2 && d.WeightBytes == 0:
		t.Errorf("%s: got no weights on the device, want some", where)
	}
}

// TestPlansThatFitNowhereSayWhatIsMissing opens sessions that may use one device only, with too little memory.
func TestPlansThatFitNowhereSayWhatIsMissing(t *testing.T) {
	const width, count = 16, 8
	m := loaded(t, layers(count, width))
	for _, blind := range []bool{false, true} {
		for _, limit := range []int64{1, 1000, count * width * width * 4} {
			f := fast(limit, blind)
			s, err := openOn(t, m, Options{Devices: []string{"fast"}, NoFallback: true, Max: map[string]int64{"rows": 3}}, f)
			if err == nil {
				t.Errorf("limit %d, blind %v: got no error, want one", limit, blind)
				shut(t, "opened", s, []*fake{f})
				continue
			}
			if text := err.Error(); !strings.Contains(text, `device "fast": got`) || !strings.Contains(text, "B more)") ||
				strings.Contains(text, "\n") {
				t.Errorf("limit %d, blind %v: got %q, want a line with the device and the bytes", limit, blind, text)
			}
			empty(t, "failed", []*fake{f})
		}
	}
	// With leave to fall back, the host does what the device cannot.
	f := fast(1000, false)
	s, err := openOn(t, m, Options{Devices: []string{"fast"}, Max: map[string]int64{"rows": 3}}, f)
	if err != nil {
		t.Fatal(err)
	}
	inTurns(t, "fallback", s, rows(2, width), onHost(t, m, rows(2, width)))
	shut(t, "fallback", s, []*fake{f})
}

// TestSmallerShapesChooseTheirOwnDevices bounds a dim: large shapes run on the fast device that is far away,
// small ones on the host, and all in what was reserved when the session was opened.
func TestSmallerShapesChooseTheirOwnDevices(t *testing.T) {
	const width = 16
	m := loaded(t, layers(4, width))
	f := &fake{Config: sim.Config{Name: "far"}, times: 0.01, latency: 20_000, rate: 10}
	s, err := openOn(t, m, Options{Max: map[string]int64{"rows": 4096}}, f)
	if err != nil {
		t.Fatal(err)
	}
	used, host := f.Used(), s.Memory().ArenaBytes
	if used == 0 {
		t.Fatal("got nothing reserved on the device, want some")
	}
	for _, n := range []int64{1, 2, 64, 4095, 4096} {
		p, err := s.Plan(map[string]int64{"rows": n})
		if err != nil {
			t.Fatal(err)
		}
		if away := awaySteps(p); (n <= 2) != (away == 0) {
			t.Errorf("%d rows: got %d steps on the device\n%v", n, away, p)
		}
		inTurns(t, fmt.Sprintf("%d rows", n), s, rows(n, width), onHost(t, m, rows(n, width)))
		if f.Used() != used || s.Memory().ArenaBytes != host {
			t.Errorf("%d rows: got %d bytes on the device and %d on the host, want %d and %d as reserved", n, f.Used(),
				s.Memory().ArenaBytes, used, host)
		}
	}
	shut(t, "buckets", s, []*fake{f})
}

// TestConstantsOfManyShapesDoNotPileUp runs many shapes whose plans have constants of their own, on a device
// whose memory holds those of few of them.
func TestConstantsOfManyShapesDoNotPileUp(t *testing.T) {
	b := testkit.NewModel(24)
	x := b.Input("x", tensor.Float32, "rows", 64)
	shape := b.Node("Shape", []string{x})
	ones := b.Node("ConstantOfShape", []string{shape}, testkit.Tensor("value", tensor.Of[float32](2)))
	y := b.Node("Tanh", []string{b.Node("Mul", []string{x, ones})})
	b.OutputOf(y, testkit.TensorType(tensor.Float32, testkit.AnyRank))
	m := loaded(t, b)
	f := fast(110_000, false)
	s, err := openOn(t, m, Options{Concurrency: 2}, f)
	if err != nil {
		t.Fatal(err)
	}
	// Runs of two sets of shapes at a time want constants of both.
	var wg sync.WaitGroup
	for first := range int64(2) {
		wg.Go(func() {
			for n := 1 + first; n < 100; n += 2 {
				inTurns(t, fmt.Sprintf("%d rows", n), s, rows(n, 64), onHost(t, m, rows(n, 64)))
			}
		})
	}
	wg.Wait()
	if f.Calls() == 0 {
		t.Error("got nothing on the device, want some")
	}
	shut(t, "many shapes", s, []*fake{f})
}

// TestRandomGraphsFitCapacities runs random graphs on devices with random limits, which hold.
func TestRandomGraphsFitCapacities(t *testing.T) {
	plain := kernelSet
	defer func() { kernelSet = plain }()
	kernelSet = func(string, []string) (backend.Backend, error) { return ref.Backend{}, nil }
	n := 200
	if testing.Short() {
		n = 60
	}
	for i := range n {
		seed := *randomSeed + uint64(i)
		m := newRandomModel(seed)
		model, err := LoadBytes(m.model.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 11))
		list := randomFakes(r)
		for _, f := range list {
			f.Bytes, f.blind = int64(1+r.IntN(3000)), r.IntN(4) == 0
		}
		names, undo := fakes(list...)
		opts := &Options{NoFuse: rounding, Devices: append([]string{plan.Host}, names...)}
		if r.IntN(2) == 0 {
			opts.Max = m.bounds
		}
		where := fmt.Sprintf("seed %d", seed)
		s, err := model.Open(opts)
		undo()
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		for run := range 3 {
			m.same(t, fmt.Sprintf("%s: run %d", where, run), model, s)
		}
		shut(t, where, s, list)
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLimitedMemoryGoesToWhatGainsMost limits a device to a part of a chain's weights, which are of different
// sizes and gain differently: the estimate is within 1 % of the best of all ways.
func TestLimitedMemoryGoesToWhatGainsMost(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 17))
		b := testkit.NewModel(24)
		width := int64(16)
		x := b.Input("x", tensor.Float32, 8, width)
		for i := range 8 {
			next := int64(8 * (1 + r.IntN(8)))
			w := b.Init(fmt.Sprintf("w%d", i), tensor.Must(tensor.Shape{width, next}, make([]float32, width*next)))
			x, width = b.Node("MatMul", []string{x, w}), next
		}
		b.OutputOf(x, testkit.TensorType(tensor.Float32, 8, width))
		m := loaded(t, b)
		at := func(bytes int64, devices ...string) *Plan {
			f := &fake{Config: sim.Config{Name: "fast", Bytes: bytes}, times: 0.3, latency: 400, rate: 4}
			s, err := openOn(t, m, Options{Devices: devices}, f)
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Plan(nil)
			if err != nil {
				t.Fatal(err)
			}
			shut(t, "limited", s, []*fake{f})
			return p
		}
		host, alone := at(0, plan.Host), at(0, "fast")
		limit := alone.Devices[1].WeightBytes*7/10 + alone.Devices[1].ArenaBytes
		got := at(limit, plan.Host, "fast")
		if d := got.Devices[1]; d.WeightBytes+d.ArenaBytes > limit {
			t.Errorf("seed %d: got %d bytes, want at most %d", seed, d.WeightBytes+d.ArenaBytes, limit)
		}
		if best := bestChain(host, alone, limit-alone.Devices[1].ArenaBytes); *got.CostNs > best+best/100 {
			t.Errorf("seed %d: got %d ns, want at most 1.01 times %d\n%v", seed, *got.CostNs, best, got)
		}
	}
}

// bestChain tries all ways to run a chain of products, given the plans on either device alone.
func bestChain(host, alone *Plan, limit int64) int64 {
	var ns [2][]int64
	var weight, copies []int64
	var dims []int64
	for i := range host.Steps {
		ns[0] = append(ns[0], *host.Steps[i].EstNs)
		var rows, cols int64
		out := host.Steps[i].Output
		if _, err := fmt.Sscanf(out[strings.LastIndex(out, "["):], "[%d,%d]", &rows, &cols); err != nil {
			panic(err)
		}
		dims = append(dims, cols)
	}
	for i := range alone.Steps {
		if alone.Steps[i].Op == "MatMul" {
			ns[1] = append(ns[1], *alone.Steps[i].EstNs)
		}
	}
	before := int64(16)
	for _, d := range dims {
		weight = append(weight, before*d*4)
		copies = append(copies, 400+before*8*4/4)
		before = d
	}
	copies = append(copies, 400+before*8*4/4)
	least := int64(math.MaxInt64)
	for set := range 1 << len(dims) {
		var sum, bytes int64
		at := 0
		for i := range dims {
			to := set >> i & 1
			sum += ns[to][i] + copies[i]*int64(at^to)
			bytes += weight[i] * int64(to)
			at = to
		}
		if sum += copies[len(dims)] * int64(at); bytes <= limit {
			least = min(least, sum)
		}
	}
	return least
}
