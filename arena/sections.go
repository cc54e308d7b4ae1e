package arena

import (
	"cmp"
	"math"
	"slices"
)

// word is an integer type that holds every offset of a part, counted in the part's grain.
type word interface{ int32 | int64 }

// stretch is the half-open run of sections [from, to).
type stretch struct{ from, to int32 }

// part is what a branch and bound is about: boxes whose lives are joined to one another, none of
// them idle, over sections of time. A section stands for a set of boxes that are live together and
// that is in no larger such set; there are at most as many as boxes. Sizes and offsets are counted
// in the grain, a number of bytes that divides whatever can matter.
type part[T word] struct {
	boxes []box
	grain int64
	// size is rounded up to the least alignment of any box: nothing else could begin there.
	size, align, fixed []T
	// length is the time that the box lives, gaps included; least the size of the smallest box
	// that it meets.
	length []float64
	least  []T
	block  T
	// total is the sum of the sizes on each section, and peak the largest total of those of a box.
	total, peak []T
	// hull holds the sections from the first to the last of each box, and runs those it is on.
	hull []stretch
	runs rows[stretch]
	// over lists the boxes on each section, and near those that each box meets.
	over, near rows[int32]
	// twin is the box before this one that is the same in everything, or −1.
	twin []int32
	// gaps says that some box is not on every section of its hull.
	gaps bool
}

// rows is a list of lists: row i is list[from[i]:from[i+1]].
type rows[E any] struct {
	from []int32
	list []E
}

func (r *rows[E]) of(i int32) []E { return r.list[r.from[i]:r.from[i+1]] }

// close ends the row that is being appended to.
func (r *rows[E]) close() { r.from = append(r.from, int32(len(r.list))) }

// instants returns an instant of each section, in order of time: the last at which something
// begins before something ends.
func instants(boxes []box) []int64 {
	type edge struct {
		time int64
		ends bool
	}
	edges := make([]edge, 0, 2*len(boxes))
	for i := range boxes {
		b := &boxes[i]
		if b.idle() {
			continue
		}
		for _, s := range lifeOf(b.start, b.end, b.spans) {
			edges = append(edges, edge{s.Start, false}, edge{s.End, true})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		return cmp.Compare(boolInt(b.ends), boolInt(a.ends))
	})
	var out []int64
	for i := 1; i < len(edges); i++ {
		if edges[i].ends && !edges[i-1].ends {
			out = append(out, edges[i-1].time)
		}
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// within returns the sections whose instants lie in [start, end).
func within(at []int64, start, end int64) stretch {
	from, _ := slices.BinarySearch(at, start)
	to, _ := slices.BinarySearch(at, end)
	return stretch{int32(from), int32(to)}
}

// apart sorts the boxes that are not idle into parts that are never live together, in order of
// time.
func apart(boxes []box) [][]int32 {
	list := make([]int32, 0, len(boxes))
	for i := range boxes {
		if !boxes[i].idle() {
			list = append(list, int32(i))
		}
	}
	slices.SortFunc(list, func(i, j int32) int {
		return cmp.Or(cmp.Compare(boxes[i].start, boxes[j].start), cmp.Compare(i, j))
	})
	var out [][]int32
	from := 0
	for k, end := 0, int64(math.MinInt64); k < len(list); k++ {
		b := &boxes[list[k]]
		if k > from && b.start >= end {
			out = append(out, list[from:k])
			from = k
		}
		end = max(end, b.end)
	}
	if from < len(list) {
		out = append(out, list[from:])
	}
	return out
}

// grainOf returns the largest number of bytes that divides the sizes, rounded up to the least
// alignment, and everything that offsets are made of besides.
func grainOf(boxes []box, block int64) (grain, least int64) {
	least = math.MaxInt64
	for i := range boxes {
		least = min(least, boxes[i].align)
	}
	g := block
	for i := range boxes {
		g = gcd(g, roundUp(boxes[i].size, least))
		g = gcd(g, max(boxes[i].fixed, 0))
	}
	for i := range boxes {
		if g%boxes[i].align != 0 {
			g = gcd(g, boxes[i].align)
		}
	}
	return g, least
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// roundUp returns v rounded up to a multiple of align, a power of two.
func roundUp(v, align int64) int64 { return (v + align - 1) &^ (align - 1) }

// newPart prepares boxes, of which none is idle.
func newPart[T word](boxes []box, block, grain, least int64) *part[T] {
	n := len(boxes)
	p := &part[T]{
		boxes: boxes, grain: grain, block: T(block / grain),
		size: make([]T, n), align: make([]T, n), fixed: make([]T, n), least: make([]T, n),
		length: make([]float64, n), hull: make([]stretch, n), twin: make([]int32, n),
	}
	at := instants(boxes)
	p.total = make([]T, len(at))
	p.runs.close()
	for i := range boxes {
		b := &boxes[i]
		p.size[i] = T(roundUp(b.size, least) / grain)
		// A box of larger alignment has no place but 0 below the capacity.
		p.align[i] = T(min(max(b.align/grain, 1), maxUnits))
		p.fixed[i] = -1
		if b.fixed >= 0 {
			p.fixed[i] = T(b.fixed / grain)
		}
		p.length[i] = float64(b.length())
		p.hull[i] = within(at, b.start, b.end)
		for _, s := range lifeOf(b.start, b.end, b.spans) {
			run := within(at, s.Start, s.End)
			p.runs.list = append(p.runs.list, run)
			for s := run.from; s < run.to; s++ {
				p.total[s] += p.size[i]
			}
		}
		p.gaps = p.gaps || b.spans != nil
		p.runs.close()
	}
	p.peak = make([]T, n)
	for i := range int32(n) {
		for _, r := range p.runs.of(i) {
			p.peak[i] = max(p.peak[i], slices.Max(p.total[r.from:r.to]))
		}
	}
	p.findOver()
	p.findNear()
	return p
}

// findOver lists the boxes of each section.
func (p *part[T]) findOver() {
	n := len(p.total)
	from := make([]int32, n+1)
	for _, r := range p.runs.list {
		for s := r.from; s < r.to; s++ {
			from[s+1]++
		}
	}
	for s := range n {
		from[s+1] += from[s]
	}
	p.over = rows[int32]{from, make([]int32, from[n])}
	next := slices.Clone(from)
	for i := range int32(len(p.size)) {
		for _, r := range p.runs.of(i) {
			for s := r.from; s < r.to; s++ {
				p.over.list[next[s]] = i
				next[s]++
			}
		}
	}
}

// findNear lists what each box meets, its smallest neighbour and its twin.
func (p *part[T]) findNear() {
	n := int32(len(p.size))
	// begin lists the boxes by the first section of their hull.
	begin := make([]int32, n)
	for i := range n {
		begin[i] = i
	}
	slices.SortFunc(begin, func(i, j int32) int {
		return cmp.Or(cmp.Compare(p.hull[i].from, p.hull[j].from), cmp.Compare(i, j))
	})
	first := make([]int32, len(p.total)+1)
	for _, i := range begin {
		first[p.hull[i].from+1]++
	}
	for s := range p.total {
		first[s+1] += first[s]
	}
	pairs := make([][]int32, n)
	for _, i := range begin {
		h := p.hull[i]
		for _, j := range begin[first[h.from]:first[h.to]] {
			// Of two that begin together, the earlier one adds the pair.
			if p.hull[j].from == h.from && j <= i || !p.boxes[i].meets(&p.boxes[j]) {
				continue
			}
			pairs[i] = append(pairs[i], j)
			pairs[j] = append(pairs[j], i)
		}
	}
	p.near.close()
	for i := range n {
		slices.Sort(pairs[i])
		least := T(maxUnits)
		p.twin[i] = -1
		for _, j := range pairs[i] {
			least = min(least, p.size[j])
			if j < i && p.same(i, j) {
				p.twin[i] = j
			}
		}
		p.least[i] = least
		p.near.list = append(p.near.list, pairs[i]...)
		p.near.close()
	}
}

// same says whether boxes i and j may be swapped in any plan.
func (p *part[T]) same(i, j int32) bool {
	return p.size[i] == p.size[j] && p.boxes[i].size == p.boxes[j].size && p.align[i] == p.align[j] &&
		p.fixed[i] < 0 && p.fixed[j] < 0 && slices.Equal(p.runs.of(i), p.runs.of(j))
}
