package backend

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Team is a set of goroutines that share the tasks of kernels. It has no goroutine of its own
// for its first worker: that is the caller's. One Team may serve any number of callers at once;
// workers that are busy elsewhere do not hold a call up. The nil Team is of one worker.
type Team struct {
	workers int
	jobs    chan *job
	close   sync.Once
	idle    sync.Pool
}

// job is one call of Run.
type job struct {
	call *Call
	f    func(c *Call, task, worker int)
	n    int64
	next atomic.Int64
	// joined numbers the workers; open counts those that are still at it.
	joined atomic.Int64
	open   atomic.Int64
	done   chan struct{}
	failed atomic.Pointer[any]
}

// NewTeam returns a team of n workers, of which n−1 are goroutines that live until Close. n is at
// least 1 and at most GOMAXPROCS.
func NewTeam(n int) *Team {
	n = max(1, min(n, runtime.GOMAXPROCS(0)))
	t := &Team{workers: n, jobs: make(chan *job)}
	for range n - 1 {
		go func() {
			for j := range t.jobs {
				j.help()
			}
		}()
	}
	return t
}

// Size returns the number of workers.
func (t *Team) Size() int {
	if t == nil {
		return 1
	}
	return t.workers
}

// Close ends the goroutines. The team must not be in use.
func (t *Team) Close() {
	if t != nil {
		t.close.Do(func() { close(t.jobs) })
	}
}

// run calls f for the tasks 0 to n−1, each once, and returns when all are done. A panic of one
// goes on in the caller.
func (t *Team) run(c *Call, n int, f func(c *Call, task, worker int)) {
	if t == nil || t.workers == 1 || n <= 1 {
		for i := range n {
			f(c, i, 0)
		}
		return
	}
	j, _ := t.idle.Get().(*job)
	if j == nil {
		j = &job{done: make(chan struct{}, 1)}
	}
	j.call, j.f, j.n = c, f, int64(n)
	j.next.Store(0)
	j.joined.Store(1)
	j.open.Store(1)
	for range min(n, t.workers) - 1 {
		j.open.Add(1)
		select {
		case t.jobs <- j:
		default:
			j.open.Add(-1)
		}
	}
	j.work(0)
	if j.open.Add(-1) > 0 {
		<-j.done
	}
	p := j.failed.Swap(nil)
	j.call, j.f = nil, nil
	t.idle.Put(j)
	if p != nil {
		panic(fmt.Sprintf("BUG: backend: a task panicked: %v", *p))
	}
}

// help joins a job from a goroutine of the team.
func (j *job) help() {
	j.work(int(j.joined.Add(1) - 1))
	if j.open.Add(-1) == 0 {
		j.done <- struct{}{}
	}
}

func (j *job) work(worker int) {
	defer func() {
		if p := recover(); p != nil {
			j.failed.CompareAndSwap(nil, &p)
			j.next.Store(j.n)
		}
	}()
	for {
		i := j.next.Add(1) - 1
		if i >= j.n {
			return
		}
		j.f(j.call, int(i), worker)
	}
}

// Workers returns how many workers Par may use: what per-worker scratch memory is sized for is
// Op.Threads, which is never less.
func (c *Call) Workers() int { return c.Team.Size() }

// Par calls f for the tasks 0 to n−1, each once, on the call's workers, and returns when all are
// done. worker is less than Workers and no two tasks have the same one at the same time. f must
// not be a closure over the call's data (which would be allocated anew each time): it finds that
// in c.
func (c *Call) Par(n int, f func(c *Call, task, worker int)) { c.Team.run(c, n, f) }
