package backend

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// What a helper's box holds when it is not a job: absent, a goroutine that has not been started;
// idle, one that looks at its box; parked, one that sleeps until it is woken; busy, one that works;
// closed, one that has ended for good.
var (
	absent = &job{}
	idle   = &job{}
	parked = &job{}
	busy   = &job{}
	closed = &job{}
)

const (
	// patience is how long a helper without work looks for some before it sleeps: longer than most
	// steps that a run has between two that are shared. On a virtual machine, to wake one costs more
	// than the shared steps of a small model.
	patience = 200 * time.Microsecond
	// glances takes a few microseconds.
	glances = 1000
)

// crew is a set of goroutines that help callers.
type crew struct {
	helpers []helper
	// spare holds jobs that are not in use: as many as there ever were callers at once.
	spare []*job
	mu    sync.Mutex
	// glances is how often a goroutine that waits looks for what it waits for before it lets others
	// run: once where only one runs at a time.
	glances int
}

// helper is one goroutine, and the box that work is put into.
type helper struct {
	box  atomic.Pointer[job]
	wake chan struct{}
	crew *crew
	// place is the helper's index in the crew.
	place int
	_     [64]byte
}

func newCrew(n int) *crew {
	c := &crew{helpers: make([]helper, n), glances: glances}
	for i := range c.helpers {
		h := &c.helpers[i]
		h.crew, h.place, h.wake = c, i, make(chan struct{}, 1)
		h.box.Store(absent)
	}
	if runtime.GOMAXPROCS(0) == 1 {
		c.glances = 1
	}
	return c
}

// job returns one that is not in use.
func (c *crew) job() *job {
	c.mu.Lock()
	if n := len(c.spare); n > 0 {
		j := c.spare[n-1]
		c.spare = c.spare[:n-1]
		c.mu.Unlock()
		return j
	}
	c.mu.Unlock()
	n := len(c.helpers)
	return &job{done: make(chan struct{}, 1), asked: make([]*helper, 0, n), shares: make([]share, n+1),
		free: make([]int, 0, n), seats: make([]int, n)}
}

// put takes a job back that job returned.
func (c *crew) put(j *job) {
	c.mu.Lock()
	c.spare = append(c.spare, j)
	c.mu.Unlock()
}

// ask gives the job to up to n helpers that have nothing to do: to those that are awake first.
func (c *crew) ask(j *job, n int) {
	for i := range c.helpers {
		if n == 0 {
			return
		}
		if c.helpers[i].give(j, idle) {
			n--
		}
	}
	for i := range c.helpers {
		if n == 0 {
			return
		}
		h := &c.helpers[i]
		switch {
		case h.give(j, parked):
			h.wake <- struct{}{}
			n--
		case h.give(j, absent):
			go h.live()
			n--
		}
	}
}

// give puts the job into the box if that holds was.
func (h *helper) give(j, was *job) bool {
	if h.box.Load() != was {
		return false
	}
	j.open.Add(1)
	j.seat(h.place)
	if !h.box.CompareAndSwap(was, j) {
		j.open.Add(-1)
		return false
	}
	j.seated(h.place)
	j.asked = append(j.asked, h)
	return true
}

// live does the jobs that come into the box until it is closed. A fault of memory, which a mapped
// file that has shrunk causes, is a panic of the task as any other.
func (h *helper) live() {
	debug.SetPanicOnFault(true)
	for {
		j := h.await()
		if j == nil {
			return
		}
		h.do(j)
	}
}

// do helps with a job. The box is open again before the caller goes on, so that its next call
// finds the helper; it counts as never started when the task ended the goroutine.
func (h *helper) do(j *job) {
	next := absent
	defer func() {
		h.box.Store(next)
		if j.open.Add(-1) == 0 {
			j.done <- struct{}{}
		}
	}()
	j.help(h.place)
	next = idle
}

// await returns the next job, taken out of the box; nil when the box has been closed.
func (h *helper) await() *job {
	for {
		if j, ok := h.look(); ok {
			return j
		}
		if h.box.CompareAndSwap(idle, parked) {
			<-h.wake
		}
	}
}

// look watches the box for as long as patience lasts; ok is false when there was nothing.
func (h *helper) look() (j *job, ok bool) {
	for start := time.Now(); ; runtime.Gosched() {
		for range h.crew.glances {
			switch j := h.box.Load(); {
			case j == closed:
				return nil, true
			case j != idle && h.box.CompareAndSwap(j, busy):
				return j, true
			}
		}
		if time.Since(start) > patience {
			return nil, false
		}
	}
}

// close ends the goroutines, each when it is done.
func (c *crew) close() {
	for i := range c.helpers {
		h := &c.helpers[i]
		for h.box.Load() != closed {
			switch {
			case h.box.CompareAndSwap(parked, closed):
				h.wake <- struct{}{}
			case h.box.CompareAndSwap(idle, closed), h.box.CompareAndSwap(absent, closed):
			default:
				runtime.Gosched()
			}
		}
	}
}
