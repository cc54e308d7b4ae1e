package place

import (
	"container/heap"
	"math/bits"
	"slices"
)

// tooMuch is the work of what is not worth trying.
const tooMuch = int64(1) << 50

// order returns an order in which to eliminate the variables of a net, and the number of table
// entries that it takes; it gives up when that is above the limit. It takes the better of two
// rules: least fill, and smallest table.
func (g *net) order(limit int64) (order []int32, work int64) {
	if g.wide {
		return nil, tooMuch
	}
	order, work = newSorter(g, false).run(limit)
	if work > sparse*int64(len(g.nodes)) {
		if o, w := newSorter(g, true).run(min(limit, work)); w < work {
			return o, w
		}
	}
	return order, work
}

// sparse is the work for each variable up to which one order is good enough.
const sparse = 256

// sorter simulates an elimination.
type sorter struct {
	// near lists the neighbours of each variable, in order.
	near [][]int32
	// values holds the number of values of each variable.
	values []int64
	weigh  bool
	// key holds the newest score of each variable; the queue may have older ones too.
	key   []int64
	queue keyHeap
}

type keyed struct {
	key int64
	v   int32
}

// keyHeap orders variables by key, then by number.
type keyHeap []keyed

func (h keyHeap) Len() int { return len(h) }
func (h keyHeap) Less(i, j int) bool {
	return h[i].key < h[j].key || h[i].key == h[j].key && h[i].v < h[j].v
}
func (h keyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *keyHeap) Push(x any) { *h = append(*h, x.(keyed)) }

func (h *keyHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func newSorter(g *net, weigh bool) *sorter {
	n := len(g.nodes)
	s := &sorter{near: make([][]int32, n), values: make([]int64, n), weigh: weigh, key: make([]int64, n)}
	for v := range g.values {
		s.values[v] = int64(len(g.values[v]))
	}
	for i := range g.factors {
		if f := &g.factors[i]; len(f.vars) == 2 {
			s.near[f.vars[0]] = append(s.near[f.vars[0]], f.vars[1])
			s.near[f.vars[1]] = append(s.near[f.vars[1]], f.vars[0])
		}
	}
	for v := range s.near {
		slices.Sort(s.near[v])
		s.near[v] = slices.Compact(s.near[v])
	}
	for v := range s.near {
		s.key[v] = s.score(int32(v))
		s.queue = append(s.queue, keyed{s.key[v], int32(v)})
	}
	heap.Init(&s.queue)
	return s
}

// entries returns the size of the table that eliminating v takes.
func (s *sorter) entries(v int32) int64 {
	size := s.values[v]
	for _, u := range s.near[v] {
		if size *= s.values[u]; size > tooMuch {
			return tooMuch
		}
	}
	return size
}

// maxDegree is the degree from which on the exact fill does not matter.
const maxDegree = 48

// score is what an order wants to be small: the table's size, or the edges that eliminating v
// would add and then the size.
func (s *sorter) score(v int32) int64 {
	size := s.entries(v)
	if s.weigh {
		return size
	}
	near := s.near[v]
	fill := int64(len(near)) * int64(len(near)) / 2
	if len(near) <= maxDegree {
		fill = 0
		for i, a := range near {
			for _, b := range near[i+1:] {
				if _, ok := slices.BinarySearch(s.near[a], b); !ok {
					fill++
				}
			}
		}
	}
	return fill<<8 | int64(bits.Len64(uint64(size)))
}

func (s *sorter) run(limit int64) (order []int32, work int64) {
	order = make([]int32, 0, len(s.near))
	done := make([]bool, len(s.near))
	for s.queue.Len() > 0 {
		top := heap.Pop(&s.queue).(keyed)
		if done[top.v] || top.key != s.key[top.v] {
			continue
		}
		if now := s.score(top.v); now > top.key {
			s.key[top.v] = now
			heap.Push(&s.queue, keyed{now, top.v})
			continue
		}
		done[top.v] = true
		order = append(order, top.v)
		if work += s.entries(top.v); work > limit {
			return nil, tooMuch
		}
		s.eliminate(top.v)
	}
	return order, work
}

// eliminate makes the neighbours of v neighbours of each other.
func (s *sorter) eliminate(v int32) {
	near := s.near[v]
	for _, a := range near {
		s.near[a] = join(s.near[a], near, a, v)
	}
	for _, a := range near {
		if key := s.score(a); key != s.key[a] {
			s.key[a] = key
			heap.Push(&s.queue, keyed{key, a})
		}
	}
}

// join merges two sorted lists, without the two variables named.
func join(a, b []int32, without, and int32) []int32 {
	out := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		var v int32
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			v, a = a[0], a[1:]
		case len(a) == 0 || b[0] < a[0]:
			v, b = b[0], b[1:]
		default:
			v, a, b = a[0], a[1:], b[1:]
		}
		if v != without && v != and {
			out = append(out, v)
		}
	}
	return out
}
