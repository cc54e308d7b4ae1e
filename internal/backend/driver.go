package backend

import (
	"fmt"
	"sync"
)

// Driver finds devices of one kind. It is safe for concurrent use.
type Driver interface {
	// Prefix is what its devices' names start with, up to the colon.
	Prefix() string
	// List describes the devices; an error says, in one line, why there are none.
	List() ([]DeviceInfo, error)
	// Open returns a device by its name: the same one for as long as it works.
	Open(name string) (Driven, error)
}

// Driven is a device that a driver found.
type Driven interface {
	Device
	// Info describes the device.
	Info() DeviceInfo
}

// Sharer is a Device that may read the host's memory in place.
type Sharer interface {
	// Share returns memory that is those bytes themselves, which must neither change nor go before Free; nil
	// where the device would have to copy them.
	Share(host []byte) (Memory, error)
}

// DeviceInfo describes a device, open or not.
type DeviceInfo struct {
	Name string
	// Kind is "cpu", "gpu" or "accelerator".
	Kind          string
	Model, Driver string
	// Units is how many work-groups run at the same time, Memory the bytes it says it has.
	Units  int
	Memory int64
	// Times multiplies estimates made for the host. Latency, in ns, and Rate, in bytes per ns, are
	// those of a copy.
	Times, Latency, Rate float64
	// Measured is what has been measured; nil when nothing has.
	Measured *DeviceRates
}

// DeviceRates is how fast a device is, by measurement.
type DeviceRates struct {
	// Peak is in operations per ns, a multiply-add being two; Near and Far in bytes read or written per
	// ns, of little and of much memory.
	Peak float64 `json:"peak"`
	Near float64 `json:"near"`
	Far  float64 `json:"far"`
	// Launch is what a kernel costs in ns however little it does, one behind the other.
	Launch float64 `json:"launch_ns"`
	// Latency, in ns, and Rate, in bytes per ns, are those of a copy to or from the host.
	Latency float64 `json:"latency_ns"`
	Rate    float64 `json:"rate"`
}

// Check fails when a rate is not a positive number of a usual size.
func (r *DeviceRates) Check() error {
	for _, x := range []float64{r.Peak, r.Near, r.Far, r.Launch, r.Latency, r.Rate} {
		if !(x >= 1e-9 && x <= 1e15) {
			return fmt.Errorf("rates: got %+v, want numbers between 1e-9 and 1e15", *r)
		}
	}
	return nil
}

// Measurer is a Driven whose rates can be measured.
type Measurer interface {
	// Measure returns the rates that are kept for such a device and driver, or, where there are none or again
	// is set, measures them and keeps them for later processes.
	Measure(again bool) (*DeviceRates, error)
}

var drivers struct {
	sync.Mutex
	list []Driver
}

// AddDriver makes a kind of devices known to the process. Packages under device call it when they
// are imported, and nothing else does.
func AddDriver(d Driver) {
	drivers.Lock()
	defer drivers.Unlock()
	drivers.list = append(drivers.list, d)
}

// Drivers lists what AddDriver was given, in that order.
func Drivers() []Driver {
	drivers.Lock()
	defer drivers.Unlock()
	return append([]Driver(nil), drivers.list...)
}
