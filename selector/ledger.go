package selector

import (
	"errors"
	"sync"
)

// Ledger keeps account of the work and the memory that is on its way to each device, for all
// branches and all callers of a process, and picks by it. A pick and its charge are one step, so
// that callers at the same moment see each other. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	accounts []account
	flights  []flight
	free     []int32
}

// Limits is what a device can hold.
type Limits struct {
	// Slots is how many pieces of work it runs at the same time; 0 counts as 1.
	Slots int
	// Bytes is its memory for work in flight; 0 when there is no limit of its own.
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
		l.accounts[i].slots = int64(max(d.Slots, 1))
		l.accounts[i].capacity = max(d.Bytes, 0)
	}
	return l
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
	e := eyes{r.Signals, l}
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
	d.Ticket = l.charge(flight{device: a.Device, ns: min(d.TimeNs, most), base: base, bytes: min(max(a.Bytes, 0), most),
		meter: a.Meter, probe: d.Reason == Probe}, r.Now)
	return d
}

// explain fills in a decision of a policy that compares no times.
func (e eyes) explain(r *Request, d *Decision) {
	a := &r.Branch.Arms[d.Arm]
	var o outlook
	e.outlook(a, r.Now, &o)
	d.TimeNs, d.WaitNs, d.MemoryNs, d.CompleteNs, d.Source = o.time, o.wait, o.memory, o.complete, o.source
	dev := e.device(a.Device)
	switch {
	case (r.Policy == FitOnly || r.Policy == Tiers) && dev.Fit(a.Bytes) == Never:
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
func (l *Ledger) Done(t Ticket, now, ranNs int64) error { return l.settle(t, now, ranNs) }

// Drop settles a charge whose work failed, or never ran.
func (l *Ledger) Drop(t Ticket, now int64) error { return l.settle(t, now, 0) }

func (l *Ledger) settle(t Ticket, now, ranNs int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.slot < 0 || int(t.slot) >= len(l.flights) {
		return ErrTicket
	}
	f := &l.flights[t.slot]
	if !f.open || f.gen != t.gen {
		return ErrTicket
	}
	c := l.account(f.device)
	c.n--
	c.work -= f.ns
	c.bytes -= f.bytes
	c.since = now
	if ranNs > 0 {
		f.meter.learn(ranNs, f.base, f.probe)
		c.mean.learn(ranNs, f.ns, false)
	}
	f.open, f.meter = false, nil
	l.free = append(l.free, t.slot)
	return nil
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
		if left := c.capacity - c.bytes; !d.HasMemory || left < d.Free {
			d.Free = max(left, 0)
		}
		if !d.HasMemory || d.Total <= 0 || c.capacity < d.Total {
			d.Total = c.capacity
		}
		d.HasMemory = true
	}
}
