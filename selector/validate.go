package selector

import (
	"fmt"
	"slices"
)

// Validate checks an arm that Choose returned: it is −1 exactly when no arm can be used, and
// otherwise the first of a stable sort by what the policy compares.
func Validate(p Policy, arms []Arm, s *Signals, got int) error {
	type ranked struct {
		arm  int
		rank [3]int64
	}
	var usable, fitting []ranked
	for i, a := range arms {
		fits, can, rank := true, true, [3]int64{}
		for _, x := range append([]Share{{Device: a.Device, Bytes: a.Bytes}}, a.Also...) {
			var d Device
			if s != nil && x.Device >= 0 && x.Device < len(s.Devices) {
				d = s.Devices[x.Device]
			}
			can = can && !d.Lost && x.Device >= 0
			one := a
			one.Bytes = x.Bytes
			ok, r := standing(p, one, d, s)
			fits = fits && ok
			for k := range rank {
				rank[k] = max(rank[k], r[k])
			}
		}
		if !can {
			continue
		}
		usable = append(usable, ranked{i, rank})
		if fits {
			fitting = append(fitting, ranked{i, rank})
		}
	}
	want := -1
	if len(usable) > 0 {
		want = usable[0].arm
	}
	if len(fitting) > 0 {
		slices.SortStableFunc(fitting, func(a, b ranked) int { return slices.Compare(a.rank[:], b.rank[:]) })
		want = fitting[0].arm
	}
	if got != want {
		return fmt.Errorf("selector: policy %v: got arm %d, want %d", p, got, want)
	}
	return nil
}

// standing ranks one arm from the rules as they are written down, in products and not in tiers.
func standing(p Policy, a Arm, d Device, s *Signals) (fits bool, rank [3]int64) {
	fits = true
	if (p == FitOnly || p == Tiers) && d.HasMemory && a.Bytes > 0 {
		fits = a.Bytes <= d.Free
		whole := d.Total
		if whole < 1 {
			whole = d.Free
		}
		if d.Free-a.Bytes < whole/10 {
			rank[0] = 1
		}
	}
	if (p == LoadOnly || p == Tiers) && d.HasLoad && d.InFlight > 0 {
		slots := float64(max(1, d.Slots))
		if share := float64(d.InFlight) / slots; share >= 1 {
			rank[1] = 2
		} else if share >= 0.25 {
			rank[1] = 1
		}
	}
	if p == Tiers {
		ns := max(0, a.EstimateNs)
		if s != nil && s.Latency != nil {
			if t, ok := s.Latency(&a); ok && t >= 0 {
				ns = t
			}
		}
		for _, more := range []int64{0, a.CopyInNs, a.CopyOutNs} {
			ns = min(ns+min(max(more, 0), far), far)
		}
		rank[2] = ns
	}
	return fits, rank
}

// Validate checks the ledger against what is in flight: each account is the sum of its flights,
// and every closed flight can be opened again.
func (l *Ledger) Validate() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	want := make([]Standing, len(l.accounts))
	closed := 0
	for i, f := range l.flights {
		if !f.open {
			closed++
			continue
		}
		if f.device < 0 || f.device >= len(want) {
			return fmt.Errorf("selector: ledger: flight %d: got device %d of %d", i, f.device, len(want))
		}
		w := &want[f.device]
		w.InFlight++
		w.WorkNs += f.ns
		w.Bytes += f.bytes
	}
	if closed != len(l.free) {
		return fmt.Errorf("selector: ledger: got %d free flights, want %d", len(l.free), closed)
	}
	for i := range l.accounts {
		c := &l.accounts[i]
		if got := (Standing{int(c.n), c.work, c.bytes}); got != want[i] {
			return fmt.Errorf("selector: ledger: device %d: got %+v, want %+v", i, got, want[i])
		}
	}
	return nil
}
