package arena

import (
	"cmp"
	"slices"
)

// LowerBound returns, for the pool of that name ("" is the default one), a number of bytes that
// no plan can be under, with its evidence: the most that is live at one instant, aliases counted
// once and the padding that alignment forces counted in; the largest single piece; or the end of
// a fixed buffer. It takes O(n log n) time.
func LowerBound(p *Problem, pool string) (Bound, error) {
	m, err := newModel(p)
	if err != nil {
		return Bound{}, err
	}
	for i := range m.pools {
		if m.pools[i].Name == pool {
			return m.bound(&m.pools[i]), nil
		}
	}
	if pool == "" {
		return Bound{Reason: Peak}, nil
	}
	return Bound{}, p.failAll(ErrPool, "pool %q: no buffer is in it", pool)
}

// bound is LowerBound of one pool.
func (m *model) bound(g *group) Bound {
	best := m.peak(g)
	for _, i := range g.items {
		it := &m.items[i]
		if it.size > best.Bytes {
			best = Bound{Bytes: it.size, Reason: Whole, Time: it.start, Live: m.lows(it)}
		}
		if it.fixed >= 0 && it.size > 0 && it.fixed+it.size > best.Bytes {
			best = Bound{Bytes: it.fixed + it.size, Reason: Fixed, Time: it.start, Live: []int{int(it.fixedBy)}}
		}
	}
	return best
}

// lows lists the lowest buffer of each storage in the item.
func (m *model) lows(it *item) []int {
	var out []int
	for _, c := range it.parts {
		if c != it.over {
			out = append(out, int(m.storages[c].low))
		}
	}
	slices.Sort(out)
	return out
}

// tally adds up the blocks that are live at an instant. A block begins at a multiple of the
// grain, or it is loose. A loose block may begin anywhere.
type tally struct {
	grain int64
	// raw is the bytes, and slack what rounding the aligned blocks up to the grain would add.
	raw, slack int64
	// loose counts the loose blocks; ragged counts items whose live part has gaps of its own.
	loose, ragged int64
}

// upper is at least what need returns, whatever the slacks of the single blocks.
func (t *tally) upper() int64 {
	if t.ragged > 0 {
		return t.raw
	}
	return t.raw + t.slack
}

// need is the least number of bytes in which the blocks fit. Every aligned block is followed by
// its slack unless a loose block, or the end of the arena, follows; slacks are those of the
// aligned blocks, in any order.
func (t *tally) need(slacks []int64) int64 {
	if t.ragged > 0 {
		return t.raw
	}
	slices.SortFunc(slacks, func(a, b int64) int { return cmp.Compare(b, a) })
	sum := t.raw + t.slack
	for _, s := range slacks[:min(int64(len(slacks)), 1+t.loose)] {
		sum -= s
	}
	return sum
}

// partial is what of a pack is live.
type partial struct {
	raw   int64
	count int
	over  bool
}

// add counts item it, of whose storages part is live, sign times.
func (t *tally) add(it *item, part partial, sign int64) {
	switch {
	case part.count == 0 && !part.over:
	case part.over || part.count == it.solid:
		t.raw += sign * it.size
		t.slack += sign * (-it.size & (t.grain - 1))
	case it.rows > 1:
		t.raw += sign * part.raw
		t.ragged += sign
	default:
		t.raw += sign * part.raw
		t.loose += sign * int64(part.count)
	}
}

// maxExact is how many instants peak works out exactly, the most promising first.
const maxExact = 32

type instant struct{ time, upper int64 }

// peak returns the instant at which most bytes are needed; the earliest of several.
func (m *model) peak(g *group) Bound {
	instants, grain := m.sweep(g)
	// A later instant with no more promise than an earlier one is no better.
	slices.SortStableFunc(instants, func(a, b instant) int { return cmp.Compare(b.upper, a.upper) })
	best := Bound{Reason: Peak}
	for _, at := range instants[:min(len(instants), maxExact)] {
		if at.upper < best.Bytes || at.upper == best.Bytes && at.time >= best.Time {
			continue
		}
		need := m.needAt(g, grain, at.time)
		if need > best.Bytes || need == best.Bytes && at.time < best.Time {
			best.Bytes, best.Time = need, at.time
		}
	}
	best.Live = m.liveList(g, best.Time)
	return best
}

type event struct {
	time int64
	c    int32
	dies bool
}

// sweep returns the instants, in order, at which the live set has just grown and may be the worst.
func (m *model) sweep(g *group) (list []instant, grain int64) {
	events := make([]event, 0, 2*len(g.items))
	grain = 1 << 62
	for _, i := range g.items {
		it := &m.items[i]
		grain = min(grain, it.align)
		for _, c := range it.parts {
			s := &m.storages[c]
			if !s.live() {
				continue
			}
			if s.spans == nil {
				events = append(events, event{s.start, c, false}, event{s.end, c, true})
			}
			for _, span := range s.spans {
				events = append(events, event{span.Start, c, false}, event{span.End, c, true})
			}
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	t := tally{grain: grain}
	parts := make(map[int32]partial)
	var floor int64
	for i := 0; i < len(events); {
		now, grew := events[i].time, false
		for ; i < len(events) && events[i].time == now; i++ {
			m.count(&t, parts, events[i])
			grew = grew || !events[i].dies
		}
		up := t.upper()
		low := max(t.raw, up-(1+t.loose)*(grain-1))
		if grew && up > 0 && up >= floor {
			list = append(list, instant{now, up})
		}
		floor = max(floor, low)
	}
	return slices.DeleteFunc(list, func(at instant) bool { return at.upper < floor }), grain
}

// count applies an event to the tally. parts holds what is live of each pack.
func (m *model) count(t *tally, parts map[int32]partial, e event) {
	s := &m.storages[e.c]
	it := &m.items[s.item]
	sign := int64(1)
	if e.dies {
		sign = -1
	}
	if len(it.parts) == 1 && it.over < 0 {
		t.add(it, partial{s.size, 1, false}, sign)
		return
	}
	part := parts[s.item]
	t.add(it, part, -1)
	if e.c == it.over {
		part.over = !e.dies
	} else {
		part.raw += sign * s.size
		part.count += int(sign)
	}
	t.add(it, part, 1)
	parts[s.item] = part
}

// needAt works out an instant exactly, from scratch.
func (m *model) needAt(g *group, grain, now int64) int64 {
	t := tally{grain: grain}
	var slacks []int64
	for _, i := range g.items {
		it := &m.items[i]
		var part partial
		for _, c := range it.parts {
			s := &m.storages[c]
			switch {
			case !s.liveAt(now):
			case c == it.over:
				part.over = true
			default:
				part.raw += s.size
				part.count++
			}
		}
		before := t.slack
		t.add(it, part, 1)
		if t.slack != before {
			slacks = append(slacks, t.slack-before)
		}
	}
	return t.need(slacks)
}

// liveList lists the buffers of the group that are live at the instant: the lowest of each
// storage, and of a row pack over a live buffer only that one.
func (m *model) liveList(g *group, now int64) []int {
	list := []int{}
	for _, i := range g.items {
		it := &m.items[i]
		over := it.over >= 0 && m.storages[it.over].liveAt(now)
		for _, c := range it.parts {
			if m.storages[c].liveAt(now) && (!over || c == it.over) {
				list = append(list, m.lowestLive(c, now))
			}
		}
	}
	slices.Sort(list)
	return list
}

// lowestLive returns the lowest buffer of storage c that is live at the instant.
func (m *model) lowestLive(c int32, now int64) int {
	for i := int(m.storages[c].low); i < len(m.class); i++ {
		if m.class[i] == c && m.p.Buffers[i].liveAt(now) {
			return i
		}
	}
	panic("BUG: a storage is live and none of its buffers is")
}

// liveAt says whether the storage takes up bytes at the instant.
func (s *storage) liveAt(now int64) bool {
	if s.size == 0 || now < s.start || now >= s.end {
		return false
	}
	return s.spans == nil || slices.ContainsFunc(s.spans, func(x Span) bool { return x.Start <= now && now < x.End })
}

// liveAt says whether the buffer is live at the instant.
func (b *Buffer) liveAt(now int64) bool {
	if b.Start <= now && now < b.End {
		return true
	}
	return slices.ContainsFunc(b.More, func(s Span) bool { return s.Start <= now && now < s.End })
}
