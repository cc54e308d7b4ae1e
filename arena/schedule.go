package arena

import (
	"context"
	"slices"
)

// Order is an order in which the nodes of a DAG can run.
type Order struct {
	// Nodes lists the nodes, the first to run first.
	Nodes []int
	// Peak is the most that is live at once, in bytes: while a node runs, all that it reads and makes
	// and its scratch, beside what others need later. Given is the given order's.
	Peak, Given int64
	// Bound is a peak that no order can be under; Proven says that Peak equals it.
	Bound  int64
	Proven bool
	// Tried counts the moves that were tried; Stopped says that the context or the budget ended
	// before the search did.
	Tried   int64
	Stopped bool
}

// defaultTries is the budget of Schedule when none is given.
const defaultTries = 4 << 20

// Schedule looks for an order of the nodes with a low peak. The answer is never above the given
// order, and is that one unless another is better. budget is the number of moves that may be
// tried; 0 means one that takes about a second. The same DAG and budget give the same order,
// unless ctx ends first: then it is the best so far, and ctx's error is returned only when it had
// ended before Schedule began. A DAG that is wrong gives an *Error.
//
// The DAG is cut where every order must pass through one node. Only the cells whose peak
// counts are worked on: with two greedy rules, one of them Liu's for trees of hills and valleys
// (An application of generalized tree pebbling to sparse matrix factorization, 1987), a best-first
// search over sets of nodes that have run, which proves the least peak when it ends within the
// budget, and a beam search when it does not.
func Schedule(ctx context.Context, d *DAG, budget int64) (*Order, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := d.check()
	if err != nil {
		return nil, err
	}
	if budget <= 0 {
		budget = defaultTries
	}
	purse := &dagBudget{ctx: ctx, left: budget}
	cells := m.cells()
	o := &Order{Given: m.begin(), Peak: m.begin(), Bound: m.begin(), Nodes: make([]int, 0, len(d.Nodes))}
	for i := range cells {
		o.Given = max(o.Given, cells[i].peak)
		o.Bound = max(o.Bound, cells[i].bound)
	}
	for !purse.stopped {
		worst := &dagCell{}
		for i := range cells {
			if c := &cells[i]; !c.done && c.peak > max(worst.peak, o.Bound) {
				worst = c
			}
		}
		if worst.m == nil {
			break
		}
		worst.solve(purse, o.Bound)
		o.Bound = max(o.Bound, worst.bound)
	}
	for i := range cells {
		o.Peak = max(o.Peak, cells[i].peak)
		for _, n := range cells[i].order {
			o.Nodes = append(o.Nodes, int(n))
		}
	}
	o.Proven, o.Tried, o.Stopped = o.Peak == o.Bound, purse.tried, purse.stopped || purse.short
	return o, nil
}

// dagBudget counts the moves that are tried.
type dagBudget struct {
	ctx         context.Context
	left, tried int64
	// stopped says that nothing is left, or that the context is done; short that a search ended
	// with its share.
	stopped, short bool
}

// checkMoves is how many moves are tried between two looks at the context.
const checkMoves = 1024

// spend counts a move, and says whether it may be tried.
func (b *dagBudget) spend() bool {
	if b.stopped {
		return false
	}
	if b.left == 0 || b.tried%checkMoves == 0 && b.ctx.Err() != nil {
		b.stopped = true
		return false
	}
	b.left--
	b.tried++
	return true
}

// dagCell is nodes [lo, hi), which run behind all before them and before all behind them, in any
// order of the DAG.
type dagCell struct {
	m      *dagModel
	lo, hi int32
	// base is what is live before the first of them.
	base int64
	// order and peak are the best known; bound is a peak that no order is under.
	order []int32
	peak  int64
	bound int64
	done  bool
}

// cells cuts the given order behind every node that runs, in any order, behind all before it and
// before all behind it: none of those before is without a successor up to it, and none of those
// behind without a predecessor from it on.
func (m *dagModel) cells() []dagCell {
	n := len(m.pre)
	// late[i] is the least, among the nodes from i on, of the last predecessor.
	late := make([]int, n+1)
	late[n] = n
	for i := n - 1; i >= 0; i-- {
		late[i] = -1
		if p := m.pre[i]; len(p) > 0 {
			late[i] = min(late[i+1], int(p[len(p)-1]))
		}
	}
	var out []dagCell
	// early is the greatest, among the nodes before i, of the first successor.
	lo, early, live := 0, 0, m.begin()
	for i := range n {
		if early <= i && late[i+1] >= i || i == n-1 {
			c := dagCell{m: m, lo: int32(lo), hi: int32(i + 1), base: live}
			live = c.asGiven()
			c.bound = c.floor()
			out = append(out, c)
			lo = i + 1
		}
		next := n
		if s := m.post[i]; len(s) > 0 {
			next = int(s[0])
		}
		early = max(early, next)
	}
	return out
}

// asGiven takes the given order for the best known, and returns what is live at the end.
func (c *dagCell) asGiven() int64 {
	s := c.start()
	for n := c.lo; n < c.hi; n++ {
		c.apply(s, n)
		c.order = append(c.order, n)
	}
	c.peak = s.peak
	return s.live
}

// solve looks for a better order of the cell; a peak of least is good enough.
func (c *dagCell) solve(b *dagBudget, least int64) {
	c.done = true
	least = max(least, c.bound)
	c.greedy(b)
	if c.peak <= least {
		return
	}
	before := b.tried
	c.beam(b, 1)
	once := b.tried - before + 1
	if c.peak <= least || b.stopped {
		return
	}
	c.exact(b, least, b.left/2)
	if c.peak <= c.bound || c.peak <= least || b.stopped {
		return
	}
	b.short = true
	c.beam(b, int(min(maxBeam, b.left/2/once)))
}

// maxBeam is the greatest width of a beam.
const maxBeam = 64

// better takes an order whose peak is lower.
func (c *dagCell) better(order []int32, peak int64) {
	if peak < c.peak && len(order) == int(c.hi-c.lo) {
		c.order, c.peak = slices.Clone(order), peak
	}
}
