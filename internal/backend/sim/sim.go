// Package sim is a device for tests of everything that several devices need: it runs the kernels of
// another backend, at a rate of one's choice, on memory of its own, so that what is not copied is
// not there. Times are nanoseconds, sizes bytes.
package sim

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
)

// Config says what a device is like.
type Config struct {
	Name string
	// Kernels are what it runs; only those without blocked layouts are offered.
	Kernels backend.Backend
	// Slowdown is how many times as long as a kernel itself a launch takes; below 1 counts as 1.
	Slowdown float64
	// Latency is added to every copy.
	Latency time.Duration
	// Bytes is the size of its memory; 0 means no limit.
	Bytes int64
	// FailAt makes the call of that number, counted from 1 over launches and copies, fail, and all
	// later ones; 0 means never.
	FailAt int64
	// LoseAt makes the device be lost at the call of that number; 0 means never.
	LoseAt int64
	// Launch is what a launch takes at least, times the slowdown.
	Launch time.Duration
}

// Device is a simulated device.
type Device struct {
	cfg   Config
	calls atomic.Int64
	slow  atomic.Uint64
	used  atomic.Int64
	bytes atomic.Int64
	lost  atomic.Bool
	// one holds back a second launch while there is one.
	one sync.Mutex
}

// New returns a device.
func New(cfg Config) *Device {
	d := &Device{cfg: cfg}
	d.SetSlowdown(cfg.Slowdown)
	d.bytes.Store(cfg.Bytes)
	return d
}

// SetBytes changes the size of the memory from now on; what is reserved stays.
func (d *Device) SetBytes(n int64) { d.bytes.Store(n) }

// Lose makes every call fail from now on: the device is lost.
func (d *Device) Lose() { d.lost.Store(true) }

// gone is the error of a device that is lost.
func (d *Device) gone() error { return fmt.Errorf("sim: device %q: %w", d.cfg.Name, backend.ErrLost) }

// SetSlowdown changes the rate of launches from now on.
func (d *Device) SetSlowdown(times float64) { d.slow.Store(uint64(max(times, 1) * 1024)) }

// Name implements backend.Device.
func (d *Device) Name() string { return d.cfg.Name }

// Capacity implements backend.Device.
func (d *Device) Capacity() int64 { return d.cfg.Bytes }

// Calls returns how many launches and copies there have been.
func (d *Device) Calls() int64 { return d.calls.Load() }

// Used returns how much memory is reserved.
func (d *Device) Used() int64 { return d.used.Load() }

// Backend implements backend.Device.
func (d *Device) Backend() backend.Backend { return rowMajor{d.cfg.Kernels} }

// rowMajor offers the kernels of a backend that know of no layouts.
type rowMajor struct{ backend.Backend }

// Candidates implements backend.Backend.
func (b rowMajor) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	all, err := b.Backend.Candidates(o)
	var out []backend.Candidate
	for _, c := range all {
		if plain(c.In) && plain(c.Out) {
			out = append(out, c)
		}
	}
	return out, err
}

func plain(ls []backend.Layout) bool {
	for _, l := range ls {
		if l != backend.RowMajor {
			return false
		}
	}
	return true
}

// memory is a block of the device's memory.
type memory struct {
	d    *Device
	data []byte
}

// Alloc implements backend.Device. The bytes are junk.
func (d *Device) Alloc(n int64) (backend.Memory, error) {
	if d.lost.Load() {
		return nil, d.gone()
	}
	limit := d.bytes.Load()
	if total := d.used.Add(n); limit > 0 && total > limit {
		d.used.Add(-n)
		return nil, fmt.Errorf("sim: device %q: got a request of %d bytes with %d in use, want at most %d in all",
			d.cfg.Name, n, total-n, limit)
	}
	const align = 64
	raw := make([]byte, n+align)
	m := &memory{d, alignTo(raw, align)[:n:n]}
	for i := range m.data {
		m.data[i] = 0xa5
	}
	return m, nil
}

// Size implements backend.Memory.
func (m *memory) Size() int64 { return int64(len(m.data)) }

// Host implements backend.Memory: kernels of the host run here.
func (m *memory) Host() []byte { return m.data }

// Free implements backend.Memory.
func (m *memory) Free() error {
	m.d.used.Add(-int64(len(m.data)))
	m.data = nil
	return nil
}

// count counts a call, and fails when it is to.
func (d *Device) count() error {
	n := d.calls.Add(1)
	if d.cfg.LoseAt > 0 && n >= d.cfg.LoseAt {
		d.Lose()
	}
	if d.lost.Load() {
		return d.gone()
	}
	if d.cfg.FailAt > 0 && n >= d.cfg.FailAt {
		return fmt.Errorf("sim: device %q: lost at call %d", d.cfg.Name, n)
	}
	return nil
}

// Run implements backend.Device.
func (d *Device) Run(k backend.Kernel, c *backend.Call) error {
	if err := d.count(); err != nil {
		return err
	}
	d.one.Lock()
	defer d.one.Unlock()
	start := time.Now()
	err := k(c)
	f := float64(d.slow.Load()) / 1024
	took := time.Since(start)
	if want := time.Duration(float64(max(took, d.cfg.Launch)) * f); want > took {
		time.Sleep(want - took)
	}
	return err
}

// Upload implements backend.Device.
func (d *Device) Upload(dst backend.Memory, offset int64, src []byte) error {
	if err := d.move(dst, offset, len(src)); err != nil {
		return err
	}
	copy(dst.(*memory).data[offset:], src)
	return nil
}

// Download implements backend.Device.
func (d *Device) Download(dst []byte, src backend.Memory, offset int64) error {
	if err := d.move(src, offset, len(dst)); err != nil {
		return err
	}
	copy(dst, src.(*memory).data[offset:])
	return nil
}

// move checks a copy, and waits for its latency.
func (d *Device) move(m backend.Memory, offset int64, n int) error {
	if err := d.count(); err != nil {
		return err
	}
	mem, ok := m.(*memory)
	if !ok || mem.d != d {
		return fmt.Errorf("sim: device %q: got memory of another device", d.cfg.Name)
	}
	if offset < 0 || offset+int64(n) > int64(len(mem.data)) {
		return fmt.Errorf("sim: device %q: got a copy of %d bytes at %d, want it within %d", d.cfg.Name, n, offset,
			len(mem.data))
	}
	if d.cfg.Latency > 0 {
		time.Sleep(d.cfg.Latency)
	}
	return nil
}
