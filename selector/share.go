package selector

// Share is the part of an arm's work that a further device does.
type Share struct {
	Device int
	// BusyNs is for how long of the arm's time the device is busy, Bytes the memory that the work holds
	// on it while it is in flight.
	BusyNs, Bytes int64
}

// parts is the number of the arm's devices; the first is Arm.Device.
func (a *Arm) parts() int { return 1 + len(a.Also) }

// part returns one of the arm's devices, for how long of EstimateNs it is busy, and the memory held on
// it.
func (a *Arm) part(i int) (device int, busy, bytes int64) {
	if i > 0 {
		s := &a.Also[i-1]
		return s.Device, max(s.BusyNs, 0), max(s.Bytes, 0)
	}
	busy = max(a.EstimateNs, 0)
	if a.BusyNs > 0 {
		busy = min(busy, a.BusyNs)
	}
	return a.Device, busy, max(a.Bytes, 0)
}

// lacks returns how much memory more an arm's part needs on a device than the caller holds there.
func (e eyes) lacks(device int, bytes int64) int64 {
	if device >= 0 && device < len(e.holds) {
		bytes -= max(e.holds[device], 0)
	}
	return max(bytes, 0)
}

// can reports whether all devices of an arm can be used.
func (e eyes) can(a *Arm) bool {
	for i := range a.parts() {
		if d, _, _ := a.part(i); d < 0 || e.signals.at(d).Lost {
			return false
		}
	}
	return true
}

// worst returns the fit and the load of the arm's devices: of each the worst.
func (e eyes) worst(a *Arm) (f Fit, l Load) {
	for i := range a.parts() {
		dev, _, bytes := a.part(i)
		d := e.device(dev)
		f, l = max(f, d.Fit(e.lacks(dev, bytes))), max(l, d.Load())
	}
	return f, l
}

// scaled returns what a device's part of the work is charged when the whole takes ns instead of the
// estimate.
func (a *Arm) scaled(busy, ns int64) int64 {
	if a.parts() == 1 && a.BusyNs <= 0 || a.EstimateNs <= 0 {
		return ns
	}
	return int64(float64(ns) * (float64(busy) / float64(a.EstimateNs)))
}

// advance moves the account's clock of service: while more work is in flight than there are slots, each
// piece gets its share of them (processor sharing: Parekh and Gallager, "A generalized processor sharing
// approach to flow control", 1993).
func (c *account) advance(now int64) {
	if past := now - c.at; past > 0 && c.n > 0 {
		c.served += float64(past) * min(1, float64(c.slots)/float64(c.n))
	}
	c.at = max(c.at, now)
}

// turns is wait for a device whose work in flight runs by turns: until what is in flight has run, but
// no longer than the others take while the new work runs. Work that has had more of the device than
// expected is taken to need as much again as it is over, and the device to be slower in proportion.
func (c *account) turns(now, time int64) int64 {
	if c.n < c.slots {
		return 0
	}
	c.advance(now)
	had := float64(c.n)*c.served - c.began
	rest, slow := float64(c.work)-had, 1.0
	if rest < 0 {
		rest, slow = -rest, had/float64(max(c.work, 1))
	}
	wait := min(rest, float64(c.n)*float64(time)*slow) / float64(c.slots)
	return int64(min(wait, far))
}
