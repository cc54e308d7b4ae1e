package place

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

func TestCapacitiesAreKeptAndNearTheOptimum(t *testing.T) {
	worst, unproven, none := 1.0, 0, 0
	for seed := range seeds(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := random(rng, shape{nodes: 1 + rng.IntN(9), devices: 2 + rng.IntN(3), cap: true, relay: seed%8 == 0})
		want := brute(p)
		for _, strategy := range []string{Exact, Auto} {
			s, err := Solve(context.Background(), p, Options{Strategy: strategy})
			if want < 0 {
				none++
				var full *CapacityError
				if !errors.As(err, &full) || !full.Infeasible || len(full.Needs) == 0 {
					t.Fatalf("seed %d: got %v, want an error that nothing fits", seed, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v, want %d ns", seed, err, want)
			}
			if err := Validate(p, s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if s.Bound > want {
				t.Fatalf("seed %d: got a bound of %d ns by %s for %d ns, want at most %d ns", seed, s.Bound, s.Method, s.Cost, want)
			}
			if !s.Proven {
				unproven++
			}
			worst = max(worst, float64(s.Cost)/float64(max(want, 1)))
		}
	}
	t.Logf("%.4f of the optimum at worst, %d unproven, %d infeasible", worst, unproven, none)
	if worst > 1.01 {
		t.Errorf("got %.4f of the optimum, want at most 1.01", worst)
	}
	if none == 0 {
		t.Error("got no problem where nothing fits, want some")
	}
}

func TestDeficitsAreNamed(t *testing.T) {
	p := two(10, 1, costs(5, Cannot), costs(5, 1))
	p.Nodes[0].Bytes, p.Nodes[1].Bytes = []int64{100, 0}, []int64{50, 50}
	p.Capacity = []int64{60, 20}
	_, err := Solve(context.Background(), p, Options{})
	if want := `place: capacity: no placement fits: device "cpu": got 60 B, want at least 100 B (40 B more)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	p.Capacity = []int64{120, 20}
	_, err = Solve(context.Background(), p, Options{})
	if want := `place: capacity: no placement fits: device "cpu": got 120 B, want at least 150 B (30 B more)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, ErrCapacity) {
		t.Errorf("got %v, want one that is ErrCapacity", err)
	}
}
