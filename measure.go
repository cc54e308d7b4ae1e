package stowage

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/cost"
	"github.com/stowage-ml/stowage/internal/simd"
)

// MeasurementsAuto is the Options.Measurements that stands for the store in the user's cache folder.
const MeasurementsAuto = "auto"

// costs returns what times are estimated with.
func (s *Session) costs() (*cost.Model, error) {
	m := &cost.Model{Device: hostDevice}
	threads := s.Threads()
	path, named, err := storeOf(s.opts.Measurements)
	level := simd.Best()
	if l, err := simd.Parse(s.opts.Kernels); err == nil {
		level = l
	}
	if s.opts.Measurements != "" {
		if level == simd.Best() {
			m.Rates = cost.Cached(threads)
		}
		if err == nil {
			m.Judge, err = cost.ReadStore(path, cost.Machine())
		}
		if err != nil && named {
			return nil, fmt.Errorf("stowage: options: Measurements: %w", err)
		}
	}
	if m.Rates == nil {
		m.Rates = cost.Typical(level, threads)
	}
	m.Others = s.devices.models(level, s.opts.Measurements != "")
	return m, nil
}

// hostDevice names the processor.
const hostDevice = "cpu"

// storeOf returns the file that Options.Measurements means; named says that the caller named it.
func storeOf(measurements string) (path string, named bool, err error) {
	if measurements == "" || measurements == MeasurementsAuto {
		path, err = cost.StorePath()
		return path, false, err
	}
	return measurements, true, nil
}

// Device is one thing that runs kernels.
type Device struct {
	Name string `json:"name"`
	// Kind is "cpu", "gpu" or "accelerator".
	Kind string `json:"kind"`
	// Model is the hardware's name and instructions, Level the vector level that kernels use.
	Model string `json:"model"`
	Level string `json:"level"`
	// Driver is what the device is reached through; "" when that is nothing.
	Driver string `json:"driver,omitempty"`
	// Threads is how many workers a run may have.
	Threads int `json:"threads"`
	// MemoryBytes is the device's memory; 0 when it is not known.
	MemoryBytes int64 `json:"memory_bytes"`
	// Machine is the fingerprint under which the host's measurements are kept, Rates what was measured.
	Machine string `json:"machine,omitempty"`
	Rates   Rates  `json:"rates,omitzero"`
}

// Rates is how fast a device is.
type Rates struct {
	// Peak is in operations per ns; a multiply-add is two.
	Peak Rate `json:"peak_flops_per_ns"`
	// Stream is in bytes read or written per ns, by the size of what is worked on.
	Stream []StreamRate `json:"stream_bytes_per_ns"`
	// LaunchNs is what a kernel costs however little it does, and ShareNs what it costs more to share
	// it among workers.
	LaunchNs float64 `json:"launch_ns"`
	ShareNs  float64 `json:"share_ns"`
	// Reorder is the rate of a change of layout, in bytes read or written per ns, and Scalar that of
	// code without vector instructions, in operations per ns.
	Reorder float64 `json:"reorder_bytes_per_ns"`
	Scalar  float64 `json:"scalar_flops_per_ns"`
	// CopyNs is what a copy to or from the host takes whatever its size, and Copy its rate in bytes per
	// ns; 0 for the host.
	CopyNs float64 `json:"copy_ns,omitempty"`
	Copy   float64 `json:"copy_bytes_per_ns,omitempty"`
}

// Rate is a rate of one worker, and of all together.
type Rate struct {
	One float64 `json:"one"`
	All float64 `json:"all"`
}

// StreamRate is the rate for operands of so many bytes together.
type StreamRate struct {
	Bytes float64 `json:"bytes"`
	Rate
}

// Devices describes what can run kernels: the host, and the devices of the kinds that are compiled in;
// MissingDevices says why a kind has none. Rates are those kept in the user's cache folder, or
// measured now, in some 50 ms, and kept there; remeasure measures anew in any case.
func Devices(remeasure bool) []Device {
	threads := workers().Size()
	var r *cost.Rates
	if remeasure {
		r = cost.Measure(threads)
		_ = cost.Keep(r)
	} else {
		r = cost.Host(threads)
	}
	d := Device{Name: hostDevice, Kind: "cpu", Model: simd.Machine(), Level: simd.Best().String(), Threads: threads,
		MemoryBytes: physicalMemory(), Machine: cost.Machine(),
		Rates: Rates{Peak: Rate(r.Peak), LaunchNs: r.Launch, ShareNs: r.Share, Reorder: r.Reorder, Scalar: r.Scalar}}
	for _, b := range r.Stream {
		d.Rates.Stream = append(d.Rates.Stream, StreamRate{Bytes: b.Bytes, Rate: Rate(b.Rate)})
	}
	found, _ := otherDevices(remeasure)
	return append([]Device{d}, found...)
}
