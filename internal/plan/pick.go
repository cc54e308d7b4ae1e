package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/place"
)

// improve lets each item take the best of its options, all others staying as they are, and
// reports whether one did. The cost falls with each that does.
func (l *labeller) improve() bool {
	better := false
	for i := range l.c.items {
		it := &l.c.items[i]
		if len(it.options) < 2 || l.node[i] < 0 {
			continue
		}
		l.read(i, -1)
		least, _ := l.local(i, it.pick)
		for k := range it.options {
			if ns, _ := l.local(i, k); ns < least {
				it.pick, least, better = k, ns, true
			}
		}
		l.read(i, 1)
	}
	return better
}

// report writes down what was chosen, against what, and why.
func (l *labeller) report(sol *place.Solution) {
	c := l.c
	for i := range c.items {
		it := &c.items[i]
		if l.node[i] < 0 {
			it.explain()
			continue
		}
		l.read(i, -1)
		l.explain(i)
		l.read(i, 1)
	}
	cost := &Cost{BoundNs: l.base + sol.Bound}
	if !l.exact() {
		cost.BoundNs = l.floor()
	}
	for _, t := range sol.Tried {
		if t.Fits {
			cost.Strategies = append(cost.Strategies, Strategy{Name: t.Name, CostNs: l.base + t.Cost})
		}
	}
	c.stage.Cost = cost
}

// exact reports whether the placement knows every choice there is: no item has kernels of different
// layouts that are not row-major.
func (l *labeller) exact() bool {
	for i := range l.c.items {
		it := &l.c.items[i]
		k := it.cheapest(true)
		for j := range it.options {
			if o := &it.options[j]; o.blocked && !o.sameLayouts(&it.options[k]) {
				return false
			}
		}
	}
	return true
}

func (o *option) sameLayouts(p *option) bool {
	return slices.Equal(o.in, p.in) && slices.Equal(o.out, p.out)
}

// floor is the time of the fastest kernels without any change of layout.
func (l *labeller) floor() (ns int64) {
	for i := range l.c.items {
		it := &l.c.items[i]
		least := int64(math.MaxInt64)
		for k := range it.options {
			least = min(least, max(0, it.options[k].cost()))
		}
		ns += least
	}
	return ns
}

// explain says why an item's option was picked where only time counts.
func (it *item) explain() {
	runner := -1
	for k := range it.options {
		if k != it.pick && (runner < 0 || it.options[k].cost() < it.options[runner].cost()) {
			runner = k
		}
	}
	it.runner = runner
	switch {
	case runner < 0:
		it.reason = "only kernel"
	default:
		it.margin = it.options[runner].cost() - it.options[it.pick].cost()
		it.reason = fmt.Sprintf("cheapest of %d", len(it.options))
	}
}

// explain says why the option of item i was picked where layouts count as well.
func (l *labeller) explain(i int) {
	it := &l.c.items[i]
	it.explain()
	if it.runner < 0 {
		return
	}
	now, _ := l.local(i, it.pick)
	it.runner = -1
	fastest := it.pick
	for k := range it.options {
		if it.options[k].cost() < it.options[fastest].cost() {
			fastest = k
		}
		if k == it.pick {
			continue
		}
		if ns, _ := l.local(i, k); it.runner < 0 || ns-now < it.margin {
			it.runner, it.margin = k, ns-now
		}
	}
	if fastest == it.pick {
		return
	}
	if _, of := l.local(i, fastest); of != graph.NoValue {
		it.reason = fmt.Sprintf("avoids a reorder of %q", l.c.name(of))
	}
}
