package selector

import (
	"errors"
	"sync"
)

// Ledger keeps account of the work and the memory that is on its way to each device, for all
// branches and all callers of a process, and picks by it. A pick and its charge are one step, so
// that callers at the same moment see each other. It is safe for concurrent use.
type Ledger struct {
	// Turns says that what is in flight on a device runs by turns, and not one piece after the other:
	// Finish then tells what a piece would have taken alone. It is set before the first pick.
	Turns bool

	mu       sync.Mutex
	accounts []account
	flights  []flight
	free     []int32
}

// Limits is what a device can hold.
type Limits struct {
	// Slots is how many pieces of work it runs at the same time; 0 counts as 1.
	Slots int
	// Bytes is its memory; 0 when there is no limit of its own.
	Bytes int64
}

// account is what is in flight on one device.
type account struct {
	slots, capacity int64
	// work is the sum of the expected times, n the number, bytes the memory of what is in flight.
	work, n, bytes int64
	// since is when the work that runs now began, as far as starts and ends of work tell.
	since int64
	// mean is the learnt time of a piece of work.
	mean Meter
	// held is memory that stays in use between pieces of work.
	held int64
	// served is what each piece that is in flight has had of the device since the account was opened, up
	// to the time at, in ns. began sums its value at the begin of those in flight.
	served, began float64
	at            int64
}

// flight is a piece of work in flight.
type flight struct {
	gen      uint32
	open     bool
	probe    bool
	device   int
	ns, base int64
	bytes    int64
	meter    *Meter
	// began is the account's served at the begin; next is one more than the flight of the next device,
	// 0 when there is none.
	began   float64
	charged int64
	next    int32
}

// Ticket stands for a charge until it is settled. The zero Ticket is none.
type Ticket struct {
	slot int32
	gen  uint32
}

// ErrTicket is returned for a ticket that has been settled before, or was never given.
var ErrTicket = errors.New("selector: ticket: got one that is not open, want one of a pick that is not settled")

// NewLedger returns an empty ledger for devices of these limits.
func NewLedger(devices []Limits) *Ledger {
	l := &Ledger{accounts: make([]account, len(devices))}
	for i, d := range devices {
		l.accounts[i].limit(d)
	}
	return l
}

// SetLimits changes what a device can hold; one that is new to the ledger is entered.
func (l *Ledger) SetLimits(device int, d Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account(device).limit(d)
}

func (c *account) limit(d Limits) {
	c.slots, c.capacity = int64(max(d.Slots, 1)), max(d.Bytes, 0)
}

// Hold notes that so many bytes more, or fewer, of a device's memory stay in use between pieces of work.
func (l *Ledger) Hold(device int, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.account(device)
	c.held = max(c.held+bytes, 0)
}

// Branch is a point where a run takes one of several arms. It belongs to one Ledger, which guards
// what it remembers.
type Branch struct {
	// Arms are the ways on, the plan's choice first; they must not change after the first pick.
	Arms []Arm
	last int
}

// Request is one pick.
type Request struct {
	Policy Policy
	Branch *Branch
	// Signals is what the devices tell; nil for nothing.
	Signals *Signals
	// Holds is what the caller has, by device, of the memory that arms need: a part of Hold.
	Holds []int64
	// Tried has the bits of the arms, of the first 64, that have failed in this run.
	Tried uint64
	// Now is the time, from any fixed point.
	Now int64
}

// Reason says why an arm was taken.
type Reason uint8

// The reasons.
const (
	// NoArm: no device can be used.
	NoArm Reason = iota
	// Planned: nothing speaks against the plan's choice, or the policy is Static.
	Planned
	// Best: the policy ranks it first.
	Best
	// Held: another is better by too little to go over to it.
	Held
	// Probe: it was slow, and it is time to see whether it still is.
	Probe
	// NoFit: no arm fits its device, now or later; it is the first.
	NoFit
)

var reasons = [...]string{"no arm", "planned", "best", "held", "probe", "no fit"}

// String describes the reason in a word or two.
func (r Reason) String() string { return reasons[r] }

// Source says what a decision rests on.
type Source uint8

// The sources, each beside those before it.
const (
	FromPlan Source = iota
	FromMeasurement
	FromLedger
	FromTelemetry
)

var sources = [...]string{"plan", "measurement", "ledger", "telemetry"}

// String names the source.
func (s Source) String() string { return sources[s] }

// Decision is the outcome of a pick and what was compared.
type Decision struct {
	// Arm is the index of the arm, −1 when there is none; Ticket its charge, which Done or Drop
	// settles.
	Arm    int
	Ticket Ticket
	Policy Policy
	Reason Reason
	// Source is the strongest of what the decision rests on.
	Source Source
	// TimeNs is how long the arm's work is expected to take, WaitNs how long it waits for the device,
	// MemoryNs for memory, and CompleteNs is when it is complete, all from now.
	TimeNs, WaitNs, MemoryNs, CompleteNs int64
	// RunnerUp is the best other arm, −1 when there is none, and RunnerUpNs when it would be complete.
	// Only ECT tells.
	RunnerUp   int
	RunnerUpNs int64
}

// Pick takes an arm and charges its device with the work and the memory.
func (l *Ledger) Pick(r Request) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := Decision{Arm: -1, RunnerUp: -1, Policy: r.Policy}
	e := eyes{r.Signals, l, r.Holds}
	if r.Policy == ECT {
		e.earliest(&r, &d)
	} else if d.Arm = e.choose(r.Policy, r.Branch.Arms, r.Tried); d.Arm >= 0 {
		e.explain(&r, &d)
	}
	if d.Arm < 0 {
		return d
	}
	r.Branch.last = d.Arm
	a := &r.Branch.Arms[d.Arm]
	for i := range r.Branch.Arms {
		if m := r.Branch.Arms[i].Meter; m != a.Meter {
			m.pass()
		}
	}
	a.Meter.taken()
	base, _ := r.Signals.latency(a)
	last := int32(0)
	for i := a.parts() - 1; i >= 0; i-- {
		dev, busy, bytes := a.part(i)
		f := flight{device: dev, ns: min(a.scaled(busy, d.TimeNs), most), bytes: min(e.lacks(dev, bytes), most), next: last}
		if i == 0 {
			f.base, f.meter, f.probe = base, a.Meter, d.Reason == Probe
		}
		d.Ticket = l.charge(f, r.Now)
		last = d.Ticket.slot + 1
	}
	return d
}

// explain fills in a decision of a policy that compares no times.
func (e eyes) explain(r *Request, d *Decision) {
	a := &r.Branch.Arms[d.Arm]
	var o outlook
	e.outlook(a, r.Now, &o)
	d.TimeNs, d.WaitNs, d.MemoryNs, d.CompleteNs, d.Source = o.time, o.wait, o.memory, o.complete, o.source
	switch {
	case e.key(r.Policy, a).fit == Never:
		d.Reason = NoFit
	case r.Policy == Static || d.Arm == 0:
		d.Reason = Planned
	default:
		d.Reason = Best
	}
}

// most is what one flight is charged at most, so that thousands of them do not overflow.
const most = 1 << 50

// charge enters a flight.
func (l *Ledger) charge(f flight, now int64) Ticket {
	c := l.account(f.device)
	if c.n < c.slots {
		c.since = now
	}
	c.advance(now)
	f.began, f.charged = c.served, c.at
	c.began += f.began
	c.n++
	c.work += f.ns
	c.bytes += f.bytes
	var slot int32
	if k := len(l.free); k > 0 {
		slot, l.free = l.free[k-1], l.free[:k-1]
	} else {
		slot = int32(len(l.flights))
		l.flights = append(l.flights, flight{})
	}
	f.gen, f.open = l.flights[slot].gen+1, true
	l.flights[slot] = f
	return Ticket{slot, f.gen}
}

// account returns a device's account, made now when the device is new.
func (l *Ledger) account(device int) *account {
	for len(l.accounts) <= device {
		l.accounts = append(l.accounts, account{slots: 1})
	}
	return &l.accounts[device]
}

// Done settles a charge whose work took ranNs on the device, its wait not counted. ErrTicket when
// the ticket is not open.
func (l *Ledger) Done(t Ticket, now, ranNs int64) error {
	_, err := l.settle(t, now, ranNs, false)
	return err
}

// Drop settles a charge whose work failed, or never ran.
func (l *Ledger) Drop(t Ticket, now int64) error {
	_, err := l.settle(t, now, 0, false)
	return err
}

// Finish settles a charge whose work took tookNs on devices that others had in turns, and returns what it
// would have taken alone: as much less as what it has had of the devices is less than the time.
func (l *Ledger) Finish(t Ticket, now, tookNs int64) (ranNs int64, err error) {
	return l.settle(t, now, tookNs, true)
}

// settle learns what the work took, unless that is 0.
func (l *Ledger) settle(t Ticket, now, ns int64, turns bool) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.slot < 0 || int(t.slot) >= len(l.flights) {
		return 0, ErrTicket
	}
	f := &l.flights[t.slot]
	if !f.open || f.gen != t.gen {
		return 0, ErrTicket
	}
	if turns && ns > 0 {
		ns = max(int64(float64(ns)*l.part(t.slot, now)), 1)
	}
	if ns > 0 {
		f.meter.learn(ns, f.base, f.probe)
	}
	whole := float64(f.ns)
	for at := t.slot; ; {
		f := &l.flights[at]
		c := l.account(f.device)
		c.advance(now)
		c.n--
		c.work -= f.ns
		c.bytes -= f.bytes
		c.began -= f.began
		if c.n == 0 {
			c.began = 0
		}
		c.since = now
		if ns > 0 && f.ns > 0 && whole > 0 {
			c.mean.learn(int64(float64(ns)*(float64(f.ns)/whole)), f.ns, false)
		}
		f.open, f.meter = false, nil
		l.free = append(l.free, at)
		if at = f.next - 1; at < 0 {
			return ns, nil
		}
	}
}

// part returns which part of the time since its begin a piece of work has had of its devices, each
// counted by the work there.
func (l *Ledger) part(slot int32, now int64) float64 {
	var had, all float64
	for at := slot; at >= 0; at = l.flights[at].next - 1 {
		f := &l.flights[at]
		c := l.account(f.device)
		c.advance(now)
		if past := float64(now - f.charged); past > 0 {
			w := float64(max(f.ns, 1))
			had += w * min(1, (c.served-f.began)/past)
			all += w
		}
	}
	if all == 0 {
		return 1
	}
	return had / all
}

// Standing is what is in flight on one device.
type Standing struct {
	InFlight      int
	WorkNs, Bytes int64
}

// Standing returns what is in flight on a device.
func (l *Ledger) Standing(device int) Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if device < 0 || device >= len(l.accounts) {
		return Standing{}
	}
	c := &l.accounts[device]
	return Standing{int(c.n), c.work, c.bytes}
}

// raise adds to what a device tells of itself what the ledger knows: it can only be busier and
// fuller than it says.
func (l *Ledger) raise(i int, d *Device) {
	if i < 0 || i >= len(l.accounts) {
		return
	}
	c := &l.accounts[i]
	d.InFlight = max(d.InFlight, int(c.n))
	d.HasLoad = true
	if d.Slots == 0 {
		d.Slots = int(c.slots)
	}
	if c.capacity > 0 {
		if left := c.capacity - c.held - c.bytes; !d.HasMemory || left < d.Free {
			d.Free = max(left, 0)
		}
		if !d.HasMemory || d.Total <= 0 || c.capacity < d.Total {
			d.Total = c.capacity
		}
		d.HasMemory = true
	}
}
