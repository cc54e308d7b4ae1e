package place

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	// blockShare and sweepShare are the parts of the budget that one block, and one step that moves
	// the whole graph, may take.
	blockShare = 256
	sweepShare = 16
	// maxSpread is the number of readers up to which a block grows along a wire.
	maxSpread = 32
)

// searcher improves a placement by solving parts of the problem exactly while the rest stays
// (large-neighbourhood search; Shaw). A part is all nodes with the choice between two devices, or
// between where they are and one device, or a few neighbouring nodes with every choice.
type searcher struct {
	s      *solver
	m      *model
	dom    []uint64
	rng    *rand.Rand
	budget int64
	// take says whether to go from x to y; nil means when the part then costs less.
	take func(x, y []int) bool
}

func newSearcher(s *solver, m *model, dom []uint64) *searcher {
	rng := rand.New(rand.NewPCG(uint64(m.n), uint64(m.k)))
	return &searcher{s: s, m: m, dom: dom, rng: rng, budget: s.opts.Budget}
}

// search returns the best placement that it finds within the budget. From the best start it goes on
// by kicks: it changes a few nodes at random, improves, and goes back unless that was better. It ends at
// the bound.
func (s *solver) search(m *model, dom []uint64, bound int64) []int {
	f := newSearcher(s, m, dom)
	var best []int
	for i, start := range s.seeds() {
		x := project(start, lowest(dom), dom)
		if i == 0 || !f.done() {
			f.improve(x)
		}
		if best == nil || m.total(x) < m.total(best) {
			best = x
		}
		if m.total(best) <= bound {
			break
		}
	}
	cost := m.total(best)
	for cost > bound && !f.done() {
		x := slices.Clone(best)
		f.kick(x)
		f.budget -= int64(m.n)
		f.improve(x)
		if now := m.total(x); now <= cost {
			best, cost = x, now
		}
	}
	return best
}

// kick gives the nodes of a small neighbourhood any of their devices.
func (f *searcher) kick(x []int) {
	for _, v := range f.ball(f.rng.IntN(f.m.n), 2+f.rng.IntN(6)) {
		skip := f.rng.IntN(bits.OnesCount64(f.dom[v]))
		set := f.dom[v]
		for range skip {
			set &= set - 1
		}
		x[v] = bits.TrailingZeros64(set)
	}
}

// seeds returns where a search may start: what the simple strategies find, and each device alone.
func (s *solver) seeds() [][]int {
	var starts [][]int
	for _, run := range []func(*solver) []int{runCarry, runGreedy, runPriority, runSingle} {
		if x := run(s); x != nil {
			starts = append(starts, x)
		}
	}
	for d := range s.m.k {
		if x := s.m.alone(d); x != nil {
			starts = append(starts, x)
		}
	}
	return starts
}

func (f *searcher) done() bool {
	if f.s.ctx.Err() != nil {
		f.s.stopped = true
	}
	return f.budget <= 0 || f.s.stopped
}

// improve takes steps until a whole round finds none.
func (f *searcher) improve(x []int) {
	for {
		before := f.m.total(x)
		for a := range f.m.k {
			for b := range a {
				f.swap(x, b, a)
			}
		}
		for d := range f.m.k {
			f.expand(x, d)
		}
		f.windows(x)
		f.balls(x)
		if f.done() || f.m.total(x) >= before {
			return
		}
	}
}

// swap lets every node that is on one of two devices choose between them.
func (f *searcher) swap(x []int, a, b int) {
	if f.done() || f.take != nil {
		return
	}
	f.budget -= int64(4 * (f.m.n + len(f.m.wires)))
	y := slices.Clone(x)
	if f.m.cut(f.dom, y, a, b) && f.m.total(y) < f.m.total(x) {
		copy(x, y)
	}
}

// expand lets every node choose between where it is and device d.
func (f *searcher) expand(x []int, d int) {
	dom := make([]uint64, f.m.n)
	for v := range dom {
		dom[v] = 1<<x[v] | f.dom[v]&(1<<d)
	}
	f.solve(x, f.m.order, dom, f.s.opts.Budget/sweepShare)
}

// solve solves a part, and reports whether that was within the limit.
func (f *searcher) solve(x, free []int, dom []uint64, limit int64) bool {
	if f.done() {
		return true
	}
	f.budget -= int64(len(free))
	g := f.m.netOf(free, dom, x)
	order, work := g.order(limit)
	if work > limit {
		return false
	}
	f.budget -= work
	if len(g.nodes) == 0 {
		return true
	}
	cost, value := g.eliminate(order)
	if f.take == nil {
		if cost < g.local(free, x) {
			g.apply(value, x)
		}
		return true
	}
	y := slices.Clone(x)
	if g.apply(value, y); f.take(x, y) {
		copy(x, y)
	}
	return true
}

// windows solves stretches of the topological order that overlap by half.
func (f *searcher) windows(x []int) {
	size := 256
	for from := 0; from < f.m.n && !f.done(); {
		free := f.m.order[from:min(from+size, f.m.n)]
		if !f.solve(x, free, f.dom, f.s.opts.Budget/blockShare) && size > 1 {
			size /= 2
			continue
		}
		from += max(1, size/2)
		size += size / 4
	}
}

// balls solves the neighbourhoods of nodes that are drawn by lot.
func (f *searcher) balls(x []int) {
	size := 64
	for range 16 + f.m.n/8 {
		if f.done() {
			return
		}
		free := f.ball(f.rng.IntN(f.m.n), size)
		if f.solve(x, free, f.dom, f.s.opts.Budget/blockShare) {
			size = min(size+size/4, 256)
			continue
		}
		size = max(size/2, 2)
	}
}

// ball returns up to a number of nodes, those nearest to v that have a choice.
func (f *searcher) ball(v, size int) []int {
	seen := map[int]bool{v: true}
	out := []int{v}
	visit := func(u int) {
		if u >= 0 && !seen[u] && bits.OnesCount64(f.dom[u]) > 1 && len(out) < size {
			seen[u] = true
			out = append(out, u)
		}
	}
	for i := 0; i < len(out) && len(out) < size; i++ {
		for _, list := range [][]int32{f.m.ins[out[i]], f.m.outs[out[i]]} {
			for _, id := range list {
				w := &f.m.wires[id]
				visit(w.home)
				if len(w.readers) <= maxSpread {
					for _, u := range w.readers {
						visit(u)
					}
				}
			}
		}
	}
	return out
}
