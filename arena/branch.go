package arena

import (
	"context"
	"slices"
)

// branch is a depth-first search for a place for every box of a part under a capacity.
//
// It fills the arena from the bottom. Each section has a floor: nothing that is still to come
// lies below it there. At a section whose floor is a local minimum, either one of the boxes that
// can begin at that floor does, or the floor rises to the next offset at which anything can begin
// and the space between is lost. As a plan decides every such question in one way, each plan is
// met on one path only, whatever section is asked about next; the section with the fewest answers
// is. A section is given up when its floor and what is still to come there exceed the capacity.
//
// Only plans are looked for in which every box lies at 0 or upon another, and the lower of two
// alike boxes is the earlier one: every plan can be made so. Boxes that stop being joined in time
// are searched one group after the other, and a failure of one does not undo the others in vain.
//
// The bound on sections, the canonical form and the splitting are those of MiniMalloc (Moffitt,
// ASPLOS 2023); TelaMalloc (Maas et al., ASPLOS 2023) gives the problem.
type branch[T word] struct {
	*part[T]
	ctx  context.Context
	way  way
	snug snug
	// capacity is the end of the last byte, and limit the highest offset of each box.
	capacity T
	limit    []T
	// rank is the place of each box in the order in which boxes are tried.
	rank []int32
	// floor and rest, what is to come, are per section. real is the floor before anything was lost.
	floor, real, rest []T
	// count is the number of boxes to come on a section, cross that of those whose hull holds this
	// section and the next.
	count, cross []int32
	// off is the least offset of a box, and its offset once it is placed.
	off    []T
	placed []bool
	// trail holds what is to be put back when the search turns round.
	trail []past[T]
	// nodes counts answers that were tried, up to budget; stopped says that there was no more.
	nodes, budget int64
	stopped       bool
}

// past is one earlier value.
type past[T word] struct {
	what kind
	i    int32
	v    T
}

type kind int8

const (
	aFloor kind = iota
	aReal
	anOffset
	aBox
)

// newBranch makes a search over a part; reset must be called before it is used.
func newBranch[T word](ctx context.Context, p *part[T]) *branch[T] {
	n, m := len(p.size), len(p.total)
	return &branch[T]{
		part: p, ctx: ctx, limit: make([]T, n), rank: make([]int32, n),
		floor: make([]T, m), real: make([]T, m), rest: make([]T, m),
		count: make([]int32, m), cross: make([]int32, m),
		off: make([]T, n), placed: make([]bool, n),
	}
}

// reset takes all boxes out, and sets the capacity in bytes. It says whether anything can fit.
func (b *branch[T]) reset(capacity int64) bool {
	b.trail, b.nodes, b.stopped, b.capacity = b.trail[:0], 0, false, 0
	clear(b.floor)
	clear(b.real)
	clear(b.count)
	clear(b.cross)
	clear(b.placed)
	copy(b.rest, b.total)
	for i := range b.size {
		room := capacity - b.boxes[i].size
		if room < 0 || b.fixed[i] >= 0 && b.boxes[i].fixed > room {
			return false
		}
		b.limit[i] = T(room/b.grain) / b.align[i] * b.align[i]
		b.off[i] = 0
		if b.fixed[i] >= 0 {
			b.off[i], b.limit[i] = b.fixed[i], b.fixed[i]
		}
		b.capacity = max(b.capacity, b.limit[i]+b.size[i])
		b.enter(int32(i), 1)
	}
	for _, sum := range b.total {
		if sum > b.capacity {
			return false
		}
	}
	return true
}

// enter counts box i among those to come, or takes it out when sign is −1.
func (b *branch[T]) enter(i, sign int32) {
	for _, r := range b.runs.of(i) {
		for s := r.from; s < r.to; s++ {
			b.count[s] += sign
		}
	}
	h := b.hull[i]
	for s := h.from; s+1 < h.to; s++ {
		b.cross[s] += sign
	}
}

// undo goes back to the state in which the trail was that long.
func (b *branch[T]) undo(mark int) {
	for k := len(b.trail) - 1; k >= mark; k-- {
		switch c := &b.trail[k]; c.what {
		case aFloor:
			b.floor[c.i] = c.v
		case aReal:
			b.real[c.i] = c.v
		case anOffset:
			b.off[c.i] = c.v
		case aBox:
			b.placed[c.i] = false
			b.enter(c.i, 1)
			for _, r := range b.runs.of(c.i) {
				for s := r.from; s < r.to; s++ {
					b.rest[s] += b.size[c.i]
				}
			}
		}
	}
	b.trail = b.trail[:mark]
}

// place puts box i at its least offset. It says whether the others that meet it still have room.
func (b *branch[T]) place(i int32) bool {
	top := b.off[i] + b.size[i]
	b.trail = append(b.trail, past[T]{what: aBox, i: i})
	b.placed[i] = true
	b.enter(i, -1)
	for _, r := range b.runs.of(i) {
		for s := r.from; s < r.to; s++ {
			b.trail = append(b.trail, past[T]{aFloor, s, b.floor[s]}, past[T]{aReal, s, b.real[s]})
			b.floor[s], b.real[s] = top, top
			b.rest[s] -= b.size[i]
		}
	}
	return b.lift(b.near.of(i), top)
}

// raise gives up what is below v on section s. It says whether the boxes there still have room.
func (b *branch[T]) raise(s int32, v T) bool {
	b.trail = append(b.trail, past[T]{aFloor, s, b.floor[s]})
	b.floor[s] = v
	return b.lift(b.over.of(s), v)
}

// lift makes v the least offset of those in list that are to come.
func (b *branch[T]) lift(list []int32, v T) bool {
	for _, j := range list {
		if b.placed[j] || b.off[j] >= v {
			continue
		}
		b.trail = append(b.trail, past[T]{anOffset, j, b.off[j]})
		if b.off[j] = b.up(j, v); b.off[j] > b.limit[j] {
			return false
		}
	}
	return true
}

// up returns the lowest offset at or above v where box j may begin.
func (b *branch[T]) up(j int32, v T) T {
	if a := b.align[j]; a > 1 {
		v = (v + a - 1) / a * a
	}
	if b.block > 0 && v%b.block+b.size[j] > b.block {
		v += b.block - v%b.block
	}
	return max(v, b.fixed[j])
}

// search finds a place for all boxes to come on the sections [lo, hi), which no other box joins to
// the rest. When there is none, or the search is stopped, it leaves everything as it was.
func (b *branch[T]) search(lo, hi int32) bool {
	for lo < hi && b.count[lo] == 0 {
		lo++
	}
	for lo < hi && b.count[hi-1] == 0 {
		hi--
	}
	if lo == hi {
		return true
	}
	mark := len(b.trail)
	for s := lo; s+1 < hi; s++ {
		if b.cross[s] == 0 {
			if b.search(lo, s+1) && b.search(s+1, hi) {
				return true
			}
			b.undo(mark)
			return false
		}
	}
	q, ok := b.ask(lo, hi)
	if ok && b.answer(q, lo, hi) {
		return true
	}
	b.undo(mark)
	return false
}

// answer tries the answers to q in turn.
func (b *branch[T]) answer(q question[T], lo, hi int32) bool {
	var buf [48]int32
	list := buf[:0]
	for _, j := range b.over.of(q.section) {
		if !b.placed[j] && b.off[j] == b.floor[q.section] && b.rests(j) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(i, j int32) int {
		if b.snug != loose {
			if c := b.touch(j) - b.touch(i); c != 0 {
				return c
			}
		}
		return int(b.rank[i] - b.rank[j])
	})
	mark := len(b.trail)
	for _, j := range list {
		if !b.next() {
			return false
		}
		if b.place(j) && b.search(lo, hi) {
			return true
		}
		b.undo(mark)
	}
	return q.lose && b.next() && b.raise(q.section, q.up) && b.search(lo, hi)
}

// next counts a node, and says whether it may be looked at.
func (b *branch[T]) next() bool {
	if b.stopped || b.nodes >= b.budget || b.nodes%checkEvery == 0 && b.ctx.Err() != nil {
		b.stopped = true
		return false
	}
	b.nodes++
	return true
}

// rests says whether box j, at its least offset, lies on something, and is not to wait for its
// twin.
func (b *branch[T]) rests(j int32) bool {
	if t := b.twin[j]; t >= 0 && !b.placed[t] {
		return false
	}
	if b.fixed[j] >= 0 {
		return true
	}
	var top T
	for _, r := range b.runs.of(j) {
		for s := r.from; s < r.to; s++ {
			top = max(top, b.real[s])
		}
	}
	return b.up(j, top) == b.off[j]
}

// question asks what begins at the floor of a section, in a notch.
type question[T word] struct {
	section int32
	// fits counts the boxes that can, and up is the next offset at which any can begin; lose says
	// that there is room for all when the floor rises to it.
	fits int32
	up   T
	lose bool
}

// ask returns the question to branch on, after it has answered those that have one answer without
// a box. ok is false when one has none.
func (b *branch[T]) ask(lo, hi int32) (best question[T], ok bool) {
	for again := true; again; {
		again = false
		key, first := int64(0), true
		for i, j := b.notch(lo, hi, lo); i < hi; i, j = b.notch(lo, hi, j) {
			for s := i; s < j; s++ {
				q := b.question(s)
				switch {
				case q.fits == 0 && !(q.lose && b.raise(s, q.up)):
					return best, false
				case q.fits == 0:
					again = true
				case !again:
					if k := b.key(&q); first || k < key {
						best, key, first = q, k, false
					}
				}
			}
		}
	}
	return best, true
}

// notch returns the next run of sections at one floor, at or after section at, whose neighbours
// are higher.
func (b *branch[T]) notch(lo, hi, at int32) (from, to int32) {
	if b.gaps {
		return b.lowest(lo, hi, at)
	}
	for i := at; i < hi; {
		j := i + 1
		for j < hi && b.floor[j] == b.floor[i] {
			j++
		}
		if (i == lo || b.floor[i-1] > b.floor[i]) && (j == hi || b.floor[j] > b.floor[i]) {
			return i, j
		}
		i = j
	}
	return hi, hi
}

// lowest is notch when lives have gaps: only the lowest sections are sure to carry all that rests
// on them.
func (b *branch[T]) lowest(lo, hi, at int32) (from, to int32) {
	low := b.capacity + 1
	for s := lo; s < hi; s++ {
		if b.count[s] > 0 {
			low = min(low, b.floor[s])
		}
	}
	for s := at; s < hi; s++ {
		if b.count[s] > 0 && b.floor[s] == low {
			return s, s + 1
		}
	}
	return hi, hi
}

// question looks at section s.
func (b *branch[T]) question(s int32) question[T] {
	q := question[T]{section: s, up: b.capacity + 1}
	floor := b.floor[s]
	for _, j := range b.over.of(s) {
		if b.placed[j] {
			continue
		}
		y := b.off[j]
		if y == floor {
			q.fits++
			// If it does not begin here, it is for something that it meets to lie below it.
			y += b.least[j]
		}
		q.up = min(q.up, y)
	}
	q.lose = q.up <= b.capacity-b.rest[s]
	return q
}

// way says which section is asked about first; ties go to the earliest.
type way int8

const (
	// fewest asks where the answers are fewest, then where the least space may be lost.
	fewest way = iota
	// fewestLow asks where the answers are fewest, then at the lowest floor.
	fewestLow
	// fewestFull asks where the answers are fewest, then where most is to come.
	fewestFull
	// tightest asks where the least space may be lost, then where the answers are fewest.
	tightest
	// low asks at the lowest floor, then where the answers are fewest.
	low
)

// key is smaller for questions that are to be asked earlier.
func (b *branch[T]) key(q *question[T]) int64 {
	s, answers := q.section, int64(q.fits)
	if q.lose {
		answers++
	}
	const many = 1 << 40
	switch b.way {
	case fewestLow:
		return answers*many + int64(b.floor[s])
	case fewestFull:
		return answers*many - int64(b.rest[s])
	case tightest:
		return int64(b.capacity-b.rest[s]-b.floor[s])<<16 + answers
	case low:
		return int64(b.floor[s])<<16 + answers
	}
	return answers*many + int64(b.capacity-b.rest[s]-b.floor[s])
}

// touch counts the sides of box i, at its least offset, that lie against something higher, and
// with snug flush also the tops of neighbours that it is flush with.
func (b *branch[T]) touch(i int32) int {
	n, h := 0, b.hull[i]
	top := b.off[i] + b.size[i]
	for _, s := range [2]int32{h.from - 1, h.to} {
		if s < 0 || int(s) == len(b.total) || b.count[s] == 0 {
			n++
			continue
		}
		if b.floor[s] > b.off[i] {
			n++
		}
		if b.snug == flush && b.floor[s] == top {
			n++
		}
	}
	return n
}
