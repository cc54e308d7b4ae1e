package arena

import (
	"cmp"
	"slices"
)

// fix carries fixed offsets from buffers to items, and checks that they can all be honoured.
func (m *model) fix() error {
	p := m.p
	any := false
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Fixed == nil {
			continue
		}
		any = true
		s := &m.storages[m.class[i]]
		it := &m.items[s.item]
		base := *b.Fixed - s.within
		block := p.pool(b.Pool).Block
		switch {
		case base < 0:
			return p.fail(ErrFixed, i, "offset: got %d B, want at least %d B, its place in the pack", *b.Fixed, s.within)
		case base%it.align != 0 && s.within == 0:
			return p.fail(ErrFixed, i, "offset: got %d B, want a multiple of %d B", *b.Fixed, it.align)
		case base%it.align != 0:
			return p.fail(ErrFixed, i, "offset: got %d B, %d B into its pack: want a pack at a multiple of %d B",
				*b.Fixed, s.within, it.align)
		case it.fixed >= 0 && it.fixed != base:
			return p.fail(ErrFixed, i, "offset: got %d B, want %d B beside %q, which shares its storage",
				*b.Fixed, it.fixed+s.within, p.name(int(it.fixedBy)))
		case block > 0 && it.size > 0 && base/block != (base+it.size-1)/block:
			return p.fail(ErrFixed, i, "offset: %d B at %d B cross a block of %d B", it.size, base, block)
		}
		it.fixed, it.fixedBy = base, int32(i)
	}
	if !any {
		return nil
	}
	return m.checkFixed()
}

// checkFixed finds two fixed storages that are live together and share a byte.
func (m *model) checkFixed() error {
	type pinned struct {
		comb
		c int32
	}
	var list []pinned
	for c := range m.storages {
		s := &m.storages[c]
		if it := &m.items[s.item]; it.fixed >= 0 && s.live() {
			list = append(list, pinned{s.comb(it.fixed), int32(c)})
		}
	}
	slices.SortFunc(list, func(a, b pinned) int { return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.c, b.c)) })
	for i, x := range list {
		s := &m.storages[x.c]
		for _, y := range list[i+1:] {
			if y.base >= x.end() {
				break
			}
			t := &m.storages[y.c]
			if s.item == t.item || m.p.Buffers[s.low].Pool != m.p.Buffers[t.low].Pool {
				continue
			}
			if livesMeet(s.start, s.end, s.spans, t.start, t.end, t.spans) && x.meets(y.comb) {
				return m.p.fail(ErrFixed, int(t.low), "offset: %d B at %d B overlap %q, %d B at %d B, while both are live",
					t.size, y.base, m.p.name(int(s.low)), s.size, x.base)
			}
		}
	}
	return nil
}

// livesMeet says whether two lives have an instant in common.
func livesMeet(s0, e0 int64, a []Span, s1, e1 int64, b []Span) bool {
	if s0 >= e1 || s1 >= e0 || s0 == e0 || s1 == e1 {
		return false
	}
	if a == nil && b == nil {
		return true
	}
	a, b = lifeOf(s0, e0, a), lifeOf(s1, e1, b)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].End <= b[0].Start:
			a = a[1:]
		case b[0].End <= a[0].Start:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

// comb is the bytes of a storage: rows pieces of width bytes, stride bytes apart.
type comb struct{ base, width, stride, rows int64 }

// comb returns the bytes of the storage when its item lies at offset at.
func (s *storage) comb(at int64) comb {
	if !s.strided() {
		return comb{at + s.within, s.size, s.size, 1}
	}
	return comb{at + s.within, s.size / s.rows, s.stride, s.rows}
}

func (x comb) end() int64 { return x.base + (x.rows-1)*x.stride + x.width }

// manyRows is the number of rows above which combs of different strides are taken to meet when
// infinitely long ones would.
const manyRows = 1 << 20

// meets says whether two combs share a byte.
func (x comb) meets(y comb) bool {
	if x.base >= y.end() || y.base >= x.end() {
		return false
	}
	if x.rows > y.rows {
		x, y = y, x
	}
	if x.rows == 1 {
		return y.touches(x.base, x.base+x.width)
	}
	g, h := x.stride, y.stride
	for h != 0 {
		g, h = h, g%h
	}
	// Modulo the common divisor every row of a comb looks alike.
	d := ((y.base-x.base)%g + g) % g
	if d >= x.width && d+y.width <= g {
		return false
	}
	if x.rows > manyRows && x.stride != y.stride {
		return true
	}
	for r := range min(x.rows, manyRows) {
		if lo := x.base + r*x.stride; y.touches(lo, lo+x.width) {
			return true
		}
	}
	return x.rows > manyRows
}

// touches says whether a row of x has a byte in [lo, hi).
func (x comb) touches(lo, hi int64) bool {
	r := int64(0)
	if first := lo - x.base - x.width; first >= 0 {
		r = first/x.stride + 1
	}
	return r < x.rows && x.base+r*x.stride < hi
}
