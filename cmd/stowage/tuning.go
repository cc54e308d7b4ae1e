package main

import "github.com/stowage-ml/stowage"

// tuning is the flags that say how a model is run, without a say in what it computes.
type tuning struct {
	Threads  int      `placeholder:"N" help:"Threads inside one run, at most what the machine gives, which is also the default."`
	Kernels  string   `placeholder:"SET" help:"Kernels of this set, and slower ones: reference, generic, or a vector level such as avx2 (the machine's best)."`
	NoKernel []string `placeholder:"NAME,…" help:"Kernels not used, by name."`
	Measured bool     `help:"Plan with the times that calibrate has measured on this machine."`
	Store    string   `placeholder:"FILE" help:"The file of such times; without it, the one in the user's cache folder."`
	Devices  []string `placeholder:"D,…" help:"Devices to run on: cpu, what the verb devices lists (opencl:0, or a part, opencl:0.1), or sim:N for a simulated one that takes N times as long."`
	Policy   string   `placeholder:"P" help:"How runs choose among the plans prepared for several devices: ect (the default; the one that is complete first), static, load, fit or tiers."`
	NoFuse   []string `placeholder:"RULE,…" help:"Rules not used to join nodes into larger ones; all for every rule."`
}

// apply adds the flags to the options.
func (t *tuning) apply(o *stowage.Options) *stowage.Options {
	o.Devices, o.Policy = t.Devices, t.Policy
	o.Threads, o.Kernels, o.NoKernel, o.NoFuse = t.Threads, t.Kernels, t.NoKernel, t.NoFuse
	switch {
	case t.Store != "":
		o.Measurements = t.Store
	case t.Measured:
		o.Measurements = stowage.MeasurementsAuto
	}
	return o
}
