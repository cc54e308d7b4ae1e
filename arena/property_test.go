package arena

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestNoStrategyIsWorseThanSeed(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := everything(1 + rng.IntN(30)).problem(rng)
		floor := solve(t, p, Seed)
		for _, strategy := range Strategies() {
			if plan := solve(t, p, strategy); plan.Arena > floor.Arena {
				t.Fatalf("seed %d: %s: got %d B, want at most %d B", seed, strategy, plan.Arena, floor.Arena)
			} else if plan.LowerBound != floor.LowerBound || plan.Materialized != floor.Materialized {
				t.Fatalf("seed %d: %s: bound or materialised bytes depend on the strategy", seed, strategy)
			}
		}
	}
}

func TestReuseNeverRaisesThePeak(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 4))
		p := traits{n: 1 + rng.IntN(30), aliases: true, packs: true, gaps: true}.problem(rng)
		var apart int64
		for i := range p.Buffers {
			b := &p.Buffers[i]
			apart += (b.Size + p.align(b) - 1) / p.align(b) * p.align(b)
		}
		for _, strategy := range Strategies() {
			if plan := solve(t, p, strategy); plan.Arena > apart {
				t.Fatalf("seed %d: %s: got %d B, want at most %d B, all apart", seed, strategy, plan.Arena, apart)
			}
		}
	}
}

func TestSameProblemSamePlan(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := everything(20).problem(rng)
		for _, strategy := range Strategies() {
			first := solve(t, p, strategy)
			if again := solve(t, p, strategy); !reflect.DeepEqual(first, again) {
				t.Fatalf("seed %d: %s: two plans differ", seed, strategy)
			}
		}
	}
}

// TestBoundBestAndPlan compares with brute force: first fit over every order of the units has the
// best arrangement of units among its results.
func TestBoundBestAndPlan(t *testing.T) {
	tight, optimal, total := 0, 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 6))
		tr := everything(1 + rng.IntN(7))
		tr.pools = false
		p := tr.problem(rng)
		plan := solve(t, p, Auto)
		best := bruteForce(p)
		if plan.LowerBound > best {
			t.Fatalf("seed %d: lower bound: got %d B, want at most the best, %d B", seed, plan.LowerBound, best)
		}
		if plan.Arena < best {
			t.Fatalf("seed %d: arena: got %d B, want at least the best, %d B", seed, plan.Arena, best)
		}
		total++
		if plan.LowerBound == best {
			tight++
		}
		if plan.Arena == best {
			optimal++
		}
	}
	if tight < total/2 || optimal < total*9/10 {
		t.Errorf("of %d problems the bound is tight on %d and the plan best on %d", total, tight, optimal)
	}
}

// bruteForce returns the best arena of a problem in one pool.
func bruteForce(p *Problem) int64 {
	m, err := newModel(p)
	if err != nil {
		panic(err)
	}
	boxes := m.task(&m.pools[0], 0, 0).boxes
	best := int64(1 << 62)
	at := make([]int64, len(boxes))
	placed := make([]bool, len(boxes))
	free := func(i int, off int64) bool {
		if p.Block > 0 && boxes[i].size > 0 && off/p.Block != (off+boxes[i].size-1)/p.Block {
			return false
		}
		for j := range boxes {
			if placed[j] && j != i && together(&boxes[i], &boxes[j]) &&
				off < at[j]+boxes[j].size && at[j] < off+boxes[i].size {
				return false
			}
		}
		return true
	}
	var top int64
	for i := range boxes {
		if boxes[i].fixed >= 0 {
			at[i], placed[i] = boxes[i].fixed, true
			if boxes[i].size > 0 {
				top = max(top, at[i]+boxes[i].size)
			}
		}
	}
	var search func(top int64)
	search = func(top int64) {
		if top >= best {
			return
		}
		done := true
		for i := range boxes {
			if placed[i] {
				continue
			}
			done = false
			off := int64(0)
			for !free(i, off) {
				off += boxes[i].align
			}
			at[i], placed[i] = off, true
			search(max(top, off+boxes[i].size))
			placed[i] = false
		}
		if done {
			best = top
		}
	}
	search(top)
	return best
}

// together says whether two boxes have an instant in common, instant by instant.
func together(a, b *box) bool {
	alive := func(x *box, now int64) bool {
		if x.size == 0 {
			return false
		}
		for _, s := range lifeOf(x.start, x.end, x.spans) {
			if s.Start <= now && now < s.End {
				return true
			}
		}
		return false
	}
	for now := int64(-20); now < 40; now++ {
		if alive(a, now) && alive(b, now) {
			return true
		}
	}
	return false
}

func TestGuillotineCutsStayNearTheirHeight(t *testing.T) {
	for _, n := range []int{5, 20, 100, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(n), 7))
			for range 5 {
				p := guillotine(rng, n, 400, 10000)
				plan := solve(t, p, Auto)
				if plan.LowerBound != 10000 {
					t.Errorf("lower bound: got %d, want the height, 10000", plan.LowerBound)
				}
				if plan.Arena > 15000 {
					t.Errorf("arena: got %d, want at most 15000", plan.Arena)
				}
			}
		})
	}
}

func TestContextAndBudget(t *testing.T) {
	p := network(300, 8)
	floor := solve(t, p, Seed)
	full := solve(t, p, Portfolio)
	if full.Arena >= floor.Arena {
		t.Fatal("the portfolio does not improve on the seed here: pick another problem")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if plan, err := Solve(ctx, p, Options{}); plan != nil || err != context.Canceled {
		t.Errorf("cancelled before: got %v, %v, want no plan and %v", plan, err, context.Canceled)
	}
	late := &lateContext{Context: context.Background(), after: 1}
	plan, err := Solve(late, p, Options{})
	if err != nil || !plan.Stopped || plan.Arena != floor.Arena {
		t.Errorf("cancelled at once: got %+v, %v, want the seed's plan, stopped", plan, err)
	}
	plan, err = Solve(context.Background(), p, Options{Budget: 1})
	if err != nil || !plan.Stopped || plan.Arena != floor.Arena || plan.Nodes != floor.Nodes+1 {
		t.Errorf("budget of 1: got %d B after %d nodes, %v, want the seed's plan", plan.Arena, plan.Nodes, err)
	}
	if err := Validate(p, plan); err != nil {
		t.Error(err)
	}
}

// lateContext is done after it has been asked a number of times.
type lateContext struct {
	context.Context
	after int
}

func (c *lateContext) Err() error {
	if c.after--; c.after < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
