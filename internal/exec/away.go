package exec

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// Resident holds constants in the memory of devices: each is copied there once, whoever needs it. It
// is safe for concurrent use.
type Resident struct {
	mu   sync.Mutex
	held map[residentKey]backend.Memory
}

type residentKey struct {
	device backend.Device
	of     *tensor.Tensor
}

// get returns the device's copy of a constant.
func (r *Resident) get(d backend.Device, t *tensor.Tensor) (backend.Memory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := residentKey{d, t}
	if m := r.held[k]; m != nil {
		return m, nil
	}
	m, err := d.Alloc(int64(len(t.Bytes())))
	if err != nil {
		return nil, err
	}
	if err := d.Upload(m, 0, t.Bytes()); err != nil {
		_ = m.Free()
		return nil, err
	}
	if r.held == nil {
		r.held = map[residentKey]backend.Memory{}
	}
	r.held[k] = m
	return m, nil
}

// Close gives the memory back. Nothing may run.
func (r *Resident) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first error
	for k, m := range r.held {
		if err := m.Free(); err != nil && first == nil {
			first = err
		}
		delete(r.held, k)
	}
	return first
}

// pushAway returns the memory of the devices beside the host for the slab that was pushed last.
func (l *Lane) pushAway(need []plan.Memory) ([]backend.Memory, error) {
	if len(need) == 0 {
		return nil, nil
	}
	for len(l.away) < l.depth {
		l.away = append(l.away, make([]backend.Memory, len(l.Devices)))
	}
	mems := l.away[l.depth-1]
	for d := range need {
		n := need[d].Arena
		if mems[d] != nil && mems[d].Size() >= n {
			continue
		}
		if mems[d] != nil {
			if err := mems[d].Free(); err != nil {
				return nil, err
			}
			mems[d] = nil
		}
		m, err := l.Devices[d].Alloc(n)
		if err != nil {
			return nil, fmt.Errorf("device %q: %w", l.Devices[d].Name(), err)
		}
		mems[d] = m
		if data := m.Host(); l.Poison && data != nil {
			poison(data)
		}
	}
	return mems, nil
}

// closeAway gives the devices' memory back and ends the queues.
func (l *Lane) closeAway() error {
	var first error
	for _, mems := range l.away {
		for _, m := range mems {
			if m == nil {
				continue
			}
			if err := m.Free(); err != nil && first == nil {
				first = err
			}
		}
	}
	for _, q := range l.queues {
		close(q.stages)
	}
	l.away, l.queues = nil, nil
	return first
}

// AwayBytes returns how much memory the lane holds on each device beside the host. It must not be
// called during a run.
func (l *Lane) AwayBytes() []int64 {
	n := make([]int64, len(l.Devices))
	for _, mems := range l.away {
		for d, m := range mems {
			if m != nil {
				n[d] += m.Size()
			}
		}
	}
	return n
}

// bindAway sets the view of a slot that is in a device's memory.
func (f *frame) bindAway(s *plan.Slot, v backend.View) error {
	d := f.lane.Devices[s.Device-1]
	switch s.Where {
	case plan.InArena:
		v.Mem, v.Offset = f.away[s.Device-1], s.Offset
	case plan.InConst:
		m, err := f.lane.Resident.get(d, s.Const)
		if err != nil {
			return fmt.Errorf("device %q: constant: %w", d.Name(), err)
		}
		v.Mem, v.Shape, v.DType = m, s.Const.Shape(), s.Const.DType()
	default:
		panic(fmt.Sprintf("BUG: exec: a value of device %q in memory of kind %v", d.Name(), s.Where))
	}
	if data := v.Mem.Host(); data != nil {
		v.Data = data[v.Offset : v.Offset+s.Bytes : v.Offset+s.Bytes]
	}
	f.views[s.Value] = v
	return nil
}

// launchAway runs a step of a device beside the host.
func (f *frame) launchAway(s *plan.Step) error {
	d := f.lane.Devices[s.DeviceIndex-1]
	if s.Transfer {
		if err := f.transfer(s); err != nil {
			return fmt.Errorf("device %q: %w", d.Name(), err)
		}
		return nil
	}
	if n := len(f.lane.Devices); len(f.calls) < n {
		f.grow(n)
	}
	c := &f.calls[s.DeviceIndex-1]
	c.In, c.Out = c.In[:0], c.Out[:0]
	for _, v := range s.In {
		c.In = append(c.In, f.view(v))
	}
	for _, v := range s.Out {
		c.Out = append(c.Out, f.view(v))
	}
	c.Scratch = nil
	c.ScratchMem, c.ScratchOffset = f.away[s.DeviceIndex-1], s.ScratchOffset
	if data := c.ScratchMem.Host(); data != nil {
		c.Scratch = data[s.ScratchOffset : s.ScratchOffset+s.ScratchBytes : s.ScratchOffset+s.ScratchBytes]
	}
	if err := d.Run(s.Kernel, c); err != nil {
		return fmt.Errorf("device %q: %w", d.Name(), err)
	}
	return nil
}

// grow makes room for the calls of n devices.
func (f *frame) grow(n int) { f.calls = make([]backend.Call, n) }

// transfer copies a value between two devices; between two beside the host by way of the host, unless
// the host can address the bytes.
func (f *frame) transfer(s *plan.Step) error {
	in, out := f.view(s.In[0]), f.view(s.Out[0])
	devices := f.lane.Devices
	switch {
	case s.From == 0:
		return devices[s.To-1].Upload(out.Mem, out.Offset, in.Data)
	case s.To == 0:
		return devices[s.From-1].Download(out.Data, in.Mem, in.Offset)
	}
	bytes := in.Data
	if bytes == nil {
		n, _ := in.Shape.Elements()
		size, _ := in.DType.ByteSize(n)
		bytes = make([]byte, size)
		if err := devices[s.From-1].Download(bytes, in.Mem, in.Offset); err != nil {
			return err
		}
	}
	return devices[s.To-1].Upload(out.Mem, out.Offset, bytes)
}
