package main

import "github.com/stowage-ml/stowage"

// devicesVerb lists what can run kernels.
type devicesVerb struct {
	Again bool `help:"Measure the rates anew, whatever is known."`
	JSON  bool `name:"json" help:"Print JSON."`
}

// devicesReport is the JSON of devices.
type devicesReport struct {
	Devices []stowage.Device `json:"devices"`
	// Missing says why kinds of devices that could be there are not.
	Missing []string `json:"missing,omitempty"`
}

// Run prints each device with its rates, which are measured when they are not known yet.
func (v *devicesVerb) Run(e *env) error {
	r := devicesReport{Devices: stowage.Devices(v.Again), Missing: stowage.MissingDevices()}
	if v.JSON {
		return e.json(r)
	}
	for i := range r.Devices {
		printDevice(e, &r.Devices[i])
	}
	for _, m := range r.Missing {
		e.printf("not there: %s\n", plain(m))
	}
	return nil
}

func printDevice(e *env, d *stowage.Device) {
	memory := "-"
	if d.MemoryBytes > 0 {
		memory = bytesText(d.MemoryBytes)
	}
	level := ""
	if d.Level != "" {
		level = "  " + d.Level
	}
	e.printf("%s  %s%s  threads %d  memory %s\n", d.Name, d.Kind, level, d.Threads, memory)
	e.printf("  model     %s\n", short(plain(d.Model)))
	if d.Driver != "" {
		e.printf("  driver    %s\n", plain(d.Driver))
	}
	if d.Machine == "" {
		printDriven(e, d)
		return
	}
	e.printf("  machine   %s\n", d.Machine)
	e.printf("  peak      %.0f GFLOP/s on one thread, %.0f on all\n", d.Rates.Peak.One, d.Rates.Peak.All)
	for _, b := range d.Rates.Stream {
		e.printf("  stream    %.1f GB/s on one thread, %.1f on all, of %s\n", b.One, b.All, bytesText(int64(b.Bytes)))
	}
	e.printf("  reorder   %.1f GB/s\n", d.Rates.Reorder)
	e.printf("  launch    %.0f ns, and %.0f to share\n", d.Rates.LaunchNs, d.Rates.ShareNs)
}

// printDriven prints the rates of a device beside the host.
func printDriven(e *env, d *stowage.Device) {
	r := &d.Rates
	if r.Peak.All == 0 {
		return
	}
	e.printf("  peak      %.0f GFLOP/s\n", r.Peak.All)
	for _, b := range r.Stream {
		e.printf("  stream    %.1f GB/s, of %s\n", b.All, bytesText(int64(b.Bytes)))
	}
	e.printf("  launch    %.0f ns\n", r.LaunchNs)
	e.printf("  copy      %.0f ns, and %.1f GB/s\n", r.CopyNs, r.Copy)
}
