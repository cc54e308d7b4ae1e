package arena

import (
	"math"
	"slices"
)

// totals checks the sums of the plan.
func (v *verifier) totals() error {
	var sum, arena, bound int64
	for i, b := range v.p.Buffers {
		if b.Size > math.MaxInt64-sum {
			return v.bad(i, "size: %d B and %d B before it overflow", b.Size, sum)
		}
		sum += b.Size
	}
	if v.plan.Materialized != sum {
		return v.wrong("materialised bytes: got %d, want %d", v.plan.Materialized, sum)
	}
	seen := make(map[string]bool)
	for _, pool := range v.plan.Pools {
		if seen[pool.Name] {
			return v.wrong("pool %q is there twice", pool.Name)
		}
		seen[pool.Name] = true
		if pool.Arena != v.ends[pool.Name] {
			return v.wrong("pool %q: got arena %d B, want %d B, the end of its last buffer",
				pool.Name, pool.Arena, v.ends[pool.Name])
		}
		if pool.Bound.Bytes > pool.Arena {
			return v.wrong("pool %q: got a lower bound of %d B above its arena, %d B",
				pool.Name, pool.Bound.Bytes, pool.Arena)
		}
		arena, bound = arena+pool.Arena, bound+pool.Bound.Bytes
	}
	for name := range v.ends {
		if !seen[name] {
			return v.wrong("pools: got %d, want every pool that has a buffer", len(v.plan.Pools))
		}
	}
	if v.plan.Arena != arena || v.plan.LowerBound != bound || v.plan.Proven != (arena == bound) {
		return v.wrong("got arena %d B, lower bound %d B, proven %t; the pools add up to %d B and %d B",
			v.plan.Arena, v.plan.LowerBound, v.plan.Proven, arena, bound)
	}
	return nil
}

// bounds checks the evidence of every lower bound.
func (v *verifier) bounds() error {
	for _, pool := range v.plan.Pools {
		b := pool.Bound
		for j, i := range b.Live {
			if i < 0 || i >= len(v.p.Buffers) || v.external[i] || v.p.Buffers[i].Pool != pool.Name {
				return v.wrong("lower bound: got buffer %d, want a placed one of pool %q", i, pool.Name)
			}
			if j > 0 && b.Live[j-1] >= i {
				return v.wrong("lower bound: got buffer %d behind %d, want them in order", i, b.Live[j-1])
			}
		}
		var shown int64
		switch b.Reason {
		case Peak:
			var err error
			if shown, err = v.peak(pool.Name, b); err != nil {
				return err
			}
		case Whole:
			shown = v.whole(b.Live)
		case Fixed:
			if len(b.Live) == 1 {
				shown = v.fixedEnd(b.Live[0])
			}
		}
		if shown < b.Bytes {
			return v.wrong("pool %q: got a lower bound of %d B, its evidence shows %d B", pool.Name, b.Bytes, shown)
		}
	}
	return nil
}

// whole is the bytes that the listed buffers take in one piece: they are one buffer, or a pack.
func (v *verifier) whole(list []int) int64 {
	var sum int64
	seen := make(map[int]bool)
	for _, i := range list {
		c := v.class[i]
		if seen[c] || v.unit(i) != v.unit(list[0]) {
			return 0
		}
		seen[c] = true
		sum += v.p.Buffers[i].Size
	}
	if len(list) > 0 && v.isPack(v.unit(list[0])) {
		return min(sum, v.packSize(v.unit(list[0])))
	}
	return sum
}

// unit is what buffer i is placed with: its pack, its row pack, or just its alias class.
type unit struct {
	kind byte
	at   int
}

func (v *verifier) unit(i int) unit {
	c := v.class[i]
	switch {
	case v.pack[c] >= 0:
		return unit{'p', v.pack[c]}
	case v.rowPack[c] >= 0:
		return unit{'r', v.rowPack[c]}
	}
	return unit{'c', c}
}

func (v *verifier) isPack(u unit) bool { return u.kind != 'c' }

// fixedEnd is where the item of buffer i must end, because a buffer of the item is fixed.
func (v *verifier) fixedEnd(i int) int64 {
	if v.p.Buffers[i].Fixed == nil {
		return 0
	}
	end := v.plan.Offsets[i] + v.p.Buffers[i].Size
	for j := range v.p.Buffers {
		if !v.external[j] && v.unit(j) == v.unit(i) {
			end = max(end, v.plan.Offsets[j]+v.extent(j))
		}
	}
	return end
}

// peak is the room that the listed buffers, all live at one instant, cannot do without. A buffer
// that is in no pack, and a pack all of which is listed, begins at a multiple of the smallest
// alignment of the pool, and so do its successors: only what a loose piece follows, or nothing,
// does without its padding.
func (v *verifier) peak(pool string, b Bound) (int64, error) {
	grain := v.grain(pool)
	seen := make(map[int]bool)
	listed, pieces := make(map[unit]int64), make(map[unit]int64)
	var sum int64
	for _, i := range b.Live {
		buf := v.p.Buffers[i]
		alive := buf.Start <= b.Time && b.Time < buf.End
		for _, s := range buf.More {
			alive = alive || s.Start <= b.Time && b.Time < s.End
		}
		if !alive || seen[v.class[i]] {
			return 0, v.bad(i, "lower bound: is not live at %d, or is there twice", b.Time)
		}
		seen[v.class[i]] = true
		sum += buf.Size
		listed[v.unit(i)] += buf.Size
		pieces[v.unit(i)]++
	}
	var loose int64
	var padding []int64
	for u, size := range listed {
		switch {
		case !v.isPack(u) || size == v.packSize(u):
			padding = append(padding, (grain-size%grain)%grain)
		case size > v.packSize(u):
			return 0, v.wrong("lower bound: a row pack is listed beside the buffer it is over")
		case u.kind == 'r' && v.rowsOf(v.p.RowPacks[u.at].Members[0]) > 1:
			return sum, nil
		default:
			loose += pieces[u]
		}
	}
	slices.Sort(padding)
	for j := range max(0, int64(len(padding))-1-loose) {
		sum += padding[j]
	}
	return sum, nil
}

// packSize is the size of a pack or row pack.
func (v *verifier) packSize(u unit) (size int64) {
	members := v.p.Packs
	if u.kind == 'r' {
		members = [][]int{v.p.RowPacks[u.at].Members}
		u.at = 0
	}
	for _, i := range members[u.at] {
		size += v.p.Buffers[i].Size
	}
	return size
}

// grain is a number of bytes that every unit of a pool begins at a multiple of.
func (v *verifier) grain(pool string) int64 {
	wants := make(map[unit]int64)
	for i, b := range v.p.Buffers {
		if !v.external[i] && b.Pool == pool {
			wants[v.unit(i)] = max(wants[v.unit(i)], v.wants(i))
		}
	}
	g := int64(1) << 62
	for _, w := range wants {
		g = min(g, w)
	}
	return g
}
