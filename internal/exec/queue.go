package exec

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stowage-ml/stowage/internal/plan"
)

// queue runs the steps of one device, from a goroutine of its own.
type queue struct {
	stages chan *work
}

// work is one stage whose steps run on several devices at the same time.
type work struct {
	ctx context.Context
	f   *frame
	s   *plan.Stage

	mu sync.Mutex
	// moved is signalled when a step has ended, or the work has failed.
	moved sync.Cond
	done  []bool
	err   error
	open  int

	// progress, when set, is called before each step, with the number of those that have begun.
	progress func(step, steps int)
	begun    int
}

// together runs the steps of a stage on all devices at once: each device's in their order, and each
// when the steps that it waits for have ended. The host's are run by the caller.
func (f *frame) together(ctx context.Context, s *plan.Stage, progress func(step, steps int)) error {
	l := f.lane
	for d := len(l.queues); d < len(l.Devices); d++ {
		q := &queue{stages: make(chan *work)}
		l.queues = append(l.queues, q)
		go q.serve(d + 1)
	}
	if n := len(l.Devices); len(f.calls) < n {
		f.grow(n)
	}
	w := &work{ctx: ctx, f: f, s: s, done: make([]bool, len(s.Steps)), open: len(l.Devices), progress: progress}
	w.moved.L = &w.mu
	for _, q := range l.queues {
		q.stages <- w
	}
	w.run(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open > 0 {
		since := l.trace.now()
		for w.open > 0 {
			w.moved.Wait()
		}
		l.trace.waitedFor(0, since, nil)
	}
	return w.err
}

// serve runs the device's steps of one stage after the other, until the lane is closed.
func (q *queue) serve(device int) {
	for w := range q.stages {
		w.run(device)
		w.mu.Lock()
		w.open--
		w.moved.Broadcast()
		w.mu.Unlock()
	}
}

// run runs the steps of one device.
func (w *work) run(device int) {
	defer func() {
		if p := recover(); p != nil {
			w.fail(fmt.Errorf("BUG: exec: panic on device %d: %v (%s)", device, p, origin()))
		}
	}()
	use := w.f.lane.use(device)
	use.enter()
	defer use.leave()
	for i := range w.s.Steps {
		s := &w.s.Steps[i]
		if s.DeviceIndex != device {
			continue
		}
		if !w.ready(device, i) {
			return
		}
		if device == 0 {
			w.f.step = s
		}
		if err := w.f.do(w.ctx, w.s, i); err != nil {
			w.fail(fmt.Errorf("node %s: %w", s.Node.Label(), err))
			return
		}
		w.end(i)
	}
}

// ready waits for what step i needs; false when the work has failed.
func (w *work) ready(device, i int) bool {
	if err := w.ctx.Err(); err != nil {
		w.fail(fmt.Errorf("stopped before step %d of %d: %w", i+1, len(w.s.Steps), err))
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.await(device, i)
	if w.err != nil {
		return false
	}
	if w.progress != nil {
		w.progress(w.begun, len(w.s.Steps))
	}
	w.begun++
	return true
}

// await waits until the steps that step i needs have ended, or the work has failed.
func (w *work) await(device, i int) {
	last := -1
	var since time.Duration
	for _, u := range w.s.Steps[i].Wait {
		for !w.done[u] && w.err == nil {
			if last < 0 {
				since = w.f.lane.trace.now()
				w.f.lane.use(device).leave()
			}
			last = u
			w.moved.Wait()
		}
	}
	if last < 0 {
		return
	}
	w.f.lane.use(device).enter()
	if t := w.f.lane.trace; t != nil {
		t.waitedFor(device, since, &w.f.whats[last])
	}
}

func (w *work) end(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[i] = true
	w.moved.Broadcast()
}

// fail ends the work; the first error counts.
func (w *work) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.moved.Broadcast()
}
