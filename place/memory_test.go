package place

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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
	want := `place: capacity: no placement fits: device "cpu": got 60 B, want at least 100 B (40 B more)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	p.Capacity = []int64{120, 20}
	_, err = Solve(context.Background(), p, Options{})
	want = `place: capacity: no placement fits: device "cpu": got 120 B, want at least 150 B (30 B more)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, ErrCapacity) {
		t.Errorf("got %v, want one that is ErrCapacity", err)
	}
}

// vgg is a chain of layers that are costly and heavy, with cheap ones between.
func vgg(rng *rand.Rand, share float64) *Problem {
	p := two(5000, 0.1)
	weights, x := int64(0), -1
	for i := range 13 {
		size := (1 + rng.Int64N(100)) * 100_000
		weights += size
		for j := range 2 {
			n := Node{Name: "n", Cost: []int64{20_000, 6_000}, Bytes: []int64{0, 0}}
			if j == 0 {
				n.Cost = []int64{200_000 + rng.Int64N(2_000_000), 10_000 + rng.Int64N(100_000)}
				n.Bytes = []int64{size, size}
			}
			p.Nodes = append(p.Nodes, n)
			if x >= 0 {
				p.Tensors[x].To = []int{2*i + j}
			}
			p.Tensors = append(p.Tensors, Tensor{From: 2*i + j, Bytes: 200_000 + rng.Int64N(3_000_000)})
			x = len(p.Tensors) - 1
		}
	}
	p.Tensors[x].Out = true
	p.Capacity = []int64{Unlimited, int64(float64(weights) * share)}
	return p
}

func TestCapacityIsNotFilledInTopologicalOrder(t *testing.T) {
	order, worst := 1.0, 1.0
	for seed := range seeds(t, 20) {
		for _, share := range []float64{0.5, 0.7} {
			p := vgg(rand.New(rand.NewPCG(seed, 37)), share)
			best := chainOptimum(p)
			s := solve(t, p, Auto)
			if s.Bound > best {
				t.Fatalf("seed %d: got a bound of %d ns, want at most %d ns", seed, s.Bound, best)
			}
			worst = max(worst, float64(s.Cost)/float64(best))
			order = max(order, float64(solve(t, p, Priority).Cost)/float64(best))
		}
	}
	t.Logf("%.4f of the optimum at worst; in topological order, %.2f", worst, order)
	if worst > 1.01 {
		t.Errorf("got %.4f of the optimum, want at most 1.01", worst)
	}
}

// chainOptimum returns the least cost of a chain on two devices whose second is limited, by keeping
// for each device all pairs of bytes and cost of which no other is better in both.
func chainOptimum(p *Problem) int64 {
	type state struct{ bytes, cost int64 }
	front := [][]state{{{0, 0}}, nil}
	for v, n := range p.Nodes {
		next := make([][]state, 2)
		for to := range 2 {
			var all []state
			for from := range 2 {
				for _, s := range front[from] {
					s.cost += n.Cost[to]
					if v > 0 && from != to {
						s.cost += p.transfer(from, to, p.Tensors[v-1].Bytes)
					}
					if to == 1 {
						s.bytes += n.Bytes[1]
					}
					if s.bytes <= p.Capacity[1] && (v > 0 || from == 0) {
						all = append(all, s)
					}
				}
			}
			slices.SortFunc(all, func(a, b state) int {
				return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.cost, b.cost))
			})
			for _, s := range all {
				if k := len(next[to]); k == 0 || s.cost < next[to][k-1].cost {
					next[to] = append(next[to], s)
				}
			}
		}
		front = next
	}
	best := int64(-1)
	for d, states := range front {
		for _, s := range states {
			cost := s.cost
			if d == 1 {
				cost += p.transfer(1, 0, p.Tensors[len(p.Tensors)-1].Bytes)
			}
			if best < 0 || cost < best {
				best = cost
			}
		}
	}
	return best
}

func TestFullDeviceSendsWorkElsewhere(t *testing.T) {
	p := vgg(rand.New(rand.NewPCG(1, 41)), 0.5)
	s := solve(t, p, Auto)
	choices, err := Explain(p, s)
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[Reason]int)
	for _, c := range choices {
		reasons[c.Reason]++
	}
	if s.Used[1] > p.Capacity[1] || reasons[NoRoom] == 0 {
		t.Errorf("got %d B of %d B and reasons %v, want some node elsewhere for want of room", s.Used[1], p.Capacity[1],
			reasons)
	}
}
