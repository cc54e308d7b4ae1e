package place

import (
	"math/bits"
	"slices"
)

// factor is a table of costs over one or two variables, the second the faster.
type factor struct {
	vars  []int32
	table []int64
}

// net is a part of a model as variables and tables: each free node is a variable whose values are
// its devices, and so is the set of devices that hold a wire of several readers. The least sum of
// all tables, plus base, is the least cost of the part.
type net struct {
	m *model
	// nodes holds the node of a variable, or −1 for a set.
	nodes []int32
	// homes holds the node that makes the wire of a set's variable, −1 if none does; else the node.
	homes []int32
	// values holds what each value of a variable stands for: a device, or a set of them.
	values  [][]uint64
	factors []factor
	base    int64
	// wires lists those that are part of it.
	wires []int32
	// wide says that some set has too many values to list.
	wide bool
}

// maxSet is the number of devices up to which all their sets are listed.
const maxSet = 8

// netOf builds the net of the free nodes, with the devices of dom; all others stay where x has
// them. A free node with one device is no variable.
func (m *model) netOf(free []int, dom []uint64, x []int) *net {
	g := &net{m: m}
	b := builder{net: g, varOf: make([]int32, m.n), x: x, dom: dom}
	for i := range b.varOf {
		b.varOf[i] = -1
	}
	seen := make([]bool, len(m.wires))
	for _, v := range free {
		b.node(v)
		for _, list := range [][]int32{m.ins[v], m.outs[v]} {
			for _, id := range list {
				if !seen[id] {
					seen[id] = true
					g.wires = append(g.wires, id)
				}
			}
		}
	}
	if len(free) == m.n {
		g.wires = g.wires[:0]
		for i := range m.wires {
			g.wires = append(g.wires, int32(i))
		}
	}
	slices.Sort(g.wires)
	b.free = make([]bool, m.n)
	for _, v := range free {
		b.free[v] = true
	}
	for _, id := range g.wires {
		b.wire(&m.wires[id])
	}
	return g
}

// builder is the state of netOf.
type builder struct {
	*net
	varOf []int32
	free  []bool
	x     []int
	dom   []uint64
}

// variable adds a variable.
func (g *net) variable(node, home int, values []uint64) int32 {
	g.nodes = append(g.nodes, int32(node))
	g.homes = append(g.homes, int32(home))
	g.values = append(g.values, values)
	return int32(len(g.nodes) - 1)
}

// table adds a factor whose entries cost gives.
func (g *net) table(vars []int32, cost func(a, b uint64) int64) {
	f := factor{vars: vars}
	second := []uint64{0}
	if len(vars) == 2 {
		second = g.values[vars[1]]
	}
	f.table = make([]int64, 0, len(g.values[vars[0]])*len(second))
	for _, a := range g.values[vars[0]] {
		for _, b := range second {
			f.table = append(f.table, cost(a, b))
		}
	}
	g.factors = append(g.factors, f)
}

func (b *builder) node(v int) {
	set := b.dom[v]
	if set&(set-1) == 0 {
		b.base = add(b.base, b.m.cost[v*b.m.k+bits.TrailingZeros64(set)])
		return
	}
	values := make([]uint64, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		values = append(values, uint64(bits.TrailingZeros64(set)))
	}
	b.varOf[v] = b.variable(v, v, values)
	b.table([]int32{b.varOf[v]}, func(d, _ uint64) int64 { return b.m.cost[v*b.m.k+int(d)] })
}

// at returns where a node is that is no variable.
func (b *builder) at(v int) int {
	if b.free[v] {
		return bits.TrailingZeros64(b.dom[v])
	}
	return b.x[v]
}

// wire adds the tables of one wire.
func (b *builder) wire(w *wire) {
	need, may := w.need, uint64(0)
	var readers []int32
	for _, v := range w.readers {
		if at := b.varOf[v]; at >= 0 {
			readers = append(readers, at)
			may |= b.dom[v]
		} else {
			need |= 1 << b.at(v)
		}
	}
	home, fixed := int32(-1), w.at
	if w.home >= 0 {
		if home = b.varOf[w.home]; home < 0 {
			fixed = b.at(w.home)
		}
	}
	switch {
	case home < 0 && len(readers) == 0:
		b.base = add(b.base, w.to(fixed, need))
	case home < 0 && len(readers) == 1:
		b.table(readers, func(d, _ uint64) int64 { return w.to(fixed, need|1<<d) })
	case len(readers) == 0:
		b.table([]int32{home}, func(h, _ uint64) int64 { return w.to(int(h), need) })
	case len(readers) == 1:
		b.table([]int32{home, readers[0]}, func(h, d uint64) int64 { return w.to(int(h), need|1<<d) })
	default:
		b.shared(w, home, fixed, need, may, readers)
	}
}

// shared adds the tables of a wire that several variables read, with a variable for the set of
// devices that hold it.
func (b *builder) shared(w *wire, home int32, fixed int, need, may uint64, readers []int32) {
	if home < 0 {
		need |= 1 << fixed
	}
	may &^= need
	if may == 0 {
		if home >= 0 {
			b.table([]int32{home}, func(h, _ uint64) int64 { return w.to(int(h), need) })
		} else {
			b.base = add(b.base, w.to(fixed, need))
		}
		return
	}
	if bits.OnesCount64(may) > maxSet {
		b.wide = true
		return
	}
	var sets []uint64
	for sub := uint64(0); ; sub = (sub - may) & may {
		if need|sub != 0 {
			sets = append(sets, need|sub)
		}
		if sub == may {
			break
		}
	}
	set := b.variable(-1, w.home, sets)
	if home >= 0 {
		b.table([]int32{home, set}, func(h, s uint64) int64 { return w.to(int(h), s) })
	} else {
		b.table([]int32{set}, func(s, _ uint64) int64 { return w.to(fixed, s) })
	}
	for _, r := range readers {
		b.table([]int32{set, r}, func(s, d uint64) int64 {
			if s>>d&1 == 0 {
				return never
			}
			return 0
		})
	}
}

// local returns the cost under x of what is part of the net.
func (g *net) local(free []int, x []int) int64 {
	sum := int64(0)
	for _, v := range free {
		sum = add(sum, g.m.cost[v*g.m.k+x[v]])
	}
	for _, id := range g.wires {
		w := &g.m.wires[id]
		sum = add(sum, w.to(w.homeOf(x), g.m.held(w, x)))
	}
	return sum
}
