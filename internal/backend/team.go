package backend

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
)

// Team is a number of workers that share the tasks of kernels: the caller, and goroutines that any
// number of teams and callers share. They are started when they are first wanted, and live until
// Close. Workers that are busy elsewhere never hold a call up: what no worker has begun, the
// caller does itself. The nil Team is of one worker.
type Team struct {
	workers int
	crew    *crew
}

// NewTeam returns a team of n workers, at least 1, of which n−1 are goroutines of its own.
func NewTeam(n int) *Team {
	n = max(1, n)
	return &Team{workers: n, crew: newCrew(n - 1)}
}

// Limit returns a team of at most n workers that shares the goroutines of t; nil, the team of one,
// when that leaves only the caller.
func (t *Team) Limit(n int) *Team {
	n = min(n, t.Size())
	if n <= 1 {
		return nil
	}
	return &Team{workers: n, crew: t.crew}
}

// Size returns the number of workers.
func (t *Team) Size() int {
	if t == nil {
		return 1
	}
	return t.workers
}

// Close ends the goroutines, also of the teams that share them. None of these may be in use; a
// later call has only its caller.
func (t *Team) Close() {
	if t != nil {
		t.crew.close()
	}
}

// job is one call of Par.
type job struct {
	call *Call
	f    func(c *Call, task, worker int)
	// shares has each worker's part of the tasks, in order; a worker whose own is used up takes from
	// the ends of the others'. So the same worker mostly has the same part of a tensor from one step
	// to the next, and finds it in its own caches.
	shares []share
	// free lists the numbers that no worker has, seats those of the helpers that were asked, by their
	// places in the crew.
	free, seats []int
	// open counts the workers that were asked and are not done, the caller included. Who brings it to
	// zero, unless it is the caller, says so on done.
	open   atomic.Int64
	done   chan struct{}
	failed atomic.Pointer[failure]
	// asked lists the helpers that the caller gave the job to.
	asked []*helper
}

// failure is a panic of a task on another goroutine than the caller's.
type failure struct {
	value any
	at    string
}

// run calls f for the tasks 0 to n−1, each once, and returns when all are done. A panic of one
// goes on in the caller, when no task is running any more.
func (t *Team) run(c *Call, n int, f func(c *Call, task, worker int)) {
	if n <= 1 || t == nil || t.workers == 1 {
		for i := range n {
			f(c, i, 0)
		}
		return
	}
	j := t.crew.job()
	j.call, j.f = c, f
	j.deal(n, min(n, t.workers))
	j.open.Store(1)
	t.crew.ask(j, len(j.shares)-1)
	j.lead(t.crew)
	p := j.failed.Swap(nil)
	j.call, j.f = nil, nil
	t.crew.put(j)
	if p != nil {
		panic(fmt.Sprintf("BUG: backend: a task panicked at %s: %v", p.at, p.value))
	}
}

// share is a worker's tasks that nobody has begun: the lower half is the first, the upper half the
// one behind the last.
type share struct {
	left atomic.Uint64
	_    [56]byte
}

func (s *share) set(first, end int) { s.left.Store(uint64(end)<<32 | uint64(first)) }

// take returns the first task, or the last; ok is false when there is none.
func (s *share) take(last bool) (task int, ok bool) {
	for {
		was := s.left.Load()
		first, end := was&math.MaxUint32, was>>32
		if first >= end {
			return 0, false
		}
		if last {
			end--
			task = int(end)
		} else {
			task = int(first)
			first++
		}
		if s.left.CompareAndSwap(was, end<<32|first) {
			return task, true
		}
	}
}

// deal gives each of the workers, at least two, its share of n tasks.
func (j *job) deal(n, workers int) {
	j.shares, j.free = j.shares[:workers], j.free[:0]
	for i := range j.shares {
		j.shares[i].set(n*i/workers, n*(i+1)/workers)
		if i > 0 {
			j.free = append(j.free, i)
		}
	}
}

// seat gives the helper at a place of the crew a worker's number: the same each time, when that is
// free.
func (j *job) seat(place int) {
	at := slices.Index(j.free, place+1)
	if at < 0 {
		at = len(j.free) - 1
	}
	j.seats[place] = j.free[at]
}

// seated says that a helper has the number that seat gave it.
func (j *job) seated(place int) {
	at := slices.Index(j.free, j.seats[place])
	j.free = slices.Delete(j.free, at, at+1)
}

// drop leaves nothing to be begun.
func (j *job) drop() {
	for i := range j.shares {
		j.shares[i].left.Store(0)
	}
}

// lead does the caller's part, then waits for the helpers that have begun. It does so also on the
// way of a panic.
func (j *job) lead(c *crew) {
	defer j.finish(c)
	j.work(0)
}

func (j *job) finish(c *crew) {
	j.drop()
	left := j.open.Add(-1 - j.recall())
	if left == 0 {
		return
	}
	for range c.glances {
		select {
		case <-j.done:
			return
		default:
		}
	}
	<-j.done
}

// recall takes the job back from the helpers that have not begun, and returns their number.
func (j *job) recall() int64 {
	n := int64(0)
	for i, h := range j.asked {
		if h.box.CompareAndSwap(j, idle) {
			n++
		}
		j.asked[i] = nil
	}
	j.asked = j.asked[:0]
	return n
}

func (j *job) work(worker int) {
	for k := range j.shares {
		s := &j.shares[(worker+k)%len(j.shares)]
		for {
			i, ok := s.take(k > 0)
			if !ok {
				break
			}
			j.f(j.call, i, worker)
		}
	}
}

// help does the part of the helper at a place of the crew. A panic is kept for the caller.
func (j *job) help(place int) {
	ended := false
	defer func() {
		if ended {
			return
		}
		p := recover()
		if p == nil {
			p = "the task ended its goroutine"
		}
		j.failed.CompareAndSwap(nil, &failure{p, panicLine()})
		j.drop()
	}()
	j.work(j.seats[place])
	ended = true
}

// panicLine returns the line of code that panicked, seen from a function that it deferred.
func panicLine() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for seen := false; ; {
		f, more := frames.Next()
		if seen && !isRuntime(f.Function) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		seen = seen || f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit"
		if !more {
			return "unknown line"
		}
	}
}

func isRuntime(function string) bool {
	const prefix = "runtime."
	return len(function) > len(prefix) && function[:len(prefix)] == prefix
}

// Workers returns how many workers Par may use: what per-worker scratch memory is sized for is
// Op.Threads, which is never less.
func (c *Call) Workers() int { return c.Team.Size() }

// Par calls f for the tasks 0 to n−1, each once, on the call's workers, and returns when all are
// done. worker is less than Workers and no two tasks have the same one at the same time. f must
// not be a closure over the call's data (which would be allocated anew each time): it finds that
// in c. Tasks must not call Par themselves.
func (c *Call) Par(n int, f func(c *Call, task, worker int)) { c.Team.run(c, n, f) }
