// Package opencl adds the machine's OpenCL devices to what sessions can run on, without cgo: the
// library is looked for when a device is asked for, and where there is none everything else
// works. Importing the package, for nothing but that, is all there is to do:
//
//	import _ "github.com/stowage-ml/stowage/device/opencl"
//
// Devices are named "opencl:0", "opencl:1" … in the order in which the platforms list them, and
// the parts of one that can be divided "opencl:0.0", "opencl:0.1" …, one compute unit each. Every
// device has a context, an in-order queue and memory of its own. A program that imports this
// package is linked dynamically.
//
// It knows nothing of plans. Sizes are in bytes, times in nanoseconds.
package opencl

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
)

// prefix starts the names of all devices.
const prefix = "opencl"

func init() { backend.AddDriver(&driver{}) }

// driver finds the devices, once.
type driver struct {
	once sync.Once
	lib  *library
	err  error

	mu    sync.Mutex
	found []*deviceID
	read  bool
	open  map[string]*Device
}

// Prefix implements backend.Driver.
func (*driver) Prefix() string { return prefix }

// load opens the library.
func (d *driver) load() error {
	d.once.Do(func() { d.lib, d.err = openLibrary() })
	return d.err
}

// ids lists the devices of all platforms. The driver's lock is held.
func (d *driver) ids() ([]*deviceID, error) {
	if err := d.load(); err != nil {
		return nil, err
	}
	if !d.read {
		found, err := d.lib.devices()
		if err != nil {
			return nil, err
		}
		d.found, d.read = found, true
	}
	return d.found, nil
}

// List implements backend.Driver.
func (d *driver) List() ([]backend.DeviceInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids, err := d.ids()
	if err != nil {
		return nil, err
	}
	var out []backend.DeviceInfo
	for _, id := range ids {
		// What cannot be divided has no parts to list.
		parts, _ := d.lib.parts(id)
		for _, id := range append([]*deviceID{id}, parts...) {
			id.info.Measured = id.cachedRates()
			out = append(out, id.info)
		}
	}
	return out, nil
}

// Open implements backend.Driver.
func (d *driver) Open(name string) (backend.Driven, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dev := d.open[name]; dev != nil && !dev.Lost() {
		return dev, nil
	}
	ids, err := d.ids()
	if err != nil {
		return nil, err
	}
	id, err := d.find(ids, name)
	if err != nil {
		return nil, err
	}
	dev, err := d.lib.open(name, id)
	if err != nil {
		return nil, err
	}
	if d.open == nil {
		d.open = map[string]*Device{}
	}
	d.open[name] = dev
	return dev, nil
}

// find returns the device, or the part of one, of that name.
func (d *driver) find(ids []*deviceID, name string) (*deviceID, error) {
	for _, id := range ids {
		if id.info.Name == name {
			return id, nil
		}
	}
	for _, id := range ids {
		if !strings.HasPrefix(name, id.info.Name+".") {
			continue
		}
		parts, err := d.lib.parts(id)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if p.info.Name == name {
				return p, nil
			}
		}
		return nil, fmt.Errorf("opencl: device %q: got no such part, want %s.0 to %s.%d", name, id.info.Name, id.info.Name,
			len(parts)-1)
	}
	return nil, fmt.Errorf("opencl: device %q: got no such device, want one of the %d that stowage devices lists", name,
		len(ids))
}
