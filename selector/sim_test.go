package selector

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// simDevice is a device of the simulation: it begins work in order of arrival, when a slot is
// free and its memory suffices.
type simDevice struct {
	slots int
	bytes int64
	// speed returns by what factor work is slower than planned at a time; nil for 1.
	speed func(now int64) float64

	running int
	held    int64
	queue   []*simRun
}

// simRun is one request on its way.
type simRun struct {
	arrived, began int64
	arm            *Arm
	d              Decision
	index          int
}

type simEvent struct {
	at    int64
	order int
	run   *simRun
	// ends tells the end of a run from its arrival.
	ends bool
}

type simEvents []simEvent

func (q simEvents) Len() int { return len(q) }
func (q simEvents) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q simEvents) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simEvents) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simEvents) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// sim is a seeded scenario: arrivals at a branch of one arm for each device.
type sim struct {
	devices []simDevice
	arms    []Arm
	// arrivals are the times of the requests.
	arrivals []int64
	// noise is the standard deviation of the logarithm of a run's time.
	noise float64
	// slip multiplies the time of run i, 1 when nil.
	slip func(i int) float64
	seed uint64

	ledger *Ledger
	branch *Branch
	events simEvents
	order  int
	rng    *rand.Rand
	took   []float64
	picks  []int
	most   []int64
}

// run simulates a policy, and returns each request's time from arrival to completion, in
// milliseconds, in order of arrival.
func (s *sim) run(p Policy) []float64 {
	limits := make([]Limits, len(s.devices))
	for i, d := range s.devices {
		limits[i] = Limits{Slots: d.slots, Bytes: d.bytes}
		s.devices[i].running, s.devices[i].held, s.devices[i].queue = 0, 0, nil
	}
	s.ledger, s.branch = NewLedger(limits), &Branch{Arms: slices.Clone(s.arms)}
	for i := range s.branch.Arms {
		s.branch.Arms[i].Meter = &Meter{}
	}
	s.rng = rand.New(rand.NewPCG(s.seed, 9))
	s.events, s.order = nil, 0
	s.took, s.picks = make([]float64, len(s.arrivals)), make([]int, len(s.arrivals))
	s.most = make([]int64, len(s.devices))
	for i, at := range s.arrivals {
		s.push(at, &simRun{arrived: at, index: i}, false)
	}
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(simEvent)
		if e.ends {
			s.end(e)
		} else {
			s.arrive(p, e)
		}
	}
	return s.took
}

func (s *sim) push(at int64, r *simRun, ends bool) {
	s.order++
	heap.Push(&s.events, simEvent{at, s.order, r, ends})
}

func (s *sim) arrive(p Policy, e simEvent) {
	r := e.run
	r.d = s.ledger.Pick(Request{Policy: p, Branch: s.branch, Now: e.at})
	r.arm = &s.branch.Arms[r.d.Arm]
	s.picks[r.index] = r.d.Arm
	d := &s.devices[r.arm.Device]
	d.queue = append(d.queue, r)
	s.begin(d, e.at)
}

func (s *sim) begin(d *simDevice, now int64) {
	for len(d.queue) > 0 && d.running < max(d.slots, 1) {
		r := d.queue[0]
		if d.bytes > 0 && d.held+r.arm.Bytes > d.bytes {
			return
		}
		d.queue = d.queue[1:]
		d.running++
		d.held += r.arm.Bytes
		s.most[r.arm.Device] = max(s.most[r.arm.Device], d.held)
		r.began = now
		f := math.Exp(s.noise * s.rng.NormFloat64())
		if d.speed != nil {
			f *= d.speed(now)
		}
		if s.slip != nil {
			f *= s.slip(r.index)
		}
		s.push(now+int64(f*float64(r.arm.EstimateNs)), r, true)
	}
}

func (s *sim) end(e simEvent) {
	r := e.run
	d := &s.devices[r.arm.Device]
	d.running--
	d.held -= r.arm.Bytes
	if err := s.ledger.Done(r.d.Ticket, e.at, e.at-r.began); err != nil {
		panic(err)
	}
	s.took[r.index] = float64(e.at-r.arrived+r.arm.CopyOutNs) / ms
	s.begin(d, e.at)
}

// poisson returns n arrivals with exponential gaps of a mean.
func poisson(n int, mean float64, seed uint64) []int64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	out, at := make([]int64, n), 0.0
	for i := range out {
		at += mean * rng.ExpFloat64()
		out[i] = int64(at)
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func quantile(v []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// scenario is what most of the notes' cases share: a fast device and one of half its speed.
func scenario(seed uint64) *sim {
	return &sim{devices: make([]simDevice, 2), noise: 0.1, seed: seed,
		arms: []Arm{{Device: 0, EstimateNs: 6 * ms}, {Device: 1, EstimateNs: 12 * ms}}}
}

func runs(t *testing.T, n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

func TestLightLoadCostsNothing(t *testing.T) {
	for seed := range uint64(5) {
		s := scenario(seed)
		s.arrivals = poisson(runs(t, 10000), 60*ms, seed)
		static, ect := mean(s.run(Static)), mean(s.run(ECT))
		t.Logf("light load: static %.2f ms, ect %.2f", static, ect)
		if ect > 1.02*static {
			t.Errorf("seed %d: got a mean of %.2f ms, want at most 1.02 of static's %.2f", seed, ect, static)
		}
	}
}

func TestHighLoadHasAShortTail(t *testing.T) {
	for seed := range uint64(5) {
		s := scenario(seed)
		s.arrivals = poisson(runs(t, 20000), 6*ms/0.9, seed)
		static := slices.Clone(s.run(Static))
		ect := s.run(ECT)
		t.Logf("0.9 of the fast device: static mean %.1f p99 %.1f, ect mean %.1f p99 %.1f",
			mean(static), quantile(static, 0.99), mean(ect), quantile(ect, 0.99))
		if got, want := quantile(ect, 0.99), quantile(static, 0.99); got > 0.3*want {
			t.Errorf("seed %d: got a p99 of %.1f ms, want at most 0.3 of static's %.1f", seed, got, want)
		}
	}
}

func TestAThrottledDeviceIsLeft(t *testing.T) {
	for seed := range uint64(5) {
		s := scenario(seed)
		s.arrivals = poisson(runs(t, 5000), 12*ms, seed)
		s.devices[0].speed = func(now int64) float64 {
			if now > s.arrivals[len(s.arrivals)/4] {
				return 5
			}
			return 1
		}
		static := mean(s.run(Static))
		ect := mean(s.run(ECT))
		t.Logf("throttled 5 times: static %.0f ms, ect %.1f", static, ect)
		if ect > 0.1*static {
			t.Errorf("seed %d: got a mean of %.1f ms, want at most 0.1 of static's %.1f", seed, ect, static)
		}
	}
}

func TestAThrottledDeviceIsUsedAgainWhenItRecovers(t *testing.T) {
	s := scenario(3)
	s.arrivals = poisson(4000, 30*ms, 3)
	slow, well := s.arrivals[500], s.arrivals[1000]
	s.devices[0].speed = func(now int64) float64 {
		if now > slow && now < well {
			return 5
		}
		return 1
	}
	s.run(ECT)
	share := func(from, to int) float64 {
		n := 0
		for _, arm := range s.picks[from:to] {
			n += 1 - arm
		}
		return float64(n) / float64(to-from)
	}
	if got := share(600, 1000); got > 0.3 {
		t.Errorf("while it was slow: got a share of %.2f", got)
	}
	if got := share(2500, 4000); got < 0.75 {
		t.Errorf("1500 runs after it recovered: got a share of %.2f", got)
	}
}

func TestBurstsDoNotQueueOnOneDevice(t *testing.T) {
	s := &sim{devices: make([]simDevice, 4), seed: 4}
	for i := range 4 {
		s.arms = append(s.arms, Arm{Device: i, EstimateNs: 10 * ms})
	}
	for burst := range int64(100) {
		for range 64 {
			s.arrivals = append(s.arrivals, burst*1000*ms)
		}
	}
	static := mean(s.run(Static))
	ect := mean(s.run(ECT))
	t.Logf("bursts of 64 on 4 equal devices: static %.0f ms, ect %.1f", static, ect)
	for burst := 0; burst < len(s.picks); burst += 64 {
		var count [4]int
		for _, arm := range s.picks[burst : burst+64] {
			count[arm]++
		}
		if slices.Max(count[:])-slices.Min(count[:]) > 1 {
			t.Errorf("burst %d: got %v, want shares within 1", burst/64, count)
		}
	}
	if ect > 0.3*static {
		t.Errorf("got a mean of %.1f ms, static %.1f", ect, static)
	}
}

func TestAnOutlierIsForgotten(t *testing.T) {
	for _, at := range []int{0, 1, 5, 100} {
		s := scenario(6)
		s.noise = 0.02
		for i := range int64(300) {
			s.arrivals = append(s.arrivals, i*10000*ms)
		}
		s.slip = func(i int) float64 {
			if i == at {
				return 500
			}
			return 1
		}
		s.run(ECT)
		for i := at + 51; i < len(s.picks); i++ {
			if s.picks[i] != 0 {
				t.Errorf("an outlier at run %d: run %d is not back on the fast device", at, i)
				break
			}
		}
		if got := s.branch.Arms[0].Meter.ns; got > 1.1*6*ms {
			t.Errorf("an outlier at run %d: the fast device is thought to take %.1f ms", at, got/ms)
		}
	}
}

func TestMemoryIsNeverOverbookedAndWaitsAreShort(t *testing.T) {
	s := scenario(7)
	s.devices[0].slots, s.devices[1].slots = 4, 4
	s.devices[0].bytes, s.devices[1].bytes = 100, 300
	s.arms[0].Bytes, s.arms[1].Bytes = 60, 60
	s.arrivals = poisson(runs(t, 10000), 5*ms, 7)
	static := mean(s.run(Static))
	ect := mean(s.run(ECT))
	t.Logf("memory-bound: static %.0f ms, ect %.1f", static, ect)
	for i, most := range s.most {
		if most > s.devices[i].bytes {
			t.Errorf("device %d: got %d bytes held, of %d", i, most, s.devices[i].bytes)
		}
	}
	if ect > 0.1*static || ect > 72 {
		t.Errorf("got a mean of %.1f ms, want a tenth of static's %.1f and at most 72", ect, static)
	}
}

func TestASlowSecondDeviceNeverMakesItWorse(t *testing.T) {
	for _, ratio := range []int64{2, 5, 10, 100} {
		s := scenario(8)
		s.arms[1].EstimateNs, s.noise = ratio*6*ms, 0
		for range 100 {
			s.arrivals = append(s.arrivals, 0)
		}
		static := slices.Max(s.run(Static))
		ect := slices.Max(s.run(ECT))
		if ect > 1.02*static {
			t.Errorf("%d to 1: 100 runs take %.1f ms, want at most 1.02 of %.1f on the fast device alone", ratio, ect, static)
		}
	}
}
