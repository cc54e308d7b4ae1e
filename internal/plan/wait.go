package plan

import "github.com/stowage-ml/stowage/internal/graph"

// space is a piece of memory in which accesses can meet: a device's arena, a graph output's memory, or
// that of a value that existed before.
type space struct {
	kind Where
	id   int
}

// access is a range of bytes that a step reads or writes.
type access struct {
	in     space
	lo, hi int64
	writes bool
}

// waits notes for each step which steps on other devices must have ended before it begins: the last
// on each device of those that write what it reads or writes, or read what it writes. Steps on one
// device run in their order anyway.
func (c *compiler) waits() {
	s := c.stage
	slots := make([]*Slot, s.Values)
	for i := range s.Slots {
		slots[s.Slots[i].Value] = &s.Slots[i]
	}
	touched := make([][]access, len(s.Steps))
	for t := range s.Steps {
		x := &s.Steps[t]
		touched[t] = c.accesses(x, slots)
		last := map[int]int{}
		for u := range t {
			y := &s.Steps[u]
			if y.DeviceIndex != x.DeviceIndex && collide(touched[u], touched[t]) {
				last[y.DeviceIndex] = u
			}
		}
		x.Wait = nil
		for d := range 1 + len(c.devices) {
			if u, ok := last[d]; ok {
				x.Wait = append(x.Wait, u)
			}
		}
	}
}

func collide(a, b []access) bool {
	for i := range a {
		for j := range b {
			x, y := &a[i], &b[j]
			if x.in == y.in && x.lo < y.hi && y.lo < x.hi && (x.writes || y.writes) {
				return true
			}
		}
	}
	return false
}

// accesses lists what a step touches.
func (c *compiler) accesses(x *Step, slots []*Slot) []access {
	var out []access
	add := func(v graph.ValueID, writes bool) {
		if v == graph.NoValue {
			return
		}
		s := slots[v]
		switch {
		case s == nil:
			out = append(out, access{space{InValue, int(v)}, 0, 1, writes})
		case s.Where == InArena:
			out = append(out, access{space{InArena, s.Device}, s.Offset, s.Offset + s.Bytes, writes})
		case s.Where == InOutput:
			out = append(out, access{space{InOutput, s.Output}, s.Offset, s.Offset + s.Bytes, writes})
		case s.Where == InValue:
			out = append(out, access{space{InValue, int(s.Base)}, 0, 1, writes})
		case s.Where == Placed:
			out = append(out, access{space{Placed, int(v)}, 0, 1, writes})
		}
	}
	for _, v := range x.reads {
		add(v, false)
	}
	for _, v := range x.Out {
		add(v, true)
	}
	if x.ScratchBytes > 0 {
		out = append(out, access{space{InArena, x.DeviceIndex}, x.ScratchOffset, x.ScratchOffset + x.ScratchBytes, true})
	}
	return out
}
