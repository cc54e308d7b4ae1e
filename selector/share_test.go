package selector

import (
	"math/rand/v2"
	"testing"
)

// both is an arm on two devices beside one on a third.
func both() *Branch {
	return &Branch{Arms: []Arm{
		{Device: 0, EstimateNs: 10 * ms, BusyNs: 6 * ms, Bytes: 10, Meter: &Meter{},
			Also: []Share{{Device: 1, BusyNs: 2 * ms, Bytes: 20}}},
		{Device: 2, EstimateNs: 15 * ms, Meter: &Meter{}}}}
}

func TestAnArmOnSeveralDevicesIsChargedToEach(t *testing.T) {
	l, b := NewLedger(make([]Limits, 3)), both()
	d := l.Pick(Request{Policy: ECT, Branch: b})
	want := []Standing{{1, 6 * ms, 10}, {1, 2 * ms, 20}, {}}
	for i, w := range want {
		if got := l.Standing(i); got != w {
			t.Errorf("device %d: got %+v, want %+v", i, got, w)
		}
	}
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
	if err := l.Done(d.Ticket, 20*ms, 20*ms); err != nil {
		t.Fatal(err)
	}
	if err := l.Done(d.Ticket, 20*ms, 20*ms); err == nil {
		t.Error("settled twice: got no error")
	}
	if got := b.Arms[0].Meter.Ns(); got != 20*ms {
		t.Errorf("learnt: got %d ns, want the 20 ms of the whole", got)
	}
	l.Pick(Request{Policy: Static, Branch: b})
	for i, w := range []int64{12 * ms, 4 * ms} {
		if got := l.Standing(i); got.WorkNs != w {
			t.Errorf("device %d: got %d ns after a sample of twice the time, want %d", i, got.WorkNs, w)
		}
	}
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAnArmOnSeveralDevicesWaitsForEach(t *testing.T) {
	for name, c := range map[string]struct {
		told []Device
		arm  int
	}{
		"free":         {nil, 0},
		"first busy":   {[]Device{{HasLoad: true, WaitNs: 20 * ms}}, 1},
		"second busy":  {[]Device{{}, {HasLoad: true, WaitNs: 20 * ms}}, 1},
		"second lost":  {[]Device{{}, {Lost: true}}, 1},
		"second full":  {[]Device{{}, {HasMemory: true, Free: 19, Total: 19}}, 1},
		"second roomy": {[]Device{{}, {HasMemory: true, Free: 30, Total: 30}}, 0},
	} {
		l := NewLedger(make([]Limits, 3))
		if d := l.Pick(Request{Policy: ECT, Branch: both(), Signals: &Signals{Devices: c.told}}); d.Arm != c.arm {
			t.Errorf("%s: got %+v, want arm %d", name, d, c.arm)
		}
	}
}

func TestPoliciesTakeTheWorstOfAnArmsDevices(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	for range 5000 {
		s := &Signals{Devices: make([]Device, 3)}
		for i := range s.Devices {
			s.Devices[i] = Device{Lost: rng.IntN(5) == 0, HasLoad: rng.IntN(2) == 0, InFlight: rng.IntN(4), Slots: rng.IntN(4),
				HasMemory: rng.IntN(2) == 0, Free: rng.Int64N(100), Total: rng.Int64N(100)}
		}
		arms := make([]Arm, 1+rng.IntN(4))
		for i := range arms {
			arms[i] = Arm{Device: rng.IntN(3), EstimateNs: rng.Int64N(3), Bytes: rng.Int64N(100)}
			for range rng.IntN(3) {
				arms[i].Also = append(arms[i].Also, Share{Device: rng.IntN(4) - 1, Bytes: rng.Int64N(100)})
			}
		}
		for p := Static; p <= Tiers; p++ {
			if err := Validate(p, arms, s, Choose(p, arms, s)); err != nil {
				t.Fatalf("%+v of %+v: %v", arms, s.Devices, err)
			}
		}
	}
}

func TestWorkThatRunsByTurnsIsMeasuredAsIfAlone(t *testing.T) {
	l := NewLedger(make([]Limits, 1))
	l.Turns = true
	b := &Branch{Arms: []Arm{{EstimateNs: 4 * ms, Meter: &Meter{}}}}
	first := l.Pick(Request{Policy: ECT, Branch: b})
	second := l.Pick(Request{Policy: ECT, Branch: b, Now: 2 * ms})
	if second.WaitNs != 2*ms {
		t.Errorf("beside work of which half is done: got a wait of %d ns, want 2 ms", second.WaitNs)
	}
	// From 2 to 6 ms each has half of the device, from 6 to 8 the second all of it.
	for _, x := range []struct {
		t         Ticket
		now, took int64
	}{{first.Ticket, 6 * ms, 6 * ms}, {second.Ticket, 8 * ms, 6 * ms}} {
		if ran, err := l.Finish(x.t, x.now, x.took); err != nil || ran != 4*ms {
			t.Errorf("got %d ns, %v, want the 4 ms of its own", ran, err)
		}
	}
	if got := b.Arms[0].Meter.Ns(); got != 4*ms {
		t.Errorf("learnt: got %d ns, want 4 ms", got)
	}
}

func TestWorkThatOverrunsItsTurnsMakesOthersWaitLonger(t *testing.T) {
	l := NewLedger(make([]Limits, 2))
	l.Turns = true
	b := equalArms(2, ms)
	b.Arms[1].EstimateNs = 4 * ms
	l.Pick(Request{Policy: ECT, Branch: b})
	if d := l.Pick(Request{Policy: ECT, Branch: b, Now: 9 * ms}); d.Arm != 1 {
		t.Errorf("with work of 1 ms that has had 9: got %+v, want the other device", d)
	}
}

func TestWhatTheCallerHoldsNeedNotBeFree(t *testing.T) {
	l := NewLedger([]Limits{{Bytes: 100}, {Bytes: 100}})
	l.Hold(0, 90)
	b := equalArms(2, ms)
	b.Arms[0].Bytes, b.Arms[1].Bytes, b.Arms[1].EstimateNs = 80, 80, 2*ms
	if d := l.Pick(Request{Policy: ECT, Branch: b}); d.Arm != 1 || l.Standing(1).Bytes != 80 {
		t.Errorf("memory that others hold: got %+v, want the other device", d)
	}
	if d := l.Pick(Request{Policy: ECT, Branch: b, Holds: []int64{80}}); d.Arm != 0 || l.Standing(0).Bytes != 0 {
		t.Errorf("memory that it holds itself: got %+v, want its device", d)
	}
	l.Hold(0, -90)
	if d := l.Pick(Request{Policy: FitOnly, Branch: b}); d.Arm != 0 {
		t.Errorf("memory that was given back: got %+v, want the first", d)
	}
}
