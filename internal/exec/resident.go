package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// Resident holds constants in the memory of devices: each is copied there once, whoever needs it, and
// stays until the memory is needed for something else. It is safe for concurrent use.
type Resident struct {
	mu   sync.Mutex
	held map[residentKey]*resident
	// own is the bytes of plans' own constants.
	own int64
	// Held, when set before the first use, is called with the bytes that are reserved on a device, or,
	// below 0, given back.
	Held func(d backend.Device, bytes int64)
	// freed is signalled when stages have let go of constants.
	freed sync.Cond
}

type residentKey struct {
	device backend.Device
	of     *tensor.Tensor
}

// resident is a constant on a device, and how many stages use it now.
type resident struct {
	mem  backend.Memory
	uses int
	// own says that the constant goes with a plan.
	own bool
}

// mostOwn is how many bytes of plans' own constants stay on all devices when no stage uses them.
const mostOwn = 1 << 20

// take brings the constants of a stage to its devices, where they stay at least until give. Where there
// is no memory, those that no stage uses make room; then it waits for what others use.
func (r *Resident) take(ctx context.Context, s *plan.Stage, devices []backend.Device, t *tracer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held, r.freed.L = map[residentKey]*resident{}, &r.mu
	}
	for {
		err := r.takeAll(s, devices, t)
		full, ok := errors.AsType[*MemoryError](err)
		if !ok || !r.used(devices[full.Device-1]) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("device %q: waiting for memory: %w", full.Name, err)
		}
		stop := context.AfterFunc(ctx, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.freed.Broadcast()
		})
		r.freed.Wait()
		stop()
	}
}

// takeAll takes all constants of a stage, or none.
func (r *Resident) takeAll(s *plan.Stage, devices []backend.Device, t *tracer) error {
	for i := range s.Slots {
		x := &s.Slots[i]
		if x.Device == 0 || x.Where != plan.InConst {
			continue
		}
		if err := r.bring(x, devices[x.Device-1], t); err != nil {
			r.release(s.Slots[:i], devices)
			return err
		}
	}
	return nil
}

// bring takes one constant.
func (r *Resident) bring(x *plan.Slot, d backend.Device, notes *tracer) error {
	t, k := x.Const, residentKey{d, x.Const}
	if m := r.held[k]; m != nil {
		m.uses++
		return nil
	}
	n := int64(len(t.Bytes()))
	if sh, ok := d.(backend.Sharer); ok {
		if m, err := sh.Share(t.Bytes()); m != nil && err == nil {
			r.hold(d, n)
			r.held[k] = &resident{mem: m, uses: 1, own: x.Own}
			if x.Own {
				r.own += n
			}
			return nil
		}
	}
	m, err := d.Alloc(n)
	if err != nil {
		if isLost(d, err) {
			return of(x.Device, d, err)
		}
		if err := r.drop(d); err != nil {
			return err
		}
		if m, err = d.Alloc(n); err != nil {
			return &MemoryError{Device: x.Device, Name: d.Name(), Bytes: n, Err: err}
		}
	}
	if err := notes.upload(x.Device, n, func() error { return d.Upload(m, 0, t.Bytes()) }); err != nil {
		_ = m.Free()
		return of(x.Device, d, fmt.Errorf("constant: %w", err))
	}
	r.hold(d, m.Size())
	r.held[k] = &resident{mem: m, uses: 1, own: x.Own}
	if x.Own {
		r.own += n
	}
	return nil
}

// give lets go of the constants of a stage.
func (r *Resident) give(s *plan.Stage, devices []backend.Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(s.Slots, devices)
	r.freed.Broadcast()
	if r.own > mostOwn {
		for k, m := range r.held {
			if m.own && m.uses == 0 {
				_ = r.free(k, m)
			}
		}
	}
}

func (r *Resident) release(slots []plan.Slot, devices []backend.Device) {
	for i := range slots {
		if x := &slots[i]; x.Device != 0 && x.Where == plan.InConst {
			r.held[residentKey{devices[x.Device-1], x.Const}].uses--
		}
	}
}

// used reports whether some stage uses constants of a device.
func (r *Resident) used(d backend.Device) bool {
	for k, m := range r.held {
		if k.device == d && m.uses > 0 {
			return true
		}
	}
	return false
}

// at returns the device's copy of a constant, which a stage must have taken.
func (r *Resident) at(d backend.Device, t *tensor.Tensor) backend.Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[residentKey{d, t}].mem
}

// evict gives back the memory of a device's constants that no stage uses.
func (r *Resident) evict(d backend.Device) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drop(d)
}

func (r *Resident) drop(d backend.Device) error {
	for k, m := range r.held {
		if k.device != d || m.uses > 0 {
			continue
		}
		if err := r.free(k, m); err != nil {
			return fmt.Errorf("device %q: %w", d.Name(), err)
		}
	}
	return nil
}

func (r *Resident) free(k residentKey, m *resident) error {
	delete(r.held, k)
	if m.own {
		r.own -= m.mem.Size()
	}
	r.hold(k.device, -m.mem.Size())
	return unlessLost(k.device, m.mem.Free())
}

func (r *Resident) hold(d backend.Device, bytes int64) {
	if r.Held != nil {
		r.Held(d, bytes)
	}
}

// Load brings the constants of a stage to the lane's devices before the first run.
func (l *Lane) Load(s *plan.Stage) error {
	if len(s.Away) == 0 {
		return nil
	}
	if err := l.Resident.take(context.Background(), s, l.Devices, l.trace); err != nil {
		return err
	}
	l.Resident.give(s, l.Devices)
	return nil
}

// Close gives the memory back. Nothing may run.
func (r *Resident) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first error
	for k, m := range r.held {
		if err := r.free(k, m); err != nil && first == nil {
			first = err
		}
	}
	return first
}
