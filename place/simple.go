package place

import "math/bits"

// filler keeps what is left of the capacities. A nil filler has no limits.
type filler struct {
	m    *model
	left []int64
}

func (m *model) filler() *filler {
	if m.caps == nil {
		return nil
	}
	return &filler{m, append([]int64(nil), m.caps...)}
}

// fits reports whether there is room for node v on device d.
func (f *filler) fits(v, d int) bool { return f == nil || f.m.size[v*f.m.k+d] <= f.left[d] }

// take takes the room.
func (f *filler) take(v, d int) {
	if f != nil {
		f.left[d] -= f.m.size[v*f.m.k+d]
	}
}

// can reports whether node v can run on device d, and has room there.
func (m *model) can(f *filler, v, d int) bool { return m.cost[v*m.k+d] != never && f.fits(v, d) }

// first gives every node, in topological order, the first device of a list that can run it and has
// room. It returns nil when a node finds none.
func (m *model) first(list []int) []int {
	x, f := make([]int, m.n), m.filler()
	for _, v := range m.order {
		x[v] = -1
		for _, d := range list {
			if m.can(f, v, d) {
				x[v] = d
				break
			}
		}
		if x[v] < 0 {
			return nil
		}
		f.take(v, x[v])
	}
	return x
}

// runPriority takes a fixed order of devices, as other runtimes do: that of the options, or else as
// listed, with the exit last.
func runPriority(s *solver) []int {
	m := s.m
	list := append([]int(nil), s.opts.Priority...)
	for d := range m.k {
		if d != m.p.Exit {
			list = append(list, d)
		}
	}
	if m.p.Exit >= 0 {
		list = append(list, m.p.Exit)
	}
	return m.first(list)
}

// alone puts on device d what can run and has room there, and all else on the first that can take
// it.
func (m *model) alone(d int) []int {
	list := []int{d}
	for e := range m.k {
		list = append(list, e)
	}
	return m.first(list)
}

// runSingle takes the best of one device for all. What cannot run there, or has no room, goes to
// the first device that can take it.
func runSingle(s *solver) []int {
	m := s.m
	var best []int
	var least int64
	for d := range m.k {
		if x := m.alone(d); x != nil {
			if cost := m.total(x); best == nil || cost < least {
				best, least = x, cost
			}
		}
	}
	return best
}

// runGreedy gives every node, in topological order, the device where its own time and the copies
// that it still needs are least.
func runGreedy(s *solver) []int {
	m := s.m
	x, f := make([]int, m.n), m.filler()
	held := make([]uint64, len(m.wires))
	for _, v := range m.order {
		best, least := -1, int64(0)
		for d := range m.k {
			if !m.can(f, v, d) {
				continue
			}
			sum := m.cost[v*m.k+d]
			for _, id := range m.ins[v] {
				w := &m.wires[id]
				home := w.homeOf(x)
				sum = add(sum, w.to(home, held[id]|1<<d)-w.to(home, held[id]))
			}
			if best < 0 || sum < least {
				best, least = d, sum
			}
		}
		if best < 0 {
			return nil
		}
		x[v] = best
		f.take(v, best)
		for _, id := range m.ins[v] {
			held[id] |= 1 << best
		}
	}
	return x
}

// edges lists for each node the wires that it reads, once for each time.
func (m *model) edges() [][]int32 {
	wireOf := make([]int32, len(m.p.Tensors))
	for i := range m.wires {
		wireOf[m.wires[i].tensor] = int32(i)
	}
	out, counts, total := make([][]int32, m.n), make([]int32, m.n), 0
	for i := range m.p.Tensors {
		for _, v := range m.p.Tensors[i].To {
			counts[v]++
			total++
		}
	}
	all := make([]int32, total)
	for v, n := range counts {
		out[v], all = all[:0:n], all[n:]
	}
	for i := range m.p.Tensors {
		for _, v := range m.p.Tensors[i].To {
			out[v] = append(out[v], wireOf[m.root[i]])
		}
	}
	return out
}

// runCarry pushes one row for each node into a Carry, in topological order.
func runCarry(s *solver) []int {
	m := s.m
	c := NewCarry(m.transfer())
	c.rows, c.byNode = make([]row, 0, m.n), make(map[int]int, m.n)
	edges := m.edges()
	options := make([]Option, 0, m.k)
	var resident []Resident
	var feeds []Feed
	for _, v := range m.order {
		options = options[:0]
		for set := m.dom[v]; set != 0; set &= set - 1 {
			d := bits.TrailingZeros64(set)
			options = append(options, Option{d, m.cost[v*m.k+d]})
		}
		resident, feeds = resident[:0], feeds[:0]
		for _, id := range edges[v] {
			w := &m.wires[id]
			switch {
			case w.home < 0:
				resident = append(resident, Resident{w.at, w.bytes})
			case c.Open(w.home):
				feeds = feed(feeds, w.home, w.bytes)
			}
		}
		c.Push(v, options, resident, feeds)
	}
	x := make([]int, m.n)
	for _, done := range m.finish(c) {
		x[done.Node] = done.Device
	}
	return m.repair(x)
}

// feed adds an edge from a node to the feed of that node.
func feed(feeds []Feed, node int, bytes int64) []Feed {
	for i := range feeds {
		if feeds[i].Node == node {
			feeds[i].Edges = append(feeds[i].Edges, bytes)
			return feeds
		}
	}
	if len(feeds) < cap(feeds) {
		// The edges of an earlier feed make room.
		feeds = feeds[:len(feeds)+1]
		last := &feeds[len(feeds)-1]
		last.Node, last.Edges = node, append(last.Edges[:0], bytes)
		return feeds
	}
	return append(feeds, Feed{node, []int64{bytes}})
}

// transfer returns a function that prices copies.
func (m *model) transfer() func(from, to int, bytes int64) int64 {
	prices := make(map[int64]*price)
	for i := range m.wires {
		prices[m.wires[i].bytes] = m.wires[i].price
	}
	c := m.newPrice(0)
	return func(from, to int, bytes int64) int64 {
		if c.bytes != bytes {
			if prices[bytes] == nil {
				prices[bytes] = m.newPrice(bytes)
			}
			c = prices[bytes]
		}
		return c.hop[from*m.k+to]
	}
}

// finish decides what is left; the outputs of one node leave together.
func (m *model) finish(c *Carry) []Commit {
	return c.Finish(m.p.Exit, func(v int) int64 {
		sum := int64(0)
		for _, id := range m.outs[v] {
			if w := &m.wires[id]; w.need != 0 {
				sum = add(sum, w.bytes)
			}
		}
		return sum
	})
}
