package exec

import (
	"errors"
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/plan"
)

// MemoryError says that a device beside the host has refused memory.
type MemoryError struct {
	// Device is the device's number in plans, Name its name, and Bytes what was asked for.
	Device int
	Name   string
	Bytes  int64
	// Stage is what the memory was for; nil when it was reserved for later.
	Stage *plan.Stage
	Err   error
}

func (e *MemoryError) Error() string { return fmt.Sprintf("device %q: memory: %v", e.Name, e.Err) }

// Unwrap returns the device's own error.
func (e *MemoryError) Unwrap() error { return e.Err }

// inStage says which stage the memory was refused for.
func inStage(err error, s *plan.Stage) error {
	if full, ok := errors.AsType[*MemoryError](err); ok {
		full.Stage = s
	}
	return err
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
		if n == 0 || mems[d] != nil && mems[d].Size() >= n {
			continue
		}
		if mems[d] != nil {
			m := mems[d]
			mems[d] = nil
			if err := l.free(d, m); err != nil {
				return nil, of(d+1, l.Devices[d], err)
			}
		}
		m, err := l.allocAway(d, n)
		if isLost(l.Devices[d], err) {
			return nil, of(d+1, l.Devices[d], err)
		}
		if err != nil {
			return nil, &MemoryError{Device: d + 1, Name: l.Devices[d].Name(), Bytes: n, Err: err}
		}
		mems[d] = m
		if data := m.Host(); l.Poison && data != nil {
			poison(data)
		}
	}
	return mems, nil
}

// allocAway reserves memory of a device. Where there is none, what no stage uses is given back first:
// the lane's arenas for later stages, and constants.
func (l *Lane) allocAway(d int, n int64) (backend.Memory, error) {
	m, err := l.alloc(d, n)
	if err == nil {
		return m, nil
	}
	for _, later := range l.away[l.depth:] {
		if later[d] == nil {
			continue
		}
		m := later[d]
		later[d] = nil
		if err := l.free(d, m); err != nil {
			return nil, err
		}
	}
	if l.Resident != nil {
		if err := l.Resident.evict(l.Devices[d]); err != nil {
			return nil, err
		}
	}
	return l.alloc(d, n)
}

// alloc reserves memory of a device, and free gives it back; both are accounted for.
func (l *Lane) alloc(d int, n int64) (backend.Memory, error) {
	m, err := l.Devices[d].Alloc(n)
	if err == nil {
		l.grown = true
		l.hold(d, m.Size())
	}
	return m, err
}

func (l *Lane) free(d int, m backend.Memory) error {
	l.hold(d, -m.Size())
	return m.Free()
}

func (l *Lane) hold(d int, bytes int64) {
	if l.Frontier != nil {
		l.Frontier.hold(d+1, bytes)
	}
}

// closeAway gives the devices' memory back and ends the queues.
func (l *Lane) closeAway() error {
	var first error
	for _, mems := range l.away {
		for d, m := range mems {
			if m == nil {
				continue
			}
			if err := unlessLost(l.Devices[d], l.free(d, m)); err != nil && first == nil {
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
func (f *frame) bindAway(s *plan.Slot, v backend.View) {
	d := f.lane.Devices[s.Device-1]
	switch s.Where {
	case plan.InArena:
		v.Mem, v.Offset = f.away[s.Device-1], s.Offset
	case plan.InConst:
		v.Mem, v.Shape, v.DType = f.lane.Resident.at(d, s.Const), s.Const.Shape(), s.Const.DType()
	default:
		panic(fmt.Sprintf("BUG: exec: a value of device %q in memory of kind %v", d.Name(), s.Where))
	}
	if v.Mem == nil {
		// No bytes are asked for where the plan has none.
		f.views[s.Value] = v
		return
	}
	if data := v.Mem.Host(); data != nil {
		v.Data = data[v.Offset : v.Offset+s.Bytes : v.Offset+s.Bytes]
	}
	f.views[s.Value] = v
}

// launchAway runs a step of a device beside the host.
func (f *frame) launchAway(s *plan.Step) error {
	d := f.lane.Devices[s.DeviceIndex-1]
	if s.Transfer {
		return f.transfer(s)
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
	if c.ScratchMem == nil {
		// The plan has no bytes there.
	} else if data := c.ScratchMem.Host(); data != nil {
		c.Scratch = data[s.ScratchOffset : s.ScratchOffset+s.ScratchBytes : s.ScratchOffset+s.ScratchBytes]
	}
	return of(s.DeviceIndex, d, d.Run(s.Kernel, c))
}

// grow makes room for the calls of n devices.
func (f *frame) grow(n int) { f.calls = make([]backend.Call, n) }

// transfer copies a value between two devices; between two beside the host by way of the host, unless
// the host can address the bytes.
func (f *frame) transfer(s *plan.Step) error {
	in, out := f.view(s.In[0]), f.view(s.Out[0])
	devices := f.lane.Devices
	switch {
	case s.From != 0 && in.Mem == nil || s.To != 0 && out.Mem == nil:
		// There are no bytes.
		return nil
	case s.From == 0:
		return of(s.To, devices[s.To-1], devices[s.To-1].Upload(out.Mem, out.Offset, in.Data))
	case s.To == 0:
		return of(s.From, devices[s.From-1], devices[s.From-1].Download(out.Data, in.Mem, in.Offset))
	}
	bytes := in.Data
	if bytes == nil {
		n, _ := in.Shape.Elements()
		size, _ := in.DType.ByteSize(n)
		bytes = make([]byte, size)
		if err := devices[s.From-1].Download(bytes, in.Mem, in.Offset); err != nil {
			return of(s.From, devices[s.From-1], err)
		}
	}
	return of(s.To, devices[s.To-1], devices[s.To-1].Upload(out.Mem, out.Offset, bytes))
}
