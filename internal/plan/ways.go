package plan

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Ways is the stages that a run may take from a branch on, for one set of shapes: the best plan, which
// is there from the start, and those of the unit's other arms, which are planned when they are asked for.
// It is safe for concurrent use.
type Ways struct {
	// First is the best plan.
	First *Stage
	// Use is for whoever chooses among the ways.
	Use atomic.Value

	unit *Unit
	from *Branch
	at   known

	mu   sync.Mutex
	err  error
	all  atomic.Pointer[[]Way]
	seen atomic.Int64
}

// Way is one of the stages.
type Way struct {
	Arm   *Arm
	Stage *Stage
	// Spare says that the way is only there for when the better ones cannot be used.
	Spare bool
	// EstNs is the estimated time of the stage, with devices that run at the same time, and BusyNs that
	// of each device's steps by themselves, the host's first.
	EstNs  int64
	BusyNs []int64
}

// Stop makes Resolve plan no more arms.
func (u *Unit) Stop() { u.stopped.Store(true) }

// worth is how many times as long as the best plan another one may take to be of use under any load.
const worth = 8

// Seen counts its calls, and returns their number before.
func (w *Ways) Seen() int64 { return w.seen.Add(1) - 1 }

// All returns the ways, the best plan first; nil until Resolve has returned.
func (w *Ways) All() []Way {
	if p := w.all.Load(); p != nil {
		return *p
	}
	return nil
}

// Resolve plans the arms, so many at the same time, unless it has been done, and returns the ways. An arm
// that cannot be planned, that puts everything where an earlier one does, that is of no use, or that leaves
// a device too little memory for the others, is none.
func (w *Ways) Resolve(together int) []Way {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all := w.All(); all != nil {
		return all
	}
	arms := w.unit.Arms()
	stages, errs := make([]*Stage, len(arms)), make([]error, len(arms))
	stages[0] = w.First
	var wg sync.WaitGroup
	turns := make(chan bool, max(1, together))
	for k := 1; k < len(arms); k++ {
		turns <- true
		wg.Go(func() {
			stages[k], errs[k] = w.unit.onArm(w.from, k, w.at)
			<-turns
		})
	}
	wg.Wait()
	w.err = errors.Join(errs...)
	all := w.sift(arms, stages)
	w.from.count(w, all)
	w.all.Store(&all)
	return all
}

// Err says, once Resolve has returned, why some arms could not be planned; nil when all could.
func (w *Ways) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// count adds to what the branch's plans take as memory.
func (b *Branch) count(w *Ways, all []Way) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.stages {
		if c.ways != w {
			continue
		}
		for i := range all {
			if s := all[i].Stage; s != w.First {
				c.bytes += s.footprint()
				b.bytes += s.footprint()
			}
		}
	}
}

// errStopped is why nothing is planned after Stop.
var errStopped = errors.New("plan: stopped")

// Drop leaves out a way of those that Resolve has returned. Who has it may still use it.
func (w *Ways) Drop(s *Stage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kept []Way
	for _, x := range w.All() {
		if x.Stage != s {
			kept = append(kept, x)
		}
	}
	w.all.Store(&kept)
}

// onArm plans the stage at a branch under another arm. A panic is an error here, as it is in a run.
func (u *Unit) onArm(b *Branch, arm int, a Available) (s *Stage, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("BUG: plan: panic: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("arm %q: %w", u.arms[arm].Name, err)
		}
	}()
	var largest Available
	if b == u.Entry {
		b.mu.Lock()
		largest = b.largest
		b.mu.Unlock()
	}
	x := b.On(arm)
	x.mu.Lock()
	defer x.mu.Unlock()
	if u.stopped.Load() {
		return nil, errStopped
	}
	if largest != nil && x.like == nil {
		if _, err := u.bound(x, largest, nil); err != nil {
			return nil, err
		}
	}
	x.key = x.appendKey(x.key[:0], a)
	if s := x.get(x.key); s != nil {
		return s, nil
	}
	return u.fresh(x, a)
}

// sift keeps the stages that are worth it, and that fit beside one another.
func (w *Ways) sift(arms []Arm, stages []*Stage) []Way {
	var all []Way
	seen := map[string]bool{}
	room := w.unit.room()
	for k, s := range stages {
		if s == nil {
			continue
		}
		where := s.placement()
		if seen[where] {
			continue
		}
		way := Way{Arm: &arms[k], Stage: s, Spare: arms[k].Spare, EstNs: s.Span(), BusyNs: s.Busy()}
		if k > 0 && way.EstNs > worth*max(all[0].EstNs, 1) {
			if !w.avoids(s) {
				continue
			}
			way.Spare = true
		}
		if !room.take(s) && k > 0 {
			continue
		}
		seen[where] = true
		all = append(all, way)
	}
	return all
}

// avoids reports whether a stage leaves alone a device that the best plan uses.
func (w *Ways) avoids(s *Stage) bool {
	first, other := w.First.Busy(), s.Busy()
	for d := 1; d < len(first); d++ {
		if first[d] > 0 && other[d] == 0 {
			return true
		}
	}
	return false
}

// room is the memory of devices that arms take together.
type room struct {
	devices []Device
	lanes   int64
	arena   []int64
	consts  []map[*tensor.Tensor]bool
	bytes   []int64
}

func (u *Unit) room() *room {
	r := &room{devices: u.devices(), lanes: u.lanes()}
	n := len(r.devices)
	r.arena, r.bytes, r.consts = make([]int64, n), make([]int64, n), make([]map[*tensor.Tensor]bool, n)
	return r
}

// take adds what a stage needs, if devices have as much.
func (r *room) take(s *Stage) bool {
	more := make([]int64, len(r.devices))
	for i := range s.Slots {
		if x := &s.Slots[i]; x.Where == InConst && x.Device != host && !r.consts[x.Device-1][x.Const] {
			more[x.Device-1] += aligned(x.Bytes)
		}
	}
	for d := range r.devices {
		limit, arena := r.devices[d].Capacity, max(r.arena[d], s.Away[d].Arena)
		if limit > 0 && r.bytes[d]+more[d]+r.lanes*arena > limit {
			return false
		}
	}
	for d := range r.devices {
		r.arena[d] = max(r.arena[d], s.Away[d].Arena)
		r.bytes[d] += more[d]
		if r.consts[d] == nil {
			r.consts[d] = map[*tensor.Tensor]bool{}
		}
	}
	for i := range s.Slots {
		if x := &s.Slots[i]; x.Where == InConst && x.Device != host {
			r.consts[x.Device-1][x.Const] = true
		}
	}
	return true
}

// Span is the makespan with the steps' own estimates; those without one count nothing.
func (s *Stage) Span() int64 {
	ns := make([]int64, len(s.Steps))
	for i := range s.Steps {
		ns[i] = max(s.Steps[i].EstNs, 0)
	}
	return s.Makespan(ns)
}

// Busy sums the estimated times of each device's steps, the host's first; a device with steps of unknown
// time has at least 1.
func (s *Stage) Busy() []int64 {
	busy := make([]int64, 1+len(s.Away))
	for i := range s.Steps {
		x := &s.Steps[i]
		busy[x.DeviceIndex] += max(x.EstNs, 1)
	}
	return busy
}

// placement tells stages of one branch and set of shapes apart by where they run its nodes.
func (s *Stage) placement() string {
	var list []byte
	for i := range s.items {
		if it := &s.items[i]; !it.change && !it.transfer && !it.view {
			list = append(list, byte(it.device))
		}
	}
	return string(list)
}

// known is what exists when a stage starts, for a plan that is made later.
type known struct {
	types map[graph.ValueID]typeOf
	value map[graph.ValueID]*tensor.Tensor
}

type typeOf struct {
	dtype tensor.DType
	shape tensor.Shape
}

// Type implements Available.
func (k known) Type(v graph.ValueID) (tensor.DType, tensor.Shape) {
	return k.types[v].dtype, k.types[v].shape
}

// Contents implements Available.
func (k known) Contents(v graph.ValueID) (*tensor.Tensor, error) { return k.value[v], nil }

// remember returns what a branch's plans depend on.
func (b *Branch) remember(a Available) (known, error) {
	k := known{types: map[graph.ValueID]typeOf{}, value: map[graph.ValueID]*tensor.Tensor{}}
	for _, v := range b.Shapes {
		dt, s := a.Type(v)
		k.types[v] = typeOf{dt, s.Clone()}
	}
	for _, v := range b.Contents {
		t, err := a.Contents(v)
		if err != nil {
			return k, err
		}
		if t == nil || t.Len() > op.MaxValue {
			continue
		}
		if k.value[v], err = clone(t); err != nil {
			return k, err
		}
	}
	return k, nil
}
