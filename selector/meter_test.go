package selector

import "testing"

func TestMetersFollowAChangeAndForgetAnOutlier(t *testing.T) {
	var m Meter
	if m.Known() || m.time(7) != 7 {
		t.Error("an empty meter knows something")
	}
	for range 20 {
		m.learn(ms, ms, false)
	}
	m.learn(500*ms, ms, false)
	if m.ns > 1.5*ms {
		t.Errorf("after one sample of 500 times: got %v", m.ns)
	}
	for range 12 {
		m.learn(ms, ms, false)
	}
	if m.ns > 1.1*ms {
		t.Errorf("12 runs after it: got %v", m.ns)
	}
	for range 8 {
		m.learn(5*ms, ms, false)
	}
	if m.ns < 4*ms {
		t.Errorf("8 runs after a lasting change to 5 times: got %v", m.ns)
	}
	for range 10 {
		m.learn(ms, ms, false)
	}
	if m.ns > 1.5*ms {
		t.Errorf("10 runs after the way back: got %v", m.ns)
	}
	m.learn(-1, ms, false)
	(*Meter)(nil).learn(ms, ms, false)
}

func TestFirstSamplesCountMostAndAreClampedToThePlan(t *testing.T) {
	var m Meter
	m.learn(100*ms, ms, false)
	if m.Ns() != 4*ms {
		t.Errorf("a first sample of 100 times the plan's: got %d", m.Ns())
	}
	m = Meter{}
	m.learn(2*ms, ms, false)
	if m.Ns() != 2*ms {
		t.Errorf("a first sample of twice the plan's: got %d", m.Ns())
	}
	m = Meter{}
	m.learn(3, 0, false)
	if m.Ns() < 1 {
		t.Errorf("without a plan's estimate: got %d", m.Ns())
	}
}

func TestProbesBecomeRarerWhileTheyFindNothing(t *testing.T) {
	m := Meter{}
	for range 10 {
		m.learn(4*ms, ms, false)
	}
	var gaps []int
	for n := 0; n < 200; n++ {
		m.pass()
		if m.due(ms) {
			gaps = append(gaps, m.passed)
			m.taken()
			m.learn(4*ms, ms, true)
		}
	}
	if len(gaps) < 3 || gaps[0] != 16 || gaps[1] != 32 || gaps[2] != 64 {
		t.Errorf("got gaps %v", gaps)
	}
	for m.passed < 4096 {
		m.pass()
	}
	m.learn(ms, ms, true)
	m.taken()
	for n := 0; n < 4; n++ {
		if m.due(ms) {
			t.Errorf("due after %d picks", n)
		}
		m.pass()
	}
	if !m.due(ms) {
		t.Error("a probe that found the arm better is not followed by another soon")
	}
}
