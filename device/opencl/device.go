package opencl

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
)

// Device is an open OpenCL device with a context and an in-order queue of its own, so that what is
// asked of it comes one after the other: a kernel may still run when Run has returned, but all
// later kernels and copies wait for it.
type Device struct {
	lib            *library
	id             *deviceID
	name           string
	context, queue uintptr
	programs       programs
	lost           atomic.Bool
	// launches and copies count what has been asked for.
	launches, uploads, downloads atomic.Int64
}

var (
	_ backend.Driven = (*Device)(nil)
	_ backend.Sharer = (*Device)(nil)

	_ backend.Measurer = (*Device)(nil)
)

// open makes a context and a queue.
func (l *library) open(name string, id *deviceID) (*Device, error) {
	d := &Device{lib: l, id: id, name: name}
	handle := id.id
	var err error
	if d.context, err = l.create(clCreateContext, 0, 1, uintptr(unsafe.Pointer(&handle)), 0, 0); err != nil {
		return nil, fmt.Errorf("opencl: device %q: context: %w", name, err)
	}
	if d.queue, err = l.create(clCreateCommandQueue, d.context, handle, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("opencl: device %q: queue: %w", name, err), l.status(clReleaseContext, d.context))
	}
	d.programs.d = d
	return d, nil
}

// Name implements backend.Device.
func (d *Device) Name() string { return d.name }

// Info implements backend.Driven.
func (d *Device) Info() backend.DeviceInfo {
	info := d.id.info
	info.Measured = d.id.cachedRates()
	return info
}

// Lost reports whether the device has failed for good.
func (d *Device) Lost() bool { return d.lost.Load() }

// Backend implements backend.Device.
func (d *Device) Backend() backend.Backend { return kernels{d} }

// Capacity implements backend.Device. What devices that share the host's memory say of it follows
// what is free, and is no limit.
func (d *Device) Capacity() int64 {
	if d.id.cpu {
		return 0
	}
	return d.id.info.Memory
}

// Counts returns how many kernels and copies have been asked for.
func (d *Device) Counts() (launches, uploads, downloads int64) {
	return d.launches.Load(), d.uploads.Load(), d.downloads.Load()
}

// check names the device in an error, and marks it as lost where the error says so.
func (d *Device) check(what string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok && f.fatal() {
		return d.lose(what, err)
	}
	return fmt.Errorf("opencl: device %q: %s: %w", d.name, what, err)
}

// lose marks the device as lost: from now on nothing that is asked of it reaches the driver, and what it holds
// there is left to the end of the process.
func (d *Device) lose(what string, err error) error {
	d.lost.Store(true)
	return fmt.Errorf("opencl: device %q: %s: %w: %w", d.name, what, backend.ErrLost, err)
}

// usable fails once the device is lost.
func (d *Device) usable() error {
	if d.lost.Load() {
		return fmt.Errorf("opencl: device %q: %w", d.name, backend.ErrLost)
	}
	return nil
}

// ask asks for a command. One that lacks resources is tried again when all before it have ended; a device
// that lacks them then is lost.
func (d *Device) ask(what string, command func() error) error {
	err := command()
	if !scarce(err) {
		return d.check(what, err)
	}
	if err := d.check(what, d.lib.status(clFinish, d.queue)); err != nil {
		return err
	}
	if err = command(); scarce(err) {
		return d.lose(what, err)
	}
	return d.check(what, err)
}

func scarce(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.code == outOfResources
}

// memory is a buffer in a device's context.
type memory struct {
	d      *Device
	handle uintptr
	size   int64
	freed  atomic.Bool
	// host is the bytes of memory that is the host's.
	host []byte
}

// Alloc implements backend.Device.
func (d *Device) Alloc(bytes int64) (backend.Memory, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	// Kernels may read whole vectors up to the end.
	const slack = 256
	n := uint64(bytes) + slack
	if bytes < 0 || n > d.id.maxAlloc {
		return nil, fmt.Errorf("opencl: device %q: memory: got a request of %d bytes, want at most %d in one piece", d.name,
			bytes, d.id.maxAlloc)
	}
	h, err := d.lib.create(clCreateBuffer, d.context, memReadWrite, uintptr(n), 0)
	if err != nil {
		return nil, d.check(fmt.Sprintf("memory of %d bytes", bytes), err)
	}
	// Memory is asked for when plans have been made.
	d.programs.ahead()
	return &memory{d: d, handle: h, size: bytes}, nil
}

// Share implements backend.Sharer: a processor reads what is aligned for its elements in place.
func (d *Device) Share(host []byte) (backend.Memory, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if !d.id.unified || len(host) == 0 || uint64(len(host)) > d.id.maxAlloc ||
		uintptr(unsafe.Pointer(&host[0]))%4 != 0 {
		return nil, nil
	}
	h, err := d.lib.create(clCreateBuffer, d.context, memReadOnly|memUseHost, uintptr(len(host)),
		uintptr(unsafe.Pointer(&host[0])))
	if err != nil {
		return nil, d.check(fmt.Sprintf("shared memory of %d bytes", len(host)), err)
	}
	return &memory{d: d, handle: h, size: int64(len(host)), host: host}, nil
}

// Size implements backend.Memory.
func (m *memory) Size() int64 { return m.size }

// Host implements backend.Memory: the host reads and writes by copies alone.
func (m *memory) Host() []byte { return nil }

// Free implements backend.Memory. What is still queued keeps the bytes until it has ended.
func (m *memory) Free() error {
	if m.freed.Swap(true) || m.d.lost.Load() {
		return nil
	}
	if m.host != nil {
		// The bytes may go when this returns.
		if err := m.d.check("memory", m.d.lib.status(clFinish, m.d.queue)); err != nil {
			return err
		}
	}
	return m.d.check("memory", m.d.lib.status(clReleaseMemObject, m.handle))
}

// own returns a range's buffer, which must be the device's own: drivers may end the process when
// they get one of another context.
func (d *Device) own(mem backend.Memory, offset, bytes int64) (*memory, error) {
	m, ok := mem.(*memory)
	switch {
	case !ok || m.d != d:
		return nil, fmt.Errorf("opencl: device %q: got memory of another device", d.name)
	case m.freed.Load():
		return nil, fmt.Errorf("opencl: device %q: got memory that was given back", d.name)
	case offset < 0 || bytes < 0 || offset > m.size-bytes:
		return nil, fmt.Errorf("opencl: device %q: got %d bytes at %d, want them within %d", d.name, bytes, offset, m.size)
	}
	return m, nil
}

// Run implements backend.Device.
func (d *Device) Run(k backend.Kernel, c *backend.Call) error {
	if err := d.usable(); err != nil {
		return err
	}
	if err := k(c); err != nil {
		return err
	}
	return d.check("flush", d.lib.status(clFlush, d.queue))
}

// Upload implements backend.Device.
func (d *Device) Upload(dst backend.Memory, offset int64, src []byte) error {
	d.uploads.Add(1)
	return d.copy("upload", clEnqueueWriteBuffer, dst, offset, src)
}

// Download implements backend.Device.
func (d *Device) Download(dst []byte, src backend.Memory, offset int64) error {
	d.downloads.Add(1)
	if err := d.copy("download", clEnqueueReadBuffer, src, offset, dst); err != nil {
		return err
	}
	d.programs.keep()
	return nil
}

// copy copies between host memory and a buffer, and waits.
func (d *Device) copy(what string, fn function, mem backend.Memory, offset int64, host []byte) error {
	if err := d.usable(); err != nil {
		return err
	}
	m, err := d.own(mem, offset, int64(len(host)))
	if err != nil || len(host) == 0 {
		return err
	}
	const blocking = 1
	return d.ask(what, func() error {
		return d.lib.status(fn, d.queue, m.handle, blocking, uintptr(offset), uintptr(len(host)),
			uintptr(unsafe.Pointer(&host[0])), 0, 0, 0)
	})
}

// fatal reports whether nothing that is asked of the device can succeed any more.
func (f *failure) fatal() bool {
	switch f.code {
	case deviceUnavailable, invalidDevice, invalidContext, invalidQueue:
		return true
	}
	return false
}
