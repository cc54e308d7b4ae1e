package selector

// Meter learns how long a piece of work takes from the runs that were measured, so that one that
// is far out moves it little, and a lasting change soon. The zero Meter has learnt nothing. A
// Ledger guards the meters of its arms.
type Meter struct {
	// ns is the learnt time; 0 before the first sample.
	ns float64
	// samples counts up to full.
	samples int
	// streak counts samples in a row that are far above (or, negative, far below) what was expected.
	streak int
	// passed counts the picks of other arms, pause how many of them there are before the next probe.
	passed, pause int
}

const (
	// clamp is by which factor a sample may differ from what was expected; more counts as that.
	clamp = 4
	// steady is the weight of a new sample when there are many; quick after a lasting change.
	steady, quick = 1.0 / 8, 1.0 / 2
	// full is the number of samples from which on the weight is steady.
	full = 8
	// odd is the factor from which on a sample is far, lasting the number of such in a row that are a
	// change.
	odd, lasting = 1.5, 3
	// firstPause is how many picks of other arms go before the first probe, soonPause before the one after a
	// probe that found the arm better, lastPause the most after those that did not.
	firstPause, soonPause, lastPause = 16, 4, 4096
	// worse is the factor above the plan's time from which on an arm is worth a probe.
	worse = 1.25
)

// Known reports whether the meter has learnt anything.
func (m *Meter) Known() bool { return m != nil && m.samples > 0 }

// Ns returns the learnt time; 0 when there is none.
func (m *Meter) Ns() int64 {
	if m == nil {
		return 0
	}
	return int64(m.ns)
}

// time returns what the meter expects, and base, which is what is known without it, before it has
// learnt anything.
func (m *Meter) time(base int64) int64 {
	if m.Known() {
		return int64(m.ns)
	}
	return base
}

// learn takes a sample. base is what was known without the meter, probe whether the work was
// picked to see whether the arm is better than it was.
func (m *Meter) learn(ns, base int64, probe bool) {
	if m == nil || ns <= 0 {
		return
	}
	was := m.ns
	if m.samples == 0 {
		was = float64(max(base, 1))
	}
	x := min(max(float64(ns), was/clamp), was*clamp)
	switch {
	case x > was*odd:
		m.streak = max(m.streak, 0) + 1
	case x < was/odd:
		m.streak = min(m.streak, 0) - 1
	default:
		m.streak = 0
	}
	m.samples = min(m.samples+1, full)
	weight := max(steady, 1/float64(m.samples))
	if probe && x < was || m.streak >= lasting || m.streak <= -lasting {
		weight = max(weight, quick)
	}
	m.ns = max(was+weight*(x-was), 1)
	if probe {
		m.probed(x < was/odd)
	}
}

// probed makes the next probe soon when this one found the arm better, else later than before.
func (m *Meter) probed(better bool) {
	if better {
		m.pause = soonPause
		return
	}
	m.pause = min(m.waits()*2, lastPause)
}

// due reports whether the arm, slower than the plan said, is to be tried again.
func (m *Meter) due(base int64) bool {
	return m.Known() && m.ns > worse*float64(base) && m.passed >= m.waits()
}

// waits returns how many picks of other arms go before the next probe.
func (m *Meter) waits() int {
	if m.pause == 0 {
		return firstPause
	}
	return m.pause
}

// pass counts a pick of another arm.
func (m *Meter) pass() {
	if m != nil {
		m.passed++
	}
}

// taken starts the count of passes again.
func (m *Meter) taken() {
	if m != nil {
		m.passed = 0
	}
}
