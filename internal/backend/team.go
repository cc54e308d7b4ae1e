package backend

import (
	"fmt"
	"runtime"
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
	n    int64
	next atomic.Int64
	// joined numbers the workers; open counts those that were asked and are not done, the caller
	// included. Who brings it to zero, unless it is the caller, says so on done.
	joined atomic.Int64
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
	j.call, j.f, j.n = c, f, int64(n)
	j.next.Store(0)
	j.joined.Store(1)
	j.open.Store(1)
	t.crew.ask(j, min(n, t.workers)-1)
	j.lead(t.crew)
	p := j.failed.Swap(nil)
	j.call, j.f = nil, nil
	t.crew.spare.Put(j)
	if p != nil {
		panic(fmt.Sprintf("BUG: backend: a task panicked at %s: %v", p.at, p.value))
	}
}

// lead does the caller's part, then waits for the helpers that have begun. It does so also on the
// way of a panic.
func (j *job) lead(c *crew) {
	defer j.finish(c)
	j.work(0)
}

func (j *job) finish(c *crew) {
	j.next.Store(j.n)
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
	for {
		i := j.next.Add(1) - 1
		if i >= j.n {
			return
		}
		j.f(j.call, int(i), worker)
	}
}

// help does a helper's part. A panic is kept for the caller.
func (j *job) help() {
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
		j.next.Store(j.n)
	}()
	j.work(int(j.joined.Add(1) - 1))
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
