package selector

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

const ms = 1_000_000

// equalArms returns n arms on n devices that take the same time.
func equalArms(n int, ns int64) *Branch {
	b := &Branch{}
	for i := range n {
		b.Arms = append(b.Arms, Arm{Device: i, EstimateNs: ns, Meter: &Meter{}})
	}
	return b
}

func TestEmptyLedgerEqualsTheStaticPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 1000 {
		b := &Branch{}
		for range 1 + rng.IntN(4) {
			b.Arms = append(b.Arms, Arm{Device: rng.IntN(4), EstimateNs: rng.Int64N(ms), CopyInNs: rng.Int64N(ms),
				CopyOutNs: rng.Int64N(ms), Bytes: rng.Int64N(100), Meter: &Meter{}})
		}
		l := NewLedger([]Limits{{1, 100}, {2, 100}, {1, 0}, {4, 100}})
		for now := range int64(5) {
			d := l.Pick(Request{Policy: ECT, Branch: b, Now: now * ms})
			if d.Arm != 0 || d.Reason != Planned || d.Source != FromPlan || d.WaitNs != 0 {
				t.Fatalf("%+v: got %+v, want the first arm as planned", b.Arms, d)
			}
			if err := l.Drop(d.Ticket, now*ms); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestBurstsSpreadEvenly(t *testing.T) {
	for _, ns := range []int64{1000, 40_000, ms, 100 * ms} {
		l, b := NewLedger(make([]Limits, 4)), equalArms(4, ns)
		var count [4]int
		for range 64 {
			count[l.Pick(Request{Policy: ECT, Branch: b, Now: 7}).Arm]++
		}
		for _, n := range count {
			if n != 16 {
				t.Errorf("work of %d ns: got %v, want 16 each", ns, count)
			}
		}
		if err := l.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestWorkIsChargedAndNotCounts(t *testing.T) {
	l := NewLedger(make([]Limits, 2))
	long, short := equalArms(2, 10*ms), equalArms(2, ms)
	first := l.Pick(Request{Policy: ECT, Branch: long})
	var count [2]int
	for range 8 {
		count[l.Pick(Request{Policy: ECT, Branch: short}).Arm]++
	}
	if first.Arm != 0 || count != [2]int{0, 8} {
		t.Errorf("beside 10 ms of work: got %v, want the 8 pieces of 1 ms on the other device", count)
	}
}

func TestTheLedgerAndWhatDevicesTellBothCount(t *testing.T) {
	for name, c := range map[string]struct {
		device Device
		wait   int64
		source Source
		arm    int
	}{
		"nothing":            {Device{}, 0, FromPlan, 0},
		"a reported wait":    {Device{HasLoad: true, WaitNs: 3 * ms}, 0, FromPlan, 1},
		"a short wait":       {Device{HasLoad: true, WaitNs: ms}, ms, FromTelemetry, 0},
		"a count":            {Device{HasLoad: true, InFlight: 3}, 0, FromPlan, 1},
		"a count with slots": {Device{HasLoad: true, InFlight: 3, Slots: 4}, 0, FromPlan, 0},
		"unclaimed":          {Device{WaitNs: 3 * ms, InFlight: 9}, 0, FromPlan, 0},
	} {
		l := NewLedger([]Limits{{}, {}})
		b := &Branch{Arms: []Arm{{Device: 0, EstimateNs: ms}, {Device: 1, EstimateNs: 5 * ms / 2}}}
		d := l.Pick(Request{Policy: ECT, Branch: b, Signals: &Signals{Devices: []Device{c.device}}})
		if d.Arm != c.arm || d.WaitNs != c.wait || d.Source != c.source {
			t.Errorf("%s: got %+v, want arm %d with wait %d from %v", name, d, c.arm, c.wait, c.source)
		}
	}
}

func TestAnOverdueDeviceIsAvoided(t *testing.T) {
	l := NewLedger(make([]Limits, 2))
	b := equalArms(2, ms)
	b.Arms[1].EstimateNs = 4 * ms
	if d := l.Pick(Request{Policy: ECT, Branch: b, Now: 0}); d.Arm != 0 {
		t.Fatalf("got %+v", d)
	}
	l.Pick(Request{Policy: ECT, Branch: b, Now: ms / 2})
	if d := l.Pick(Request{Policy: ECT, Branch: b, Now: 6 * ms}); d.Arm != 1 {
		t.Errorf("with work of 1 ms that runs since 6 ms: got %+v, want the other device", d)
	}
}

func TestMemoryIsATime(t *testing.T) {
	l := NewLedger([]Limits{{2, 100}, {1, 50}})
	big := &Branch{Arms: []Arm{{Device: 0, EstimateNs: 10 * ms, Bytes: 80}, {Device: 1, EstimateNs: 30 * ms, Bytes: 80}}}
	first := l.Pick(Request{Policy: ECT, Branch: big})
	second := l.Pick(Request{Policy: ECT, Branch: big})
	if first.Arm != 0 || second.Arm != 0 || second.MemoryNs < 7*ms || second.MemoryNs > 8*ms {
		t.Errorf("got %+v, then %+v: want both on the device that can hold them, the second when the first ends",
			first, second)
	}
	if second.RunnerUpNs != never {
		t.Errorf("got %d for a device that can never hold it", second.RunnerUpNs)
	}
	none := &Branch{Arms: []Arm{{Device: 1, Bytes: 51}, {Device: 1, Bytes: 52}}}
	if d := l.Pick(Request{Policy: ECT, Branch: none}); d.Arm != 0 || d.Reason != NoFit {
		t.Errorf("nothing can ever fit: got %+v", d)
	}
	others := &Signals{Devices: []Device{room(10, 100)}}
	held := &Branch{Arms: []Arm{{Device: 0, EstimateNs: ms, Bytes: 95}, {Device: 1, EstimateNs: 90 * ms, Bytes: 50}}}
	if d := NewLedger([]Limits{{}, {}}).Pick(Request{Policy: ECT, Branch: held, Signals: others}); d.Arm != 1 {
		t.Errorf("memory that others hold: got %+v", d)
	}
}

func TestHysteresisHoldsAndTiesRotate(t *testing.T) {
	measured := func(second int64) (*Ledger, *Branch) {
		l, b := NewLedger(make([]Limits, 2)), equalArms(2, 10*ms)
		b.Arms[0].Meter.learn(10*ms, 10*ms, false)
		b.Arms[1].Meter.learn(second, 10*ms, false)
		return l, b
	}
	for name, c := range map[string]struct {
		second, switchNs int64
		arm              int
		reason           Reason
	}{
		"9 % better":               {9100_000, 0, 0, Held},
		"20 % better":              {8 * ms, 0, 1, Best},
		"20 % better, dear switch": {8 * ms, 3 * ms, 0, Held},
		"equal":                    {10 * ms, 0, 0, Held},
	} {
		l, b := measured(c.second)
		b.Arms[1].SwitchNs = c.switchNs
		if d := l.Pick(Request{Policy: ECT, Branch: b}); d.Arm != c.arm || d.Reason != c.reason {
			t.Errorf("%s: got %+v, want arm %d, %v", name, d, c.arm, c.reason)
		}
	}
	l, b := measured(10 * ms)
	other := equalArms(2, 10*ms)
	l.Pick(Request{Policy: ECT, Branch: other})
	l.Pick(Request{Policy: ECT, Branch: other})
	seen := map[int]int{}
	for range 4 {
		d := l.Pick(Request{Policy: ECT, Branch: b})
		seen[d.Arm]++
		if err := l.Drop(d.Ticket, 0); err != nil {
			t.Fatal(err)
		}
	}
	if seen[0] != 2 || seen[1] != 2 {
		t.Errorf("four exact ties: got %v, want them in turns", seen)
	}
}

func TestTriedAndLostArmsAreLeftOut(t *testing.T) {
	l, b := NewLedger(make([]Limits, 3)), equalArms(3, ms)
	for p := Static; p <= ECT; p++ {
		lost := &Signals{Devices: []Device{{}, {Lost: true}}}
		if d := l.Pick(Request{Policy: p, Branch: b, Signals: lost, Tried: 1}); d.Arm != 2 {
			t.Errorf("%v: got %+v, want arm 2", p, d)
		}
		d := l.Pick(Request{Policy: p, Branch: b, Signals: lost, Tried: 5})
		if d.Arm != -1 || d.Reason != NoArm || l.Done(d.Ticket, 0, 1) == nil {
			t.Errorf("%v: got %+v, want none", p, d)
		}
	}
}

func TestDecisionsSayWhy(t *testing.T) {
	full := &Signals{Devices: []Device{room(1, 100), room(1, 100)}}
	idle := &Signals{Devices: []Device{busy(1, 1)}}
	for _, c := range []struct {
		p      Policy
		s      *Signals
		reason Reason
		source Source
	}{
		{Static, full, Planned, FromLedger},
		{FitOnly, full, NoFit, FromLedger},
		{Tiers, full, NoFit, FromLedger},
		{LoadOnly, nil, Planned, FromPlan},
		{LoadOnly, idle, Best, FromPlan},
		{ECT, idle, Best, FromPlan},
		{ECT, full, Best, FromLedger},
	} {
		l, b := NewLedger(nil), equalArms(2, ms)
		b.Arms[0].Bytes, b.Arms[1].Bytes = 50, 50
		d := l.Pick(Request{Policy: c.p, Branch: b, Signals: c.s})
		if d.Reason != c.reason || d.Source != c.source || d.Policy != c.p || d.TimeNs != ms {
			t.Errorf("%v: got %+v, want %v from %v", c.p, d, c.reason, c.source)
		}
	}
}

func TestTicketsAreSettledOnce(t *testing.T) {
	l, b := NewLedger(nil), equalArms(2, ms)
	d := l.Pick(Request{Policy: ECT, Branch: b})
	if s := l.Standing(0); s.InFlight != 1 || s.WorkNs != ms {
		t.Errorf("got %+v", s)
	}
	if err := l.Done(d.Ticket, 1, ms); err != nil {
		t.Error(err)
	}
	again := l.Pick(Request{Policy: Tiers, Branch: b})
	for _, bad := range []Ticket{d.Ticket, {}, {slot: -1}, {slot: 9}} {
		if err := l.Drop(bad, 2); !errors.Is(err, ErrTicket) {
			t.Errorf("%+v: got error %v", bad, err)
		}
	}
	if err := l.Drop(again.Ticket, 2); err != nil {
		t.Error(err)
	}
	for device := -1; device < 3; device++ {
		if s := l.Standing(device); s != (Standing{}) {
			t.Errorf("device %d: got %+v after everything was settled", device, s)
		}
	}
}

func TestTheLedgerIsASignalForTheTiers(t *testing.T) {
	l, b := NewLedger([]Limits{{1, 100}, {1, 100}}), equalArms(2, ms)
	b.Arms[0].Bytes, b.Arms[1].Bytes = 60, 60
	for i, want := range []int{0, 1, 0} {
		d := l.Pick(Request{Policy: Tiers, Branch: b})
		if d.Arm != want {
			t.Errorf("pick %d: got %+v, want arm %d", i, d, want)
		}
	}
}

func TestManyCallersKeepTheBooksRight(t *testing.T) {
	l := NewLedger([]Limits{{2, 1000}, {1, 500}, {4, 0}})
	shared := equalArms(3, ms)
	for i := range shared.Arms {
		shared.Arms[i].Bytes = 10
	}
	var group sync.WaitGroup
	for caller := range 16 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(caller)))
			for n := range int64(200) {
				d := l.Pick(Request{Policy: Policy(rng.IntN(5)), Branch: shared, Now: n})
				if d.Arm < 0 {
					t.Error("got no arm")
					continue
				}
				var err error
				if rng.IntN(4) == 0 {
					err = l.Drop(d.Ticket, n)
				} else {
					err = l.Done(d.Ticket, n, rng.Int64N(3*ms))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		if err := l.Validate(); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	for i := range 3 {
		if s := l.Standing(i); s != (Standing{}) {
			t.Errorf("device %d: got %+v when all is settled", i, s)
		}
	}
}

// fourArms is a branch and a ledger in the middle of their life.
func fourArms() (*Ledger, Request) {
	l, b := NewLedger([]Limits{{1, 1000}, {2, 1000}, {1, 1000}, {4, 1000}}), equalArms(4, ms)
	for i := range b.Arms {
		b.Arms[i].Meter.learn(ms+int64(i), ms, false)
		b.Arms[i].Bytes = 10
	}
	r := Request{Policy: ECT, Branch: b, Signals: &Signals{Devices: make([]Device, 4)}}
	for range 16 {
		l.Pick(r)
	}
	return l, r
}

func TestPickAllocatesNothing(t *testing.T) {
	l, r := fourArms()
	if n := testing.AllocsPerRun(100, func() {
		d := l.Pick(r)
		if err := l.Done(d.Ticket, r.Now, ms); err != nil {
			t.Fatal(err)
		}
		r.Now += ms
	}); n != 0 {
		t.Errorf("got %v allocations for a pick, want 0", n)
	}
}

func BenchmarkPickAmongFour(b *testing.B) {
	l, r := fourArms()
	b.ReportAllocs()
	for b.Loop() {
		d := l.Pick(r)
		if err := l.Done(d.Ticket, r.Now, ms); err != nil {
			b.Fatal(err)
		}
	}
}
