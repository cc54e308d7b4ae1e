package place

import (
	"math"
	"slices"
)

const (
	// enumerations is the number of partial placements that are tried to prove a best one.
	enumerations = 1 << 19
	// maxSteps is the number of steps to find the prices of several devices' memory.
	maxSteps = 40
	// halvings is the number of steps to find the price of one device's memory.
	halvings = 24
	// maxExchange is the number of nodes up to which pairs of them are exchanged.
	maxExchange = 400
)

// capper finds a placement within the capacities. Memory gets prices, in ns for each byte, at which
// the best placement without capacities just fits (Lagrangian relaxation); what comes is repaired
// and improved. Small problems are then enumerated.
type capper struct {
	s *solver
	m *model
	// relaxed is the model without capacities, and with prices on top of the costs.
	relaxed *model
	prices  []float64
	best    []int
	cost    int64
	bound   int64
	method  string
}

// capped is runExact where some capacity matters.
func (s *solver) capped() answer {
	relaxed := *s.m
	relaxed.caps = nil
	free := s.unlimited(&relaxed)
	if s.m.fits(free.x) {
		return free
	}
	c := &capper{s: s, m: s.m, relaxed: &relaxed, prices: make([]float64, s.m.k), bound: free.bound, method: "prices"}
	c.offer(free.x)
	for _, x := range append(s.seeds(), s.m.packed()) {
		c.offer(x)
	}
	if free.method == "search" {
		s.warm = free.x
	}
	c.tune()
	s.warm = nil
	if c.best != nil {
		c.neighbourhoods()
		c.polish(c.best)
		c.cost = c.m.total(c.best)
	}
	c.enumerate()
	if c.best == nil {
		return answer{}
	}
	return answer{c.best, min(c.bound, c.cost), c.method}
}

// offer repairs a placement and keeps it if it is better.
func (c *capper) offer(x []int) {
	if x = c.m.repair(x); x == nil {
		return
	}
	c.polish(x)
	if cost := c.m.total(x); c.best == nil || cost < c.cost {
		c.best, c.cost = x, cost
	}
}

// solveAt solves without capacities at the prices, and returns what is best, and a bound.
func (c *capper) solveAt() ([]int, int64) {
	c.relaxed.cost = slices.Clone(c.m.cost)
	for i := range c.relaxed.cost {
		if c.relaxed.cost[i] != never {
			c.relaxed.cost[i] = add(c.relaxed.cost[i], toll(c.prices[i%c.m.k], c.m.size[i]))
		}
	}
	a := c.s.unlimited(c.relaxed)
	if c.s.warm != nil {
		c.s.warm = a.x
	}
	// No placement that fits pays more for memory than all of it costs.
	bound := a.bound
	for d, price := range c.prices {
		if price > 0 {
			bound -= min(toll(price*(1+1e-12), c.m.caps[d])+2, bound)
		}
	}
	c.bound = max(c.bound, bound)
	return a.x, bound
}

// toll is a price for a number of bytes, in whole ns.
func toll(price float64, bytes int64) int64 {
	if t := price * float64(bytes); t < float64(MaxCost) {
		return int64(t)
	}
	return MaxCost
}

// tune finds prices at which what is best just fits, and offers what comes up on the way: by halving
// where one device is limited, else by steps along what the best placement takes too much or too
// little of each (subgradients; Held, Wolfe and Crowder).
func (c *capper) tune() {
	var limited []int
	for d, most := range c.m.caps {
		if most != math.MaxInt64 {
			limited = append(limited, d)
		}
	}
	if len(limited) == 1 {
		c.halve(limited[0])
		return
	}
	pace := 1.0
	for range maxSteps {
		if c.s.ctx.Err() != nil {
			return
		}
		before := c.bound
		x, bound := c.solveAt()
		c.offer(x)
		used := c.m.used(x)
		norm := 0.0
		step := make([]float64, c.m.k)
		for _, d := range limited {
			step[d] = float64(used[d]) - float64(c.m.caps[d])
			if step[d] > 0 || c.prices[d] > 0 {
				norm += float64(step[d] * step[d])
			}
		}
		if norm == 0 {
			return
		}
		goal := c.cost
		if c.best == nil {
			goal = add(c.bound, c.bound/4+1)
		}
		length := float64(pace*float64(goal-bound)) / norm
		for _, d := range limited {
			c.prices[d] = max(0, c.prices[d]+float64(length*step[d]))
		}
		if c.bound == before {
			pace *= 0.9
		}
	}
}

// halve finds the least price of one device's memory at which what is best fits.
func (c *capper) halve(d int) {
	low, high := 0.0, 1e-6
	for range 80 {
		if c.fitsAt(d, high) || c.s.ctx.Err() != nil {
			break
		}
		low, high = high, high*4
	}
	for range halvings {
		mid := low + (high-low)/2
		if c.fitsAt(d, mid) {
			high = mid
		} else {
			low = mid
		}
		if c.best != nil && c.cost <= c.bound {
			return
		}
	}
	c.prices[d] = high
}

// fitsAt reports whether device d has room for what is best at a price of its memory.
func (c *capper) fitsAt(d int, price float64) bool {
	c.prices[d] = price
	x, _ := c.solveAt()
	c.offer(x)
	return c.m.used(x)[d] <= c.m.caps[d]
}

// polish moves single nodes, and exchanges two, while that is better and fits.
func (c *capper) polish(x []int) {
	m := c.m
	used := m.used(x)
	for better := true; better; {
		better = false
		for v := range x {
			for e := range m.k {
				if e == x[v] || m.cost[v*m.k+e] == never || m.size[v*m.k+e] > m.caps[e]-used[e] {
					continue
				}
				if m.change(x, v, e) < 0 {
					m.move(x, used, v, e)
					better = true
				}
			}
		}
		if !better && m.n <= maxExchange {
			better = c.exchange(x, used)
		}
	}
}

// exchange lets two nodes on different devices change places, once, and reports whether two did.
func (c *capper) exchange(x []int, used []int64) bool {
	m := c.m
	for v, d := range x {
		for u := range v {
			e := x[u]
			if e == d || m.cost[v*m.k+e] == never || m.cost[u*m.k+d] == never ||
				m.size[v*m.k+e] > m.caps[e]-(used[e]-m.size[u*m.k+e]) ||
				m.size[u*m.k+d] > m.caps[d]-(used[d]-m.size[v*m.k+d]) {
				continue
			}
			gain := m.change(x, v, e)
			x[v] = e
			gain += m.change(x, u, d)
			x[v] = d
			if gain < 0 {
				m.move(x, used, v, e)
				m.move(x, used, u, d)
				return true
			}
		}
	}
	return false
}

// neighbourhoods solves parts exactly at the prices, and without, and takes what fits and is better.
func (c *capper) neighbourhoods() {
	for _, m := range []*model{c.m, c.relaxed} {
		f := newSearcher(c.s, m, m.dom)
		f.budget /= 4
		f.take = func(x, y []int) bool { return c.m.fits(y) && c.m.total(y) < c.m.total(x) }
		f.improve(c.best)
	}
	c.cost = c.m.total(c.best)
}
