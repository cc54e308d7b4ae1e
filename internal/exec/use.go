package exec

import (
	"sync"
	"time"
)

// Use counts what a device does for all lanes that share it. It is safe for concurrent use; a nil Use
// counts nothing.
type Use struct {
	mu sync.Mutex
	// working counts the lanes that the device works for now, and since is when they became more than 0.
	working int
	since   time.Duration
	busy    time.Duration
	runs    int64
}

// clock is what times of use are counted from.
var clock = time.Now()

// enter says that the device works for one more lane, leave that it is done.
func (u *Use) enter() {
	if u == nil {
		return
	}
	u.mu.Lock()
	if u.working++; u.working == 1 {
		u.since = time.Since(clock)
	}
	u.mu.Unlock()
}

func (u *Use) leave() {
	if u == nil {
		return
	}
	u.mu.Lock()
	if u.working--; u.working == 0 {
		u.busy += time.Since(clock) - u.since
	}
	u.mu.Unlock()
}

// ran counts a run in which the device has run kernels.
func (u *Use) ran() {
	u.mu.Lock()
	u.runs++
	u.mu.Unlock()
}

// Totals returns the number of runs that have ended well and in which the device has run kernels, and
// for how long it has worked for at least one lane, until now.
func (u *Use) Totals() (runs int64, busy time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	busy = u.busy
	if u.working > 0 {
		busy += time.Since(clock) - u.since
	}
	return u.runs, busy
}

// use returns what counts a device's work; nil when nothing does.
func (l *Lane) use(device int) *Use {
	if l.Uses == nil {
		return nil
	}
	return l.Uses[device]
}

// startUse forgets which devices have run kernels; endUse counts a run for those that have.
func (l *Lane) startUse() {
	if l.Uses == nil {
		return
	}
	if l.ran == nil {
		l.ran = make([]bool, len(l.Uses))
	}
	clear(l.ran)
}

func (l *Lane) endUse(err error) {
	for d, yes := range l.ran {
		if yes && err == nil {
			l.Uses[d].ran()
		}
	}
}
