package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/place"
)

// shrinkTries is how often a plan that is too large for a device is made again with less there, before
// nothing is put there that takes memory.
const shrinkTries = 8

// compile plans the stage that starts at branch b, with the kernels of like unless that is nil; largest
// says that the shapes are the largest. Where the plan is larger than a device's memory, there is less
// room there for the next one.
func (u *Unit) compile(b *Branch, a Available, like map[*graph.Node]pick, largest bool) (*compiler, error) {
	caps := u.capacities()
	for try := 0; ; try++ {
		c, err := u.compileWithin(b, a, guide{caps: caps, like: like, largest: largest})
		if err != nil || caps == nil {
			return c, err
		}
		over := c.excess()
		if slices.Max(over) <= 0 {
			return c, nil
		}
		if try > shrinkTries+len(over) {
			return nil, c.tooLarge(over)
		}
		c.shrink(caps, over, try >= shrinkTries)
		like = nil
	}
}

// devices returns the devices beside the host, with their capacities of now.
func (u *Unit) devices() []Device {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.away
}

// Devices returns the devices beside the host, with what plans count on of each.
func (u *Unit) Devices() []Device { return slices.Clone(u.devices()) }

// Retreats counts the calls of Retreat that changed something.
func (u *Unit) Retreats() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.retreats
}

// MostRetreats is how often a device may have less memory than was thought before plans no longer
// count on it.
const MostRetreats = 6

// Retreat tells the unit that a device had no memory for a stage of a plan, when there had been so many
// retreats: from now on plans count on three quarters of what the plan for the largest shapes takes there, or
// else of what they counted on, in the end on none. Plans that were made before are forgotten. It
// returns the plan for the largest shapes, when there was one.
func (u *Unit) Retreat(device, retreats int, needed int64) (*Stage, error) {
	b := u.Entry
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.saved != nil && !u.replan {
		return nil, changed("device %q: got less memory than the plan takes", u.devices()[device-1].Name)
	}
	if !u.lower(device, retreats, needed) {
		return b.like, nil
	}
	u.saved = nil
	a := b.largest
	b.forget()
	if a == nil {
		return nil, nil
	}
	return u.bound(b, a, b.smaller)
}

// lower lowers a device's capacity; false when somebody else has.
func (u *Unit) lower(device, retreats int, needed int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.retreats != retreats {
		return false
	}
	u.retreats++
	u.away = slices.Clone(u.away)
	d := &u.away[device-1]
	if d.Capacity <= 0 || d.Capacity > needed {
		d.Capacity = needed
	}
	d.Capacity = max(1, d.Capacity-d.Capacity/4)
	if d.Refused++; d.Refused >= MostRetreats {
		d.Capacity = 1
	}
	return true
}

// Needs returns the bytes that a plan takes of a device: constants, and the arenas of all lanes.
func (u *Unit) Needs(s *Stage, device int) int64 {
	return s.Resident()[device] + u.lanes()*s.Away[device-1].Arena
}

func (u *Unit) lanes() int64 { return int64(max(1, u.limits.Lanes)) }

// capacities returns what the placement may count on, by device; nil when no device has a limit.
func (u *Unit) capacities() []int64 {
	limited := false
	caps := []int64{place.Unlimited}
	for _, d := range u.devices() {
		n := d.Capacity
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

// Resident returns the bytes of the constants on each device; those of the host count 0.
func (s *Stage) Resident() []int64 {
	n := make([]int64, 1+len(s.Away))
	for i := range s.Slots {
		if x := &s.Slots[i]; x.Where == InConst && x.Device != host {
			n[x.Device] += aligned(x.Bytes)
		}
	}
	return n
}

// excess returns for each device by how many bytes the plan is too large for it: its constants, and for
// each lane the arenas of this stage and those before it, which is at least what is reserved.
func (c *compiler) excess() []int64 {
	over := c.stage.Resident()
	for d := range c.devices {
		arena := c.stage.Away[d].Arena
		if l := c.b.like; l != nil && d < len(l.Away) {
			arena = max(arena, l.Away[d].Arena)
		}
		for b := c.b; b.prev != nil; b = b.prev.from {
			arena += b.prev.Away[d].Arena
		}
		if limit := c.devices[d].Capacity; limit > 0 {
			over[d+1] += c.u.lanes()*arena - limit
		} else {
			over[d+1] = 0
		}
	}
	return over
}

// shrink lowers the capacities of the devices for which the plan is too large, by over bytes.
// Capacities are those of the placement, which counts constants, and values each by themselves. At the
// last nothing is left.
func (c *compiler) shrink(caps, over []int64, last bool) {
	for d := 1; d < len(caps); d++ {
		switch {
		case over[d] <= 0:
		case last:
			caps[d] = 0
		default:
			// As much less than the placement has counted there as the plan is too large.
			limit := c.devices[d-1].Capacity
			counted := min(caps[d], c.counted[d])
			least := float64(counted) * float64(limit) / float64(limit+over[d])
			caps[d] = max(0, min(int64(least), counted-counted/32-1))
		}
	}
}

// tooLarge is the error for a plan of which nothing can be put elsewhere.
func (c *compiler) tooLarge(over []int64) error {
	var s strings.Builder
	for d, n := range over {
		if n <= 0 {
			continue
		}
		limit := c.devices[d-1].Capacity
		fmt.Fprintf(&s, "; device %q: got %d B, want at least %d B (%d B more)", c.deviceName(d), limit, limit+n, n)
	}
	return fmt.Errorf("plan: memory of devices: no plan found that fits%s", s.String())
}
