package selector

import (
	"fmt"
	"strings"
	"testing"
)

func TestLoadOfSplitsAtAQuarterAndAtCapacity(t *testing.T) {
	for _, c := range []struct {
		inFlight, slots int
		want            Load
	}{
		{0, 1, Idle}, {0, 8, Idle}, {-1, 8, Idle},
		{1, 8, Idle}, {2, 8, Moderate}, {7, 8, Moderate}, {8, 8, Saturated}, {9, 8, Saturated},
		{1, 1, Saturated}, {5, 1, Saturated}, {100, 1, Saturated},
		{0, 0, Idle}, {1, 0, Saturated}, {1, -3, Saturated},
		{1, 2, Moderate}, {1, 3, Moderate}, {1, 4, Moderate}, {1, 5, Idle}, {2, 5, Moderate}, {1<<62 - 1, 1 << 62, Moderate},
	} {
		if got := LoadOf(c.inFlight, c.slots); got != c.want {
			t.Errorf("%d of %d: got %d, want %d", c.inFlight, c.slots, got, c.want)
		}
	}
}

func TestDevicesThatDoNotTellCountAsIdleWithRoom(t *testing.T) {
	silent := Device{InFlight: 8, Slots: 1, Free: 1, Total: 2}
	if silent.Load() != Idle || silent.Fit(1<<40) != Roomy {
		t.Error("a device without signals was given some")
	}
	d := Device{HasLoad: true, InFlight: 4, Slots: 1, HasMemory: true, Free: 100, Total: 1000}
	if d.Load() != Saturated {
		t.Error("a saturated device was not")
	}
	for bytes, want := range map[int64]Fit{0: Roomy, -5: Roomy, 1: Tight, 100: Tight, 101: Never} {
		if got := d.Fit(bytes); got != want {
			t.Errorf("%d bytes: got %d, want %d", bytes, got, want)
		}
	}
	d.Total = 0
	for bytes, want := range map[int64]Fit{90: Roomy, 91: Tight, 101: Never} {
		if got := d.Fit(bytes); got != want {
			t.Errorf("%d bytes, total unknown: got %d, want %d", bytes, got, want)
		}
	}
}

func busy(n, slots int) Device { return Device{HasLoad: true, InFlight: n, Slots: slots} }

func room(free, total int64) Device { return Device{HasMemory: true, Free: free, Total: total} }

func TestPoliciesChoose(t *testing.T) {
	lost := Device{Lost: true}
	two := []Arm{{Device: 0, EstimateNs: 10, Bytes: 50}, {Device: 1, EstimateNs: 100, Bytes: 50}}
	full := func(d Device, free, total int64) Device {
		d.HasMemory, d.Free, d.Total = true, free, total
		return d
	}
	for _, c := range []struct {
		name                     string
		arms                     []Arm
		devices                  []Device
		static, load, fit, tiers int
	}{
		{"no arms", nil, nil, -1, -1, -1, -1},
		{"no signals", two, nil, 0, 0, 0, 0},
		{"saturated and idle", two, []Device{busy(4, 1), busy(0, 1)}, 0, 1, 0, 1},
		{"saturated and mute", two, []Device{busy(4, 1)}, 0, 1, 0, 1},
		{"mute and idle tie", two, []Device{{}, busy(0, 1)}, 0, 0, 0, 0},
		{"equal load keeps the first", two, []Device{busy(4, 1), busy(4, 1)}, 0, 0, 0, 0},
		{"latency within a tier", []Arm{two[1], two[0]}, []Device{busy(4, 1), busy(9, 1)}, 0, 0, 0, 1},
		{"load before latency", []Arm{two[1], two[0]}, []Device{busy(4, 1), busy(0, 1)}, 0, 0, 0, 0},
		{"does not fit", two, []Device{room(49, 1000)}, 0, 0, 1, 1},
		{"tight after roomy", two, []Device{room(60, 1000), room(500, 1000)}, 0, 0, 1, 1},
		{"roomy and mute tie", two, []Device{{}, room(500, 1000)}, 0, 0, 0, 0},
		{"fit before load", two, []Device{full(busy(9, 1), 500, 1000), full(busy(0, 1), 60, 1000)}, 0, 1, 0, 0},
		{"nothing fits", two, []Device{room(1, 1000), full(busy(4, 1), 2, 1000)}, 0, 0, 0, 0},
		{"the first is lost", two, []Device{lost}, 1, 1, 1, 1},
		{"all are lost", two, []Device{lost, lost}, -1, -1, -1, -1},
		{"what fits is lost", two, []Device{room(1, 1000), lost}, 0, 0, 0, 0},
		{"no device", []Arm{{Device: -1}, {Device: 7}}, []Device{lost}, 1, 1, 1, 1},
	} {
		s := &Signals{Devices: c.devices}
		for p, want := range []int{c.static, c.load, c.fit, c.tiers} {
			got := Choose(Policy(p), c.arms, s)
			if got != want {
				t.Errorf("%s, %v: got %d, want %d", c.name, Policy(p), got, want)
			}
			if err := Validate(Policy(p), c.arms, s, got); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if Validate(Policy(p), c.arms, s, got+1) == nil {
				t.Errorf("%s, %v: a wrong arm passes", c.name, Policy(p))
			}
		}
	}
}

func TestMeasuredLatencyCountsInsteadOfTheEstimateByKernel(t *testing.T) {
	arms := []Arm{{Device: 0, EstimateNs: 10, Kernel: "a"}, {Device: 0, EstimateNs: 20, Kernel: "b"},
		{Device: 0, EstimateNs: 30, Kernel: "c"}}
	s := &Signals{Latency: func(a *Arm) (int64, bool) {
		switch a.Kernel {
		case "a":
			return 25, true
		case "c":
			return -1, true
		}
		return 5, false
	}}
	if got := Choose(Tiers, arms, s); got != 1 {
		t.Errorf("got arm %d, want 1: 25 was measured for arm 0, and arm 2 has nothing better than 30", got)
	}
	if err := Validate(Tiers, arms, s, 1); err != nil {
		t.Error(err)
	}
	arms[1].CopyInNs, arms[1].CopyOutNs = 3, 3
	if got := Choose(Tiers, arms, s); got != 0 {
		t.Errorf("with copies: got arm %d, want 0", got)
	}
}

func TestPoliciesHaveNames(t *testing.T) {
	for p := Static; p <= ECT; p++ {
		if got, err := ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
	}
	if _, err := ParsePolicy("best"); err == nil || !strings.Contains(err.Error(), `got "best", want one of`) {
		t.Errorf("got error %v", err)
	}
	if got := Policy(9).String(); got != "policy 9" {
		t.Errorf("got %q", got)
	}
	if got := fmt.Sprint(Probe, " ", FromTelemetry); got != "probe telemetry" {
		t.Errorf("got %q", got)
	}
}

func FuzzChoose(f *testing.F) {
	f.Add([]byte{3, 0, 10, 5, 1, 20, 5, 1, 4, 2, 100, 120})
	f.Add([]byte{1, 255, 255, 255, 0, 0, 0, 9, 9, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		next := func() int64 {
			if len(b) == 0 {
				return 0
			}
			v := int64(int8(b[0]))
			b = b[1:]
			if v < -100 {
				return v << 56
			}
			return v
		}
		arms := make([]Arm, uint64(next())%6)
		for i := range arms {
			arms[i] = Arm{Device: int(next() % 5), EstimateNs: next(), Bytes: next(), CopyInNs: next(), CopyOutNs: next()}
		}
		s := &Signals{Devices: make([]Device, uint64(next())%5)}
		for i := range s.Devices {
			bits := next()
			s.Devices[i] = Device{Lost: bits&8 == 8, HasLoad: bits&1 == 1, InFlight: int(next()), Slots: int(next()),
				HasMemory: bits&2 == 2, Free: next(), Total: next(), WaitNs: next()}
		}
		for p := Static; p < ECT; p++ {
			if err := Validate(p, arms, s, Choose(p, arms, s)); err != nil {
				t.Error(err)
			}
		}
		l, br := NewLedger([]Limits{{Slots: int(next()), Bytes: next()}, {}}), &Branch{Arms: arms}
		for now := range int64(8) {
			d := l.Pick(Request{Policy: Policy(uint64(next()) % 5), Branch: br, Signals: s, Now: now * next()})
			if d.Arm >= 0 && now%2 == 0 {
				if err := l.Done(d.Ticket, now, next()); err != nil {
					t.Error(err)
				}
			}
			if err := l.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}
