// Package exec runs what has been planned: it binds a stage's slots to memory, launches its
// steps in order, and goes on to the next stage when shapes have become known. It decides
// nothing about kernels or offsets. Sizes are in bytes.
package exec

import (
	"sync/atomic"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/selector"
)

// Lane is the memory of one run at a time: a stack of slabs, one for each stage that is being
// executed (a stage may wait for a body that its control step runs), and the frames that hold a
// unit's values. Both are kept for the next run. A Lane is not safe for concurrent use.
type Lane struct {
	// Poison fills a stage's arena, at its start, and each range that is dead, after the step that
	// read it last, with bytes that are NaN as floats, so that a wrong read shows. For tests.
	Poison bool
	// Progress, when set, is called before each step of the main graph.
	Progress func(step, steps int)
	// Around, when set, is called in place of each step, with the operands of one that is a kernel
	// launch; run executes the step.
	Around func(s *plan.Step, c *backend.Call, run func() error) error
	// Uses, when set before the first run, counts what each device does, the host's first.
	Uses []*Use
	// Team shares the work of kernels; nil means that the caller does it alone. It is set before the
	// first run.
	Team *backend.Team

	// Devices lists the devices of plans beside the host, in the plans' order, and Resident holds their
	// constants. Both are set before the first run.
	Devices  []backend.Device
	Resident *Resident
	// Frontier, when set, chooses among the arms of branches; else every run takes the best plan.
	Frontier *Frontier

	slabs [][]byte
	depth int
	// away holds, for each slab, the memory of the other devices.
	away [][]backend.Memory
	// queues run the steps of the other devices.
	queues []*queue
	// bounds holds the lower bound of each slab in use.
	bounds   []int64
	reserved atomic.Int64
	least    atomic.Int64
	frames   map[*plan.Unit][]*frame
	// timing says that a stage is being timed, alone that it leaves the team out; paces has what is
	// known of stages, by ID.
	timing, alone bool
	paces         map[uint64]*pace

	// trace is nil when nobody asks what happens.
	trace *tracer
	// main is the frame of the current run, and ran marks the devices that have run kernels in it.
	main *frame
	ran  []bool

	// avoid says, by number, which devices the current request must do without, retry how often it has
	// been tried before, and failed why that failed. branches counts those of the current run.
	avoid    []bool
	retry    int
	failed   error
	branches int
	signals  selector.Signals
	holds    []int64
	// grown says that memory has been reserved, or constants copied, since it was set back.
	grown bool
}

// NewLane returns a lane without memory.
func NewLane() *Lane { return &Lane{frames: map[*plan.Unit][]*frame{}, paces: map[uint64]*pace{}} }

// Reserve makes the first slab at least n bytes.
func (l *Lane) Reserve(n int64) error {
	_, err := l.push(n, 0)
	l.depth = 0
	return err
}

// ReserveAway makes the first slabs of the devices beside the host as large as a plan needs.
func (l *Lane) ReserveAway(need []plan.Memory) error {
	l.depth = 1
	_, err := l.pushAway(need)
	l.depth = 0
	return err
}

// ReserveFor makes the first slabs of all devices as large as a stage needs.
func (l *Lane) ReserveFor(s *plan.Stage) error {
	if err := l.Reserve(s.Memory.Arena); err != nil {
		return err
	}
	return l.ReserveAway(s.Away)
}

// Bytes returns how much memory the lane's slabs hold, and Bound the least that any plan would
// have needed for the run that needed most. Both may be called during a run.
func (l *Lane) Bytes() int64 { return l.reserved.Load() }

// Bound returns the largest sum of the lower bounds of the arenas that were in use at once.
func (l *Lane) Bound() int64 { return l.least.Load() }

// Close gives the slabs back.
func (l *Lane) Close() error {
	var first error
	for _, s := range l.slabs {
		if len(s) > 0 {
			if err := backend.UnmapPages(s); err != nil && first == nil {
				first = err
			}
		}
	}
	if err := l.closeAway(); err != nil && first == nil {
		first = err
	}
	clear(l.paces)
	if l.trace != nil {
		l.trace.CloseLane(l.trace.lane)
	}
	l.slabs, l.bounds, l.frames, l.depth, l.trace = nil, nil, nil, 0, nil
	l.reserved.Store(0)
	return first
}

// push returns a slab of n bytes, which no other stage uses until depth is set back, for a stage
// that needs at least bound. A slab that is too small is given back before the larger one is
// reserved.
func (l *Lane) push(n, bound int64) ([]byte, error) {
	if l.depth == len(l.slabs) {
		l.slabs, l.bounds = append(l.slabs, nil), append(l.bounds, 0)
	}
	s := l.slabs[l.depth]
	if int64(len(s)) < n {
		if len(s) > 0 {
			if err := backend.UnmapPages(s); err != nil {
				return nil, err
			}
			l.slabs[l.depth] = nil
			l.reserved.Add(-int64(len(s)))
		}
		var err error
		if s, err = backend.MapPages(n); err != nil {
			return nil, err
		}
		l.slabs[l.depth] = s
		l.reserved.Add(n)
		l.grown = true
	}
	l.bounds[l.depth] = bound
	l.depth++
	var sum int64
	for _, b := range l.bounds[:l.depth] {
		sum += b
	}
	if sum > l.least.Load() {
		l.least.Store(sum)
	}
	if l.Poison {
		poison(s[:n])
	}
	return s[:n:n], nil
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// maxPaces is how many stages a lane remembers: a session with ever new shapes has ever new ones.
const maxPaces = 256

// pace returns what is known of a stage.
func (l *Lane) pace(s *plan.Stage) *pace {
	p := l.paces[s.ID]
	if p == nil {
		if len(l.paces) >= maxPaces {
			clear(l.paces)
		}
		p = &pace{}
		l.paces[s.ID] = p
	}
	return p
}

// frame returns a frame for the unit that no other run on this lane uses, and takes it.
func (l *Lane) frame(u *plan.Unit) *frame {
	free := l.frames[u]
	if len(free) == 0 {
		return newFrame(l, u)
	}
	f := free[len(free)-1]
	l.frames[u] = free[:len(free)-1]
	return f
}

// release gives a frame back.
func (l *Lane) release(f *frame) {
	clear(f.views)
	l.frames[f.unit] = append(l.frames[f.unit], f)
}

// alloc returns n bytes of the Go heap, aligned for every element type.
func alloc(n int64) []byte {
	if n == 0 {
		return nil
	}
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), n)
}
