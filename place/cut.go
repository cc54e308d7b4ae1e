package place

import "math/bits"

// cutter places the nodes that may be on one of two devices by one least cut: those on the
// source's side are on device a, those on the sink's on b. A copy that several readers share is a
// vertex that joins the side of any of them (Lawler's hyperedges).
type cutter struct {
	m    *model
	a, b int
	x    []int
	free []bool
	*network
	vertexOf []int32
	// atA and atB hold what each vertex of a node costs on either side.
	atA, atB []int64
	// most bounds the sum of all capacities that are not unlimited.
	most int64
}

// unlimited is a capacity that no least cut has.
const unlimited = MaxCost / 2

// cut moves the nodes that are on a or b, and may be on both, to the best of the two while all
// others stay where x has them, and reports whether it could: not where copies go through other
// devices, nor where costs are so large that sums of them saturate.
func (m *model) cut(dom []uint64, x []int, a, b int) bool {
	if m.relay && m.k > 2 {
		return false
	}
	c := &cutter{
		m: m, a: a, b: b, x: x, free: make([]bool, m.n), network: newNetwork(2 + m.n + 2*len(m.wires)),
		vertexOf: make([]int32, m.n),
	}
	both := uint64(1)<<a | 1<<b
	any := false
	for v := range x {
		if c.free[v] = both>>x[v]&1 != 0 && dom[v]&both == both; c.free[v] {
			c.vertexOf[v] = c.vertex()
			any = true
		}
	}
	if !any {
		return true
	}
	c.atA, c.atB = make([]int64, len(c.first)), make([]int64, len(c.first))
	for v, free := range c.free {
		if free {
			c.unary(v, m.cost[v*m.k+a], m.cost[v*m.k+b])
		}
	}
	for i := range m.wires {
		c.wire(&m.wires[i])
	}
	if c.most >= unlimited {
		return false
	}
	for v := range c.atA {
		// Only the difference matters.
		least := min(c.atA[v], c.atB[v])
		c.edge(int32(v), sink, c.atA[v]-least, 0)
		c.edge(source, int32(v), c.atB[v]-least, 0)
	}
	c.run()
	onB := c.sinkSide()
	for v, free := range c.free {
		switch {
		case !free:
		case onB[c.vertexOf[v]]:
			x[v] = b
		default:
			x[v] = a
		}
	}
	return true
}

// unary adds what node v costs on either device.
func (c *cutter) unary(v int, onA, onB int64) {
	c.atA[c.vertexOf[v]] += onA
	c.atB[c.vertexOf[v]] += onB
	c.most = add(c.most, add(onA, onB))
}

// side returns the vertex of a node: its own, or that of the device where it stays. ok is false
// when that is neither a nor b.
func (c *cutter) side(v int) (vertex int32, ok bool) {
	if c.free[v] {
		return c.vertexOf[v], true
	}
	return c.terminal(c.x[v])
}

func (c *cutter) terminal(d int) (vertex int32, ok bool) {
	switch d {
	case c.a:
		return source, true
	case c.b:
		return sink, true
	}
	return 0, false
}

// wire adds the copies of a wire.
func (c *cutter) wire(w *wire) {
	readers := make([]int32, 0, len(w.readers)+1)
	elsewhere, moves := uint64(0), false
	read := func(d int) {
		if t, ok := c.terminal(d); ok {
			readers = append(readers, t)
		} else {
			elsewhere |= 1 << d
		}
	}
	for _, v := range w.readers {
		if c.free[v] {
			readers, moves = append(readers, c.vertexOf[v]), true
		} else {
			read(c.x[v])
		}
	}
	for set := w.need; set != 0; set &= set - 1 {
		read(bits.TrailingZeros64(set))
	}
	home, known := c.terminal(w.at)
	h := w.at
	if w.home >= 0 {
		h = c.x[w.home]
		if home, known = c.side(w.home); c.free[w.home] {
			c.unary(w.home, w.to(c.a, elsewhere&^(1<<c.a)), w.to(c.b, elsewhere&^(1<<c.b)))
			moves = true
		}
	}
	switch {
	case !moves:
	case known:
		c.gather(home, readers, w.hop[c.a*w.k+c.b], w.hop[c.b*w.k+c.a])
	default:
		c.fetch(readers, w.hop[h*w.k+c.a], w.hop[h*w.k+c.b])
	}
}

// gather adds the copies of a tensor that is made on one side: one if any reader is on the other.
func (c *cutter) gather(home int32, readers []int32, toB, toA int64) {
	c.most = add(c.most, add(toA, toB))
	if len(readers) == 1 {
		c.edge(home, readers[0], toB, toA)
		return
	}
	c.anyOnB(home, readers, toB)
	c.anyOnA(home, readers, toA)
}

// fetch adds the copies of a tensor that is made elsewhere: one to each side with readers.
func (c *cutter) fetch(readers []int32, toA, toB int64) {
	c.most = add(c.most, add(toA, toB))
	c.anyOnB(source, readers, toB)
	c.anyOnA(sink, readers, toA)
}

// anyOnB adds a cost for when home is on a's side and some reader on b's.
func (c *cutter) anyOnB(home int32, readers []int32, cost int64) {
	if home == sink {
		return
	}
	any := c.vertex()
	c.edge(home, any, cost, 0)
	for _, r := range readers {
		if r != source {
			c.edge(any, r, unlimited, 0)
		}
	}
}

// anyOnA adds a cost for when home is on b's side and some reader on a's.
func (c *cutter) anyOnA(home int32, readers []int32, cost int64) {
	if home == source {
		return
	}
	any := c.vertex()
	c.edge(any, home, cost, 0)
	for _, r := range readers {
		if r != sink {
			c.edge(r, any, unlimited, 0)
		}
	}
}
