package selector

// Hysteresis: how much earlier another arm must be complete than the last one, which could start
// at once, to be taken: a share of the work's time, and at least some microseconds.
const (
	holdShare = 10
	holdNs    = 50_000
)

// outlook is when an arm would be complete, and why then.
type outlook struct {
	time, wait, memory, complete int64
	source                       Source
	// due says that the time is the plan's, to see whether it is right again.
	due bool
}

// outlook returns max(wait for the device, copies in, wait for memory) + work + copies out.
// complete is never when the device can never hold the work. o is zero before.
func (e eyes) outlook(a *Arm, now int64, o *outlook) {
	base, measured := e.signals.latency(a)
	o.time = min(a.Meter.time(base), far)
	if measured || a.Meter.Known() {
		o.source = FromMeasurement
	}
	if a.Meter.due(base) {
		o.time, o.due = base, true
	}
	for i := range a.parts() {
		e.part(a, i, now, o)
	}
	o.complete = never
	if o.memory < never {
		o.complete = plus(max(o.wait, a.CopyInNs, o.memory), o.time, a.CopyOutNs)
	}
}

// part raises the waits to those for one device of an arm.
func (e eyes) part(a *Arm, i int, now int64, o *outlook) {
	dev, busy, bytes := a.part(i)
	c, d := e.ledger.account(dev), e.signals.at(dev)
	time := a.scaled(busy, o.time)
	wait := int64(0)
	if e.ledger.Turns {
		wait = c.turns(now, time)
	} else {
		wait = c.wait(now)
	}
	if wait > o.wait {
		o.wait, o.source = wait, max(o.source, FromLedger)
	}
	if told := c.told(d, time); told > o.wait {
		o.wait, o.source = told, FromTelemetry
	}
	if m := c.memory(d, e.lacks(dev, bytes), now); m > o.memory {
		o.memory, o.source = m, max(o.source, FromLedger)
	}
}

// wait returns how long new work waits for a slot. The work that runs is of the mean size and
// began at since. Once it takes longer than expected, it is taken to need as much again as it is
// over, and what waits behind it to be slower in proportion.
func (c *account) wait(now int64) int64 {
	if c.n < c.slots {
		return 0
	}
	return c.drain(now, c.work-c.slots*(c.work/c.n))
}

// drain returns the time until a slot is free and so much of the work behind it has run.
func (c *account) drain(now, behind int64) int64 {
	head := max(c.work/c.n, 1)
	ran := max(now-c.since, 0)
	rest, slow := head-ran, 1.0
	if ran > head {
		rest, slow = ran-head, float64(ran)/float64(head)
	}
	queue := float64(max(behind, 0)) / float64(c.slots) * slow
	return plus(rest, int64(min(queue, far)))
}

// told returns how long new work waits by what the device says. Work that it only counts is of
// the learnt mean time; before anything is learnt, of that of the new work.
func (c *account) told(d *Device, time int64) int64 {
	if !d.HasLoad {
		return 0
	}
	wait := min(max(d.WaitNs, 0), far)
	slots := c.slots
	if d.Slots > 0 {
		slots = int64(d.Slots)
	}
	// Its own work is in the ledger.
	if n := int64(d.InFlight); n > c.n && n >= slots {
		each := float64(c.mean.time(time))
		wait = max(wait, int64(min(each*float64(n-slots+1)/float64(slots), far)))
	}
	return wait
}

// memory returns how long work of so many bytes waits for memory: until as much of what is in
// flight has ended, if that is enough; far when others hold it, never when the device has not as
// much.
func (c *account) memory(d *Device, bytes, now int64) int64 {
	if bytes == 0 {
		return 0
	}
	total := c.capacity
	if d.HasMemory && d.Total > 0 && (total == 0 || d.Total < total) {
		total = d.Total
	}
	if total > 0 && bytes > total {
		return never
	}
	lack := int64(0)
	if total > 0 {
		lack = bytes - (total - c.held - c.bytes)
	}
	if d.HasMemory {
		lack = max(lack, bytes-max(d.Free, 0))
	}
	switch {
	case lack <= 0:
		return 0
	case lack > c.bytes:
		return far
	}
	all := c.drain(now, c.work-min(c.n, c.slots)*(c.work/c.n))
	return max(int64(float64(all)*(float64(lack)/float64(c.bytes))), 1)
}

// survey is what a look at all arms finds.
type survey struct {
	// first is the plan's choice among the usable arms, best the one that is complete first, second the
	// one after it; −1 when there is none.
	first, best, second  int
	planned, least, held outlook
	// next is when the second is complete.
	next int64
	// quiet says that nothing is known but the plan.
	quiet, holds bool
}

// earliest picks the arm that is complete first.
func (e eyes) earliest(r *Request, d *Decision) {
	v := e.look(r)
	switch b := r.Branch; {
	case v.first < 0:
		return
	case v.best < 0:
		d.set(v.first, v.planned, NoFit)
	case v.quiet:
		d.set(v.first, v.planned, Planned)
	case v.best != b.last && v.holds && v.held.keeps(&v.least, b.Arms[v.best].SwitchNs):
		d.set(b.last, v.held, Held)
	case v.least.due:
		d.set(v.best, v.least, Probe)
	default:
		d.set(v.best, v.least, Best)
	}
	d.runnerUp(&v)
}

func (e eyes) look(r *Request) survey {
	v := survey{first: -1, best: -1, second: -1, quiet: true}
	b := r.Branch
	for i := range b.Arms {
		if !e.usable(r, i) {
			continue
		}
		a := &b.Arms[i]
		var o outlook
		e.outlook(a, r.Now, &o)
		if v.first < 0 {
			v.first, v.planned = i, o
		}
		if i == b.last {
			v.held, v.holds = o, o.complete < never
		}
		v.quiet = v.quiet && o.source == FromPlan && e.ledger.empty(a)
		v.rank(b, i, &o)
	}
	return v
}

// rank enters an arm among the best two; those that can never be complete are no best.
func (v *survey) rank(b *Branch, i int, o *outlook) {
	switch {
	case o.complete < never && (v.best < 0 || o.complete < v.least.complete ||
		o.complete == v.least.complete && b.turn(i) < b.turn(v.best)):
		v.second, v.next = v.best, v.least.complete
		v.best, v.least = i, *o
	case v.second < 0 || o.complete < v.next:
		v.second, v.next = i, o.complete
	}
}

// usable reports whether arm i may be picked at all.
func (e eyes) usable(r *Request, i int) bool {
	return !isTried(r.Tried, i) && e.can(&r.Branch.Arms[i])
}

// keeps reports whether the last arm stays although another is complete first: by no more than
// the hysteresis when it can start at once, by less than the cost of going over when it waits.
func (o *outlook) keeps(best *outlook, switchNs int64) bool {
	gain := o.complete - best.complete
	if o.wait > 0 || o.memory > 0 {
		return gain < switchNs
	}
	return gain <= max(o.time/holdShare, holdNs, switchNs)
}

// turn returns the rank of arm i among equals: those after the last one come first.
func (b *Branch) turn(i int) int { return (i - b.last - 1 + len(b.Arms)) % len(b.Arms) }

// empty reports whether nothing is in flight on the devices of an arm.
func (l *Ledger) empty(a *Arm) bool {
	for i := range a.parts() {
		if d, _, _ := a.part(i); d < len(l.accounts) && l.accounts[d].n > 0 {
			return false
		}
	}
	return true
}

func (d *Decision) set(arm int, o outlook, why Reason) {
	d.Arm, d.Reason, d.Source = arm, why, o.source
	d.TimeNs, d.WaitNs, d.MemoryNs, d.CompleteNs = o.time, o.wait, o.memory, o.complete
}

// runnerUp sets the best of the other arms.
func (d *Decision) runnerUp(v *survey) {
	d.RunnerUp, d.RunnerUpNs = v.best, v.least.complete
	if d.RunnerUp < 0 || d.RunnerUp == d.Arm {
		d.RunnerUp, d.RunnerUpNs = v.second, v.next
	}
}
