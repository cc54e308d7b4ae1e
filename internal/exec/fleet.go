package exec

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/selector"
)

// Fleet is the devices of a process: what is in flight on each, which memory is in use, and which are
// lost, whoever uses them. The zero Fleet has none. It is safe for concurrent use.
type Fleet struct {
	// active says that some device beside the host has been entered.
	active atomic.Bool
	ledger selector.Ledger
	begin  time.Time

	mu      sync.Mutex
	numbers map[string]int
	seats   map[backend.Device]*seat
}

// seat is a device as long as somebody uses it.
type seat struct {
	// number is the ledger's; devices of the same name have the same.
	number int
	lost   atomic.Bool
	users  int
}

// NewFleet returns a fleet without devices.
func NewFleet() *Fleet {
	f := &Fleet{begin: time.Now(), numbers: map[string]int{}, seats: map[backend.Device]*seat{}}
	f.ledger.Turns = true
	return f
}

// Active reports whether a device beside the host has ever been entered.
func (f *Fleet) Active() bool { return f.active.Load() }

// Standing returns what is in flight on a device.
func (f *Fleet) Standing(name string) selector.Standing {
	f.mu.Lock()
	n, ok := f.numbers[name]
	f.mu.Unlock()
	if !ok {
		return selector.Standing{}
	}
	return f.ledger.Standing(n)
}

// Validate checks the books.
func (f *Fleet) Validate() error { return f.ledger.Validate() }

func (f *Fleet) now() int64 { return int64(time.Since(f.begin)) }

// number returns the ledger's number of a device, by its name.
func (f *Fleet) number(name string, lim selector.Limits) int {
	n, ok := f.numbers[name]
	if !ok {
		n = len(f.numbers)
		f.numbers[name] = n
	}
	f.ledger.SetLimits(n, lim)
	return n
}

// enter takes a device, or the host when that is nil, until leave.
func (f *Fleet) enter(d backend.Device, name string, lim selector.Limits) *seat {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.number(name, lim)
	if d == nil {
		return &seat{number: n}
	}
	s := f.seats[d]
	if s == nil {
		s = &seat{number: n}
		f.seats[d] = s
	}
	s.users++
	f.active.Store(true)
	return s
}

// leave gives a device back; what nobody uses is forgotten.
func (f *Fleet) leave(d backend.Device) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.seats[d]; s != nil {
		if s.users--; s.users == 0 {
			delete(f.seats, d)
		}
	}
}

// Alone keeps account of runs that use the host alone: how long they take, and that they are on their
// way.
type Alone struct {
	fleet  *Fleet
	branch selector.Branch
}

// NewAlone returns the account of a session whose runs the host can run so many of at the same time.
func (f *Fleet) NewAlone(name string, slots int) *Alone {
	a := &Alone{fleet: f}
	s := f.enter(nil, name, selector.Limits{Slots: slots})
	a.branch.Arms = []selector.Arm{{Device: s.number, Meter: &selector.Meter{}}}
	return a
}

// Begin enters a run, End settles it.
func (a *Alone) Begin() (t selector.Ticket, began int64) {
	began = a.fleet.now()
	d := a.fleet.ledger.Pick(selector.Request{Policy: selector.Static, Branch: &a.branch, Now: began})
	return d.Ticket, began
}

// End settles a run.
func (a *Alone) End(t selector.Ticket, began int64, err error) {
	if now := a.fleet.now(); err == nil {
		_, _ = a.fleet.ledger.Finish(t, now, now-began)
	} else {
		_ = a.fleet.ledger.Drop(t, now)
	}
}

// LostError says that a device is lost.
type LostError struct {
	// Device is its number in plans, Name its name.
	Device int
	Name   string
	Err    error
}

func (e *LostError) Error() string { return fmt.Sprintf("device %q: %v", e.Name, e.Err) }

// Unwrap returns the device's own error.
func (e *LostError) Unwrap() error { return e.Err }

// of says which device, by its number in plans, an error is of, and whether that is lost.
func of(device int, d backend.Device, err error) error {
	switch {
	case err == nil:
		return nil
	case isLost(d, err):
		return &LostError{Device: device, Name: d.Name(), Err: err}
	}
	return fmt.Errorf("device %q: %w", d.Name(), err)
}

// isLost reports whether an error of a device means that it is lost: the error says so, or the device.
func isLost(d backend.Device, err error) bool {
	if errors.Is(err, backend.ErrLost) {
		return true
	}
	l, ok := d.(interface{ Lost() bool })
	return err != nil && ok && l.Lost()
}

// unlessLost leaves out the error of a device that is lost: what was there is no more.
func unlessLost(d backend.Device, err error) error {
	if isLost(d, err) {
		return nil
	}
	return err
}
