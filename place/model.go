package place

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// never is the cost of what cannot be. It is above MaxCost, and twice as much is an int64.
const never = MaxCost + 1

// add adds two costs that are not negative, and ends at MaxCost.
func add(a, b int64) int64 {
	if s := a + b; s >= 0 && s <= MaxCost {
		return s
	}
	return MaxCost
}

// model is a problem that was checked: views are contracted, and copies have prices.
type model struct {
	p    *Problem
	n, k int
	// order is a topological order of the nodes.
	order []int
	// cost is indexed by node·k + device; it is never where the node cannot run.
	cost []int64
	// dom holds the devices of each node that are worth considering.
	dom   []uint64
	wires []wire
	// root holds for each tensor the one that it is a view of in the end, or itself.
	root []int
	// ins lists the wires that a node reads, outs those that it makes.
	ins, outs [][]int32
	// relay says that prices are those of copy trees.
	relay bool
	// caps holds a device's capacity, or MaxInt64; it is nil when no device has one.
	caps []int64
	// size is indexed like cost: the bytes of a node. It is nil when caps is.
	size []int64
}

// wire is a tensor with its views.
type wire struct {
	tensor int
	// home is the node that makes it; if it is negative, at is the device where it is, else 0.
	home, at int
	// readers lists the nodes that read it, each once, in order.
	readers []int
	// need holds the exit, if it is read there.
	need uint64
	// price holds what it costs to get it from one device to another.
	*price
}

// price is what copies of a number of bytes cost.
type price struct {
	bytes int64
	k     int
	// hop is indexed by home·k + destination: the cheapest way from one device to another.
	hop []int64
	// tree is indexed by home<<k | destinations: the cheapest tree. It is nil where every copy
	// comes from home.
	tree []int64
	// next is indexed like hop: the first device on the way. fork is indexed like tree: the device
	// where the tree parts.
	next, fork []uint8
}

// to returns the cost of bringing the tensor from home to every device of a set.
func (c *price) to(home int, set uint64) int64 {
	if c.tree != nil {
		return c.tree[uint64(home)<<c.k|set]
	}
	sum := int64(0)
	for set &^= 1 << home; set != 0; set &= set - 1 {
		sum = add(sum, c.hop[home*c.k+bits.TrailingZeros64(set)])
	}
	return sum
}

// newModel checks a problem and compiles it.
func newModel(p *Problem) (*model, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	m := &model{p: p, n: len(p.Nodes), k: len(p.Devices), relay: p.relays()}
	if err := m.buildWires(); err != nil {
		return nil, err
	}
	if err := m.sort(); err != nil {
		return nil, err
	}
	m.cost, m.dom = make([]int64, m.n*m.k), make([]uint64, m.n)
	for v := range p.Nodes {
		for d, c := range p.Nodes[v].Cost {
			if c == Cannot {
				m.cost[v*m.k+d] = never
				continue
			}
			m.cost[v*m.k+d] = min(c, MaxCost)
			m.dom[v] |= 1 << d
		}
	}
	m.buildCaps()
	return m, nil
}

// buildCaps leaves caps nil when nothing is limited.
func (m *model) buildCaps() {
	if !slices.ContainsFunc(m.p.Capacity, func(c int64) bool { return c != Unlimited }) {
		return
	}
	m.caps, m.size = make([]int64, m.k), make([]int64, m.n*m.k)
	for d, c := range m.p.Capacity {
		m.caps[d] = c
		if c == Unlimited {
			m.caps[d] = math.MaxInt64
		}
	}
	for v := range m.p.Nodes {
		copy(m.size[v*m.k:], m.p.Nodes[v].Bytes)
	}
}

// roots finds what each view is a view of, in the end.
func (m *model) roots() ([]int, error) {
	const unknown, walking = -1, -2
	root := make([]int, len(m.p.Tensors))
	for i := range root {
		root[i] = unknown
	}
	for i := range root {
		at := i
		for root[at] == unknown && m.p.Tensors[at].From == View {
			root[at] = walking
			at = m.p.Tensors[at].At
		}
		if root[at] == walking {
			return nil, fail(ErrView, fmt.Sprintf("tensors[%d].view", at), m.p.TensorName(at), "got a view of itself")
		}
		if root[at] == unknown {
			root[at] = at
		}
		end := root[at]
		for at := i; root[at] == walking; at = m.p.Tensors[at].At {
			root[at] = end
		}
	}
	return root, nil
}

// buildWires contracts views and prices copies. Tensors that nobody reads get no wire.
func (m *model) buildWires() error {
	root, err := m.roots()
	if err != nil {
		return err
	}
	m.root = root
	readers, need := make([][]int, len(root)), make([]uint64, len(root))
	for i, r := range root {
		t := &m.p.Tensors[i]
		readers[r] = append(readers[r], t.To...)
		if t.Out && m.p.Exit >= 0 {
			need[r] = 1 << m.p.Exit
		}
	}
	m.ins, m.outs = make([][]int32, m.n), make([][]int32, m.n)
	prices := make(map[int64]*price)
	for i, r := range root {
		t := &m.p.Tensors[i]
		if i != r || len(readers[r]) == 0 && need[r] == 0 {
			continue
		}
		slices.Sort(readers[r])
		w := wire{tensor: i, home: t.From, readers: slices.Compact(readers[r]), need: need[r]}
		if t.From == Fixed {
			w.at = t.At
		}
		if w.price = prices[t.Bytes]; w.price == nil {
			w.price = m.newPrice(t.Bytes)
			prices[t.Bytes] = w.price
		}
		id := int32(len(m.wires))
		for _, v := range w.readers {
			m.ins[v] = append(m.ins[v], id)
		}
		if w.home >= 0 {
			m.outs[w.home] = append(m.outs[w.home], id)
		}
		m.wires = append(m.wires, w)
	}
	return nil
}

// sort finds a topological order, lower nodes first.
func (m *model) sort() error {
	waits := make([]int, m.n)
	for i := range m.wires {
		if m.wires[i].home >= 0 {
			for _, v := range m.wires[i].readers {
				waits[v]++
			}
		}
	}
	m.order = make([]int, 0, m.n)
	for v, w := range waits {
		if w == 0 {
			m.order = append(m.order, v)
		}
	}
	for next := 0; next < len(m.order); next++ {
		for _, id := range m.outs[m.order[next]] {
			for _, v := range m.wires[id].readers {
				if waits[v]--; waits[v] == 0 {
					m.order = append(m.order, v)
				}
			}
		}
	}
	if len(m.order) == m.n {
		return nil
	}
	return m.failCycle(waits)
}

// failCycle names the nodes of a cycle. Every node that still waits has a producer that does: going back from
// one comes round.
func (m *model) failCycle(waits []int) error {
	at := slices.IndexFunc(waits, func(w int) bool { return w > 0 })
	back := func(v int) int {
		for _, id := range m.ins[v] {
			if h := m.wires[id].home; h >= 0 && waits[h] > 0 {
				return h
			}
		}
		panic("BUG: place: a node that waits for nothing is not in the order")
	}
	for range m.n {
		at = back(at)
	}
	cycle := []int{at}
	for v := back(at); v != at; v = back(v) {
		cycle = append(cycle, v)
	}
	// From the lowest on, in the direction of the data.
	slices.Reverse(cycle)
	low := slices.Index(cycle, slices.Min(cycle))
	cycle = append(cycle[low:len(cycle):len(cycle)], cycle[:low]...)
	const most = 12
	var s strings.Builder
	for i, v := range cycle {
		if i == most {
			fmt.Fprintf(&s, "… (%d more) → ", len(cycle)-most)
			break
		}
		fmt.Fprintf(&s, "%q → ", m.p.nodeName(v))
	}
	first := cycle[0]
	return fail(ErrCycle, fmt.Sprintf("nodes[%d]", first), m.p.nodeName(first), "got a node that waits for itself: %s%q",
		s.String(), m.p.nodeName(first))
}

// held returns the devices that need a wire under a placement.
func (m *model) held(w *wire, x []int) uint64 {
	set := w.need
	for _, v := range w.readers {
		set |= 1 << x[v]
	}
	return set
}

// homeOf returns where a wire is made under a placement.
func (w *wire) homeOf(x []int) int {
	if w.home >= 0 {
		return x[w.home]
	}
	return w.at
}

// total returns the cost of a placement.
func (m *model) total(x []int) int64 {
	sum := int64(0)
	for v, d := range x {
		sum = add(sum, m.cost[v*m.k+d])
	}
	for i := range m.wires {
		w := &m.wires[i]
		sum = add(sum, w.to(w.homeOf(x), m.held(w, x)))
	}
	return sum
}
