package plan

import "github.com/stowage-ml/stowage/place"

// shrinkTries is how often a plan that is too large for a device is made again.
const shrinkTries = 12

// capacities returns what the placement may count on, by device; nil when no device has a limit.
func (u *Unit) capacities() []int64 {
	limited := false
	caps := []int64{place.Unlimited}
	for i := range u.limits.Devices {
		n := u.limits.Devices[i].Capacity
		if n <= 0 {
			n = place.Unlimited
		}
		limited = limited || n != place.Unlimited
		caps = append(caps, n)
	}
	if !limited {
		return nil
	}
	return caps
}

// Resident returns the bytes of the constants on each device beside the host.
func (s *Stage) Resident() []int64 {
	n := make([]int64, 1+len(s.Away))
	for i := range s.Slots {
		if x := &s.Slots[i]; x.Where == InConst && x.Device != host {
			n[x.Device] += aligned(x.Bytes)
		}
	}
	return n
}

// shrink lowers the capacities of the devices for which the plan is too large, and reports whether
// there was one. Capacities are those of the placement, which counts constants, and values each by
// themselves.
func (c *compiler) shrink(caps []int64) bool {
	again := false
	constants := c.stage.Resident()
	for d := range c.u.limits.Devices {
		limit := c.u.limits.Devices[d].Capacity
		over := constants[d+1] + c.stage.Away[d].Arena - limit
		if limit <= 0 || over <= 0 {
			continue
		}
		again = true
		// What the placement has counted there, less what is too much.
		caps[d+1] = max(0, min(caps[d+1], c.counted[d+1])-max(over, c.counted[d+1]/16+1))
	}
	return again
}
