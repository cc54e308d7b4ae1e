package arena

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// network is a problem as a deep network poses it: a chain of n buffers of a few sizes, some of
// which wait for a later reader, and views that alias them.
func network(n int, seed uint64) *Problem {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &Problem{Align: 64}
	for i := range n {
		b := Buffer{Size: 4 << rng.IntN(16) * (1 + rng.Int64N(8)), Start: int64(i), End: int64(i + 2)}
		switch rng.IntN(10) {
		case 0:
			b.End += rng.Int64N(40)
		case 1:
			if i > 0 {
				b.Size = p.Buffers[i-1].Size
				p.Aliases = append(p.Aliases, Alias{Out: i, In: i - 1})
			}
		}
		p.Buffers = append(p.Buffers, b)
	}
	return p
}

func BenchmarkNetwork(b *testing.B) {
	for _, strategy := range Strategies() {
		for _, n := range []int{100, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/%d", strategy, n), func(b *testing.B) {
				p := network(n, 1)
				b.ReportAllocs()
				var plan *Plan
				for b.Loop() {
					var err error
					if plan, err = Solve(context.Background(), p, Options{Strategy: strategy}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(plan.Arena)/float64(plan.LowerBound), "arena/bound")
				b.ReportMetric(float64(plan.Nodes), "nodes")
			})
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	p := network(1000, 1)
	plan, err := Solve(context.Background(), p, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Validate(p, plan); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkShared(b *testing.B) {
	for _, name := range dataFiles(b) {
		p := readFile(b, name)
		for _, strategy := range Strategies() {
			b.Run(filepath.Base(name)+"/"+strategy, func(b *testing.B) {
				var plan *Plan
				for b.Loop() {
					var err error
					if plan, err = Solve(context.Background(), p, Options{Strategy: strategy}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(plan.Arena)/float64(plan.LowerBound), "arena/bound")
				b.ReportMetric(float64(plan.Nodes), "nodes")
			})
		}
	}
}
