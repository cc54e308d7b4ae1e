package arena

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// traits says what a random problem may contain.
type traits struct {
	n                                               int
	aliases, packs, rowPacks, external, gaps, pools bool
	fixed, block                                    bool
}

// everything is a random problem with any constraint.
func everything(n int) traits { return traits{n, true, true, true, true, true, true, true, true} }

// problem makes a valid problem.
func (tr traits) problem(rng *rand.Rand) *Problem {
	p := &Problem{Align: 1 << rng.IntN(4)}
	for range tr.n {
		start := rng.Int64N(12) - 3
		b := Buffer{Size: rng.Int64N(40), Start: start, End: start + rng.Int64N(6), Rows: rng.Int64N(4)}
		if rng.IntN(4) == 0 {
			b.Align = 1 << rng.IntN(5)
		}
		if tr.gaps && rng.IntN(4) == 0 {
			b.More = append(b.More, Span{start + 4, start + 6}, Span{start - 5, start - 3})
		}
		if tr.pools && rng.IntN(4) == 0 {
			b.Pool = "b"
		}
		p.Buffers = append(p.Buffers, b)
	}
	if tr.block {
		p.Block = 512
	}
	free := rng.Perm(tr.n)
	take := func(k int) []int {
		k = min(k, len(free))
		out := free[:k]
		free = free[k:]
		return out
	}
	if tr.external {
		p.External = append(p.External, take(rng.IntN(2))...)
	}
	if tr.rowPacks && len(free) > 0 && rng.IntN(2) == 0 {
		p.RowPacks = append(p.RowPacks, p.randomRowPack(rng, take(1+rng.IntN(3)), take(rng.IntN(2))))
	}
	if tr.packs && rng.IntN(2) == 0 {
		members := take(rng.IntN(4))
		for _, i := range members {
			p.Buffers[i].Pool = p.Buffers[members[0]].Pool
		}
		p.Packs = append(p.Packs, members)
	}
	for tr.aliases && len(free) > 0 && rng.IntN(3) > 0 {
		i := take(1)[0]
		p.randomAlias(rng, i, free)
	}
	if tr.fixed && rng.IntN(2) == 0 {
		p.pinSome(rng)
	}
	return p
}

// randomRowPack makes buffers fit to be in one row pack.
func (p *Problem) randomRowPack(rng *rand.Rand, members, over []int) RowPack {
	rows, row := 1+rng.Int64N(4), int64(0)
	for _, i := range members {
		b := &p.Buffers[i]
		b.Rows, b.Pool = rows, p.Buffers[members[0]].Pool
		b.Size = b.Size / rows * rows
		row += b.Size / rows
	}
	k := RowPack{Members: members}
	if len(over) > 0 {
		b := &p.Buffers[over[0]]
		b.Rows, b.Size, b.Pool = rows, row*rows, p.Buffers[members[0]].Pool
		k.Over = &over[0]
	}
	return k
}

// randomAlias makes buffer i an alias of one that is not external, and not free to change.
func (p *Problem) randomAlias(rng *rand.Rand, i int, free []int) {
	j := rng.IntN(len(p.Buffers))
	if slices.Contains(p.External, j) || slices.Contains(free, j) {
		return
	}
	b, o := &p.Buffers[i], &p.Buffers[j]
	b.Size, b.Pool, b.Rows = o.Size, o.Pool, o.Rows
	if p.Aliases = append(p.Aliases, Alias{Out: i, In: j}); p.aliasCycle() != nil {
		p.Aliases = p.Aliases[:len(p.Aliases)-1]
	}
}

// pinSome fixes some buffers where the seed's rule puts them.
func (p *Problem) pinSome(rng *rand.Rand) {
	plan, err := Solve(context.Background(), p, Options{Strategy: Seed})
	if err != nil {
		panic(err)
	}
	for i := range p.Buffers {
		if plan.Offsets[i] != Unplaced && rng.IntN(4) == 0 {
			p.Buffers[i].Fixed = new(plan.Offsets[i])
		}
	}
}

// guillotine cuts a rectangle of the given time and height into n boxes, so that the height is
// the best arena and the lower bound.
func guillotine(rng *rand.Rand, n int, time, height int64) *Problem {
	type rect struct{ t0, t1, lo, hi int64 }
	list := []rect{{0, time, 0, height}}
	for tries := 0; len(list) < n && tries < 100*n; tries++ {
		k := rng.IntN(len(list))
		r := list[k]
		if rng.IntN(2) == 0 && r.t1-r.t0 > 1 {
			cut := r.t0 + 1 + rng.Int64N(r.t1-r.t0-1)
			list[k].t1 = cut
			list = append(list, rect{cut, r.t1, r.lo, r.hi})
		} else if r.hi-r.lo > 1 {
			cut := r.lo + 1 + rng.Int64N(r.hi-r.lo-1)
			list[k].hi = cut
			list = append(list, rect{r.t0, r.t1, cut, r.hi})
		}
	}
	p := &Problem{Align: 1}
	for _, r := range list {
		p.Buffers = append(p.Buffers, Buffer{Size: r.hi - r.lo, Start: r.t0, End: r.t1})
	}
	return p
}

func TestGeneratedProblemsAreValid(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		p := everything(2 + rng.IntN(20)).problem(rng)
		if _, err := newModel(p); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// solve solves p within a budget that is enough for most small problems, and checks the plan.
func solve(t testing.TB, p *Problem, strategy string) *Plan {
	t.Helper()
	plan, err := Solve(context.Background(), p, Options{Strategy: strategy, Budget: 4000})
	if err != nil {
		t.Fatalf("%s: %v", strategy, err)
	}
	if err := Validate(p, plan); err != nil {
		t.Fatalf("%s: %v", strategy, err)
	}
	return plan
}
