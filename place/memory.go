package place

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// plus adds two sizes that are not negative, and ends at the largest int64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// pinned checks that what can run on one device only fits there.
func (m *model) pinned() error {
	if m.caps == nil {
		return nil
	}
	sum := make([]int64, m.k)
	for v, set := range m.dom {
		if set&(set-1) == 0 {
			d := bits.TrailingZeros64(set)
			sum[d] = plus(sum[d], m.size[v*m.k+d])
		}
	}
	if needs := m.needs(sum); needs != nil {
		return &CapacityError{Needs: needs, Infeasible: true}
	}
	return nil
}

// needs lists the devices of which more is taken than there is.
func (m *model) needs(used []int64) []Need {
	var out []Need
	for d, b := range used {
		if m.caps != nil && b > m.caps[d] {
			out = append(out, Need{m.p.Devices[d], b, m.caps[d], b - m.caps[d]})
		}
	}
	return out
}

// fits reports whether a placement is within the capacities.
func (m *model) fits(x []int) bool { return m.caps == nil || m.needs(m.used(x)) == nil }

// change returns what moving node v to device e adds to the cost of a placement; sums that saturate
// may make it wrong.
func (m *model) change(x []int, v, e int) int64 {
	d := x[v]
	before, after := m.around(x, v), int64(0)
	x[v] = e
	after = m.around(x, v)
	x[v] = d
	return after - before
}

// around returns the cost of a node and of the wires that it reads and makes.
func (m *model) around(x []int, v int) int64 {
	sum := m.cost[v*m.k+x[v]]
	for _, list := range [][]int32{m.ins[v], m.outs[v]} {
		for _, id := range list {
			w := &m.wires[id]
			sum = add(sum, w.to(w.homeOf(x), m.held(w, x)))
		}
	}
	return sum
}

// repair moves nodes away from devices that are too full until none is, each time the node that
// costs least for each byte that it brings nearer to fitting. It returns nil when that does not
// succeed.
func (m *model) repair(x []int) []int {
	x, _ = m.shrink(x)
	if !m.fits(x) {
		return nil
	}
	return x
}

// shrink is repair that returns what it comes to, and what that takes of each device.
func (m *model) shrink(x []int) ([]int, []int64) {
	if m.caps == nil || x == nil {
		return x, nil
	}
	x = append([]int(nil), x...)
	used := m.used(x)
	for range 4 * m.n {
		bestV, bestE, least := -1, 0, math.Inf(1)
		for v, d := range x {
			over := used[d] - m.caps[d]
			if over <= 0 || m.size[v*m.k+d] == 0 {
				continue
			}
			for e := range m.k {
				size := m.size[v*m.k+e]
				if e == d || m.cost[v*m.k+e] == never || size > m.caps[e]-used[e] {
					continue
				}
				rate := float64(m.change(x, v, e)) / float64(min(over, m.size[v*m.k+d]))
				if rate < least {
					bestV, bestE, least = v, e, rate
				}
			}
		}
		if bestV < 0 {
			break
		}
		m.move(x, used, bestV, bestE)
	}
	return x, used
}

// move moves a node.
func (m *model) move(x []int, used []int64, v, e int) {
	used[x[v]] -= m.size[v*m.k+x[v]]
	used[e] = plus(used[e], m.size[v*m.k+e])
	x[v] = e
}

// packed places large nodes first, each where most room is left for what it takes there.
func (m *model) packed() []int {
	list := make([]int, m.n)
	for v := range list {
		list[v] = v
	}
	least := func(v int) int64 {
		size := int64(math.MaxInt64)
		for d := range m.k {
			if m.cost[v*m.k+d] != never {
				size = min(size, m.size[v*m.k+d])
			}
		}
		return size
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(least(b), least(a)) })
	x, left := make([]int, m.n), slices.Clone(m.caps)
	for _, v := range list {
		x[v] = -1
		for d := range m.k {
			if m.cost[v*m.k+d] == never {
				continue
			}
			if x[v] < 0 || left[d]-m.size[v*m.k+d] > left[x[v]]-m.size[v*m.k+x[v]] {
				x[v] = d
			}
		}
		left[x[v]] -= min(m.size[v*m.k+x[v]], left[x[v]])
	}
	return m.repair(x)
}

// overflow says what is missing in the placement that is nearest to fitting.
func (m *model) overflow() error {
	var best []Need
	var least int64
	for d := range m.k {
		x := make([]int, m.n)
		for v := range x {
			if x[v] = d; m.cost[v*m.k+d] == never {
				x[v] = bits.TrailingZeros64(m.dom[v])
			}
		}
		_, used := m.shrink(x)
		needs, deficit := m.needs(used), int64(0)
		for _, n := range needs {
			deficit = plus(deficit, n.Deficit)
		}
		if best == nil || deficit < least {
			best, least = needs, deficit
		}
	}
	return &CapacityError{Needs: best}
}
