package arena

import "slices"

// maxClosure is the number of nodes of a cell up to which floor looks beyond direct neighbours.
const maxClosure = 2048

// floor is a peak that no order of the cell is under: for each node, the bytes that are live while
// it runs whatever the order.
func (c *dagCell) floor() int64 {
	if c.hi-c.lo == 1 {
		return c.peak
	}
	touched, rest := c.touched()
	var before, behind [][]uint64
	if c.hi-c.lo <= maxClosure {
		before, behind = c.reach()
	}
	best := c.base
	for n := c.lo; n < c.hi; n++ {
		in := func(far [][]uint64, u int32) bool { return u == n || far != nil && u >= c.lo && c.ran(far[n-c.lo], u) }
		first := func(u int32) bool { return u < c.lo || in(before, u) }
		last := func(u int32) bool { return u >= c.hi || in(behind, u) }
		sum := rest + c.m.d.Nodes[n].Scratch
		for _, k := range touched {
			class := &c.m.classes[k]
			begun := class.input || slices.ContainsFunc(class.makers, first)
			if begun && (class.keep || slices.ContainsFunc(class.users, last)) {
				sum += class.size
			}
		}
		for _, o := range c.m.overs[n] {
			if c.mayBeOver(o, n, behind) {
				sum -= c.m.classes[c.m.class[o.value]].size
			}
		}
		best = max(best, sum)
	}
	return best
}

// mayBeOver says whether there may be an order in which o is written over another value.
func (c *dagCell) mayBeOver(o dagOver, n int32, behind [][]uint64) bool {
	return slices.ContainsFunc(o.from, func(u int32) bool {
		users := c.m.classes[c.m.class[u]].users
		return !slices.ContainsFunc(users, func(w int32) bool {
			return w >= c.hi || behind != nil && w >= c.lo && c.ran(behind[n-c.lo], w)
		})
	})
}

// touched lists the classes that nodes of the cell use; rest is the bytes of those that are live
// throughout, and that none uses.
func (c *dagCell) touched() (list []int32, rest int64) {
	for n := c.lo; n < c.hi; n++ {
		for _, v := range c.m.d.Nodes[n].Reads {
			list = append(list, c.m.class[v])
		}
		list = append(list, c.m.begins[n]...)
	}
	list = sorted(list)
	rest = c.base
	for _, k := range list {
		class := &c.m.classes[k]
		begun := class.input || slices.ContainsFunc(class.makers, func(u int32) bool { return u < c.lo })
		if begun && (class.keep || slices.ContainsFunc(class.users, func(u int32) bool { return u >= c.lo })) {
			rest -= class.size
		}
	}
	return list, rest
}

// reach returns, for each node of the cell, those of its nodes that run before it in every order,
// and those that run behind it.
func (c *dagCell) reach() (before, behind [][]uint64) {
	n := int(c.hi - c.lo)
	words := (n + 63) / 64
	before, behind = make([][]uint64, n), make([][]uint64, n)
	for i := range n {
		before[i], behind[i] = make([]uint64, words), make([]uint64, words)
	}
	join := func(to [][]uint64, u, w int32) {
		row, from := to[u-c.lo], to[w-c.lo]
		for i := range row {
			row[i] |= from[i]
		}
		c.mark(row, w)
	}
	for u := c.lo; u < c.hi; u++ {
		for _, w := range c.m.pre[u] {
			if w >= c.lo {
				join(before, u, w)
			}
		}
	}
	for u := c.hi - 1; u >= c.lo; u-- {
		for _, w := range c.m.post[u] {
			if w < c.hi {
				join(behind, u, w)
			}
		}
	}
	return before, behind
}
