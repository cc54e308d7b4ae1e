package main

import (
	"cmp"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/stowage-ml/stowage"
)

// calibrateVerb times the kernels of a model.
type calibrateVerb struct {
	Model string `arg:"" help:"Model file, or -."`
	feedFlags
	Data string `placeholder:"DIR" help:"Stored inputs: a test_data_set_N folder."`
	Dim  dims   `placeholder:"D=N,…" help:"Values of free dims."`
	tuning
	Runs int  `default:"10" help:"How often each kernel is timed; slow ones are timed less often."`
	All  bool `help:"List every kernel that was considered, not only those that ran."`
	JSON bool `name:"json" help:"Print JSON."`
}

// Help says what calibrating is for.
func (*calibrateVerb) Help() string {
	return feedHelp + `

Inputs that are not given are random. Every kernel that could run a step is run on that step's operands, in its
place among the other steps, and its times are added to --store, or else to a file in the user's cache folder.
plan, run and bench use them with --measured or --store; calibrate itself starts with the plan that --measured
gives. Times count only on the same machine, and only for the same revision of a kernel.`
}

// calibrateReport is the JSON of calibrate.
type calibrateReport struct {
	Model string `json:"model"`
	*stowage.Calibration
}

// Run calibrates, and prints what was found.
func (v *calibrateVerb) Run(e *env) error {
	if v.Runs < 1 {
		return fmt.Errorf("calibrate: --runs: got %d, want at least 1", v.Runs)
	}
	m, err := e.load(v.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	b := benchVerb{feedFlags: v.feedFlags}
	if v.Data != "" {
		b.Data = []string{v.Data}
	}
	if v.Dim != nil {
		b.Dim = sizes{v.Dim}
	}
	sets, err := b.sets(e, m)
	if err != nil {
		return err
	}
	options := v.apply(&stowage.Options{Fix: v.Dim})
	if v.Store != "" {
		// The store need not be there yet.
		options.Measurements = ""
	}
	s, err := m.Open(options)
	if err != nil {
		return about(v.Model, err)
	}
	defer s.Close()
	bar := e.progress("calibrate", 0)
	o := &stowage.CalibrateOptions{Runs: v.Runs, Store: v.Store}
	if bar.within() != nil {
		o.Progress = bar.move
	}
	c, err := s.Calibrate(e.ctx, sets[0].in, o)
	bar.done()
	if err != nil {
		return failed(about(v.Model, err))
	}
	if v.JSON {
		return e.json(calibrateReport{Model: v.Model, Calibration: c})
	}
	v.print(e, c)
	return nil
}

func (v *calibrateVerb) print(e *env, c *stowage.Calibration) {
	list := slices.Clone(c.Kernels)
	if !v.All {
		list = slices.DeleteFunc(list, func(k stowage.KernelTime) bool { return k.Steps == 0 })
	}
	slices.SortStableFunc(list, func(a, b stowage.KernelTime) int {
		return cmp.Compare(b.MeasuredNs*int64(b.Steps), a.MeasuredNs*int64(a.Steps))
	})
	w := tabwriter.NewWriter(&e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "op\tkernel\tsteps\testimate µs\tmeasured µs\t±\tsamples\toperands")
	for _, k := range list {
		estimate := "-"
		if k.EstNs >= 0 {
			estimate = fmt.Sprintf("%.2f", micros(k.EstNs))
		}
		fmt.Fprintf(w, "%s\t%s %s\t%d\t%s\t%.2f\t%.2f\t%d\t%s\n", plain(k.Op), k.Kernel, k.Source, k.Steps, estimate,
			micros(k.MeasuredNs), micros(k.SpreadNs), k.Samples, short(k.Operands))
	}
	_ = w.Flush()
	e.printf("%d kernels and shapes; a run was estimated at %.3f ms, with the times at %.3f ms, and takes %.3f ms\n",
		len(c.Kernels), micros(c.BeforeNs)/1000, micros(c.AfterNs)/1000, micros(c.RunNs)/1000)
	e.printf("added to %s\n", c.Store)
}

func micros(ns int64) float64 { return float64(ns) / 1000 }

// maxOperands is the width up to which operands are printed.
const maxOperands = 100

func short(s string) string {
	if r := []rune(s); len(r) > maxOperands {
		return string(r[:maxOperands-1]) + "…"
	}
	return s
}
