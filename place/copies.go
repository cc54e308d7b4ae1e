package place

import (
	"math"
	"math/bits"
)

// transfer returns the time of one copy between two different devices that are linked.
func (p *Problem) transfer(from, to int, bytes int64) int64 {
	rate := p.PerByte[from][to]
	cost := MaxCost
	if whole := int64(min(rate, 1<<62)); float64(whole) == rate {
		if hi, lo := bits.Mul64(uint64(whole), uint64(bytes)); hi == 0 && lo <= uint64(MaxCost) {
			cost = int64(lo)
		}
	} else if t := math.Round(rate * float64(bytes)); t < float64(MaxCost) {
		cost = int64(t)
	}
	return add(p.Latency[from][to], cost)
}

// newPrice prices copies of a number of bytes.
func (m *model) newPrice(bytes int64) *price {
	c := &price{bytes: bytes, k: m.k, hop: make([]int64, m.k*m.k)}
	for a := range m.k {
		for b := range m.k {
			switch {
			case a == b:
			case m.p.Latency[a][b] == NoLink:
				c.hop[a*m.k+b] = never
			default:
				c.hop[a*m.k+b] = m.p.transfer(a, b, bytes)
			}
		}
	}
	if m.relay {
		c.close()
		c.grow()
	}
	return c
}

// close makes every hop the cheapest way, through other devices if need be (Floyd and Warshall).
func (c *price) close() {
	c.next = make([]uint8, c.k*c.k)
	for i := range c.next {
		c.next[i] = uint8(i % c.k)
	}
	for via := range c.k {
		for a := range c.k {
			for b := range c.k {
				x, y := c.hop[a*c.k+via], c.hop[via*c.k+b]
				if x != never && y != never && add(x, y) < c.hop[a*c.k+b] {
					c.hop[a*c.k+b] = add(x, y)
					c.next[a*c.k+b] = c.next[a*c.k+via]
				}
			}
		}
	}
}

// grow finds the cheapest tree from every device to every set of devices (Dreyfus and Wagner).
func (c *price) grow() {
	sets := uint64(1) << c.k
	c.tree = make([]int64, uint64(c.k)*sets)
	c.fork = make([]uint8, len(c.tree))
	for set := uint64(1); set < sets; set++ {
		for a := range c.k {
			at := uint64(a)<<c.k | set
			rest := set &^ (1 << a)
			c.fork[at], c.tree[at] = uint8(a), c.parted(a, rest)
			for via := range c.k {
				onward := c.tree[uint64(via)<<c.k|rest&^(1<<via)]
				if rest>>via&1 == 0 {
					onward = c.parted(via, rest)
				}
				if cost := add(c.hop[a*c.k+via], onward); cost < c.tree[at] {
					c.fork[at], c.tree[at] = uint8(via), cost
				}
			}
		}
	}
}

// parted returns the cheapest tree that parts at its root a, or has one branch to one device. The
// set does not hold a.
func (c *price) parted(a int, set uint64) int64 {
	if set == 0 {
		return 0
	}
	if set&(set-1) == 0 {
		return c.hop[a*c.k+bits.TrailingZeros64(set)]
	}
	row := c.tree[uint64(a)<<c.k:]
	best := never
	for part := (set - 1) & set; part != 0; part = (part - 1) & set {
		best = min(best, add(row[part], row[set&^part]))
	}
	return best
}

// copies lists the copies of a placement.
func (m *model) copies(x []int) []Copy {
	var out []Copy
	for i := range m.wires {
		w := &m.wires[i]
		home, set := w.homeOf(x), m.held(w, x)
		if w.tree != nil {
			out = (&planter{p: m.p, w: w, have: 1 << home, out: out}).branch(home, set)
			continue
		}
		for set &^= 1 << home; set != 0; set &= set - 1 {
			to := bits.TrailingZeros64(set)
			out = append(out, Copy{w.tensor, home, to, w.bytes, w.hop[home*m.k+to]})
		}
	}
	return out
}

// planter lists the copies of one tree.
type planter struct {
	p    *Problem
	w    *wire
	have uint64
	out  []Copy
}

// branch follows the cheapest tree from a, which has the tensor, to a set.
func (l *planter) branch(a int, set uint64) []Copy {
	c := l.w.price
	set &^= 1 << a
	if set == 0 {
		return l.out
	}
	root := int(c.fork[uint64(a)<<c.k|set])
	l.route(a, root)
	if set>>root&1 != 0 {
		return l.branch(root, set&^(1<<root))
	}
	if set&(set-1) == 0 {
		l.route(root, bits.TrailingZeros64(set))
		return l.out
	}
	row := c.tree[uint64(root)<<c.k:]
	want := c.parted(root, set)
	part := (set - 1) & set
	for add(row[part], row[set&^part]) != want {
		part = (part - 1) & set
	}
	l.branch(root, part)
	return l.branch(root, set&^part)
}

// route follows the cheapest way from a to b. What is there already is not copied again.
func (l *planter) route(a, b int) {
	for a != b {
		next := int(l.w.next[a*l.w.k+b])
		if l.have>>next&1 == 0 {
			l.have |= 1 << next
			l.out = append(l.out, Copy{l.w.tensor, a, next, l.w.bytes, l.p.transfer(a, next, l.w.bytes)})
		}
		a = next
	}
}
