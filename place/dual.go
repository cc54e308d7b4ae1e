package place

import "slices"

// dual bounds the least sum of a net from below, by moving costs between tables so that the sum of
// each table's least entry grows (tree-reweighted message passing; Kolmogorov). Every number of
// sweeps gives a bound; the moves are exact, so no rounding can spoil it. A value that no value of a
// neighbour goes with is never.
type dual struct {
	g *net
	// unary holds the costs of each variable; pairs those of each table of two.
	unary [][]int64
	pairs []pair
	// at lists the pairs of each variable.
	at [][]int32
	// scale is the number of parts that a nanosecond is divided into.
	scale int64
	// rank orders the variables; position is its inverse.
	rank, position []int32
	base           int64
}

type pair struct {
	a, b  int32
	table []int64
}

// bound returns a lower bound of the net's least cost after a number of sweeps there and back. It
// returns base when costs are too large to be moved.
func (g *net) bound(rank []int32, sweeps int) int64 {
	d := &dual{g: g, unary: make([][]int64, len(g.nodes)), at: make([][]int32, len(g.nodes)), rank: rank, base: g.base}
	for v := range d.unary {
		d.unary[v] = make([]int64, len(g.values[v]))
	}
	most := int64(0)
	for i := range g.factors {
		f := &g.factors[i]
		for _, c := range f.table {
			if c != never {
				most = max(most, c)
			}
		}
		if len(f.vars) == 1 {
			for j, c := range f.table {
				d.unary[f.vars[0]][j] = sum(d.unary[f.vars[0]][j], c)
			}
			continue
		}
		for _, v := range f.vars {
			d.at[v] = append(d.at[v], int32(len(d.pairs)))
		}
		d.pairs = append(d.pairs, pair{f.vars[0], f.vars[1], slices.Clone(f.table)})
	}
	terms := int64(2*len(g.factors) + 2)
	if most > MaxCost/terms {
		return g.base
	}
	d.refine(MaxCost / terms / max(most, 1))
	d.position = make([]int32, len(rank))
	for i, v := range rank {
		d.position[v] = int32(i)
	}
	best := d.value()
	for range sweeps {
		d.sweep(1)
		d.sweep(-1)
		now := d.value()
		gain := now - best
		best = max(best, now)
		if gain <= best>>16 {
			break
		}
	}
	return best
}

// value returns the bound.
func (d *dual) value() int64 {
	sum := d.base * d.scale
	for _, u := range d.unary {
		sum += slices.Min(u)
	}
	for i := range d.pairs {
		sum += slices.Min(d.pairs[i].table)
	}
	return max((sum+d.scale-1)/d.scale, 0)
}

// refine divides every nanosecond into parts, for costs are moved in whole numbers. The least cost
// is one of nanoseconds, so that the bound may be rounded up to one.
func (d *dual) refine(room int64) {
	d.scale = min(room, 1<<20)
	for _, u := range d.unary {
		for i := range u {
			if u[i] != never {
				u[i] *= d.scale
			}
		}
	}
	for _, p := range d.pairs {
		for i, c := range p.table {
			if c != never {
				p.table[i] *= d.scale
			}
		}
	}
}

// sweep visits the variables in order, or in reverse. Each collects what its pairs cost in any
// case, and hands it out in equal shares to those pairs whose other variable comes later.
func (d *dual) sweep(step int) {
	for i := range d.rank {
		if step < 0 {
			i = len(d.rank) - 1 - i
		}
		v := d.rank[i]
		u := d.unary[v]
		ahead := int64(0)
		for _, id := range d.at[v] {
			d.collect(v, &d.pairs[id])
			if d.ahead(v, id, step) {
				ahead++
			}
		}
		share := max(ahead, int64(len(d.at[v]))-ahead)
		if ahead == 0 {
			continue
		}
		part := make([]int64, len(u))
		for j := range part {
			if u[j] == never {
				part[j] = never
				continue
			}
			part[j] = u[j] / share
			u[j] -= part[j] * ahead
		}
		for _, id := range d.at[v] {
			if d.ahead(v, id, step) {
				d.pairs[id].move(v, len(u), func(j int) int64 { return part[j] })
			}
		}
	}
}

// ahead reports whether the other variable of a pair comes after v.
func (d *dual) ahead(v, id int32, step int) bool {
	p := &d.pairs[id]
	other := p.a
	if other == v {
		other = p.b
	}
	return (d.position[other] > d.position[v]) == (step > 0)
}

// move adds by(i) to all entries of a pair in which v has its value i. What is never stays so.
func (p *pair) move(v int32, values int, by func(i int) int64) {
	cols := len(p.table) / values
	for i := range values {
		delta := by(i)
		for j := range cols {
			at := i*cols + j
			if p.b == v {
				at = j*values + i
			}
			switch {
			case delta == never:
				p.table[at] = never
			case p.table[at] != never:
				p.table[at] += delta
			}
		}
	}
}

// least returns the least entry of a pair in which v has its value i.
func (p *pair) least(v int32, values, i int) int64 {
	cols := len(p.table) / values
	best := never
	for j := range cols {
		at := i*cols + j
		if p.b == v {
			at = j*values + i
		}
		best = min(best, p.table[at])
	}
	return best
}

// collect moves to v what a pair costs at least for each of its values.
func (d *dual) collect(v int32, p *pair) {
	u := d.unary[v]
	p.move(v, len(u), func(i int) int64 {
		least := p.least(v, len(u), i)
		switch {
		case least == never:
			u[i] = never
		case u[i] != never:
			u[i] += least
			return -least
		}
		return 0
	})
}
