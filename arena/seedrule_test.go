package arena

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// slot is what the seed's rule says of one buffer.
type slot struct{ offset, stride int64 }

// seedRule is the seed's rule word for word, on inclusive ranges, for problems in one pool
// without fixed offsets, blocks, gaps and empty lifetimes. It is slow, and shares nothing with
// the strategy.
func seedRule(p *Problem) (slots map[int]slot, arena int64) {
	class := map[int]int{}
	external := map[int]bool{}
	for _, e := range p.External {
		external[e] = true
	}
	for i := range p.Buffers {
		class[i] = i
	}
	for _, a := range p.Aliases {
		from, to := max(class[a.Out], class[a.In]), min(class[a.Out], class[a.In])
		for i := range p.Buffers {
			if class[i] == from {
				class[i] = to
			}
		}
	}
	type unit struct {
		at         map[int]int64
		bytes      int64
		start, end int64
		key        int
		align      int64
	}
	alignOf := func(i int) int64 {
		if p.Buffers[i].Align > 0 {
			return p.Buffers[i].Align
		}
		return p.Align
	}
	add := func(u *unit, i int, at int64) {
		c := class[i]
		u.at[c] = at
		for j, b := range p.Buffers {
			if class[j] == c && !external[j] {
				u.start, u.end = min(u.start, b.Start), max(u.end, b.End-1)
				u.key, u.align = min(u.key, j), max(u.align, alignOf(j))
			}
		}
	}
	fresh := func() *unit { return &unit{at: map[int]int64{}, start: 1 << 60, end: -1 << 60, key: 1 << 30} }
	var units []*unit
	strides := map[int]int64{}
	for _, k := range p.RowPacks {
		u, row := fresh(), int64(0)
		rows := max(p.Buffers[k.Members[0]].Rows, 1)
		for _, i := range k.Members {
			add(u, i, row)
			row += p.Buffers[i].Size / rows
		}
		if k.Over != nil {
			add(u, *k.Over, 0)
		}
		u.bytes = row * rows
		for c := range u.at {
			strides[c] = row
		}
		units = append(units, u)
	}
	for _, k := range p.Packs {
		u := fresh()
		for _, i := range k {
			add(u, i, u.bytes)
			u.bytes += p.Buffers[i].Size
		}
		units = append(units, u)
	}
	for i := range p.Buffers {
		packed := slices.ContainsFunc(units, func(u *unit) bool { _, ok := u.at[class[i]]; return ok })
		if !packed && !external[i] {
			u := fresh()
			add(u, i, 0)
			u.bytes = p.Buffers[i].Size
			units = append(units, u)
		}
	}
	sort.SliceStable(units, func(i, j int) bool {
		a, b := units[i], units[j]
		if a.start != b.start {
			return a.start < b.start
		}
		if a.bytes != b.bytes {
			return a.bytes > b.bytes
		}
		return a.key < b.key
	})
	at := map[int]int64{}
	type block struct{ lo, hi, start, end int64 }
	var placed []block
	for _, u := range units {
		var busy []block
		for _, q := range placed {
			if q.start <= u.end && u.start <= q.end {
				busy = append(busy, q)
			}
		}
		sort.Slice(busy, func(i, j int) bool {
			return busy[i].lo < busy[j].lo || busy[i].lo == busy[j].lo && busy[i].hi < busy[j].hi
		})
		off := int64(0)
		for _, q := range busy {
			if off+u.bytes <= q.lo {
				break
			}
			off = max(off, (q.hi+u.align-1)/u.align*u.align)
		}
		arena = max(arena, off+u.bytes)
		placed = append(placed, block{off, off + u.bytes, u.start, u.end})
		for c, within := range u.at {
			at[c] = off + within
		}
	}
	slots = map[int]slot{}
	for i, b := range p.Buffers {
		if external[i] {
			continue
		}
		rows := max(b.Rows, 1)
		s := slot{at[class[i]], b.Size / rows}
		if stride, ok := strides[class[i]]; ok {
			s.stride = stride
		}
		slots[i] = s
	}
	return slots, arena
}

func TestSeedAgreesWithItsRule(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p := traits{n: 2 + rng.IntN(20), aliases: true, packs: true, rowPacks: true, external: true}.problem(rng)
		for i := range p.Buffers {
			p.Buffers[i].End = max(p.Buffers[i].End, p.Buffers[i].Start+1)
		}
		plan := solve(t, p, Seed)
		slots, arena := seedRule(p)
		if plan.Arena != arena {
			t.Fatalf("seed %d: arena: got %d, want %d", seed, plan.Arena, arena)
		}
		for i, want := range slots {
			if got := (slot{plan.Offsets[i], plan.RowStride[i]}); got != want {
				t.Fatalf("seed %d: buffer %d: got %v, want %v", seed, i, got, want)
			}
		}
	}
}
