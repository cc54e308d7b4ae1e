package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/selector"
)

// ErrNoArm is wrapped by the error of a run that has no way on, since devices are lost or full.
var ErrNoArm = errors.New("no other way to run")

// Frontier chooses, whenever a run of one session comes to a branch, which of the prepared arms it
// takes, and keeps account of it. It is safe for concurrent use.
type Frontier struct {
	// Policy is how it chooses. Decided, when set, is called with every choice, by the goroutine of the run.
	Policy  selector.Policy
	Decided func(*Decision)
	// Only, when set, is the name of the one arm that is taken where there is such an arm. For tests.
	Only string

	fleet   *Fleet
	devices []backend.Device
	names   []string
	// seats holds one for each device of plans, the host's first.
	seats []*seat

	// beside is what goes on beside the runs; planning says that arms are planned for one of them.
	beside   tasks
	planning atomic.Bool
}

// Decision is one choice of a run.
type Decision struct {
	selector.Decision
	// Branch counts the branches of the run, 0 being its begin; Steps is the number of the arm's steps.
	Branch, Steps int
	// Name is the arm's name and Devices lists those that it uses; RunnerUpName is the next best arm's.
	Name, RunnerUpName string
	Devices            []string
	// Arms is how many there were to choose from.
	Arms int
	// Retry counts the tries before this one, and Failed says why the last one failed.
	Retry  int
	Failed error
	// Stage is what was chosen, and Lane where it runs.
	Stage *plan.Stage
	Lane  *Lane
}

// Limits is what a device can run at the same time, and its memory; the host is the first.
type Limits = selector.Limits

// NewFrontier returns the frontier of a session with these devices beside the host; names and limits have
// the host first.
func (f *Fleet) NewFrontier(p selector.Policy, devices []backend.Device, names []string, lim []Limits) *Frontier {
	r := &Frontier{Policy: p, fleet: f, devices: devices, names: names}
	for i, name := range names {
		var d backend.Device
		if i > 0 {
			d = devices[i-1]
		}
		r.seats = append(r.seats, f.enter(d, name, lim[i]))
	}
	return r
}

// Stop makes later runs plan nothing beside themselves.
func (r *Frontier) Stop() { r.beside.stop() }

// Close waits for what is planned beside runs, and leaves the fleet. No run may be on its way.
func (r *Frontier) Close() {
	r.Stop()
	if done := r.beside.done(); done != nil {
		<-done
	}
	for _, d := range r.devices {
		r.fleet.leave(d)
	}
}

// Lose marks a device, by its number in plans, as lost for the whole process.
func (r *Frontier) Lose(device int) { r.seats[device].lost.Store(true) }

// Lost reports whether a device is lost.
func (r *Frontier) Lost(device int) bool { return r.seats[device].lost.Load() }

// hold notes memory that is in use on a device, or given back.
func (r *Frontier) hold(device int, bytes int64) { r.fleet.ledger.Hold(r.seats[device].number, bytes) }

// Held returns what Resident.Held is set to.
func (r *Frontier) Held() func(d backend.Device, bytes int64) {
	return func(d backend.Device, bytes int64) {
		for i := range r.devices {
			if r.devices[i] == d {
				r.hold(i+1, bytes)
			}
		}
	}
}

// choices is the arms of one branch and one set of shapes, as the selector sees them.
type choices struct {
	ways []plan.Way
	// arms are those to choose from, spare those for when none of them can be used; of and spareOf are
	// their ways.
	arms, spare selector.Branch
	of, spareOf []int
	// warm says, for each way, that it has been run.
	warm []atomic.Bool
	all  bool
}

// among reports whether these are the choices among some ways; nil stands for the best plan alone.
func (c *choices) among(ways []plan.Way) bool {
	if ways == nil || !c.all {
		return ways == nil && !c.all
	}
	return len(ways) == len(c.ways) && &ways[0] == &c.ways[0]
}

// choices returns the arms of a branch that are known by now.
func (r *Frontier) choices(w *plan.Ways) *choices {
	c, _ := w.Use.Load().(*choices)
	ways := w.All()
	if c != nil && c.among(ways) {
		return c
	}
	n := r.newChoices(w, ways, c)
	if c == nil && w.Use.CompareAndSwap(nil, n) || c != nil && w.Use.CompareAndSwap(c, n) {
		return n
	}
	return r.choices(w)
}

func (r *Frontier) newChoices(w *plan.Ways, ways []plan.Way, before *choices) *choices {
	c := &choices{ways: ways, all: ways != nil}
	if !c.all {
		c.ways = []plan.Way{{Arm: &plan.Arm{Name: "best"}, Stage: w.First, EstNs: w.First.Span(), BusyNs: w.First.Busy()}}
	}
	c.warm = make([]atomic.Bool, len(c.ways))
	for i := range c.ways {
		a := r.arm(&c.ways[i])
		before.pass(c, i, &a)
		if c.ways[i].Spare {
			c.spare.Arms, c.spareOf = append(c.spare.Arms, a), append(c.spareOf, i)
		} else {
			c.arms.Arms, c.of = append(c.arms.Arms, a), append(c.of, i)
		}
	}
	return c
}

// pass hands on what has been learnt of a way.
func (c *choices) pass(to *choices, way int, a *selector.Arm) {
	if c == nil {
		return
	}
	for i := range c.ways {
		if c.ways[i].Stage != to.ways[way].Stage {
			continue
		}
		to.warm[way].Store(c.warm[i].Load())
		for k, of := range [][]int{c.of, c.spareOf} {
			for j, w := range of {
				if w == i {
					a.Meter = []*selector.Branch{&c.arms, &c.spare}[k].Arms[j].Meter
				}
			}
		}
	}
}

// arm describes a way to the selector: the device with most of the work comes first.
func (r *Frontier) arm(w *plan.Way) selector.Arm {
	a := selector.Arm{Device: r.seats[0].number, EstimateNs: max(w.EstNs, 1), BusyNs: 1, Meter: &selector.Meter{}}
	main := 0
	for d, busy := range w.BusyNs {
		if busy > w.BusyNs[main] {
			main = d
		}
	}
	for d, busy := range w.BusyNs {
		if busy == 0 && d != main {
			continue
		}
		var bytes int64
		if d > 0 {
			bytes = w.Stage.Away[d-1].Arena
		}
		if d == main {
			a.Device, a.BusyNs, a.Bytes = r.seats[d].number, max(busy, 1), bytes
		} else {
			a.Also = append(a.Also, selector.Share{Device: r.seats[d].number, BusyNs: busy, Bytes: bytes})
		}
	}
	return a
}

// flight is one stage on its way.
type flight struct {
	ticket selector.Ticket
	began  int64
	cold   bool
}

// take chooses the stage that a run goes on with.
func (r *Frontier) take(l *Lane, w *plan.Ways) (*plan.Stage, flight, error) {
	l.look(r)
	c := r.choices(w)
	if !c.all && r.Policy != selector.Static && w.Seen() > 0 {
		r.planBeside(w)
	}
	d, way := r.pick(l, c)
	if way < 0 && !c.all {
		w.Resolve(runtime.GOMAXPROCS(0))
		c = r.choices(w)
		d, way = r.pick(l, c)
	}
	if way < 0 {
		return nil, flight{}, r.noArm(l)
	}
	at := flight{ticket: d.Ticket, began: r.fleet.now(), cold: !c.warm[way].Swap(true)}
	l.branches++
	if r.Decided != nil || l.trace != nil {
		x := r.record(l, c, &d, way)
		l.trace.decided(x)
		if r.Decided != nil {
			r.Decided(x)
		}
	}
	return c.ways[way].Stage, at, nil
}

// pick asks the selector.
func (r *Frontier) pick(l *Lane, c *choices) (d selector.Decision, way int) {
	q := selector.Request{Policy: r.Policy, Branch: &c.arms, Signals: &l.signals, Holds: l.holds, Now: r.fleet.now(),
		Tried: r.others(c, c.of)}
	if d = r.fleet.ledger.Pick(q); d.Arm >= 0 {
		return d, c.of[d.Arm]
	}
	if len(c.spare.Arms) > 0 {
		q.Branch, q.Tried = &c.spare, r.others(c, c.spareOf)
		if d = r.fleet.ledger.Pick(q); d.Arm >= 0 {
			return d, c.spareOf[d.Arm]
		}
	}
	return d, -1
}

// others has the bits of the arms that Only leaves out; none, when it would leave out all.
func (r *Frontier) others(c *choices, of []int) (tried uint64) {
	if r.Only == "" {
		return 0
	}
	there := false
	for i := range c.ways {
		there = there || c.ways[i].Arm.Name == r.Only
	}
	for i, w := range of {
		if there && c.ways[w].Arm.Name != r.Only {
			tried |= 1 << i
		}
	}
	return tried
}

// planBeside plans the other arms of a branch while runs go on, those of one branch at a time.
func (r *Frontier) planBeside(w *plan.Ways) {
	if !r.planning.CompareAndSwap(false, true) {
		return
	}
	if !r.beside.run(func() {
		defer r.planning.Store(false)
		w.Resolve(1)
	}) {
		r.planning.Store(false)
	}
}

// settle ends a flight.
func (r *Frontier) settle(at flight, err error, grown bool) {
	now := r.fleet.now()
	if err != nil || at.cold || grown {
		// What a first run takes says little of those that follow.
		_ = r.fleet.ledger.Drop(at.ticket, now)
		return
	}
	_, _ = r.fleet.ledger.Finish(at.ticket, now, now-at.began)
}

// noArm is the error of a run that has no arm left.
func (r *Frontier) noArm(l *Lane) error {
	var why []string
	lost := false
	for d := range r.seats {
		switch {
		case r.Lost(d):
			lost = true
			why = append(why, fmt.Sprintf("device %q is lost", r.names[d]))
		case l.avoid[d]:
			why = append(why, fmt.Sprintf("device %q failed", r.names[d]))
		}
	}
	text := strings.Join(why, ", ")
	switch {
	case l.failed != nil:
		return fmt.Errorf("%w: %s; at first: %w", ErrNoArm, text, l.failed)
	case lost:
		return fmt.Errorf("%w: %s: %w", ErrNoArm, text, backend.ErrLost)
	}
	return fmt.Errorf("%w: %s", ErrNoArm, text)
}

// record describes a choice.
func (r *Frontier) record(l *Lane, c *choices, d *selector.Decision, way int) *Decision {
	x := &c.ways[way]
	out := &Decision{Decision: *d, Branch: l.branches - 1, Steps: len(x.Stage.Steps), Name: x.Arm.Name, Arms: len(c.of),
		Retry: l.retry, Failed: l.failed, Stage: x.Stage, Lane: l}
	of := c.of
	if x.Spare {
		of, out.Arms = c.spareOf, len(c.spareOf)
	}
	if d.RunnerUp >= 0 {
		out.RunnerUpName = c.ways[of[d.RunnerUp]].Arm.Name
	}
	for k, busy := range x.BusyNs {
		if busy > 0 {
			out.Devices = append(out.Devices, r.names[k])
		}
	}
	return out
}

// look sets what the lane tells the selector of the devices: which can be used, and what it holds there.
func (l *Lane) look(r *Frontier) {
	n := 0
	for _, s := range r.seats {
		n = max(n, s.number+1)
	}
	for len(l.signals.Devices) < n {
		l.signals.Devices, l.holds = append(l.signals.Devices, selector.Device{}), append(l.holds, 0)
	}
	for len(l.avoid) < len(r.seats) {
		l.avoid = append(l.avoid, false)
	}
	for d, s := range r.seats {
		l.signals.Devices[s.number].Lost = s.lost.Load() || l.avoid[d]
		l.holds[s.number] = 0
		if d > 0 && l.depth < len(l.away) {
			if m := l.away[l.depth][d-1]; m != nil {
				l.holds[s.number] = m.Size()
			}
		}
	}
}

// Begin prepares the lane for a new request.
func (l *Lane) Begin() { clear(l.avoid); l.retry, l.failed = 0, nil }

// Avoid makes the lane's next run, which is for the same request, do without a device that has failed.
func (l *Lane) Avoid(device int, err error) {
	for len(l.avoid) <= device {
		l.avoid = append(l.avoid, false)
	}
	l.avoid[device] = true
	l.retry++
	l.failed = err
}

// Settled waits until no arms are being planned beside the runs, or ctx ends.
func (r *Frontier) Settled(ctx context.Context) error {
	done := r.beside.done()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Beside runs f beside the runs; Close and Settled wait for it.
func (r *Frontier) Beside(f func()) { r.beside.run(f) }
