package main

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/stowage-ml/stowage/bench/engine"
)

// sample is how long one timed sample lasts at least: as many runs as that takes.
const sample = 4 * time.Millisecond

// timing is one engine's times per run, in milliseconds, by sample.
type timing struct{ cpu, wall []float64 }

// pair is both engines, opened on the same model, Stowage first.
type pair struct {
	engines [2]engine.Engine
	reps    [2]int
	// known is how long a run takes, in milliseconds.
	known [2]float64
}

var engineNames = [2]string{engine.Stowage, engine.ORT}

func openPair(s *engine.Spec, threads int) (*pair, error) {
	p := &pair{}
	for i, name := range engineNames {
		e, err := engine.Open(name, s, threads)
		if err != nil {
			p.close()
			return nil, fmt.Errorf("%s: %s: %w", s.Name, name, err)
		}
		p.engines[i] = e
	}
	return p, nil
}

func (p *pair) close() error {
	var first error
	for _, e := range p.engines {
		if e == nil {
			continue
		}
		if err := e.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// warm runs each engine until its plans and memory have settled, and learns how long a run takes.
func (p *pair) warm(budget time.Duration) error {
	for i, e := range p.engines {
		begin := time.Now()
		for n := 0; n < 3; n++ {
			start := time.Now()
			if err := e.Run(); err != nil {
				return fmt.Errorf("%s: %w", engineNames[i], err)
			}
			took := time.Since(start)
			p.reps[i] = max(1, int(sample/max(took, 1)))
			p.known[i] = ms(took)
			if time.Since(begin) > budget/4 {
				break
			}
		}
	}
	return nil
}

// alternate times the engines in turns, until there are enough samples or the budget is spent.
func (p *pair) alternate(runs int, budget time.Duration) ([2]timing, error) {
	var t [2]timing
	begin := time.Now()
	for n := 0; n < runs; n++ {
		for k := range p.engines {
			i := (k + n) % 2
			if err := t[i].take(p.engines[i], p.reps[i]); err != nil {
				return t, fmt.Errorf("%s: %w", engineNames[i], err)
			}
		}
		if time.Since(begin) > budget {
			break
		}
	}
	return t, nil
}

func (t *timing) take(e engine.Engine, reps int) error {
	cpu, start := cpuTime(), time.Now()
	for range reps {
		if err := e.Run(); err != nil {
			return err
		}
	}
	t.wall = append(t.wall, ms(time.Since(start))/float64(reps))
	t.cpu = append(t.cpu, ms(cpuTime()-cpu)/float64(reps))
	return nil
}

// cpuTime returns the CPU time, user and system, of all the process's threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// typical returns the lower quartile: other programs can only make a run longer, so that it is
// nearer to the truth than the median on a machine that has other work, and equal on one that has
// none.
func typical(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[(len(v)-1)/4]
}

// quotient returns a/b; 0 when b is not positive.
func quotient(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// farthest returns the largest difference between the engines' outputs, as a share of the
// largest value of its output; +Inf when their sizes differ or one has a NaN that the other lacks.
func (p *pair) farthest(outputs int) float64 {
	worst := 0.0
	for i := range outputs {
		got, want := p.engines[0].Output(i), p.engines[1].Output(i)
		if want == nil && len(got) == 0 {
			continue
		}
		worst = max(worst, difference(got, want))
	}
	return worst
}

func difference(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	peak, worst := 0.0, 0.0
	for k, w := range want {
		g, w := float64(got[k]), float64(w)
		if math.IsNaN(g) != math.IsNaN(w) {
			return math.Inf(1)
		}
		if g == w || math.IsNaN(g) {
			continue
		}
		worst = max(worst, math.Abs(g-w))
		if !math.IsInf(w, 0) {
			peak = max(peak, math.Abs(w))
		}
	}
	if worst == 0 {
		return 0
	}
	return worst / max(peak, math.SmallestNonzeroFloat32)
}
