package backend

import "sync"

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
