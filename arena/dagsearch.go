package arena

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"
)

// dagStep is a state of a search, and how it came about.
type dagStep struct {
	*dagState
	// from is the state before, moves the nodes that ran since.
	from  *dagStep
	moves []int32
	// id counts the states; least is a peak that no order through this one is under.
	id    int
	least int64
}

// order lists the nodes that have run.
func (s *dagStep) order() []int32 {
	out := make([]int32, 0, s.count)
	for at := s; at != nil; at = at.from {
		for i := len(at.moves) - 1; i >= 0; i-- {
			out = append(out, at.moves[i])
		}
	}
	slices.Reverse(out)
	return out
}

// dagHeap is states, the least first; of equals the one in which most has run, then the latest.
type dagHeap []*dagStep

// Len implements heap.Interface.
func (h dagHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h dagHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.least, b.least), cmp.Compare(b.count, a.count), cmp.Compare(b.id, a.id)) < 0
}

// Swap implements heap.Interface.
func (h dagHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *dagHeap) Push(x any) { *h = append(*h, x.(*dagStep)) }

// Pop implements heap.Interface.
func (h *dagHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}

// key is the set of nodes as bytes.
func (s *dagState) key(to []byte) []byte {
	to = to[:0]
	for _, w := range s.bits {
		to = binary.LittleEndian.AppendUint64(to, w)
	}
	return to
}

// maxSearchBytes is about how much memory the states of one exact search may take.
const maxSearchBytes = 128 << 20

// dagSearch is a best-first search.
type dagSearch struct {
	c     *dagCell
	b     *dagBudget
	open  dagHeap
	least map[string]int64
	text  []byte
	bytes int64
}

// exact looks for the order of the least peak, trying at most tries moves: best first over the
// sets of nodes that have run, where the peak on the way to a set is all that counts. It raises
// the bound to what it has proven. A peak of least is good enough.
func (c *dagCell) exact(b *dagBudget, least, tries int64) {
	q := &dagSearch{c: c, b: b, least: make(map[string]int64)}
	end := b.tried + tries
	s := c.start()
	first := &dagStep{dagState: s, least: max(least, s.peak)}
	first.moves = c.settle(b, s, first.least, nil)
	q.add(first)
	for len(q.open) > 0 {
		at := heap.Pop(&q.open).(*dagStep)
		if at.count == int(c.hi-c.lo) {
			c.better(at.order(), at.peak)
			c.bound = max(c.bound, at.least)
			return
		}
		c.bound = max(c.bound, min(at.least, c.peak))
		q.text = at.key(q.text)
		if q.least[string(q.text)] < at.least {
			continue
		}
		if b.tried >= end || q.bytes > maxSearchBytes || !q.expand(at) {
			return
		}
		at.bits, at.ready = nil, nil
	}
	// Nothing is left below the best known.
	c.bound = max(c.bound, c.peak)
}

// expand adds the states behind one; ok is false when the budget ended.
func (q *dagSearch) expand(at *dagStep) (ok bool) {
	c := q.c
	for _, n := range at.ready {
		if !q.b.spend() {
			return false
		}
		peak, _ := c.try(at.bits, at.live, n)
		if max(at.least, peak) >= c.peak {
			continue
		}
		t := at.clone()
		c.apply(t, n)
		next := &dagStep{dagState: t, from: at, least: max(at.least, peak)}
		next.moves = c.settle(q.b, t, next.least, []int32{n})
		q.add(next)
	}
	return !q.b.stopped
}

// add opens a state, unless it is known already.
func (q *dagSearch) add(s *dagStep) {
	q.text = s.key(q.text)
	if known, ok := q.least[string(q.text)]; ok && known <= s.least {
		return
	}
	q.least[string(q.text)] = s.least
	s.id = len(q.least)
	q.bytes += int64(2*len(q.text) + 4*(len(s.ready)+len(s.moves)) + 200)
	heap.Push(&q.open, s)
}

// dagMove is a move that a beam may make.
type dagMove struct {
	from       *dagStep
	node       int32
	peak, live int64
}

// beam looks for an order by keeping, of all states in which equally many nodes have run, those
// of the lowest peaks; of equals those in which least is live.
func (c *dagCell) beam(b *dagBudget, width int) {
	if width < 1 {
		return
	}
	total := int(c.hi - c.lo)
	levels := make([][]dagMove, total+1)
	seen := make(map[string]int64)
	var text []byte
	grow := func(at *dagStep) {
		for _, n := range at.ready {
			if !b.spend() {
				return
			}
			if peak, live := c.try(at.bits, at.live, n); peak < c.peak {
				levels[at.count+1] = append(levels[at.count+1], dagMove{at, n, max(at.peak, peak), live})
			}
		}
	}
	s := c.start()
	first := &dagStep{dagState: s}
	first.moves = c.settle(b, s, max(c.bound, s.peak), nil)
	grow(first)
	for level := range levels {
		list := levels[level]
		levels[level] = nil
		slices.SortStableFunc(list, func(x, y dagMove) int {
			return cmp.Or(cmp.Compare(x.peak, y.peak), cmp.Compare(x.live, y.live), cmp.Compare(x.node, y.node))
		})
		kept := 0
		for _, mv := range list {
			if kept == width || b.stopped {
				break
			}
			t := mv.from.clone()
			c.apply(t, mv.node)
			next := &dagStep{dagState: t, from: mv.from}
			next.moves = c.settle(b, t, max(c.bound, t.peak), []int32{mv.node})
			text = t.key(text)
			if peak, ok := seen[string(text)]; ok && peak <= t.peak {
				continue
			}
			seen[string(text)] = t.peak
			kept++
			if t.count == total {
				c.better(next.order(), t.peak)
				continue
			}
			grow(next)
		}
	}
	if first.count == total {
		c.better(first.order(), first.peak)
	}
}
