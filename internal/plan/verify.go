package plan

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
)

// extent is a range of bytes that holds those of a value as a step has made it, from the byte at on.
type extent struct {
	lo, hi int64
	of     graph.ValueID
	at     int64
}

// junk is the value of bytes that mean nothing: a step's scratch memory.
const junk graph.ValueID = -2

// verifier runs a stage on what bytes mean instead of what they are. It shares no code with what
// makes stages.
type verifier struct {
	s     *Stage
	slots []*Slot
	// maker is, for each value, the view that it comes from; nil when a step makes it.
	maker []*item
	// held says what each device's arena holds.
	held map[int][]extent
	// spare is memory for what a value means.
	spare []extent
	name  func(graph.ValueID) string
}

// verify checks that every step finds the bytes of what it reads where the plan says, and writes
// nothing over what it reads beside the input that it is in place of, nor over its own scratch
// memory. Every error is a bug of this package.
func (c *compiler) verify() error {
	v := &verifier{s: c.stage, held: map[int][]extent{}, slots: make([]*Slot, c.stage.Values),
		maker: make([]*item, c.stage.Values), name: c.name}
	for i := range c.stage.Slots {
		s := &c.stage.Slots[i]
		v.slots[s.Value] = s
		if s.Where == InArena && (s.Offset < 0 || s.Offset+s.Bytes > c.stage.arena(s.Device)) {
			return fmt.Errorf("BUG: plan: %q is not in the arena", c.name(s.Value))
		}
	}
	for i := range c.items {
		if it := &c.items[i]; it.view {
			for _, o := range it.out {
				v.maker[o] = it
			}
		}
	}
	for t := range v.s.Steps {
		if err := v.onDevice(&v.s.Steps[t]); err != nil {
			return fmt.Errorf("BUG: plan: step %d, %s: %w", t, v.s.Steps[t].Node.Label(), err)
		}
		if err := v.step(&v.s.Steps[t]); err != nil {
			return fmt.Errorf("BUG: plan: step %d, %s: %w", t, v.s.Steps[t].Node.Label(), err)
		}
	}
	for i, carried := range c.carried {
		if carried {
			if err := v.read(graph.ValueID(i)); err != nil {
				return fmt.Errorf("BUG: plan: at the end: %w", err)
			}
		}
	}
	for _, k := range v.s.Copies {
		if err := v.read(k.Value); err != nil {
			return fmt.Errorf("BUG: plan: at the end: %w", err)
		}
	}
	return nil
}

// onDevice checks that a step finds its operands on its own device; a copy, on those that it is
// between.
func (v *verifier) onDevice(s *Step) error {
	from, to := s.DeviceIndex, s.DeviceIndex
	if s.Transfer {
		from, to = s.From, s.To
	}
	check := func(ids []graph.ValueID, device int, what string) error {
		for i, id := range ids {
			on := host
			if id != graph.NoValue && v.slots[id] != nil {
				on = v.slots[id].Device
			}
			if id != graph.NoValue && on != device {
				return fmt.Errorf("%s %d, %q, is on device %d, want device %d", what, i, v.name(id), on, device)
			}
		}
		return nil
	}
	if err := check(s.In, from, "input"); err != nil {
		return err
	}
	return check(s.Out, to, "output")
}

// inArena returns the slot of a value that has bytes in the arena, else nil.
func (v *verifier) inArena(id graph.ValueID) *Slot {
	if id == graph.NoValue || v.slots[id] == nil || v.slots[id].Where != InArena || v.slots[id].Bytes == 0 {
		return nil
	}
	return v.slots[id]
}

func (v *verifier) step(s *Step) error {
	for _, id := range s.reads {
		if err := v.read(id); err != nil {
			return err
		}
	}
	scratch := []extent{{lo: s.ScratchOffset, hi: s.ScratchOffset + s.ScratchBytes}}
	if s.ScratchBytes > 0 {
		if err := v.apart(s, -1, scratch); err != nil {
			return fmt.Errorf("scratch: %w", err)
		}
		v.write(s.DeviceIndex, s.ScratchOffset, s.ScratchBytes, junk, 0)
	}
	for i, id := range s.Out {
		o := v.inArena(id)
		if o == nil {
			continue
		}
		over, at := -1, ranges(o)
		if i == 0 {
			over = s.InPlace
		}
		if err := v.apart(s, over, at); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if s.ScratchBytes > 0 && meet(at, scratch) {
			return fmt.Errorf("output %d lies over scratch memory", i)
		}
		for k := range i {
			if p := v.inArena(s.Out[k]); p != nil && meet(ranges(p), at) {
				return fmt.Errorf("outputs %d and %d overlap", k, i)
			}
		}
		for _, e := range at {
			v.write(o.Device, e.lo, e.hi-e.lo, id, e.at)
		}
	}
	return nil
}

// ranges lists where the bytes of a slot lie, each range with the first of the slot's own bytes.
func ranges(s *Slot) []extent {
	if s.Pitch == 0 {
		return []extent{{s.Offset, s.Offset + s.Bytes, s.Value, 0}}
	}
	n := s.Shape[0]
	w := s.Bytes / n
	out := make([]extent, n)
	for r := range n {
		out[r] = extent{s.Offset + r*s.Pitch, s.Offset + r*s.Pitch + w, s.Value, r * w}
	}
	return out
}

// meet reports whether two lists of ranges, each in order, have a byte in common.
func meet(a, b []extent) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].hi <= b[0].lo:
			a = a[1:]
		case b[0].hi <= a[0].lo:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

// apart checks that a range meets no input of the step, but for input over, which it must be.
func (v *verifier) apart(s *Step, over int, at []extent) error {
	for j, id := range s.In {
		in := v.inArena(id)
		if in == nil || s.Transfer || !meet(ranges(in), at) {
			continue
		}
		if j != over || len(at) > 1 || in.Pitch != 0 || in.Offset != at[0].lo || in.Offset+in.Bytes != at[0].hi {
			return fmt.Errorf("lies over input %d, %q", j, v.name(id))
		}
	}
	if over >= 0 && v.inArena(s.In[over]) == nil {
		return fmt.Errorf("in place of input %d, which is not in the arena", over)
	}
	return nil
}

// write notes that bytes now are those of a value, from its byte first on.
func (v *verifier) write(device int, at, bytes int64, of graph.ValueID, first int64) {
	held := v.held[device]
	lo, _ := slices.BinarySearchFunc(held, at, func(e extent, at int64) int {
		if e.hi <= at {
			return -1
		}
		return 1
	})
	kept := make([]extent, 0, 3)
	if lo < len(held) && held[lo].lo < at {
		e := held[lo]
		kept = append(kept, extent{e.lo, at, e.of, e.at})
	}
	kept = append(kept, extent{at, at + bytes, of, first})
	hi := lo
	for hi < len(held) && held[hi].lo < at+bytes {
		hi++
	}
	if hi > lo && held[hi-1].hi > at+bytes {
		e := held[hi-1]
		kept = append(kept, extent{at + bytes, e.hi, e.of, e.at + at + bytes - e.lo})
	}
	v.held[device] = slices.Replace(held, lo, hi, kept...)
}

// read checks that a value's bytes are what it means.
func (v *verifier) read(id graph.ValueID) error {
	s := v.inArena(id)
	if s == nil {
		return nil
	}
	is := v.meaning(id, v.spare[:0])
	v.spare = is
	if s.Pitch == 0 {
		for _, want := range is {
			if !v.holds(s.Device, s.Offset+want.lo, s.Offset+want.hi, want) {
				return fmt.Errorf("bytes %d to %d of %q are not there", want.lo, want.hi, v.name(id))
			}
		}
		return nil
	}
	for _, at := range ranges(s) {
		for _, want := range slice(is, at.at, at.at+at.hi-at.lo, nil) {
			if !v.holds(s.Device, at.lo+want.lo, at.lo+want.hi, want) {
				return fmt.Errorf("bytes %d to %d of %q are not there", at.at+want.lo, at.at+want.hi, v.name(id))
			}
		}
	}
	return nil
}

// slice appends the part from lo to hi of what bytes are.
func slice(is []extent, lo, hi int64, out []extent) []extent {
	at := end(out)
	for _, e := range is {
		if a, b := max(e.lo, lo), min(e.hi, hi); a < b {
			out = append(out, extent{at + a - lo, at + b - lo, e.of, e.at + a - e.lo})
		}
	}
	return out
}

// end returns how many bytes a list is of.
func end(is []extent) int64 {
	if len(is) == 0 {
		return 0
	}
	return is[len(is)-1].hi
}

// holds reports whether bytes [lo, hi) are those of want.
func (v *verifier) holds(device int, lo, hi int64, want extent) bool {
	for i := range v.held[device] {
		e := &v.held[device][i]
		if e.hi <= lo {
			continue
		}
		if e.lo > lo || e.of != want.of || e.at+lo-e.lo != want.at {
			return false
		}
		if e.hi >= hi {
			return true
		}
		want.at += e.hi - lo
		lo = e.hi
	}
	return false
}

// meaning appends what the bytes of a value are, from its first byte on, in terms of what steps make.
func (v *verifier) meaning(id graph.ValueID, out []extent) []extent {
	it, s := v.maker[id], v.slots[id]
	rows := int64(1)
	if it != nil && it.joinRows {
		rows = it.rows
	}
	switch {
	case it == nil:
		at := end(out)
		return append(out, extent{at, at + s.Bytes, id, 0})
	case it.row.Joins:
		is := make([][]extent, len(it.in))
		for i, in := range it.in {
			// An input without elements may be a part that no step reads: then it has no slot.
			if in != graph.NoValue && v.slots[in] != nil && v.slots[in].Bytes > 0 {
				is[i] = v.meaning(in, nil)
			}
		}
		for r := range rows {
			for _, k := range is {
				w := end(k) / rows
				out = slice(k, r*w, r*w+w, out)
			}
		}
		return out
	case it.row.Parts:
		is, start := v.meaning(it.in[0], nil), int64(0)
		for _, o := range it.out {
			if o == id {
				break
			}
			start += v.slots[o].Bytes / rows
		}
		w, pitch := s.Bytes/rows, end(is)/rows
		for r := range rows {
			out = slice(is, r*pitch+start, r*pitch+start+w, out)
		}
		return out
	}
	return v.meaning(it.in[0], out)
}
