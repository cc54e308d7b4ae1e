package selector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// turnsRun is a piece of work on a device that serves by turns.
type turnsRun struct {
	index, arm    int
	arrived, left float64
	d             Decision
}

// turns simulates the scenario's two devices when each serves what it has by turns, and returns the times
// from arrival to completion, in milliseconds. slow is by what factor a device is slower at a time.
func turns(p Policy, arrivals []int64, seed uint64, slow func(device int, now float64) float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	l := NewLedger(make([]Limits, 2))
	l.Turns = true
	b := &Branch{Arms: []Arm{{Device: 0, EstimateNs: 6 * ms, Meter: &Meter{}},
		{Device: 1, EstimateNs: 12 * ms, Meter: &Meter{}}}}
	var on [2][]*turnsRun
	took := make([]float64, len(arrivals))
	now, next := 0.0, 0
	for next < len(arrivals) || len(on[0])+len(on[1]) > 0 {
		at, end := math.Inf(1), -1
		if next < len(arrivals) {
			at = float64(arrivals[next])
		}
		var rate [2]float64
		for d := range on {
			rate[d] = 1 / slow(d, now) / float64(max(len(on[d]), 1))
			for _, r := range on[d] {
				if t := now + r.left/rate[d]; t < at {
					at, end = t, d
				}
			}
		}
		for d := range on {
			for _, r := range on[d] {
				r.left -= (at - now) * rate[d]
			}
		}
		if now = at; end < 0 {
			d := l.Pick(Request{Policy: p, Branch: b, Now: int64(now)})
			r := &turnsRun{next, d.Arm, now, float64(b.Arms[d.Arm].EstimateNs) * math.Exp(0.1*rng.NormFloat64()), d}
			on[d.Arm] = append(on[d.Arm], r)
			next++
			continue
		}
		first := 0
		for i, r := range on[end] {
			if r.left < on[end][first].left {
				first = i
			}
		}
		r := on[end][first]
		on[end] = append(on[end][:first], on[end][first+1:]...)
		if _, err := l.Finish(r.d.Ticket, int64(now), int64(now-r.arrived)); err != nil {
			panic(err)
		}
		took[r.index] = (now - r.arrived) / ms
	}
	return took
}

func evenly(int, float64) float64 { return 1 }

func TestByTurnsLightLoadCostsNothing(t *testing.T) {
	for seed := range uint64(3) {
		at := poisson(runs(t, 5000), 60*ms, seed)
		static, ect := mean(turns(Static, at, seed, evenly)), mean(turns(ECT, at, seed, evenly))
		t.Logf("light load: static %.2f ms, ect %.2f", static, ect)
		if ect > 1.02*static {
			t.Errorf("seed %d: got a mean of %.2f ms, want at most 1.02 of static's %.2f", seed, ect, static)
		}
	}
}

func TestByTurnsHighLoadHasAShortTail(t *testing.T) {
	for seed := range uint64(3) {
		at := poisson(runs(t, 20000), 6*ms/0.9, seed)
		static, ect := turns(Static, at, seed, evenly), turns(ECT, at, seed, evenly)
		s, e := quantile(static, 0.99), quantile(ect, 0.99)
		t.Logf("0.9 load: mean: static %.2f ms, ect %.2f; p99: %.2f, %.2f", mean(static), mean(ect), s, e)
		if e > 0.3*s {
			t.Errorf("seed %d: got a 99th percentile of %.2f ms, want at most 0.3 of static's %.2f", seed, e, s)
		}
	}
}

func TestByTurnsAThrottledDeviceIsLeft(t *testing.T) {
	at := poisson(runs(t, 10000), 14*ms, 4)
	from := float64(at[len(at)/4])
	slow := func(d int, now float64) float64 {
		if d == 0 && now >= from {
			return 5
		}
		return 1
	}
	static, ect := mean(turns(Static, at, 4, slow)), mean(turns(ECT, at, 4, slow))
	t.Logf("throttled: static %.2f ms, ect %.2f", static, ect)
	if ect > 0.1*static {
		t.Errorf("got a mean of %.2f ms, want at most a tenth of static's %.2f", ect, static)
	}
}
