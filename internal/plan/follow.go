package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/arena"
	"github.com/stowage-ml/stowage/internal/graph"
)

// guide says what the planning of a stage has to go by, beside the graph and the shapes.
type guide struct {
	// like, when set, is what to pick for each node.
	like map[*graph.Node]pick
	// largest says that the plan is for the largest shapes, whose offsets others take.
	largest bool
	// caps, when set, is the capacity of each device that the placement is given.
	caps []int64
	// saved, when set, holds every decision, and decided those about nodes.
	saved   *Saved
	decided map[*graph.Node]*Choice
}

// asSaved plans the stage at the entry as saved. c is nil when it is to be planned anew.
func (u *Unit) asSaved(b *Branch, a Available) (c *compiler, err error) {
	if b != u.Entry || u.saved == nil { // the entry's lock guards saved
		return nil, nil
	}
	if s := u.saved[string(b.key)]; s != nil {
		c, err = u.compileSaved(b, a, s)
	} else {
		err = changed("shapes: got %q, which it has no plan for", u.shapesOf(b.key))
	}
	if errors.Is(err, ErrChanged) && u.replan {
		return nil, nil
	}
	return c, err
}

func (u *Unit) compileSaved(b *Branch, a Available, s *Saved) (*compiler, error) {
	g := guide{caps: u.capacities(), saved: s, decided: map[*graph.Node]*Choice{}}
	for _, list := range [][]Choice{s.Steps, s.Views} {
		for i := range list {
			k := &list[i]
			if k.Node == -1 {
				continue
			}
			if k.Node < 0 || k.Node >= len(u.Graph.Nodes) {
				return nil, changed("%s %q: got node %d, want one of %d", k.Op, k.Name, k.Node, len(u.Graph.Nodes))
			}
			n := u.Graph.Nodes[k.Node]
			if g.decided[n] != nil || n.Op != k.Op || readable(n.Name) != k.Name {
				return nil, changed("node %d: got %s %q, want %s", k.Node, k.Op, k.Name, n.Label())
			}
			g.decided[n] = k
		}
	}
	c, err := u.compileWithin(b, a, g)
	if err != nil {
		return nil, err
	}
	if g.caps != nil && slices.Max(c.excess()) > 0 {
		return nil, changed("memory of devices: it needs more than there is")
	}
	return c, nil
}

// stay leaves every item the options that it has on its saved device.
func (c *compiler) stay() error {
	c.counted = make([]int64, 1+len(c.devices))
	for i := range c.items {
		it := &c.items[i]
		want := c.decided[it.node]
		if want == nil {
			return changed("node %s: got no decision about it", it.node.Label())
		}
		it.device, it.where = want.Device, "as saved"
		it.options = slices.DeleteFunc(it.options, func(o option) bool { return o.device != want.Device })
		if len(it.options) == 0 {
			return changed("node %s: got device %d, where it has no kernel", it.node.Label(), want.Device)
		}
	}
	return nil
}

// take picks for every item what is saved.
func (c *compiler) take() error {
	cost := Strategy{Name: "saved plan"}
	var least int64
	for i := range c.items {
		it := &c.items[i]
		want := c.decided[it.node]
		if want == nil {
			return changed("node %s: got no decision about it", it.node.Label())
		}
		if want.Device != it.device || want.Rows != it.rows {
			return changed("node %s: got device %d and %d rows, want %d and %d", it.node.Label(), want.Device, want.Rows,
				it.device, it.rows)
		}
		it.pick = slices.IndexFunc(it.options, func(o option) bool { return want.is(&o) })
		if it.pick < 0 {
			return it.noKernel(want)
		}
		it.explain()
		it.reason = "as saved"
		fastest := int64(math.MaxInt64)
		for k := range it.options {
			fastest = min(fastest, max(0, it.options[k].cost()))
		}
		cost.CostNs += max(0, it.options[it.pick].cost())
		least += fastest
	}
	c.stage.Cost = &Cost{BoundNs: least, Strategies: []Strategy{cost}}
	return nil
}

func (k *Choice) is(o *option) bool {
	return o.Name == k.Kernel && o.Source == k.Source && o.Revision == k.Revision && o.Scratch == k.Scratch &&
		slices.Equal(o.in, k.In) && slices.Equal(o.out, k.Out)
}

// noKernel says why a saved kernel is not to be had.
func (it *item) noKernel(want *Choice) error {
	for k := range it.options {
		if o := &it.options[k]; o.Name == want.Kernel && o.Source == want.Source && o.Revision != want.Revision {
			return changed("node %s: kernel %q: got revision %d, which is now %d", it.node.Label(), want.Kernel,
				want.Revision, o.Revision)
		}
	}
	return changed("node %s: got kernel %q (%s, %d bytes of scratch memory, layouts %v to %v), which is not on offer",
		it.node.Label(), want.Kernel, want.Source, want.Scratch, want.In, want.Out)
}

// sortSaved puts the steps into the saved order, in which every step must find what it reads.
func (c *compiler) sortSaved(steps []Step) error {
	number := map[*graph.Node]int{}
	for i, n := range c.u.Graph.Nodes {
		number[n] = i
	}
	at := map[savedKey]int{}
	for t := range c.saved.Steps {
		at[c.saved.Steps[t].key()] = t
	}
	if len(at) != len(c.saved.Steps) || len(at) != len(steps) {
		return changed("steps: got %d, of which %d differ, want %d", len(c.saved.Steps), len(at), len(steps))
	}
	place := map[*item]int{}
	sorted := make([]Step, len(steps))
	for i := range steps {
		s := &steps[i]
		k := choiceOf(s.item, number, func(v graph.ValueID) instance { return c.inst[v] })
		t, ok := at[k.key()]
		if !ok {
			return changed("steps: got none for %s", s.Node.Label())
		}
		if w := &c.saved.Steps[t]; s.item.change && (w.Kernel != k.Kernel || w.Source != k.Source ||
			w.Revision != k.Revision || w.Scratch != k.Scratch) {
			return changed("layout of %q: got kernel %q (%s), revision %d, want %q (%s), revision %d", w.Name, w.Kernel,
				w.Source, w.Revision, k.Kernel, k.Source, k.Revision)
		}
		place[s.item] = t
		sorted[t] = *s
	}
	if err := c.ordered(place); err != nil {
		return err
	}
	copy(steps, sorted)
	return nil
}

// savedKey tells the steps of a saved plan apart.
type savedKey struct{ node, value, layout, to int }

func (k *Choice) key() savedKey {
	if k.Node >= 0 {
		return savedKey{node: k.Node}
	}
	return savedKey{-1, k.Value, int(k.Layout), k.To}
}

// ordered checks that steps come behind those that they read from, and random ones in their own order.
func (c *compiler) ordered(place map[*item]int) error {
	ready, random := map[graph.ValueID]int{}, -1
	for i := range c.items {
		it := &c.items[i]
		at := -1
		for _, v := range it.reads {
			if t, ok := ready[v]; ok {
				at = max(at, t)
			}
		}
		if t, ok := place[it]; ok {
			if t <= at {
				return changed("steps: got %s as step %d, before what it reads", it.node.Label(), t)
			}
			at = t
			if it.row.Random || it.row.Control {
				if t < random {
					return changed("steps: got %s as step %d, before an earlier one that may be random", it.node.Label(), t)
				}
				random = t
			}
		}
		for _, v := range it.out {
			if v != graph.NoValue {
				ready[v] = at
			}
		}
	}
	return nil
}

// takeOffsets gives the boxes their saved offsets, which need not be right.
func (m *layout) takeOffsets(bs []box) error {
	saved, s := m.c.saved, m.c.stage
	if len(saved.Ranges) != len(bs) || len(saved.Arenas) != 1+len(m.c.devices) {
		return changed("memory: got %d ranges on %d devices, want %d on %d", len(saved.Ranges), len(saved.Arenas), len(bs),
			1+len(m.c.devices))
	}
	for i := range bs {
		b, r := &bs[i], &saved.Ranges[i]
		if int(b.root) != r.Value || b.at != r.At || b.device != r.Device || b.first != r.First || b.last != r.Last ||
			b.bytes != r.Bytes {
			return changed("memory: range %d: got %d bytes of value %d from step %d to %d, want %d of %d from %d to %d",
				i, r.Bytes, r.Value, r.First, r.Last, b.bytes, int(b.root), b.first, b.last)
		}
		b.offset = r.Offset
	}
	s.Away = make([]Memory, len(m.c.devices))
	for d := range saved.Arenas {
		mem := &s.Memory
		if d != host {
			mem = &s.Away[d-1]
		}
		a := &saved.Arenas[d]
		if err := m.checkOffsets(d, bs, a.Bytes); err != nil {
			return err
		}
		if a.LowerBound < 0 || a.LowerBound > a.Bytes {
			return changed("memory: got a lower bound of %d bytes, want at most the arena's %d", a.LowerBound, a.Bytes)
		}
		*mem = Memory{Arena: a.Bytes, LowerBound: a.LowerBound, Strategy: a.Strategy}
	}
	return nil
}

// checkOffsets checks the offsets on one device, whose arena is of so many bytes.
func (m *layout) checkOffsets(device int, bs []box, bytes int64) error {
	p, of := m.problem(device, bs)
	if len(of) == 0 {
		if bytes != 0 {
			return changed("memory: device %d: got an arena of %d bytes, want none", device, bytes)
		}
		return nil
	}
	r := arena.Plan{Arena: bytes, Pools: []arena.PoolPlan{{Arena: bytes}}, Proven: bytes == 0}
	for k, i := range of {
		r.Offsets, r.RowStride = append(r.Offsets, bs[i].offset), append(r.RowStride, bs[i].bytes)
		r.Materialized += p.Buffers[k].Size
	}
	if err := arena.Validate(&p, &r); err != nil {
		return changed("memory: %s", fmt.Sprint(err))
	}
	return nil
}
