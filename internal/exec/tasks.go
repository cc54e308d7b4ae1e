package exec

import "sync"

// tasks counts what goes on in other goroutines.
type tasks struct {
	mu sync.Mutex
	n  int
	// idle is closed when n becomes 0.
	idle   chan struct{}
	closed bool
}

// run runs f in a goroutine, unless it is too late.
func (t *tasks) run(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.n == 0 {
		t.idle = make(chan struct{})
	}
	t.n++
	go func() {
		defer func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.n--; t.n == 0 {
				close(t.idle)
			}
		}()
		f()
	}()
	return true
}

// done is closed once nothing goes on; nil when that is so now.
func (t *tasks) done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return nil
	}
	return t.idle
}

// stop lets nothing more begin.
func (t *tasks) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}
