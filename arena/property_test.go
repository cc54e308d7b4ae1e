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
		tr.pools, tr.packs, tr.rowPacks = false, false, false
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

// bruteForce returns the best arena of a problem in one pool, its packs taken as blocks.
func bruteForce(p *Problem) int64 {
	m, err := newModel(p)
	if err != nil {
		panic(err)
	}
	s := &search{block: p.Block, boxes: m.task(&m.pools[0], 0, 0).boxes, best: 1 << 62}
	s.at, s.placed = make([]int64, len(s.boxes)), make([]bool, len(s.boxes))
	var top int64
	for i, b := range s.boxes {
		if b.fixed >= 0 {
			s.at[i], s.placed[i] = b.fixed, true
			if b.size > 0 {
				top = max(top, b.fixed+b.size)
			}
		}
	}
	s.run(top)
	return s.best
}

// search tries every order of the boxes.
type search struct {
	block  int64
	boxes  []box
	at     []int64
	placed []bool
	best   int64
}

func (s *search) run(top int64) {
	if top >= s.best {
		return
	}
	done := true
	for i := range s.boxes {
		if s.placed[i] {
			continue
		}
		done = false
		off := int64(0)
		for !s.free(i, off) {
			off += s.boxes[i].align
		}
		s.at[i], s.placed[i] = off, true
		s.run(max(top, off+s.boxes[i].size))
		s.placed[i] = false
	}
	if done {
		s.best = top
	}
}

// free says whether box i fits at the offset.
func (s *search) free(i int, off int64) bool {
	b := &s.boxes[i]
	if s.block > 0 && b.size > 0 && off/s.block != (off+b.size-1)/s.block {
		return false
	}
	for j := range s.boxes {
		o := &s.boxes[j]
		if s.placed[j] && j != i && together(b, o) && off < s.at[j]+o.size && s.at[j] < off+b.size {
			return false
		}
	}
	return true
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

func TestScanAndNearAgree(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 12))
		p := everything(2 + rng.IntN(40)).problem(rng)
		m, err := newModel(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.pools {
			fast, slow := m.task(&m.pools[i], -1, 0), m.task(&m.pools[i], -1, 0)
			slow.scan = true
			a, b := runPortfolio(context.Background(), fast), runPortfolio(context.Background(), slow)
			if fast.near() == nil || slow.near() != nil {
				t.Fatalf("seed %d: both took the same way", seed)
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d: near gives %+v, scan %+v", seed, a, b)
			}
		}
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
