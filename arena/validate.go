package arena

import "math"

// Validate checks a plan against its problem, from the problem's text alone: it shares no code
// with what made the plan. It finds live buffers that share a byte and are not aliases, and
// anything that is not where alignment, aliases, packs, row packs, fixed offsets, blocks and
// capacities want it; totals that do not add up; and a lower bound whose evidence does not hold.
// Every error unwraps to ErrInvalid. It takes O(n log n) time, and more where row packs overlap
// other buffers' range of bytes.
func Validate(p *Problem, plan *Plan) error {
	v := &verifier{p: p, plan: plan}
	for _, check := range []func() error{
		v.shape, v.indices, v.classes, v.places, v.packs, v.rowPacks, v.strides, v.overlaps, v.reach, v.totals, v.bounds,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// verifier is the state of one Validate.
type verifier struct {
	p    *Problem
	plan *Plan
	// owner marks what is external; class names the alias class of each buffer, by one member.
	external []bool
	class    []int
	// pack and rowPack tell which pack a class is in, −1 for none.
	pack, rowPack []int
	// live counts the buffers of each class that are live; it is all zero between two pools.
	live []int
	// ends is where each pool's last byte lies.
	ends map[string]int64
}

func (v *verifier) bad(i int, format string, args ...any) error {
	return v.p.fail(ErrInvalid, i, format, args...)
}

func (v *verifier) wrong(format string, args ...any) error {
	return v.p.failAll(ErrInvalid, "plan: "+format, args...)
}

func (v *verifier) shape() error {
	n := len(v.p.Buffers)
	if len(v.plan.Offsets) != n || len(v.plan.RowStride) != n {
		return v.wrong("got %d offsets and %d row strides, want %d", len(v.plan.Offsets), len(v.plan.RowStride), n)
	}
	return nil
}

func (v *verifier) indices() error {
	all := append([]int(nil), v.p.External...)
	for _, a := range v.p.Aliases {
		all = append(all, a.Out, a.In)
	}
	for _, k := range v.p.Packs {
		all = append(all, k...)
	}
	for _, k := range v.p.RowPacks {
		all = append(all, k.Members...)
		if k.Over != nil {
			all = append(all, *k.Over)
		}
	}
	for _, i := range all {
		if i < 0 || i >= len(v.p.Buffers) {
			return v.wrong("a constraint names buffer %d, want one of %d", i, len(v.p.Buffers))
		}
	}
	v.external = make([]bool, len(v.p.Buffers))
	for _, i := range v.p.External {
		v.external[i] = true
	}
	return nil
}

// classes labels alias classes by walking the aliases as a graph, and checks that aliases coincide.
func (v *verifier) classes() error {
	near := make(map[int][]int)
	for _, a := range v.p.Aliases {
		near[a.Out] = append(near[a.Out], a.In)
		near[a.In] = append(near[a.In], a.Out)
		out, in := v.p.Buffers[a.Out], v.p.Buffers[a.In]
		if v.external[a.Out] || v.external[a.In] || out.Size != in.Size || out.Pool != in.Pool {
			return v.bad(a.Out, "cannot be an alias of %q", v.p.name(a.In))
		}
		if v.plan.Offsets[a.Out] != v.plan.Offsets[a.In] {
			return v.bad(a.Out, "offset: got %d B, want %d B like its alias %q",
				v.plan.Offsets[a.Out], v.plan.Offsets[a.In], v.p.name(a.In))
		}
	}
	v.class = make([]int, len(v.p.Buffers))
	for i := range v.class {
		v.class[i] = -1
	}
	for i := range v.class {
		if v.class[i] >= 0 {
			continue
		}
		for todo := []int{i}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if v.class[at] < 0 {
				v.class[at] = i
				todo = append(todo, near[at]...)
			}
		}
	}
	return nil
}

// places checks each buffer by itself.
func (v *verifier) places() error {
	for i, b := range v.p.Buffers {
		at := v.plan.Offsets[i]
		if v.external[i] {
			if at != Unplaced {
				return v.bad(i, "offset: got %d B, want %d for an external buffer", at, Unplaced)
			}
			continue
		}
		if b.Size < 0 || at < 0 || at > math.MaxInt64-b.Size {
			return v.bad(i, "got %d B at %d B, want both at least 0 B and their sum an int64", b.Size, at)
		}
		if b.Fixed != nil && at != *b.Fixed {
			return v.bad(i, "offset: got %d B, want %d B, where it is fixed", at, *b.Fixed)
		}
		block := v.limits(b.Pool).Block
		if block > 0 && b.Size > 0 && at/block != (at+b.Size-1)/block {
			return v.bad(i, "got %d B at %d B, want no multiple of the block, %d B, inside", b.Size, at, block)
		}
	}
	return nil
}

func (v *verifier) limits(pool string) Pool {
	found := Pool{Capacity: v.p.Capacity, Block: v.p.Block}
	for _, q := range v.p.Pools {
		if q.Name == pool {
			found = q
		}
	}
	return found
}

// wants is the alignment that buffer i asks for.
func (v *verifier) wants(i int) int64 {
	a := v.p.Buffers[i].Align
	if a == 0 {
		a = v.p.Align
	}
	if a == 0 {
		a = DefaultAlign
	}
	return a
}

// join notes that the class of buffer i is in a pack.
func (v *verifier) join(list []int, i, k int) error {
	if v.external[i] {
		return v.bad(i, "is external and in a pack")
	}
	c := v.class[i]
	if v.pack[c] >= 0 || v.rowPack[c] >= 0 {
		return v.bad(i, "is in two packs, or twice in one")
	}
	list[c] = k
	return nil
}

// packs checks that packs lie back to back, and the alignment of everything.
func (v *verifier) packs() error {
	v.pack, v.rowPack = make([]int, len(v.class)), make([]int, len(v.class))
	for i := range v.class {
		v.pack[i], v.rowPack[i] = -1, -1
	}
	first := make(map[int]int64)
	for k, members := range v.p.Packs {
		if err := v.joinAll(v.pack, members, k); err != nil {
			return err
		}
		for j, i := range members {
			if j == 0 {
				first[k] = v.plan.Offsets[i]
				continue
			}
			prev := members[j-1]
			want := v.plan.Offsets[prev] + v.p.Buffers[prev].Size
			if got := v.plan.Offsets[i]; got != want {
				return v.bad(i, "offset: got %d B, want %d B, right behind %q", got, want, v.p.name(prev))
			}
		}
	}
	for k, r := range v.p.RowPacks {
		if err := v.joinAll(v.rowPack, r.Members, k); err != nil {
			return err
		}
		if len(r.Members) > 0 {
			first[-1-k] = v.plan.Offsets[r.Members[0]]
		}
		if r.Over != nil {
			if err := v.join(v.rowPack, *r.Over, k); err != nil {
				return err
			}
		}
	}
	return v.aligned(first)
}

// joinAll notes that a pack has these members, and checks that they lie together.
func (v *verifier) joinAll(list []int, members []int, k int) error {
	for _, i := range members {
		if err := v.join(list, i, k); err != nil {
			return err
		}
	}
	return v.oneBlock(members)
}

// oneBlock checks that a pack lies in one pool and does not cross a block.
func (v *verifier) oneBlock(members []int) error {
	if len(members) == 0 {
		return nil
	}
	lo, hi := int64(math.MaxInt64), int64(0)
	head := v.p.Buffers[members[0]]
	for _, i := range members {
		if v.p.Buffers[i].Pool != head.Pool {
			return v.bad(i, "pool: got %q, want %q like the rest of its pack", v.p.Buffers[i].Pool, head.Pool)
		}
		if b := v.p.Buffers[i]; b.Size > 0 {
			lo = min(lo, v.plan.Offsets[i])
			hi = max(hi, v.plan.Offsets[i]+v.extent(i))
		}
	}
	if block := v.limits(head.Pool).Block; block > 0 && hi > lo && lo/block != (hi-1)/block {
		return v.bad(members[0], "pack: got bytes %d to %d, want no multiple of the block, %d B, inside", lo, hi, block)
	}
	return nil
}

// aligned checks every buffer's alignment; first holds the first byte of each pack.
func (v *verifier) aligned(first map[int]int64) error {
	for i := range v.p.Buffers {
		if v.external[i] {
			continue
		}
		at := v.plan.Offsets[i]
		if k := v.pack[v.class[i]]; k >= 0 {
			at = first[k]
		} else if k := v.rowPack[v.class[i]]; k >= 0 {
			at = first[-1-k]
		}
		want := v.wants(i)
		if want <= 0 || want&(want-1) != 0 {
			return v.bad(i, "alignment: got %d B, want a power of two", want)
		}
		if at%want != 0 {
			return v.bad(i, "offset: got %d B, want a multiple of %d B", at, want)
		}
	}
	return nil
}
