package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/stowage-ml/stowage"
)

// benchVerb times a model.
type benchVerb struct {
	Model string `arg:"" help:"Model file, or -."`
	feedFlags
	Data []string `sep:"none" placeholder:"DIR" help:"Stored inputs: a test_data_set_N folder, or one that holds such; may be repeated."`
	Dim  sizes    `placeholder:"D=N/M,…;…" help:"Values of free dims: one set, or several to cycle over."`
	Max  dims     `placeholder:"D=N,…" help:"Upper bounds of free dims (the largest of --dim when it gives several sets)."`
	tuning
	following
	tracing
	Runs        int     `default:"10" help:"Timed runs, all inputs taken together."`
	Warmup      int     `default:"1" help:"Untimed runs of every input before."`
	Concurrency int     `default:"1" help:"Runs at the same time, in one session, and callers that each start the next run when one is done."`
	Rate        float64 `placeholder:"R" help:"Instead of such callers, R runs a second on average that arrive whether others are done or not."`
	Cold        int     `default:"3" help:"Fresh processes to time from start to first output; 0 for none."`
	JSON        bool    `name:"json" help:"Print JSON."`

	ColdChild bool `hidden:"" help:"Run once, and say when the output is there."`
}

// Help explains the inputs and the figures.
func (*benchVerb) Help() string {
	return feedHelp + `

Inputs that are not given are random. --dim d=32/64,e=8 is two sizes of d with one of e; sets are separated by
';'; runs cycle over all of them in one session, and the arena is sized for the largest.

load_ms is opening the file and the session; first_ms the first run; median_ms, min_ms, p90_ms and p99_ms are over
the timed runs, with the time that a run waits for others; cpu_ms is the process's CPU time per timed run; cold_ms
is the median time from the start of a fresh process to its first output. arena_bytes is what the session reserves
for tensors, arena_lower_bound the least that any arrangement needs, peak_rss_bytes the process's own peak. A figure
that the system cannot tell is null in JSON and - in text.

devices lists, for the timed runs, on how many each device has run kernels, as a number and as a share of all, and
busy_share, the share of the time in which it worked for at least one run. A run may use several devices. arms
lists the prepared plans among which runs have chosen by the policy, with how often each was taken when a run began.

With --rate the gaps between arrivals are drawn at random (exponentially, from --seed, so the same every time), and
the times count from the arrival: where runs arrive faster than they are done, times grow with --runs.

` + traceHelp + ` Tracing takes some of the time that bench tells; the fresh processes of --cold are not traced.`
}

// benchReport is the JSON of bench. Times are in milliseconds.
type benchReport struct {
	Model       string `json:"model"`
	Runs        int    `json:"runs"`
	Inputs      int    `json:"inputs"`
	Threads     int    `json:"threads"`
	Concurrency int    `json:"concurrency"`
	// Rate is how many runs a second arrive; null when each caller starts the next run when one is done.
	Rate *float64 `json:"rate"`

	MedianMS float64  `json:"median_ms"`
	MinMS    float64  `json:"min_ms"`
	P90MS    float64  `json:"p90_ms"`
	P99MS    float64  `json:"p99_ms"`
	CPUMS    *float64 `json:"cpu_ms"`
	LoadMS   float64  `json:"load_ms"`
	FirstMS  float64  `json:"first_ms"`
	ColdMS   *float64 `json:"cold_ms"`
	// RunsPerSecond is the throughput of the timed runs, all callers together.
	RunsPerSecond float64 `json:"runs_per_s"`
	// Policy is how runs have chosen among arms, and Arms what they have taken; "" and none where there is
	// nothing to choose from.
	Policy  string        `json:"policy"`
	Arms    []benchArm    `json:"arms"`
	Devices []benchDevice `json:"devices"`

	ArenaBytes      int64  `json:"arena_bytes"`
	ArenaLowerBound int64  `json:"arena_lower_bound"`
	WeightBytes     int64  `json:"weight_bytes"`
	PeakRSSBytes    *int64 `json:"peak_rss_bytes"`
}

// benchDevice is what a device has done for the timed runs.
type benchDevice struct {
	Name string `json:"name"`
	// Runs counts those in which it has run kernels, and Share is their share of all.
	Runs  int64   `json:"runs"`
	Share float64 `json:"runs_share"`
	// BusyShare is the share of the time in which it worked for at least one run.
	BusyShare float64 `json:"busy_share"`
}

// benchArm is one of the plans that were prepared.
type benchArm struct {
	Name string `json:"name"`
	// Runs counts how often it was taken at the begin of a timed run, and Share is that over the number of runs.
	Runs  int64   `json:"runs"`
	Share float64 `json:"runs_share"`
}

// Run measures, and prints the figures.
func (v *benchVerb) Run(e *env) error {
	if err := v.check(); err != nil {
		return err
	}
	start := time.Now()
	m, err := e.load(v.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	loaded := time.Since(start)
	sets, err := v.sets(e, m)
	if err != nil {
		return err
	}
	start = time.Now()
	o, err := v.follow(v.options())
	if err != nil {
		return err
	}
	if v.ColdChild {
		v.Trace = ""
	}
	write, err := v.record(o)
	if err != nil {
		return err
	}
	taken := &decisions{runs: map[string]int64{}}
	o.Decided = taken.add
	s, err := m.Open(o)
	if err != nil {
		return about(v.Model, write(err))
	}
	defer s.Close()
	r := benchReport{Model: v.Model, Runs: v.Runs, Inputs: len(sets), Threads: s.Threads(), Concurrency: v.Concurrency,
		LoadMS: ms(loaded + time.Since(start)), WeightBytes: m.WeightBytes()}
	if v.ColdChild {
		return v.once(e, s, sets[0])
	}
	if err := write(v.measure(e, s, sets, taken, &r)); err != nil {
		return failed(about(v.Model, err))
	}
	use := s.Memory()
	r.ArenaBytes, r.ArenaLowerBound = use.ArenaBytes, use.LowerBound
	if r.ColdMS, err = v.cold(e); err != nil {
		return failed(err)
	}
	if v.JSON {
		return e.json(r)
	}
	r.print(e)
	return nil
}

func (v *benchVerb) check() error {
	for _, f := range []struct {
		name       string
		got, least int
	}{{"runs", v.Runs, 1}, {"concurrency", v.Concurrency, 1}, {"warmup", v.Warmup, 0}, {"cold", v.Cold, 0}} {
		if f.got < f.least {
			return fmt.Errorf("bench: got --%s %d, want at least %d", f.name, f.got, f.least)
		}
	}
	if !(v.Rate >= 0) || v.Rate > mostRate {
		return fmt.Errorf("bench: got --rate %v, want at least 0 runs a second, at most %v", v.Rate, mostRate)
	}
	if len(v.Data) > 0 && len(v.Input)+len(v.Dim) > 0 {
		return errors.New("bench: got --data with --input or --dim, want one of them")
	}
	return nil
}

// options fixes the dims of a single set, and bounds those of several by their largest.
func (v *benchVerb) options() *stowage.Options {
	o := v.apply(&stowage.Options{Fix: dims{}, Max: dims{}, Concurrency: v.Concurrency})
	for name, n := range v.Max {
		o.Max[name] = n
	}
	for _, d := range v.Dim {
		for name, n := range d {
			switch _, bounded := v.Max[name]; {
			case bounded:
			case len(v.Dim) == 1:
				o.Fix[name] = n
			default:
				o.Max[name] = max(o.Max[name], n)
			}
		}
	}
	return o
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r *benchReport) print(e *env) {
	optional := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *v)
	}
	e.printf("%s: %d runs of %d inputs, threads %d, concurrency %d\n", r.Model, r.Runs, r.Inputs, r.Threads, r.Concurrency)
	if r.Rate != nil {
		e.printf("arrive  %v runs/s on average\n", *r.Rate)
	}
	e.printf("time    median %.3f ms  min %.3f  p90 %.3f  p99 %.3f  cpu %s  %.1f runs/s\n",
		r.MedianMS, r.MinMS, r.P90MS, r.P99MS, optional(r.CPUMS), r.RunsPerSecond)
	for _, a := range r.Arms {
		e.printf("arm     %s: %d runs, %.1f %% of all, by policy %s\n", plain(a.Name), a.Runs, 100*a.Share, r.Policy)
	}
	for _, d := range r.Devices {
		e.printf("device  %s: %d runs, %.1f %% of all, busy %.1f %% of the time\n",
			plain(d.Name), d.Runs, 100*d.Share, 100*d.BusyShare)
	}
	e.printf("start   load %.3f ms  first run %.3f  cold %s\n", r.LoadMS, r.FirstMS, optional(r.ColdMS))
	peak := "-"
	if r.PeakRSSBytes != nil {
		peak = bytesText(*r.PeakRSSBytes)
	}
	e.printf("memory  arena %s  lower bound %s  weights %s  peak RSS %s\n",
		bytesText(r.ArenaBytes), bytesText(r.ArenaLowerBound), bytesText(r.WeightBytes), peak)
}
