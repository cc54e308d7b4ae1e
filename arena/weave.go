package arena

import (
	"cmp"
	"context"
	"slices"
)

// piece is what a storage takes of its item while it is live: rows of width bytes, pitch bytes
// apart, the first at lo.
type piece struct {
	start, end             int64
	spans                  []Span
	lo, width, pitch, rows int64
}

// hi is the end of its last byte.
func (p *piece) hi() int64 { return p.lo + (p.rows-1)*p.pitch + p.width }

// gap is an open range of offsets that are forbidden.
type gap struct{ lo, hi int64 }

// weaver places the items of a pool whose packs are not blocks: a member takes its own bytes
// during its own life, so that others may lie in the columns and hours that it leaves.
type weaver struct {
	ctx    context.Context
	t      *task
	pieces [][]piece
	// placed lists the boxes that have an offset, and gaps what they forbid the next one.
	placed  []int32
	gaps    []gap
	offsets []int64
	budget  int64
}

const (
	// maxWoven is the number of items above which weaving takes too long: every pair counts.
	maxWoven = 4096
	// maxTeeth is the number of ranges that one pair of pieces may forbid one by one; above it, all
	// between the first and the last is forbidden.
	maxTeeth = 4096
	// promotions is how often the item that ends highest is put before all others.
	promotions = 24
)

// weave looks for a better plan than ans among those in which packs are no blocks, with half of the
// budget that is left.
func (t *task) weave(ctx context.Context, ans *answer) {
	if t.pieces == nil || ans.arena <= t.bound || len(t.boxes) > maxWoven {
		return
	}
	w := &weaver{ctx: ctx, t: t, pieces: t.pieces, offsets: make([]int64, len(t.boxes))}
	if t.budget > 0 {
		w.budget = ans.nodes + (t.budget-ans.nodes)/2
	}
	for i := range rules {
		if rules[i].fit.name == firstFit.name && !w.from(rules[i].order.sorted(t), rules[i].order.name, ans) {
			return
		}
	}
}

// from places the boxes in that order, then in orders that it leads to; false ends the search.
func (w *weaver) from(list []int32, name string, ans *answer) bool {
	for range promotions {
		arena, highest, ok := w.fit(list, ans)
		if !ok {
			return false
		}
		if arena < ans.arena {
			ans.arena, ans.rule = arena, name+", first fit, woven"
			copy(ans.offsets, w.offsets)
		}
		at := slices.Index(list, highest)
		if ans.arena <= w.t.bound || at <= 0 {
			break
		}
		list = slices.Insert(slices.Delete(slices.Clone(list), at, at+1), 0, highest)
	}
	return ans.arena > w.t.bound
}

// fit places the boxes in order, each at the lowest offset that is allowed. highest is the one
// that ends highest, the first of equals.
func (w *weaver) fit(list []int32, ans *answer) (arena int64, highest int32, ok bool) {
	w.placed = w.placed[:0]
	highest = -1
	note := func(i int32, off int64) {
		w.offsets[i] = off
		b := &w.t.boxes[i]
		if b.size > 0 && off+b.size > arena {
			arena, highest = off+b.size, i
		}
		if !b.idle() {
			w.placed = append(w.placed, i)
		}
	}
	for i := range w.t.boxes {
		if b := &w.t.boxes[i]; b.fixed >= 0 {
			note(int32(i), b.fixed)
		}
	}
	for _, i := range list {
		if w.budget > 0 && ans.nodes >= w.budget || ans.nodes%checkEvery == 0 && w.ctx.Err() != nil {
			ans.stopped = true
			return 0, -1, false
		}
		ans.nodes++
		note(i, w.lowest(i))
	}
	return arena, highest, true
}

// lowest returns the lowest offset of box i beside the placed ones.
func (w *weaver) lowest(i int32) int64 {
	b := &w.t.boxes[i]
	if b.idle() {
		return 0
	}
	w.gaps = w.gaps[:0]
	for _, j := range w.placed {
		if !b.meets(&w.t.boxes[j]) {
			continue
		}
		for p := range w.pieces[i] {
			for q := range w.pieces[j] {
				w.forbid(&w.pieces[i][p], &w.pieces[j][q], w.offsets[j])
			}
		}
	}
	slices.SortFunc(w.gaps, func(a, b gap) int { return cmp.Compare(a.lo, b.lo) })
	s := shelf{block: w.t.block}
	off := s.up(b, 0)
	for _, g := range w.gaps {
		if g.lo >= off {
			break
		}
		if g.hi > off {
			off = s.up(b, g.hi)
		}
	}
	return off
}

// forbid notes the offsets of the item of p at which it would share a byte with q, whose item is
// at the given offset.
func (w *weaver) forbid(p, q *piece, at int64) {
	if !livesMeet(p.start, p.end, p.spans, q.start, q.end, q.spans) {
		return
	}
	all := gap{at + q.lo - p.hi(), at + q.hi() - p.lo}
	pitch, first, teeth := common(p, q)
	if teeth <= 1 || teeth > maxTeeth || p.width+q.width > pitch {
		w.gaps = append(w.gaps, all)
		return
	}
	for k := range teeth {
		d := at + q.lo - p.lo + (first+k)*pitch
		w.gaps = append(w.gaps, gap{d - p.width, d + q.width})
	}
}

// common returns the distances between rows of p and of q: teeth multiples of the pitch, the first
// of them first times it. teeth is 1 where the two have no pitch in common.
func common(p, q *piece) (pitch, first, teeth int64) {
	switch {
	case p.rows == 1 && q.rows == 1:
		return 0, 0, 1
	case p.rows == 1:
		return q.pitch, 0, q.rows
	case q.rows == 1:
		return p.pitch, 1 - p.rows, p.rows
	case p.pitch == q.pitch:
		return p.pitch, 1 - p.rows, p.rows + q.rows - 1
	}
	return 0, 0, 1
}

// piecesOf lists the pieces of every item of the pool; nil when each is one block.
func (m *model) piecesOf(g *group) [][]piece {
	out, blocks := make([][]piece, len(g.items)), true
	for k, i := range g.items {
		it := &m.items[i]
		blocks = blocks && len(it.parts) == 1
		for _, c := range it.parts {
			s := &m.storages[c]
			if !s.live() {
				continue
			}
			p := piece{start: s.start, end: s.end, spans: s.spans, lo: s.within, width: s.size, rows: 1}
			if s.strided() {
				p.width, p.pitch, p.rows = s.size/s.rows, s.stride, s.rows
			}
			out[k] = append(out[k], p)
		}
	}
	if blocks {
		return nil
	}
	return out
}
