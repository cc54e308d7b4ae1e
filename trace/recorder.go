package trace

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Events is a usual limit of a recorder: some 30 MB when all are there.
const Events = 1 << 18

// Recorder keeps the latest events, in memory that grows with them up to its limit. It is safe for
// concurrent use. A nil recorder keeps nothing.
type Recorder struct {
	start time.Time
	limit int64
	// added counts all events ever; event i is in slot i modulo limit.
	added  atomic.Int64
	chunks []atomic.Pointer[chunk]
	runs   atomic.Int64
	stages atomic.Int64

	mu sync.Mutex
	// taken marks the lanes that are open.
	taken []bool
}

// chunk is the slots that are made at once.
type chunk [256]slot

// slot holds one event; its lock is waited for only when the recorder has gone round in between.
type slot struct {
	mu sync.Mutex
	// number is that of the event, from 1; 0 when there is none.
	number int64
	event  Event
}

// New returns a recorder that keeps the latest limit events, at least one.
func New(limit int) *Recorder {
	limit = max(limit, 1)
	return &Recorder{start: time.Now(), limit: int64(limit),
		chunks: make([]atomic.Pointer[chunk], (limit+len(chunk{})-1)/len(chunk{}))}
}

// Now returns the time since the recorder was made; 0 without a recorder.
func (r *Recorder) Now() time.Duration {
	if r == nil {
		return 0
	}
	return time.Since(r.start)
}

// NextRun returns a number for a run, from 1, and NextStage one for the execution of a list of steps.
func (r *Recorder) NextRun() int64 { return r.runs.Add(1) }

// NextStage returns a number that no other execution of a list of steps has, from 1.
func (r *Recorder) NextStage() int64 { return r.stages.Add(1) }

// OpenLane returns the least number that no open lane has, from 0. CloseLane gives it back.
func (r *Recorder) OpenLane() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.taken, false)
	if i < 0 {
		i = len(r.taken)
		r.taken = append(r.taken, false)
	}
	r.taken[i] = true
	return i
}

// CloseLane gives the number of a lane back, in which nothing happens any more.
func (r *Recorder) CloseLane(lane int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[lane] = false
}

// Add keeps an event. When there is no more room, the oldest one is dropped.
func (r *Recorder) Add(e Event) {
	if r == nil {
		return
	}
	number := r.added.Add(1)
	s := r.slot((number - 1) % r.limit)
	s.mu.Lock()
	if s.number < number {
		s.number, s.event = number, e
	}
	s.mu.Unlock()
}

// Decide keeps a decision, as of now; lane is that of the run that it is for, and run its number, 0
// when it has none yet.
func (r *Recorder) Decide(lane int, run int64, d Decision) {
	if r == nil {
		return
	}
	kept := d
	kept.Arms, kept.Devices = slices.Clone(d.Arms), slices.Clone(d.Devices)
	r.Add(Event{Kind: Decide, Lane: lane, Run: run, Start: r.Now(), Decision: &kept})
}

// slot returns a slot, which it makes if need be.
func (r *Recorder) slot(i int64) *slot {
	at := &r.chunks[i/int64(len(chunk{}))]
	c := at.Load()
	if c == nil {
		at.CompareAndSwap(nil, new(chunk))
		c = at.Load()
	}
	return &c[i%int64(len(chunk{}))]
}

// Kept returns the events that are kept, in order of start, what lies inside another behind it, and
// how many have been dropped. It may be called while events are added.
func (r *Recorder) Kept() (events []Event, dropped int64) {
	if r == nil {
		return nil, 0
	}
	type numbered struct {
		Event
		number int64
	}
	var all []numbered
	for i := range r.chunks {
		c := r.chunks[i].Load()
		if c == nil {
			continue
		}
		for j := range c {
			s := &c[j]
			s.mu.Lock()
			if s.number > 0 {
				all = append(all, numbered{s.event, s.number})
			}
			s.mu.Unlock()
		}
	}
	slices.SortFunc(all, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Took, a.Took), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.number, b.number))
	})
	for i := range all {
		events = append(events, all[i].Event)
	}
	return events, max(0, r.added.Load()-r.limit)
}
