// Package selector decides, when a run reaches a branch, which of its prepared arms to take: from
// the plan's order, from what devices tell of their load and memory, or from a ledger of the work
// that is on its way. It knows nothing of models, tensors or devices but their numbers, and has no
// clock: time comes in as an argument. Times are in nanoseconds, memory in bytes.
package selector

import (
	"fmt"
	"math"
)

// Arm is one prepared way to go on: work for one device, or several. The first arm of a branch is the plan's
// own choice.
type Arm struct {
	// Device is an index into Signals.Devices and the ledger's devices; an arm with a negative one
	// is never picked.
	Device int
	// EstimateNs is the plan's estimate of the work on the device.
	EstimateNs int64
	// CopyInNs is the time until the inputs are on the device, counted from the pick; CopyOutNs what it
	// takes to bring the outputs where they are wanted.
	CopyInNs, CopyOutNs int64
	// SwitchNs is what it costs to go over to this arm from another one.
	SwitchNs int64
	// Bytes is the memory that the work holds on the device while it is in flight.
	Bytes int64
	// BusyNs is for how long of EstimateNs the device is busy, when that is not all of it; 0 means all.
	BusyNs int64
	// Also lists the further devices that take part in the work: it waits for the one that is free last.
	Also []Share
	// Kernel names what runs, for Signals.Latency.
	Kernel string
	// Meter learns how long the work takes; nil for none. Arms that run the same kernels on the same
	// device and shapes share one. It belongs to one Ledger.
	Meter *Meter
}

// Device is what a device tells of itself. The zero Device tells nothing.
type Device struct {
	// Lost says that the device cannot be used: no policy picks it.
	Lost bool
	// HasLoad says that InFlight and WaitNs are known. InFlight counts the pieces of work that the
	// device has, WaitNs is how long new work waits.
	HasLoad  bool
	InFlight int
	WaitNs   int64
	// Slots is how many pieces of work the device runs at the same time; 0 counts as 1.
	Slots int
	// HasMemory says that Free is known, and Total when it is not 0.
	HasMemory   bool
	Free, Total int64
}

// Signals is what is known at the moment of a pick. The zero Signals, and nil, is nothing.
type Signals struct {
	// Devices tells of the devices by index; what it does not reach tells nothing.
	Devices []Device
	// Latency returns the measured time of an arm's kernel on its device, which counts instead of the
	// estimate; nil, or false, when there is none.
	Latency func(a *Arm) (ns int64, ok bool)
}

// mute is a device that tells nothing.
var mute Device

// at returns what device i tells; it is only read.
func (s *Signals) at(i int) *Device {
	if s == nil || i < 0 || i >= len(s.Devices) {
		return &mute
	}
	return &s.Devices[i]
}

// latency returns the time of the arm's work on its device, without what a meter has learnt.
func (s *Signals) latency(a *Arm) (ns int64, measured bool) {
	if s != nil && s.Latency != nil {
		if ns, ok := s.Latency(a); ok && ns >= 0 {
			return ns, true
		}
	}
	return max(a.EstimateNs, 0), false
}

// Load is how busy a device is. It is coarse, so that one piece of work more or less seldom
// changes a pick.
type Load uint8

// The loads.
const (
	Idle Load = iota
	Moderate
	Saturated
)

// LoadOf returns the load of a device that has inFlight pieces of work and runs slots of them at
// the same time: saturated when none is free, moderate from a quarter of them. Fewer slots than
// one count as one, less than no work as none.
func LoadOf(inFlight, slots int) Load {
	slots = max(slots, 1)
	switch {
	case inFlight <= 0:
		return Idle
	case inFlight >= slots:
		return Saturated
	case inFlight > (slots-1)/4:
		return Moderate
	}
	return Idle
}

// Load returns the device's load; a device that does not tell counts as idle, which is no claim:
// it ties with those that are.
func (d *Device) Load() Load {
	if !d.HasLoad {
		return Idle
	}
	return LoadOf(d.InFlight, d.Slots)
}

// Fit is whether memory suffices.
type Fit uint8

// The fits. A device that does not tell counts as one with room.
const (
	Roomy Fit = iota
	Tight
	Never
)

// tightShare is the part of a device's memory that work leaves free unless it is a tight fit.
const tightShare = 10

// Fit returns how well work of so many bytes fits into what is free: tightly when less than a
// tenth of the total remains (of what is free now when the total is not known).
func (d *Device) Fit(bytes int64) Fit {
	if !d.HasMemory || bytes <= 0 {
		return Roomy
	}
	if bytes > d.Free {
		return Never
	}
	total := d.Total
	if total <= 0 {
		total = d.Free
	}
	if d.Free-bytes < total/tightShare {
		return Tight
	}
	return Roomy
}

// Policy is a way to pick.
type Policy uint8

// The policies. Each returns the first arm, the plan's choice, when the signals tell nothing.
const (
	// Static takes the plan's choice.
	Static Policy = iota
	// LoadOnly takes the first arm of those on the least loaded devices.
	LoadOnly
	// FitOnly takes the first arm of those that fit best.
	FitOnly
	// Tiers takes, of the arms that fit best, those on the least loaded devices, of these the
	// fastest, of these the first.
	Tiers
	// ECT takes the arm that is expected to be complete first: see Ledger.
	ECT
)

var policies = [...]string{"static", "load", "fit", "tiers", "ect"}

// String names the policy as ParsePolicy reads it.
func (p Policy) String() string {
	if int(p) >= len(policies) {
		return fmt.Sprintf("policy %d", uint8(p))
	}
	return policies[p]
}

// ParsePolicy returns the policy of that name: static, load, fit, tiers or ect.
func ParsePolicy(name string) (Policy, error) {
	for i, s := range policies {
		if s == name {
			return Policy(i), nil
		}
	}
	return Static, fmt.Errorf("selector: policy: got %q, want one of %q", name, policies)
}

// eyes sees the devices of a pick: what they tell, raised by a ledger when there is one.
type eyes struct {
	signals *Signals
	ledger  *Ledger
	// holds is what the caller holds of each device's memory.
	holds []int64
}

func (e eyes) device(i int) Device {
	d := *e.signals.at(i)
	if e.ledger != nil {
		e.ledger.raise(i, &d)
	}
	return d
}

// Choose picks an arm by a policy that needs no ledger. It returns −1 when there is no arm on a
// device that can be used. When nothing fits, it is the first of these arms. ECT without a ledger
// picks as Static.
func Choose(p Policy, arms []Arm, s *Signals) int { return eyes{signals: s}.choose(p, arms, 0) }

// key ranks an arm: the least is the best, the first of equals wins.
type key struct {
	fit  Fit
	load Load
	ns   int64
}

func (k key) less(l key) bool {
	if k.fit != l.fit {
		return k.fit < l.fit
	}
	if k.load != l.load {
		return k.load < l.load
	}
	return k.ns < l.ns
}

// choose leaves out the arms whose bit is set in tried.
func (e eyes) choose(p Policy, arms []Arm, tried uint64) int {
	first, best := -1, -1
	var least key
	for i := range arms {
		a := &arms[i]
		if isTried(tried, i) || !e.can(a) {
			continue
		}
		if first < 0 {
			first = i
		}
		k := e.key(p, a)
		if k.fit == Never {
			continue
		}
		if p == Tiers {
			ns, _ := e.signals.latency(a)
			k.ns = plus(ns, a.CopyInNs, a.CopyOutNs)
		}
		if best < 0 || k.less(least) {
			best, least = i, k
		}
	}
	if best < 0 {
		return first
	}
	return best
}

// key returns what a policy compares first.
func (e eyes) key(p Policy, a *Arm) key {
	var k key
	fit, load := e.worst(a)
	if p == FitOnly || p == Tiers {
		k.fit = fit
	}
	if p == LoadOnly || p == Tiers {
		k.load = load
	}
	return k
}

// isTried reports whether arm i is out; only the first 64 can be.
func isTried(tried uint64, i int) bool { return i < 64 && tried>>i&1 == 1 }

// plus adds times that are not negative, negative ones as 0, and stops at far.
func plus(times ...int64) int64 {
	sum := int64(0)
	for _, t := range times {
		sum += min(max(t, 0), far-sum)
	}
	return sum
}

const (
	// far is a time that is known to be finite and no more.
	far = math.MaxInt64 / 4
	// never is the time of what cannot be.
	never = math.MaxInt64
)
