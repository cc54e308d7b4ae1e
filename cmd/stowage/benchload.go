package main

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stowage-ml/stowage"
)

// measure fills in the times, what the devices did, and the peak memory.
func (v *benchVerb) measure(e *env, s *stowage.Session, sets []inputSet, taken *decisions, r *benchReport) error {
	start := time.Now()
	if _, err := s.Run(e.ctx, sets[0].in); err != nil {
		return err
	}
	r.FirstMS = ms(time.Since(start))
	// What is planned beside the first runs would take time from those that are measured.
	if err := s.Prepare(e.ctx); err != nil {
		return err
	}
	// Runs take turns in using the lanes: so many warm up all of them.
	each := v.Warmup * v.Concurrency
	l := &load{e: e, s: s, sets: sets, times: make([]time.Duration, v.Runs)}
	l.bar = e.progress("bench", each*len(sets)+v.Runs)
	defer l.bar.done()
	for i := range each * len(sets) {
		if _, err := s.Run(e.ctx, sets[i/each].in); err != nil {
			return err
		}
		l.bar.step()
	}
	taken.reset()
	before := s.Use()
	cpu, known := cpuTime()
	start = time.Now()
	if v.Rate > 0 {
		r.Rate = &v.Rate
		l.arrive(arrivals(v.Rate, v.Runs, v.Seed))
	} else {
		l.callers(v.Concurrency)
	}
	took := time.Since(start)
	if l.err != nil {
		return l.err
	}
	r.RunsPerSecond = float64(v.Runs) / took.Seconds()
	if after, _ := cpuTime(); known {
		perRun := ms(after-cpu) / float64(v.Runs)
		r.CPUMS = &perRun
	}
	r.Devices = used(before, s.Use(), v.Runs, took)
	r.Policy, r.Arms = taken.report(v.Runs)
	slices.Sort(l.times)
	r.MinMS, r.MedianMS = ms(l.times[0]), ms(quantile(l.times, 50))
	r.P90MS, r.P99MS = ms(quantile(l.times, 90)), ms(quantile(l.times, 99))
	if peak, ok := peakRSS(); ok {
		r.PeakRSSBytes = &peak
	}
	return nil
}

// used is what devices have done between two moments, in so many runs that took so long together.
func used(before, after []stowage.DeviceUse, runs int, took time.Duration) []benchDevice {
	out := make([]benchDevice, len(after))
	for i := range after {
		d := benchDevice{Name: after[i].Name, Runs: after[i].Runs - before[i].Runs}
		d.Share = float64(d.Runs) / float64(runs)
		d.BusyShare = min(1, float64(after[i].Busy-before[i].Busy)/float64(max(took, 1)))
		out[i] = d
	}
	return out
}

// decisions counts which arms runs take when they begin. It is safe for concurrent use.
type decisions struct {
	mu     sync.Mutex
	policy string
	runs   map[string]int64
}

// add is what stowage.Options.Decided is set to.
func (d *decisions) add(x stowage.Decision) {
	if x.Branch > 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.policy = x.Policy
	d.runs[x.Arm]++
}

// reset forgets what was counted.
func (d *decisions) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.policy, d.runs = "", map[string]int64{}
}

// report lists the arms, the one that was taken most often first, by name those alike.
func (d *decisions) report(runs int) (policy string, arms []benchArm) {
	d.mu.Lock()
	defer d.mu.Unlock()
	arms = []benchArm{}
	for _, name := range slices.Sorted(maps.Keys(d.runs)) {
		arms = append(arms, benchArm{Name: name, Runs: d.runs[name], Share: float64(d.runs[name]) / float64(runs)})
	}
	slices.SortStableFunc(arms, func(a, b benchArm) int { return cmp.Compare(b.Runs, a.Runs) })
	return d.policy, arms
}

// load is the timed runs.
type load struct {
	e    *env
	s    *stowage.Session
	sets []inputSet
	// times is how long each run takes.
	times []time.Duration

	mu  sync.Mutex
	bar *progress
	err error
}

// run makes run i, which counts from the given moment. It returns false when some run has failed.
func (l *load) run(i int, from time.Time) bool {
	_, err := l.s.Run(l.e.ctx, l.sets[i%len(l.sets)].in)
	l.times[i] = time.Since(from)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bar.step()
	if l.err == nil {
		l.err = err
	}
	return l.err == nil
}

// callers makes the runs from n goroutines, each of which starts the next one when one is done.
func (l *load) callers(n int) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(l.times) || !l.run(i, time.Now()) {
					return
				}
			}
		})
	}
	group.Wait()
}

// mostRate is the largest --rate: timers are not much finer.
const mostRate = 1e6

// latest is the last arrival that there can be, in seconds: some 30 years.
const latest = 1e9

// arrivals draws when n runs arrive, at a rate per second: the gaps are exponential.
func arrivals(rate float64, n int, seed uint64) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]time.Duration, n)
	at := 0.0
	for i := range out {
		at = min(at+r.ExpFloat64()/rate, latest)
		out[i] = time.Duration(at * float64(time.Second))
	}
	return out
}

// arrive starts a run at each of the given times, and waits for all. Each run counts from the time at which it
// was to start. After a failure, or when the program is interrupted, no more are started.
func (l *load) arrive(at []time.Duration) {
	start := time.Now()
	var group sync.WaitGroup
	for i, t := range at {
		if !l.until(start.Add(t)) {
			break
		}
		group.Go(func() { l.run(i, start.Add(t)) })
	}
	group.Wait()
}

// longestPause bounds the time after which an interruption is seen.
const longestPause = 20 * time.Millisecond

// until waits for a time; false when no more runs are to be started.
func (l *load) until(t time.Time) bool {
	for {
		l.mu.Lock()
		if l.err == nil {
			l.err = l.e.ctx.Err()
		}
		stop := l.err != nil
		l.mu.Unlock()
		left := time.Until(t)
		if stop || left <= 0 {
			return !stop
		}
		pause(min(left, longestPause))
	}
}
