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
	held  []extent
	name  func(graph.ValueID) string
}

// verify checks that every step finds the bytes of what it reads where the plan says, and writes
// nothing over what it reads beside the input that it is in place of, nor over its own scratch
// memory. Every error is a bug of this package.
func (c *compiler) verify() error {
	v := &verifier{s: c.stage, slots: make([]*Slot, c.stage.Values), maker: make([]*item, c.stage.Values), name: c.name}
	for i := range c.stage.Slots {
		s := &c.stage.Slots[i]
		v.slots[s.Value] = s
		if s.Where == InArena && (s.Offset < 0 || s.Offset+s.Bytes > c.stage.Memory.Arena) {
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
	if s.ScratchBytes > 0 {
		if err := v.apart(s, -1, s.ScratchOffset, s.ScratchBytes); err != nil {
			return fmt.Errorf("scratch: %w", err)
		}
		v.write(s.ScratchOffset, s.ScratchBytes, junk)
	}
	for i, id := range s.Out {
		o := v.inArena(id)
		if o == nil {
			continue
		}
		over := -1
		if i == 0 {
			over = s.InPlace
		}
		if err := v.apart(s, over, o.Offset, o.Bytes); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if s.ScratchBytes > 0 && o.Offset < s.ScratchOffset+s.ScratchBytes && s.ScratchOffset < o.Offset+o.Bytes {
			return fmt.Errorf("output %d lies over scratch memory", i)
		}
		for k := range i {
			if p := v.inArena(s.Out[k]); p != nil && p.Offset < o.Offset+o.Bytes && o.Offset < p.Offset+p.Bytes {
				return fmt.Errorf("outputs %d and %d overlap", k, i)
			}
		}
		v.write(o.Offset, o.Bytes, id)
	}
	return nil
}

// apart checks that a range meets no input of the step, but for input over, which it must be.
func (v *verifier) apart(s *Step, over int, at, bytes int64) error {
	for j, id := range s.In {
		in := v.inArena(id)
		if in == nil || in.Offset >= at+bytes || at >= in.Offset+in.Bytes {
			continue
		}
		if j != over || in.Offset != at || in.Bytes != bytes {
			return fmt.Errorf("lies over input %d, %q", j, v.name(id))
		}
	}
	if over >= 0 && v.inArena(s.In[over]) == nil {
		return fmt.Errorf("in place of input %d, which is not in the arena", over)
	}
	return nil
}

// write notes that bytes now are those of a value.
func (v *verifier) write(at, bytes int64, of graph.ValueID) {
	lo, _ := slices.BinarySearchFunc(v.held, at, func(e extent, at int64) int {
		if e.hi <= at {
			return -1
		}
		return 1
	})
	kept := make([]extent, 0, 3)
	if lo < len(v.held) && v.held[lo].lo < at {
		e := v.held[lo]
		kept = append(kept, extent{e.lo, at, e.of, e.at})
	}
	kept = append(kept, extent{at, at + bytes, of, 0})
	hi := lo
	for hi < len(v.held) && v.held[hi].lo < at+bytes {
		hi++
	}
	if hi > lo && v.held[hi-1].hi > at+bytes {
		e := v.held[hi-1]
		kept = append(kept, extent{at + bytes, e.hi, e.of, e.at + at + bytes - e.lo})
	}
	v.held = slices.Replace(v.held, lo, hi, kept...)
}

// read checks that a value's bytes are what it means.
func (v *verifier) read(id graph.ValueID) error {
	s := v.inArena(id)
	if s == nil {
		return nil
	}
	for _, want := range v.meaning(id, nil) {
		if !v.holds(s.Offset+want.lo, s.Offset+want.hi, want) {
			return fmt.Errorf("bytes %d to %d of %q are not there", want.lo, want.hi, v.name(id))
		}
	}
	return nil
}

// holds reports whether bytes [lo, hi) are those of want.
func (v *verifier) holds(lo, hi int64, want extent) bool {
	for i := range v.held {
		e := &v.held[i]
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
	it := v.maker[id]
	bytes := v.slots[id].Bytes
	at := int64(0)
	if len(out) > 0 {
		at = out[len(out)-1].hi
	}
	switch {
	case it == nil:
		return append(out, extent{at, at + bytes, id, 0})
	case it.row.Joins:
		for _, in := range it.in {
			if in != graph.NoValue && v.slots[in].Bytes > 0 {
				out = v.meaning(in, out)
			}
		}
		return out
	case it.row.Parts:
		start := int64(0)
		for _, o := range it.out {
			if o == id {
				break
			}
			start += v.slots[o].Bytes
		}
		for _, e := range v.meaning(it.in[0], nil) {
			lo, hi := max(e.lo, start), min(e.hi, start+bytes)
			if lo < hi {
				out = append(out, extent{at + lo - start, at + hi - start, e.of, e.at + lo - e.lo})
			}
		}
		return out
	}
	return v.meaning(it.in[0], out)
}
