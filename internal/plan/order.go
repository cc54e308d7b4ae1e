package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/arena"
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
)

// attempt is an order of the steps, and, unless pin is graph.NoValue, a class that lies at a certain
// offset, so that its parts leave their bytes to others before and after their own lifetimes.
type attempt struct {
	steps []Step
	pin   graph.ValueID
	at    int64
}

// arranger looks for an order of the steps and a place for every value that take little memory.
type arranger struct {
	m      *layout
	parent []graph.ValueID
	shift  []int64
	pitch  []int64
	best   attempt
	least  int64
	// last is the attempt that the layout is in the state of.
	last attempt
	// dag describes the steps as they are given.
	dag *arena.DAG
}

// arrange gives the steps an order and every value its place: in the order as given, or in another
// one where that takes less memory. Plans for smaller shapes than the largest have the order of
// that plan.
func (m *layout) arrange() error {
	s := m.c.stage
	a := &arranger{m: m, parent: slices.Clone(m.parent), shift: slices.Clone(m.shift),
		pitch: slices.Clone(m.pitch), least: math.MaxInt64}
	if saved := m.c.saved; saved != nil {
		if err := m.c.sortSaved(s.Steps); err != nil {
			return err
		}
		a.dag = &arena.DAG{}
		return a.try(attempt{steps: s.Steps, pin: graph.ValueID(saved.Pin), at: saved.PinAt})
	}
	if like := m.c.b.like; like != nil {
		m.c.sortLike(s.Steps, like.order)
		return a.try(attempt{steps: s.Steps, pin: graph.NoValue})
	}
	if err := a.try(attempt{steps: s.Steps, pin: graph.NoValue}); err != nil || a.least == 0 {
		return err
	}
	if err := a.search(); err != nil {
		return err
	}
	if a.last.pin == a.best.pin && a.last.at == a.best.at && &a.last.steps[0] == &a.best.steps[0] {
		return nil
	}
	return a.try(a.best)
}

// try lays everything out anew, and keeps the attempt when it is the best so far.
func (a *arranger) try(t attempt) error {
	m := a.m
	copy(m.parent, a.parent)
	copy(m.shift, a.shift)
	copy(m.pitch, a.pitch)
	m.c.stage.Steps, m.pin, m.pinAt = t.steps, t.pin, t.at
	m.lifetimes()
	m.outputs()
	if a.dag == nil {
		a.dag = m.dag()
	}
	m.inPlace()
	if err := m.solve(); err != nil {
		return err
	}
	if a.last = t; m.c.stage.bytes() < a.least {
		a.best, a.least = t, m.c.stage.bytes()
	}
	return nil
}

// orderTries bounds the search for an order: some milliseconds.
const orderTries = 20_000

// search tries an order with a lower peak, and places for the classes that are in part live at it.
func (a *arranger) search() error {
	m, s := a.m, a.m.c.stage
	o, err := arena.Schedule(context.Background(), a.dag, orderTries)
	if err != nil {
		return fmt.Errorf("BUG: plan: order: %w", err)
	}
	if o.Peak >= a.least {
		return nil
	}
	steps := s.Steps
	if o.Peak < o.Given {
		steps = make([]Step, len(o.Nodes))
		for i, n := range o.Nodes {
			steps[i] = s.Steps[n]
		}
		if err := a.try(attempt{steps: steps, pin: graph.NoValue}); err != nil {
			return err
		}
	}
	if m.c.largest {
		return nil
	}
	for _, t := range m.pins(steps) {
		if a.least <= o.Peak {
			break
		}
		if err := a.try(t); err != nil {
			return err
		}
	}
	return nil
}

// maxPins bounds how many classes are tried at fixed offsets.
const maxPins = 3

// pins lists attempts for the layout as it is: the classes that are live in part when most bytes are,
// each at the bottom, and with the highest part that is live then at the top.
func (m *layout) pins(steps []Step) []attempt {
	parts := m.partBoxes()
	peak, live := peakOf(append(m.scratch(), parts...), len(steps))
	var out []attempt
	for lo := 0; lo < len(parts) && len(out) < 2*maxPins; {
		hi, top, some := lo, int64(0), false
		for ; hi < len(parts) && parts[hi].root == parts[lo].root; hi++ {
			if b := &parts[hi]; b.first <= peak && peak <= b.last {
				top, some = b.at+b.bytes, true
			}
		}
		if some && hi > lo+1 {
			out = append(out, attempt{steps: steps, pin: parts[lo].root})
			if at := (live - top) / Align * Align; at > 0 {
				out = append(out, attempt{steps: steps, pin: parts[lo].root, at: at})
			}
		}
		lo = hi
	}
	return out
}

// peakOf returns the step at which most bytes are live, the first of those alike, and how many.
func peakOf(bs []box, steps int) (step int, bytes int64) {
	change := make([]int64, steps+2)
	for i := range bs {
		change[bs[i].first] += aligned(bs[i].bytes)
		change[min(bs[i].last, steps)+1] -= aligned(bs[i].bytes)
	}
	var live int64
	for t, d := range change {
		if live += d; live > bytes {
			step, bytes = t, live
		}
	}
	return step, bytes
}

// stepKey tells the steps of plans for the same nodes apart.
type stepKey struct {
	node *graph.Node
	// of, layout and device are those of what a change of layout, or a copy, writes.
	of     graph.ValueID
	layout backend.Layout
	device int
}

func keyOf(c *compiler, s *Step) stepKey {
	if s.Reorder || s.Transfer {
		out := &c.inst[s.Out[0]]
		return stepKey{of: out.of, layout: out.layout, device: out.device}
	}
	return stepKey{node: s.Node}
}

// order returns the position of each step.
func (c *compiler) order() map[stepKey]int {
	out := map[stepKey]int{}
	for t := range c.stage.Steps {
		out[keyOf(c, &c.stage.Steps[t])] = t
	}
	return out
}

// sortLike puts steps into the order of a plan that has the same ones; otherwise they stay.
func (c *compiler) sortLike(steps []Step, order map[stepKey]int) {
	at := make([]int, len(steps))
	for t := range steps {
		i, ok := order[keyOf(c, &steps[t])]
		if !ok || len(order) != len(steps) {
			return
		}
		at[t] = i
	}
	sorted := make([]Step, len(steps))
	for t, i := range at {
		sorted[i] = steps[t]
	}
	copy(steps, sorted)
}
