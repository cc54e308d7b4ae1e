package stowage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/sim"
	"github.com/stowage-ml/stowage/internal/cost"
	"github.com/stowage-ml/stowage/internal/exec"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/internal/simd"
)

// deviceSet is what a session's steps may run on.
type deviceSet struct {
	// away and planned list the devices beside the host, in one order.
	away    []backend.Device
	planned []plan.Device
	// notHost says that the host was not asked for.
	notHost  bool
	resident exec.Resident
	// uses counts what each device does, the host's first.
	uses []*exec.Use
}

// openDevices finds the devices that Options.Devices names.
func openDevices(names []string, kernels backend.Backend) (*deviceSet, error) {
	set := &deviceSet{notHost: len(names) > 0 && !slices.Contains(names, plan.Host), uses: []*exec.Use{{}}}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("stowage: options: Devices: got %q twice", name)
		}
		if name == plan.Host {
			continue
		}
		d, p, err := openDevice(name, kernels)
		if err != nil {
			return nil, err
		}
		set.away, set.planned, set.uses = append(set.away, d), append(set.planned, p), append(set.uses, &exec.Use{})
	}
	return set, nil
}

// openDevice finds one device beside the host. Tests put their own in its place.
var openDevice = func(name string, kernels backend.Backend) (backend.Device, plan.Device, error) {
	spec, ok := strings.CutPrefix(name, "sim:")
	if !ok {
		return drivenDevice(name)
	}
	times, err := strconv.ParseFloat(spec, 64)
	if err != nil || !(times > 0) || times > 1e6 {
		return nil, plan.Device{}, fmt.Errorf("stowage: options: Devices: got %q, want sim:N with a number above 0, "+
			"at most a million", name)
	}
	d := sim.New(sim.Config{Name: name, Kernels: kernels, Slowdown: times})
	return d, simPlanned(d, times), nil
}

// drivenDevice finds a device of a kind that an import has added.
func drivenDevice(name string) (backend.Device, plan.Device, error) {
	prefix, _, _ := strings.Cut(name, ":")
	for _, dr := range backend.Drivers() {
		if dr.Prefix() != prefix {
			continue
		}
		d, err := dr.Open(name)
		if err != nil {
			return nil, plan.Device{}, fmt.Errorf("stowage: options: Devices: %w", err)
		}
		info := d.Info()
		return d, plan.Device{Name: name, Backend: d.Backend(), Capacity: d.Capacity(), Latency: info.Latency,
			Rate: info.Rate}, nil
	}
	return nil, plan.Device{}, fmt.Errorf("stowage: options: Devices: got %q, want cpu, sim:N for a simulated device "+
		"whose kernels take N times as long, or a device of a kind that is compiled in: %s", name, kinds())
}

// kinds lists the prefixes of the devices' names that imports have added.
func kinds() string {
	out := []string{}
	for _, dr := range backend.Drivers() {
		out = append(out, dr.Prefix())
	}
	if len(out) == 0 {
		return "none (a program that imports device/opencl has opencl)"
	}
	return strings.Join(out, ", ")
}

// otherDevices describes the devices beside the host, with their rates; for kinds that have none, missing
// says why.
func otherDevices(remeasure bool) (found []Device, missing []string) {
	for _, dr := range backend.Drivers() {
		infos, err := dr.List()
		if err != nil {
			missing = append(missing, err.Error())
		}
		seen := map[string]bool{}
		for _, i := range infos {
			// Devices of one description count as alike.
			what := fmt.Sprint(i.Model, i.Driver, i.Units)
			r, err := deviceRates(dr, &i, remeasure && !seen[what])
			if err != nil {
				missing = append(missing, err.Error())
			}
			seen[what] = true
			found = append(found, Device{Name: i.Name, Kind: i.Kind, Model: i.Model, Driver: i.Driver, Threads: i.Units,
				MemoryBytes: i.Memory, Rates: r})
		}
	}
	return found, missing
}

// deviceRates returns what is known of a device's rates, or measures them.
func deviceRates(dr backend.Driver, i *backend.DeviceInfo, again bool) (Rates, error) {
	m := i.Measured
	if m == nil || again {
		d, err := dr.Open(i.Name)
		if err != nil {
			return Rates{}, err
		}
		probe, ok := d.(backend.Measurer)
		if !ok {
			return Rates{}, nil
		}
		if m, err = probe.Measure(again); err != nil {
			return Rates{}, err
		}
	}
	stream := func(bytes, rate float64) StreamRate {
		return StreamRate{Bytes: bytes, Rate: Rate{One: rate, All: rate}}
	}
	return Rates{Peak: Rate{One: m.Peak, All: m.Peak}, LaunchNs: m.Launch, CopyNs: m.Latency, Copy: m.Rate,
		Stream: []StreamRate{stream(nearBytes, m.Near), stream(farBytes, m.Far)}}, nil
}

// The sizes of what devices beside the host are measured with, about.
const (
	nearBytes = 256 << 10
	farBytes  = 16 << 20
)

// driven returns the model of a device's times: of its rates where they were measured and count, else of
// those of a usual processor with as many workers, whose kernels start slowly.
func driven(name string, info *backend.DeviceInfo, level simd.Level, measured bool) *cost.Model {
	r := cost.Typical(level, info.Units)
	r.Peak.One = r.Peak.All
	for i := range r.Stream {
		r.Stream[i].One = r.Stream[i].All
	}
	r.Launch, r.Share = usualLaunch, 1
	if m := info.Measured; m != nil && measured {
		r.Launch, r.Peak = m.Launch, cost.Rate{One: m.Peak, All: m.Peak}
		near, far := cost.Rate{One: m.Near, All: m.Near}, cost.Rate{One: m.Far, All: m.Far}
		r.Stream = []cost.Band{{Bytes: nearBytes, Rate: near}, {Bytes: farBytes, Rate: far}}
	}
	return &cost.Model{Device: name, Rates: r}
}

// usualLaunch is the ns that a kernel takes on a device behind a driver, however little it does.
const usualLaunch = 10_000

// MissingDevices says, in a line for each kind of device that is compiled in but cannot be used, why.
func MissingDevices() []string {
	_, missing := otherDevices(false)
	return missing
}

// simPlanned is what plans know of a simulated device: copies to it are copies in memory.
func simPlanned(d backend.Device, times float64) plan.Device {
	return plan.Device{Name: d.Name(), Backend: d.Backend(), Capacity: d.Capacity(), Times: times, Latency: 2000, Rate: 10}
}

// DeviceUse is what a device has done for a session's runs.
type DeviceUse struct {
	Name string
	// Runs counts the runs that have ended well and in which it has run kernels, and Busy is for how long it
	// has worked for at least one run.
	Runs int64
	Busy time.Duration
}

// Use returns what each device has done so far, in the order of Devices. It may be called during runs.
func (s *Session) Use() []DeviceUse {
	out := make([]DeviceUse, len(s.devices.uses))
	for d, name := range s.Devices() {
		out[d].Name = name
		out[d].Runs, out[d].Busy = s.devices.uses[d].Totals()
	}
	return out
}

// Devices lists the devices that the session's steps may run on, the host's CPU first.
func (s *Session) Devices() []string {
	out := []string{plan.Host}
	for _, d := range s.devices.away {
		out = append(out, d.Name())
	}
	return out
}

// models returns the models of the times of the devices that drivers have found, by name.
func (s *deviceSet) models(level simd.Level, measured bool) map[string]*cost.Model {
	out := map[string]*cost.Model{}
	for i, d := range s.away {
		if dr, ok := d.(backend.Driven); ok {
			info := dr.Info()
			out[d.Name()] = driven(d.Name(), &info, level, measured)
			if m := info.Measured; m != nil && measured {
				s.planned[i].Latency, s.planned[i].Rate = m.Latency, m.Rate
			}
		}
	}
	return out
}
