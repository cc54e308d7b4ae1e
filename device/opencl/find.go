package opencl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
)

// deviceID is a device that could be opened.
type deviceID struct {
	id   uintptr
	info backend.DeviceInfo
	cpu  bool
	// unified says that the device reads the host's memory in place.
	unified bool
	// maxAlloc is the size of the largest buffer, maxGroup that of the largest work-group.
	maxAlloc, maxGroup uint64
	// stamp is what compiled programs depend on beside their source.
	stamp string
	// divided is its parts, once they have been asked for; the driver's lock guards it.
	divided []*deviceID
}

// devices lists the devices of all platforms.
func (l *library) devices() ([]*deviceID, error) {
	platforms, err := l.list(func(n uint32, ids *uintptr, count *uint32) error {
		return l.status(clGetPlatformIDs, uintptr(n), uintptr(unsafe.Pointer(ids)), uintptr(unsafe.Pointer(count)))
	})
	if err != nil {
		return nil, fmt.Errorf("opencl: platforms: %w", err)
	}
	if len(platforms) == 0 {
		return nil, errors.New("opencl: platforms: got none, want one (for the processor: apt-get install pocl-opencl-icd)")
	}
	var out []*deviceID
	var last error
	for _, p := range platforms {
		ids, err := l.list(func(n uint32, ids *uintptr, count *uint32) error {
			return l.status(clGetDeviceIDs, p, typeAll, uintptr(n), uintptr(unsafe.Pointer(ids)), uintptr(unsafe.Pointer(count)))
		})
		if err != nil {
			last = err
			continue
		}
		for _, id := range ids {
			d, err := l.describe(p, id)
			if err != nil {
				last = err
				continue
			}
			d.info.Name = fmt.Sprintf("%s:%d", prefix, len(out))
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		if last == nil {
			last = errors.New("got none, want one")
		}
		return nil, fmt.Errorf("opencl: devices: %w", last)
	}
	return out, nil
}

// list calls a function that tells how many handles there are, and then which.
func (l *library) list(get func(n uint32, ids *uintptr, count *uint32) error) ([]uintptr, error) {
	var n uint32
	err := get(0, nil, &n)
	if f, ok := errors.AsType[*failure](err); ok && (f.code == platformNotFound || f.code == deviceNotFound) {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, err
	}
	ids := make([]uintptr, n)
	if err := get(n, &ids[0], &n); err != nil {
		return nil, err
	}
	return ids[:min(int(n), len(ids))], nil
}

// describe asks a device what it is.
func (l *library) describe(platform, id uintptr) (*deviceID, error) {
	q := &asker{l: l}
	kind := q.number(clGetDeviceInfo, id, deviceType)
	d := &deviceID{id: id, cpu: kind&typeCPU != 0, maxAlloc: q.number(clGetDeviceInfo, id, deviceMaxAlloc),
		maxGroup: q.number(clGetDeviceInfo, id, deviceMaxGroup)}
	d.unified = d.cpu && q.number(clGetDeviceInfo, id, deviceUnified) != 0
	d.info.Kind = "accelerator"
	switch {
	case d.cpu:
		d.info.Kind = "cpu"
	case kind&typeGPU != 0:
		d.info.Kind = "gpu"
	}
	d.info.Model = q.text(clGetDeviceInfo, id, deviceName)
	version := q.text(clGetDeviceInfo, id, deviceVersion)
	d.info.Driver = fmt.Sprintf("%s, %s, driver %s", q.text(clGetPlatformInfo, platform, platformName), version,
		q.text(clGetDeviceInfo, id, deviceDriver))
	d.info.Memory = int64(q.number(clGetDeviceInfo, id, deviceMemory))
	d.info.Units = int(q.number(clGetDeviceInfo, id, deviceUnits))
	release := q.text(clGetPlatformInfo, platform, platformVersion)
	d.stamp = strings.Join([]string{release, d.info.Model, d.info.Driver}, "\n")
	if q.err == nil && q.number(clGetDeviceInfo, id, deviceIsAvailable) == 0 {
		q.err = fmt.Errorf("device %q: got one that is not available", d.info.Model)
	}
	if q.err == nil && q.number(clGetDeviceInfo, id, deviceHasCompiler) == 0 {
		q.err = fmt.Errorf("device %q: got no compiler", d.info.Model)
	}
	// A copy within one memory, which is what it is on most machines.
	d.info.Latency, d.info.Rate, d.info.Times = 30_000, 5, 1
	return d, q.err
}

// asker asks for properties until one fails.
type asker struct {
	l   *library
	err error
}

func (q *asker) bytes(fn function, of uintptr, property uint32) []byte {
	if q.err != nil {
		return nil
	}
	b, err := q.l.query(fn, of, property)
	if err != nil {
		q.err = fmt.Errorf("property %#x: %w", property, err)
	}
	return b
}

// number returns a property of 4 or 8 bytes.
func (q *asker) number(fn function, of uintptr, property uint32) uint64 {
	switch b := q.bytes(fn, of, property); len(b) {
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	case 8:
		return binary.NativeEndian.Uint64(b)
	}
	return 0
}

func (q *asker) text(fn function, of uintptr, property uint32) string {
	s, _, _ := strings.Cut(string(q.bytes(fn, of, property)), "\x00")
	return strings.Join(strings.Fields(s), " ")
}

// parts divides a device into one for each of its compute units; of one unit it has no parts.
func (l *library) parts(of *deviceID) ([]*deviceID, error) {
	if of.divided != nil {
		return of.divided, nil
	}
	if of.info.Units < 2 {
		return nil, fmt.Errorf("opencl: device %q: parts: got a device of %d compute units, want at least 2", of.info.Name,
			of.info.Units)
	}
	props := []uintptr{partitionEqually, 1, 0}
	ids, err := l.list(func(n uint32, ids *uintptr, count *uint32) error {
		return l.status(clCreateSubDevices, of.id, uintptr(unsafe.Pointer(&props[0])), uintptr(n),
			uintptr(unsafe.Pointer(ids)), uintptr(unsafe.Pointer(count)))
	})
	if err == nil && len(ids) == 0 {
		err = errors.New("got a device that cannot be divided")
	}
	if err != nil {
		return nil, fmt.Errorf("opencl: device %q: parts: %w", of.info.Name, err)
	}
	out := make([]*deviceID, len(ids))
	for i, id := range ids {
		p := *of
		p.id = id
		p.info.Name, p.info.Units = fmt.Sprintf("%s.%d", of.info.Name, i), 1
		p.info.Times = float64(max(1, of.info.Units))
		p.stamp += "\npart"
		out[i] = &p
	}
	of.divided = out
	return out, nil
}
