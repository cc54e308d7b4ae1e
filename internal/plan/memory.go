package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/arena"
	"github.com/stowage-ml/stowage/internal/graph"
)

// box is a class of values or a part of one, or a step's scratch memory, that needs a range of the
// arena.
type box struct {
	// root is the class's; graph.NoValue for scratch. at is where the box starts in the class.
	root graph.ValueID
	at   int64
	// device is the one whose arena it is.
	device int
	// first and last are the steps during which the bytes are in use.
	first, last   int
	bytes, offset int64
	name          string
}

// boxes lists what the arena must hold: classes in order of their first value, each whole or in its
// parts, then scratch in order of step. Classes of no bytes are left out.
func (m *layout) boxes() []box {
	if m.parted {
		return append(m.partBoxes(), m.scratch()...)
	}
	var out []box
	for i := range m.class {
		if v := graph.ValueID(i); m.inArena(v) {
			out = append(out, m.whole(v))
		}
	}
	return append(out, m.scratch()...)
}

// whole is a class as one box.
func (m *layout) whole(v graph.ValueID) box {
	k := &m.class[v]
	return box{root: v, device: m.c.inst[v].device, first: k.first, last: k.last, bytes: k.bytes}
}

// scratch lists the scratch memory of the steps that have some.
func (m *layout) scratch() []box {
	var out []box
	for t := range m.c.stage.Steps {
		if n := m.c.stage.Steps[t].ScratchBytes; n > 0 {
			out = append(out, box{root: graph.NoValue, device: m.c.stage.Steps[t].DeviceIndex, first: t, last: t, bytes: n})
		}
	}
	return out
}

// inArena reports whether v stands for a class that needs a place in the arena.
func (m *layout) inArena(v graph.ValueID) bool {
	k := &m.class[v]
	return m.parent[v] == v && k.first >= 0 && k.bytes > 0 && k.output < 0 && k.base == graph.NoValue
}

// solve gives every box its offset: those of the plan for the largest shapes when this one has
// the same form and fits, else a solution of its own.
func (m *layout) solve() error {
	s := m.c.stage
	bs := m.boxes()
	switch like := m.c.b.like; {
	case m.c.saved != nil:
		if err := m.takeOffsets(bs); err != nil {
			return err
		}
	case like == nil || !fit(bs, like.boxes):
		if err := m.place(bs); err != nil {
			return err
		}
	default:
		s.Memory, s.Away = like.Memory, slices.Clone(like.Away)
	}
	for i := range bs {
		if bs[i].root == graph.NoValue {
			s.Steps[bs[i].first].ScratchOffset = bs[i].offset
		} else if bs[i].at == 0 {
			m.class[bs[i].root].offset = bs[i].offset
		}
	}
	s.Memory.Materialized = m.materialized(host)
	for d := range s.Away {
		s.Away[d].Materialized = m.materialized(d + 1)
	}
	for i := range bs {
		bs[i].name = m.name(&bs[i])
	}
	s.boxes, s.parted = bs, m.parted
	return nil
}

// fit takes the offsets of large for bs when both have the same form and no box is larger.
func fit(bs, large []box) bool {
	if len(bs) != len(large) {
		return false
	}
	for i := range bs {
		a, b := &bs[i], &large[i]
		if a.root != b.root || a.at != b.at || a.device != b.device ||
			a.first != b.first || a.last != b.last || a.bytes > b.bytes {
			return false
		}
	}
	for i := range bs {
		bs[i].offset = large[i].offset
	}
	return true
}

// place gives the boxes of every device their offsets.
func (m *layout) place(bs []box) error {
	s := m.c.stage
	s.Away = make([]Memory, len(m.c.devices))
	for d := range 1 + len(s.Away) {
		mem := &s.Memory
		if d != host {
			mem = &s.Away[d-1]
		}
		if err := m.placeOn(d, bs, mem); err != nil {
			return err
		}
	}
	return nil
}

// problem is the memory of one device as a problem, with the number of each buffer's box. The parts
// of a class are a pack.
func (m *layout) problem(device int, bs []box) (p arena.Problem, of []int) {
	p.Align = Align
	for i := range bs {
		if bs[i].device != device {
			continue
		}
		switch n := len(of); {
		case bs[i].at == 0:
		case bs[of[n-1]].at == 0:
			p.Packs = append(p.Packs, []int{n - 1, n})
		default:
			k := len(p.Packs) - 1
			p.Packs[k] = append(p.Packs[k], n)
		}
		of = append(of, i)
		p.Buffers = append(p.Buffers, arena.Buffer{Name: m.name(&bs[i]), Size: bs[i].bytes,
			Start: int64(bs[i].first), End: int64(bs[i].last) + 1})
	}
	return p, of
}

// placeOn gives the boxes of one device their offsets.
func (m *layout) placeOn(device int, bs []box, mem *Memory) error {
	p, of := m.problem(device, bs)
	// Some milliseconds of search: a plan is made for each set of shapes.
	budget := int64(30*len(of) + 20_000)
	r, err := arena.Solve(context.Background(), &p, arena.Options{Budget: budget})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if err := arena.Validate(&p, r); err != nil {
		return fmt.Errorf("BUG: plan: %w", err)
	}
	for k, i := range of {
		bs[i].offset = r.Offsets[k]
	}
	*mem = Memory{Arena: r.Arena, LowerBound: r.LowerBound, Strategy: r.Strategy}
	return nil
}

func (m *layout) name(b *box) string {
	if b.root == graph.NoValue {
		return "scratch of " + m.c.stage.Steps[b.first].Node.Label()
	}
	return m.c.name(b.root)
}

// materialized is the bytes of everything that the stage writes on a device, without reuse.
func (m *layout) materialized(device int) int64 {
	var n int64
	for v, f := range m.c.fate {
		if f == made && !m.c.before[v] && m.c.inst[v].device == device {
			n += m.c.size(graph.ValueID(v))
		}
	}
	for t := range m.c.stage.Steps {
		if x := &m.c.stage.Steps[t]; x.DeviceIndex == device {
			n += x.ScratchBytes
		}
	}
	return n
}

// boundedOutputs fails when one output of an item alone needs more memory than a run may have: kernels make tables
// as long as their outputs, and are not asked for then.
func (c *compiler) boundedOutputs(it *item) error {
	lim := c.u.limits.Bytes
	for _, v := range it.node.Outputs {
		if lim == 0 || v == graph.NoValue || c.fate[v] != made {
			continue
		}
		if n := c.size(v); n > lim {
			return fmt.Errorf("plan: memory: a run needs %d bytes (%q alone), want at most %d", n, c.name(v), lim)
		}
	}
	return nil
}

// bounded fails when the stage needs more memory than a run may have: better an error that says
// so than a process that the system ends.
func (m *layout) bounded() error {
	lim := m.c.u.limits.Bytes
	if lim == 0 {
		return nil
	}
	need, largest, name := m.c.stage.Memory.Arena, m.c.stage.Memory.Arena, "the arena"
	for _, v := range m.c.u.Graph.Outputs {
		if f := m.c.fate[v]; f != made && f != viewed {
			continue
		}
		n := m.c.size(v)
		if need += n; n > largest {
			largest, name = n, fmt.Sprintf("output %q", m.c.name(v))
		}
		if need < 0 {
			need = math.MaxInt64
			break
		}
	}
	if need > lim {
		return fmt.Errorf("plan: memory: a run needs %d bytes (%s alone %d), want at most %d", need, name, largest, lim)
	}
	return nil
}
