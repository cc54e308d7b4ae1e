package arena

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// slot is what the seed's rule says of one buffer.
type slot struct{ offset, stride int64 }

// rule is the seed's rule, step by step, on inclusive ranges, for problems in one pool without
// fixed offsets, blocks, gaps and empty lifetimes. It is slow, and shares nothing with the strategy.
type rule struct {
	p        *Problem
	external map[int]bool
	class    map[int]int
	parcels  []*parcel
	strides  map[int]int64
	// at is where each class lies.
	at    map[int]int64
	arena int64
}

// parcel is one thing to place; at says where in it each class lies.
type parcel struct {
	at         map[int]int64
	bytes      int64
	start, end int64
	key        int
	align      int64
}

func seedRule(p *Problem) (slots map[int]slot, arena int64) {
	r := &rule{p: p, external: map[int]bool{}, class: map[int]int{}, strides: map[int]int64{}, at: map[int]int64{}}
	for _, e := range p.External {
		r.external[e] = true
	}
	r.merge()
	r.pack()
	r.place()
	slots = map[int]slot{}
	for i, b := range p.Buffers {
		if r.external[i] {
			continue
		}
		s := slot{r.at[r.class[i]], b.Size / max(b.Rows, 1)}
		if stride, ok := r.strides[r.class[i]]; ok {
			s.stride = stride
		}
		slots[i] = s
	}
	return slots, r.arena
}

func (r *rule) merge() {
	for i := range r.p.Buffers {
		r.class[i] = i
	}
	for _, a := range r.p.Aliases {
		from, to := max(r.class[a.Out], r.class[a.In]), min(r.class[a.Out], r.class[a.In])
		for i := range r.p.Buffers {
			if r.class[i] == from {
				r.class[i] = to
			}
		}
	}
}

func (r *rule) parcel() *parcel {
	u := &parcel{at: map[int]int64{}, start: 1 << 60, end: -1 << 60, key: 1 << 30}
	r.parcels = append(r.parcels, u)
	return u
}

// add puts the class of buffer i into the parcel.
func (r *rule) add(u *parcel, i int, at int64) {
	c := r.class[i]
	u.at[c] = at
	for j, b := range r.p.Buffers {
		if r.class[j] != c || r.external[j] {
			continue
		}
		align := r.p.Align
		if b.Align > 0 {
			align = b.Align
		}
		u.start, u.end = min(u.start, b.Start), max(u.end, b.End-1)
		u.key, u.align = min(u.key, j), max(u.align, align)
	}
}

func (r *rule) pack() {
	for _, k := range r.p.RowPacks {
		u, row := r.parcel(), int64(0)
		rows := max(r.p.Buffers[k.Members[0]].Rows, 1)
		for _, i := range k.Members {
			r.add(u, i, row)
			row += r.p.Buffers[i].Size / rows
		}
		if k.Over != nil {
			r.add(u, *k.Over, 0)
		}
		u.bytes = row * rows
		for c := range u.at {
			r.strides[c] = row
		}
	}
	for _, k := range r.p.Packs {
		u := r.parcel()
		for _, i := range k {
			r.add(u, i, u.bytes)
			u.bytes += r.p.Buffers[i].Size
		}
	}
	for i := range r.p.Buffers {
		packed := slices.ContainsFunc(r.parcels, func(u *parcel) bool { _, ok := u.at[r.class[i]]; return ok })
		if !packed && !r.external[i] {
			u := r.parcel()
			r.add(u, i, 0)
			u.bytes = r.p.Buffers[i].Size
		}
	}
}

func (r *rule) place() {
	sort.SliceStable(r.parcels, func(i, j int) bool {
		a, b := r.parcels[i], r.parcels[j]
		if a.start != b.start {
			return a.start < b.start
		}
		if a.bytes != b.bytes {
			return a.bytes > b.bytes
		}
		return a.key < b.key
	})
	type block struct{ lo, hi, start, end int64 }
	var placed []block
	for _, u := range r.parcels {
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
		r.arena = max(r.arena, off+u.bytes)
		placed = append(placed, block{off, off + u.bytes, u.start, u.end})
		for c, within := range u.at {
			r.at[c] = off + within
		}
	}
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
