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

// arranger looks for an order of the steps and a place for every value that take little memory.
type arranger struct {
	m      *layout
	parent []graph.ValueID
	shift  []int64
	pitch  []int64
	// best is the order that takes least, and last the one that the layout is in the state of.
	best, last []Step
	least      int64
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
		m.parted = saved.Parted
		return a.try(s.Steps)
	}
	if like := m.c.b.like; like != nil {
		m.c.sortLike(s.Steps, like.order)
		return a.try(s.Steps)
	}
	// Plans for smaller shapes take the offsets of the largest, where parts lie elsewhere in their class.
	m.parted = !m.c.largest
	if err := a.try(s.Steps); err != nil || a.least == 0 {
		return err
	}
	if err := a.search(); err != nil {
		return err
	}
	if &a.last[0] == &a.best[0] {
		return nil
	}
	return a.try(a.best)
}

// try lays everything out anew, and keeps the order when it is the best so far.
func (a *arranger) try(steps []Step) error {
	m := a.m
	copy(m.parent, a.parent)
	copy(m.shift, a.shift)
	copy(m.pitch, a.pitch)
	m.c.stage.Steps = steps
	m.lifetimes()
	m.outputs()
	if a.dag == nil {
		a.dag = m.dag()
	}
	m.inPlace()
	if err := m.solve(); err != nil {
		return err
	}
	if a.last = steps; m.c.stage.bytes() < a.least {
		a.best, a.least = steps, m.c.stage.bytes()
	}
	return nil
}

// orderTries bounds the search for an order: some milliseconds.
const orderTries = 20_000

// search tries an order with a lower peak.
func (a *arranger) search() error {
	s := a.m.c.stage
	o, err := arena.Schedule(context.Background(), a.dag, orderTries)
	if err != nil {
		return fmt.Errorf("BUG: plan: order: %w", err)
	}
	if err := arena.ValidateOrder(a.dag, o); err != nil {
		return fmt.Errorf("BUG: plan: order: %w", err)
	}
	if o.Peak >= a.least || o.Peak >= o.Given {
		return nil
	}
	steps := make([]Step, len(o.Nodes))
	for i, n := range o.Nodes {
		steps[i] = s.Steps[n]
	}
	return a.try(steps)
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
