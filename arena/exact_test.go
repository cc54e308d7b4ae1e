package arena

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestExactIsBruteForce(t *testing.T) {
	ended, above := 0, 0
	for seed := range uint64(700) {
		rng := rand.New(rand.NewPCG(seed, 20))
		tr := everything(1 + rng.IntN(7))
		tr.pools, tr.packs, tr.rowPacks = false, false, false
		p := tr.problem(rng)
		plan, err := Solve(context.Background(), p, Options{Strategy: Exact, Budget: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		if err := Validate(p, plan); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !plan.Pools[0].Optimal {
			continue
		}
		ended++
		best := bruteForce(p)
		if plan.Arena != best {
			t.Fatalf("seed %d: got %d B, want the best, %d B", seed, plan.Arena, best)
		}
		if best > plan.LowerBound {
			above++
		}
	}
	if ended < 650 || above < 20 {
		t.Errorf("%d searches ended, %d of them above the bound: too few for the test to mean much", ended, above)
	}
}

func TestExactFindsWhatWasCut(t *testing.T) {
	tests := []struct {
		name string
		make func(rng *rand.Rand, n int, time, height int64) *Problem
		n    int
		// within is the most that the plan may be above the best, in parts of it.
		within float64
	}{
		{"guillotine", guillotine, 20, 0}, {"guillotine", guillotine, 100, 0}, {"guillotine", guillotine, 1000, 0},
		{"guillotine", guillotine, 5000, 0.2},
		{"pinwheel", pinwheel, 25, 0}, {"pinwheel", pinwheel, 101, 0}, {"pinwheel", pinwheel, 1001, 0},
		{"pinwheel", pinwheel, 5001, 0.25},
	}
	for _, c := range tests {
		t.Run(fmt.Sprintf("%s/%d", c.name, c.n), func(t *testing.T) {
			const height = 1 << 20
			p := c.make(rand.New(rand.NewPCG(7, uint64(c.n))), c.n, 1<<20, height)
			plan, err := Solve(context.Background(), p, Options{Budget: 16*int64(c.n) + 10_000})
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(p, plan); err != nil {
				t.Fatal(err)
			}
			if plan.LowerBound != height {
				t.Fatalf("lower bound: got %d B, want the height, %d B", plan.LowerBound, height)
			}
			if got := float64(plan.Arena)/height - 1; got > c.within {
				t.Errorf("got %.4f of the height more than it, want at most %.4f", got, c.within)
			}
		})
	}
}

// pinwheel cuts a rectangle into about n boxes, each cut into five that wind round a middle: no
// straight cut goes through. The height is the best arena and the lower bound.
func pinwheel(rng *rand.Rand, n int, time, height int64) *Problem {
	type rect struct{ t0, t1, lo, hi int64 }
	list := []rect{{0, time, 0, height}}
	for tries := 0; len(list)+4 <= n && tries < 100*n; tries++ {
		k := rng.IntN(len(list))
		r := list[k]
		if r.t1-r.t0 < 3 || r.hi-r.lo < 3 {
			continue
		}
		t0 := r.t0 + 1 + rng.Int64N(r.t1-r.t0-2)
		t1 := t0 + 1 + rng.Int64N(r.t1-t0-1)
		lo := r.lo + 1 + rng.Int64N(r.hi-r.lo-2)
		hi := lo + 1 + rng.Int64N(r.hi-lo-1)
		list[k] = rect{r.t0, t1, r.lo, lo}
		list = append(list, rect{t1, r.t1, r.lo, hi}, rect{t0, r.t1, hi, r.hi},
			rect{r.t0, t0, lo, r.hi}, rect{t0, t1, lo, hi})
	}
	p := &Problem{Align: 1}
	for _, r := range list {
		p.Buffers = append(p.Buffers, Buffer{Size: r.hi - r.lo, Start: r.t0, End: r.t1})
	}
	return p
}

func TestPlansDoNotDependOnProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	p := guillotine(rand.New(rand.NewPCG(1, 1)), 60, 1000, 1000)
	var plans [2]*Plan
	for k := range plans {
		runtime.GOMAXPROCS(k + 1)
		plans[k] = solve(t, p, Exact)
	}
	if !reflect.DeepEqual(plans[0], plans[1]) {
		t.Error("plans of one and of two processors differ")
	}
}

func TestCapacityIsEnough(t *testing.T) {
	for _, name := range dataFiles(t) {
		if !strings.HasSuffix(name, ".1048576.csv") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := readFile(t, name)
			p.Capacity = 1048576
			plan, err := Solve(context.Background(), p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(p, plan); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d nodes", plan.Nodes)
		})
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := guillotine(rand.New(rand.NewPCG(2, 2)), 300, 1<<20, 1<<20)
	m, err := newModel(p)
	if err != nil {
		t.Fatal(err)
	}
	task := m.task(&m.pools[0], 1<<20, 0)
	ans := runSeed(ctx, task)
	before := ans.arena
	cancel()
	task.improve(ctx, &ans, task.bound, 1<<40, 0)
	if !ans.stopped || ans.arena != before {
		t.Errorf("got stopped %t and %d B, want the plan that there was, %d B", ans.stopped, ans.arena, before)
	}
}

// TestUnitsDoNotMatter compares the search in 32 bits with that in 64.
func TestUnitsDoNotMatter(t *testing.T) {
	p := guillotine(rand.New(rand.NewPCG(3, 3)), 80, 1000, 1000)
	small := solve(t, p, Exact)
	for i := range p.Buffers {
		p.Buffers[i].Size = p.Buffers[i].Size<<32 + p.Buffers[i].Size
	}
	large := solve(t, p, Exact)
	for i := range p.Buffers {
		if got, want := large.Offsets[i], small.Offsets[i]<<32+small.Offsets[i]; got != want {
			t.Fatalf("buffer %d: got offset %d, want %d", i, got, want)
		}
	}
}
