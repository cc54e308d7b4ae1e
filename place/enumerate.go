package place

// enumerator tries every placement within the capacities, node by node in topological order, and
// leaves out what cannot become better than the best so far (branch and bound).
type enumerator struct {
	m    *model
	x    []int
	held []uint64
	left []int64
	// rest holds what the nodes from a place of the order on cost at least.
	rest []int64
	best []int
	cost int64
	// tries counts down.
	tries int64
}

// enumerate proves the best placement, or finds a better one, or shows that there is none, if the
// number of tries allows it.
func (c *capper) enumerate() {
	m := c.m
	e := &enumerator{
		m: m, x: make([]int, m.n), held: make([]uint64, len(m.wires)), rest: make([]int64, m.n+1),
		left: append([]int64(nil), m.caps...), best: c.best, cost: c.cost, tries: enumerations,
	}
	if c.best == nil {
		e.cost = never
	}
	for i := m.n - 1; i >= 0; i-- {
		v := m.order[i]
		least := never
		for d := range m.k {
			least = min(least, m.cost[v*m.k+d])
		}
		e.rest[i] = add(e.rest[i+1], least)
	}
	base := int64(0)
	for i := range m.wires {
		if w := &m.wires[i]; w.home < 0 {
			e.held[i] = w.need
			base = add(base, w.to(w.at, w.need))
		}
	}
	e.try(0, base)
	c.best, c.cost = e.best, e.cost
	if e.tries < 0 {
		return
	}
	c.bound, c.method = e.cost, "enumeration"
	if e.best == nil {
		over := m.overflow().(*CapacityError)
		over.Infeasible = true
		c.s.infeasible = over
	}
}

// try places the nodes from place i of the order on, when those before cost what is given.
func (e *enumerator) try(i int, cost int64) {
	if e.tries--; e.tries < 0 || add(cost, e.rest[i]) >= e.cost {
		return
	}
	m := e.m
	if i == m.n {
		e.best, e.cost = append([]int(nil), e.x...), cost
		return
	}
	v := m.order[i]
	for d := range m.k {
		size := m.size[v*m.k+d]
		if m.cost[v*m.k+d] == never || size > e.left[d] {
			continue
		}
		e.x[v] = d
		e.left[d] -= size
		before := make([]uint64, len(m.ins[v]))
		more := m.cost[v*m.k+d]
		for j, id := range m.ins[v] {
			w := &m.wires[id]
			home := w.homeOf(e.x)
			before[j] = e.held[id]
			more = add(more, w.to(home, e.held[id]|1<<d)-w.to(home, e.held[id]))
			e.held[id] |= 1 << d
		}
		for _, id := range m.outs[v] {
			w := &m.wires[id]
			e.held[id] = w.need
			more = add(more, w.to(d, w.need))
		}
		e.try(i+1, add(cost, more))
		for j, id := range m.ins[v] {
			e.held[id] = before[j]
		}
		e.left[d] += size
	}
}
