package arena

import "slices"

// box is what a strategy places: a rectangle of time × bytes, with gaps in time when spans is set.
type box struct {
	size, align int64
	start, end  int64
	spans       []Span
	// fixed is its offset, or −1.
	fixed int64
	// key is the lowest buffer of the box, which settles ties.
	key int32
}

// idle says whether the box disturbs nobody.
func (b *box) idle() bool { return b.size == 0 || b.start >= b.end }

// meets says whether two boxes that are not idle are live together.
func (b *box) meets(o *box) bool {
	return b.start < o.end && o.start < b.end &&
		(b.spans == nil && o.spans == nil || livesMeet(b.start, b.end, b.spans, o.start, o.end, o.spans))
}

// hull returns the boxes without their gaps.
func hull(boxes []box) []box {
	if !slices.ContainsFunc(boxes, func(b box) bool { return b.spans != nil }) {
		return boxes
	}
	out := slices.Clone(boxes)
	for i := range out {
		out[i].spans = nil
	}
	return out
}

// spot is box i, placed at [lo, hi).
type spot struct {
	lo, hi, start, end int64
	i                  int
}

// shelf holds placed boxes in order of offset.
type shelf struct {
	boxes []box
	spots []spot
	block int64
	// gaps says that a box has gaps in its life.
	gaps bool
	// kept is the number of boxes at which expire looks again.
	kept int
}

// reset empties the shelf and puts the fixed boxes on it.
func (s *shelf) reset(boxes []box, offsets []int64, block int64) (top int64) {
	s.clear(boxes, block)
	for i := range boxes {
		s.gaps = s.gaps || boxes[i].spans != nil
		if b := &boxes[i]; b.fixed >= 0 {
			offsets[i] = b.fixed
			if b.size > 0 {
				top = max(top, b.fixed+b.size)
			}
			s.put(i, b.fixed)
		}
	}
	return top
}

// clear empties the shelf.
func (s *shelf) clear(boxes []box, block int64) {
	*s = shelf{boxes: boxes, spots: s.spots[:0], block: block}
}

// put places box i at offset lo.
func (s *shelf) put(i int, lo int64) {
	b := &s.boxes[i]
	if b.idle() {
		return
	}
	at, end := 0, len(s.spots)
	for at < end {
		if mid := int(uint(at+end) >> 1); s.spots[mid].lo <= lo {
			at = mid + 1
		} else {
			end = mid
		}
	}
	s.spots = slices.Insert(s.spots, at, spot{lo, lo + b.size, b.start, b.end, i})
}

// expire takes away the boxes that are dead at time now and after. To be cheap it waits until
// there are many; the others stay, and do no harm.
func (s *shelf) expire(now int64) {
	if len(s.spots) < s.kept {
		return
	}
	kept := s.spots[:0]
	for i := range s.spots {
		if s.spots[i].end > now {
			kept = append(kept, s.spots[i])
		}
	}
	s.spots = kept
	s.kept = 2*len(kept) + 16
}

// up returns the lowest offset at or above off where b may begin.
func (s *shelf) up(b *box, off int64) int64 {
	off = (off + b.align - 1) &^ (b.align - 1)
	if s.block > 0 && b.size > 0 && off%s.block+b.size > s.block {
		off += s.block - off%s.block
	}
	return off
}

// first returns the lowest offset for b.
func (s *shelf) first(b *box) int64 { return s.from(b, 0) }

// from returns the lowest offset for b that is at least least.
func (s *shelf) from(b *box, least int64) int64 {
	if b.idle() {
		return 0
	}
	off := s.up(b, least)
	for i := range s.spots {
		q := &s.spots[i]
		if q.lo >= off+b.size {
			break
		}
		if q.hi <= off || q.start >= b.end || b.start >= q.end || s.gaps && !b.meets(&s.boxes[q.i]) {
			continue
		}
		off = s.up(b, q.hi)
	}
	return off
}

// best returns the offset for b in the smallest gap that holds it, the lowest of equal ones; on
// top of everything when no gap does.
func (s *shelf) best(b *box) int64 {
	if b.idle() {
		return 0
	}
	off, found, least := int64(0), int64(-1), int64(0)
	top := int64(0)
	for i := range s.spots {
		q := &s.spots[i]
		if q.hi <= top || q.start >= b.end || b.start >= q.end || s.gaps && !b.meets(&s.boxes[q.i]) {
			continue
		}
		if room := q.lo - top; off+b.size <= q.lo && (found < 0 || room < least) {
			found, least = off, room
		}
		top = q.hi
		off = s.up(b, top)
	}
	if found >= 0 {
		return found
	}
	return off
}
