package arena

import (
	"cmp"
	"slices"
	"sort"
)

// change is an alias class that becomes live, or ceases to be.
type change struct {
	when  int64
	class int
	up    bool
}

// extentOf is the range of bytes of a class that is live now.
type extentOf struct {
	lo, hi int64
	class  int
}

// overlaps sweeps over time. At every instant it keeps the dense classes that are live in order
// of offset, so that a newcomer need only look at its neighbours. Classes in a row pack with gaps,
// or with a buffer under it, are kept in a list of their own and compared with all.
func (v *verifier) overlaps() error {
	pools := make(map[string][]change)
	note := func(b *Buffer, c int, start, end int64) {
		if start < end {
			pools[b.Pool] = append(pools[b.Pool], change{start, c, true}, change{end, c, false})
		}
	}
	for i := range v.p.Buffers {
		b := &v.p.Buffers[i]
		if b.End < b.Start {
			return v.bad(i, "lifetime: got end %d, want at least %d", b.End, b.Start)
		}
		if v.external[i] || b.Size == 0 {
			continue
		}
		note(b, v.class[i], b.Start, b.End)
		for _, s := range b.More {
			note(b, v.class[i], s.Start, s.End)
		}
	}
	v.live = make([]int, len(v.class))
	names := make([]string, 0, len(pools))
	for name := range pools {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := v.sweep(pools[name]); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) sweep(changes []change) error {
	slices.SortFunc(changes, func(a, b change) int {
		if a.when != b.when {
			return cmp.Compare(a.when, b.when)
		}
		if a.up != b.up {
			if a.up {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.class, b.class)
	})
	dense, odd := make([]extentOf, 0, 64), []extentOf(nil)
	for _, ch := range changes {
		if !ch.up {
			v.live[ch.class]--
			if v.live[ch.class] == 0 {
				gone := func(e extentOf) bool { return e.class == ch.class }
				dense, odd = slices.DeleteFunc(dense, gone), slices.DeleteFunc(odd, gone)
			}
			continue
		}
		v.live[ch.class]++
		if v.live[ch.class] > 1 {
			continue
		}
		e := extentOf{v.plan.Offsets[ch.class], v.plan.Offsets[ch.class] + v.span(ch.class), ch.class}
		at := sort.Search(len(dense), func(i int) bool { return dense[i].lo >= e.lo })
		if err := v.compare(e, dense, odd, at, ch.when); err != nil {
			return err
		}
		if v.odd(ch.class) {
			odd = append(odd, e)
		} else {
			dense = slices.Insert(dense, at, e)
		}
	}
	return nil
}

// span is the range of bytes of a class; its representative need not be the one in the row pack.
func (v *verifier) span(c int) int64 {
	if k := v.rowPack[c]; k >= 0 {
		for _, i := range v.p.RowPacks[k].Members {
			if v.class[i] == c {
				return v.extent(i)
			}
		}
	}
	return v.p.Buffers[c].Size
}

// odd says whether a class shares its range of bytes with others by right.
func (v *verifier) odd(c int) bool {
	k := v.rowPack[c]
	return k >= 0 && (v.p.RowPacks[k].Over != nil || v.span(c) != v.p.Buffers[c].Size)
}

// compare looks for a live class that shares a byte with e; at is e's place among the dense ones.
func (v *verifier) compare(e extentOf, dense, odd []extentOf, at int, when int64) error {
	for i := at - 1; i >= 0 && i < len(dense) && dense[i].hi > e.lo; i-- {
		if v.share(e.class, dense[i].class) {
			return v.clash(e.class, dense[i].class, when)
		}
	}
	for i := at; i < len(dense) && dense[i].lo < e.hi; i++ {
		if v.share(e.class, dense[i].class) {
			return v.clash(e.class, dense[i].class, when)
		}
	}
	for _, o := range odd {
		if o.lo < e.hi && e.lo < o.hi && v.share(e.class, o.class) {
			return v.clash(e.class, o.class, when)
		}
	}
	return nil
}

func (v *verifier) clash(c, d int, when int64) error {
	return v.bad(c, "%d B at %d B overlap %q, %d B at %d B, while both are live at %d",
		v.p.Buffers[c].Size, v.plan.Offsets[c], v.p.name(d), v.p.Buffers[d].Size, v.plan.Offsets[d], when)
}

// lines is the bytes of a class, row by row.
func (v *verifier) lines(c int) (at, width, stride, n int64) {
	at, width, n = v.plan.Offsets[c], v.p.Buffers[c].Size, 1
	if k := v.rowPack[c]; k >= 0 && v.span(c) != width {
		for _, i := range v.p.RowPacks[k].Members {
			if v.class[i] == c {
				n = v.rowsOf(i)
				return at, width / n, v.plan.RowStride[i], n
			}
		}
	}
	return at, width, width, 1
}

// share says whether two classes have a byte in common that they may not have: the members of a
// row pack may lie in the buffer it is over.
func (v *verifier) share(c, d int) bool {
	if k := v.rowPack[c]; k >= 0 && k == v.rowPack[d] {
		if over := v.p.RowPacks[k].Over; over != nil && (v.class[*over] == c || v.class[*over] == d) {
			return false
		}
	}
	x, w, p, n := v.lines(c)
	y, u, q, m := v.lines(d)
	for n > 0 && m > 0 {
		switch {
		case x+w <= y:
			skip := min(n, (y-x-w)/p+1)
			x, n = x+skip*p, n-skip
		case y+u <= x:
			skip := min(m, (x-y-u)/q+1)
			y, m = y+skip*q, m-skip
		default:
			return true
		}
	}
	return false
}
