package place

import (
	"math/bits"
	"slices"
)

// runExact finds the best placement: by a least cut of two devices, by eliminating variables, or,
// where the tables of that are beyond the budget, by a search that ends with a bound.
func runExact(s *solver) answer {
	if s.m.caps != nil {
		return s.capped()
	}
	return s.unlimited(s.m)
}

// unlimited is runExact where no capacity matters. The model is the solver's, or one with other
// costs.
func (s *solver) unlimited(m *model) answer {
	dom := slices.Clone(m.dom)
	m.reduce(dom)
	x := lowest(dom)
	if m.k == 2 && m.cut(dom, x, 0, 1) {
		return answer{x, m.total(x), "cut"}
	}
	g := m.netOf(m.order, dom, x)
	order, work := g.order(s.opts.Budget)
	if work <= s.opts.Budget {
		cost, value := g.eliminate(order)
		g.apply(value, x)
		return answer{x, cost, "elimination"}
	}
	if s.warm != nil {
		f := newSearcher(s, m, dom)
		f.budget /= warmShare
		f.improve(project(s.warm, x, dom))
		return answer{x, min(g.bound(g.rank(), warmSweeps), m.total(x)), "search"}
	}
	bound := g.bound(g.rank(), maxSweeps)
	x = s.search(m, dom, bound)
	return answer{x, min(bound, m.total(x)), "search"}
}

const (
	// maxSweeps ends the improvement of a bound.
	maxSweeps = 100
	// warmShare is the part of the budget of a search that starts from the one before, and
	// warmSweeps ends the improvement of its bound.
	warmShare  = 32
	warmSweeps = 8
)

// project writes into x what a placement has where dom allows it, and returns x.
func project(from, x []int, dom []uint64) []int {
	for v, d := range from {
		if dom[v]>>d&1 != 0 {
			x[v] = d
		}
	}
	return x
}

// lowest takes the first device of every node.
func lowest(dom []uint64) []int {
	x := make([]int, len(dom))
	for v, set := range dom {
		x[v] = bits.TrailingZeros64(set)
	}
	return x
}

// apply writes the values of a net's variables into a placement.
func (g *net) apply(value []int32, x []int) {
	for i, v := range g.nodes {
		if v >= 0 {
			x[v] = int(g.values[i][value[i]])
		}
	}
}

// rank orders variables as their nodes were given, sets after the node that makes the wire.
func (g *net) rank() []int32 {
	position := make([]int32, g.m.n)
	for i, v := range g.m.order {
		position[v] = int32(i)
	}
	rank := make([]int32, len(g.nodes))
	for i := range rank {
		rank[i] = int32(i)
	}
	key := func(v int32) int32 {
		if g.homes[v] < 0 {
			return -1
		}
		at := 2 * position[g.homes[v]]
		if g.nodes[v] < 0 {
			at++
		}
		return at
	}
	slices.SortStableFunc(rank, func(a, b int32) int { return int(key(a) - key(b)) })
	return rank
}
