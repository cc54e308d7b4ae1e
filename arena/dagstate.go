package arena

import "slices"

// dagState is a set of nodes of a cell that have run.
type dagState struct {
	// bits has a bit for each node of the cell, ready the nodes that may run next, in order.
	bits  []uint64
	ready []int32
	// live is the bytes that are live behind them, peak the most so far.
	live, peak int64
	count      int
}

// start is the state in which no node of the cell has run.
func (c *dagCell) start() *dagState {
	s := &dagState{bits: make([]uint64, (int(c.hi-c.lo)+63)/64), live: c.base, peak: c.base}
	for n := c.lo; n < c.hi; n++ {
		if c.enabled(s.bits, n) {
			s.ready = append(s.ready, n)
		}
	}
	return s
}

func (s *dagState) clone() *dagState {
	t := *s
	t.bits, t.ready = slices.Clone(s.bits), slices.Clone(s.ready)
	return &t
}

// ran says whether node n has run.
func (c *dagCell) ran(bits []uint64, n int32) bool {
	if n < c.lo || n >= c.hi {
		return n < c.lo
	}
	i := uint(n - c.lo)
	return bits[i/64]>>(i%64)&1 != 0
}

func (c *dagCell) mark(bits []uint64, n int32)   { bits[(n-c.lo)/64] |= 1 << uint((n-c.lo)%64) }
func (c *dagCell) unmark(bits []uint64, n int32) { bits[(n-c.lo)/64] &^= 1 << uint((n-c.lo)%64) }

// enabled says whether all that must run before node n has run.
func (c *dagCell) enabled(bits []uint64, n int32) bool {
	pre := c.m.pre[n]
	for i := len(pre) - 1; i >= 0; i-- {
		if !c.ran(bits, pre[i]) {
			return false
		}
	}
	return true
}

// begun says whether a value of the class is there.
func (c *dagCell) begun(bits []uint64, class int32) bool {
	k := &c.m.classes[class]
	if k.input {
		return true
	}
	for _, n := range k.makers {
		if c.ran(bits, n) {
			return true
		}
	}
	return false
}

// over says whether nobody needs the class once n has run.
func (c *dagCell) over(bits []uint64, class, n int32) bool {
	for _, u := range c.m.classes[class].users {
		if u != n && !c.ran(bits, u) {
			return false
		}
	}
	return true
}

// try works out what is live at most while node n runs, and behind it.
func (c *dagCell) try(bits []uint64, live int64, n int32) (peak, after int64) {
	m := c.m
	peak = live
	for _, k := range m.begins[n] {
		if !c.begun(bits, k) {
			peak += m.classes[k].size
		}
	}
	after = peak
	for _, k := range m.ends[n] {
		if c.over(bits, k, n) {
			after -= m.classes[k].size
		}
	}
	if len(m.overs[n]) > 0 {
		peak -= c.saved(bits, n)
	}
	return peak + m.d.Nodes[n].Scratch, after
}

// saved is the bytes of what node n writes over values that nobody else needs.
func (c *dagCell) saved(bits []uint64, n int32) (sum int64) {
	var placed, taken []int32
	for _, o := range c.m.overs[n] {
		k := c.m.class[o.value]
		if slices.Contains(placed, k) || c.begun(bits, k) {
			continue
		}
		for _, u := range o.from {
			if f := c.m.class[u]; !slices.Contains(taken, f) && c.over(bits, f, n) {
				placed, taken = append(placed, k), append(taken, f)
				sum += c.m.classes[k].size
				break
			}
		}
	}
	return sum
}

// apply runs node n, which is ready.
func (c *dagCell) apply(s *dagState, n int32) {
	peak, live := c.try(s.bits, s.live, n)
	s.peak, s.live = max(s.peak, peak), live
	s.count++
	c.mark(s.bits, n)
	if i, ok := slices.BinarySearch(s.ready, n); ok {
		s.ready = slices.Delete(s.ready, i, i+1)
	}
	for _, w := range c.m.post[n] {
		if w >= c.lo && w < c.hi && c.enabled(s.bits, w) {
			i, _ := slices.BinarySearch(s.ready, w)
			s.ready = slices.Insert(s.ready, i, w)
		}
	}
}

// maxChain is how many nodes ahead a chain is followed.
const maxChain = 64

// chain follows nodes from n on, each the first that the one before makes ready, and calls see
// with what is live at most while the last of them runs, and behind it, until see says to stop.
// It returns the nodes, the one at which see stopped included, and leaves bits as they were.
func (c *dagCell) chain(b *dagBudget, s *dagState, n int32, list []int32, see func(peak, live int64) bool) []int32 {
	list = list[:0]
	live := s.live
	for n >= 0 && len(list) < maxChain && b.spend() {
		peak, after := c.try(s.bits, live, n)
		list = append(list, n)
		if !see(peak, after) {
			break
		}
		live = after
		c.mark(s.bits, n)
		next := int32(-1)
		for _, w := range c.m.post[n] {
			if w < c.hi && c.enabled(s.bits, w) {
				next = w
				break
			}
		}
		n = next
	}
	for _, w := range list {
		c.unmark(s.bits, w)
	}
	return list
}

// settle runs every chain that is free: its peak is at most limit, and behind it no more is live
// than before. It returns moves with the nodes behind them.
//
// To run them at once does no harm to any order that follows and whose peak is at least
// limit. What is live is a submodular function of the set of nodes that have run, and what a
// node needs on top only falls when more have run before it; so in a set that is larger by a
// free chain no more is live, nor is anything needed, than without. Of a chain that an order has
// begun, the rest is as good, because no beginning of it leaves as little live as the whole.
func (c *dagCell) settle(b *dagBudget, s *dagState, limit int64, moves []int32) []int32 {
	var list []int32
	for again := true; again; {
		again = false
		for _, n := range s.ready {
			free := false
			list = c.chain(b, s, n, list, func(peak, live int64) bool {
				free = peak <= limit && live <= s.live
				return peak <= limit && !free
			})
			if !free {
				continue
			}
			for _, w := range list {
				c.apply(s, w)
			}
			moves = append(moves, list...)
			again = true
			break
		}
	}
	return moves
}

// greedy builds one order by the rule for chains that do not meet: those that leave no more live
// than before come first, the one of the lowest peak before others; of the rest the one in
// which the peak is farthest above what stays.
func (c *dagCell) greedy(b *dagBudget) {
	s := c.start()
	order := make([]int32, 0, c.hi-c.lo)
	var list, best []int32
	for len(s.ready) > 0 && s.peak < c.peak {
		best = best[:0]
		var bestFree bool
		var bestKey int64
		for _, n := range s.ready {
			var g hills
			list = c.chain(b, s, n, list, g.of(s.live))
			if b.stopped {
				return
			}
			key := g.hill - g.valley
			if g.free {
				key = -g.hill
			}
			if len(best) == 0 || g.free && !bestFree || g.free == bestFree && key > bestKey {
				best, bestFree, bestKey = append(best[:0], list[:g.end]...), g.free, key
			}
		}
		for _, n := range best {
			c.apply(s, n)
		}
		order = append(order, best...)
	}
	c.better(order, s.peak)
}

// hills is the first hill of a chain, and the valley behind it, above what is live before: the
// chain is free when it comes down to that, and ends there.
type hills struct {
	hill, valley int64
	seen, end    int
	free         bool
}

// of follows a chain; live is what is live before it.
func (g *hills) of(live int64) func(peak, after int64) bool {
	return func(peak, after int64) bool {
		g.seen++
		if up := peak - live; g.seen == 1 || up > g.hill {
			g.hill, g.valley, g.end = up, after-live, g.seen
		} else if after-live <= g.valley {
			g.valley, g.end = after-live, g.seen
		}
		g.free = g.valley <= 0
		return !g.free
	}
}
