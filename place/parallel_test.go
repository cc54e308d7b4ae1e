package place

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// parallel looks for a shorter span and checks the times of what comes.
func parallel(t *testing.T, p *Problem) *Schedule {
	t.Helper()
	s := solve(t, p, Auto)
	got, err := Parallel(context.Background(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kept && !slices.Equal(got.Device, s.Device) || got.Span > got.SumSpan || got.Bound > got.Span {
		t.Fatalf("got %+v for %v, want a span between the bound and that of the solution", got, s.Device)
	}
	if !got.Kept && got.Span*100 > got.SumSpan*(100-MinGain) {
		t.Fatalf("got a span of %d ns for %d ns, want the solution kept", got.Span, got.SumSpan)
	}
	for v, d := range got.Device {
		if got.Finish[v]-got.Start[v] != p.Nodes[v].Cost[d] || got.Finish[v] > got.Span {
			t.Fatalf("node %d: got %d to %d ns of %d ns on %d", v, got.Start[v], got.Finish[v], got.Span, d)
		}
		for u, e := range got.Device {
			if u < v && d == e && got.Start[u] < got.Finish[v] && got.Start[v] < got.Finish[u] {
				t.Fatalf("nodes %d and %d: got both on device %d at once", u, v, d)
			}
		}
	}
	for _, tensor := range p.Tensors {
		for _, v := range tensor.To {
			if u := tensor.From; u >= 0 {
				least := got.Finish[u]
				if a, b := got.Device[u], got.Device[v]; a != b {
					least += p.transfer(a, b, tensor.Bytes)
				}
				if got.Start[v] < least {
					t.Fatalf("node %d: got a start at %d ns, want at least %d ns, when its input is there", v, got.Start[v], least)
				}
			}
		}
	}
	return got
}

func TestIndependentBranchesRunAtOnce(t *testing.T) {
	// Two branches of 100 ns on either device: one after the other is the least sum, and takes 200 ns.
	p := two(10, 0, costs(100, 100), costs(100, 100))
	p.Tensors = []Tensor{left(0, 4), left(1, 4)}
	got := parallel(t, p)
	if got.SumSpan != 200 || got.Span != 110 || got.Kept {
		t.Errorf("got %+v, want 110 ns rather than 200 ns", got)
	}
}

func TestSumStaysWhereTheGainIsSmall(t *testing.T) {
	p := two(98, 0, costs(100, 100), costs(100, 100))
	p.Tensors = []Tensor{left(0, 4), left(1, 4)}
	if got := parallel(t, p); got.Span != 200 || !got.Kept {
		t.Errorf("got %+v, want 200 ns: 198 ns are not worth it", got)
	}
}

func TestCopiesOfOnePairWaitForEachOther(t *testing.T) {
	p := two(50, 0, costs(Cannot, 1), costs(Cannot, 1))
	p.Tensors = []Tensor{given(4, 0), given(4, 1), left(0, 4), left(1, 4)}
	// In: 0–50 and 50–100; nodes at 50–51 and 100–101; out: 51–101 and 101–151.
	if got := parallel(t, p); got.Span != 151 || !slices.Equal(got.Start, []int64{50, 100}) {
		t.Errorf("got %+v, want 151 ns, with starts at 50 and 100 ns", got)
	}
}

func TestSpanComesNearTheBestOfAllPlacements(t *testing.T) {
	worst, mean, count := 1.0, 0.0, 0
	for seed := range seeds(t, 150) {
		rng := rand.New(rand.NewPCG(seed, 43))
		p := random(rng, shape{nodes: 2 + rng.IntN(6), devices: 2 + rng.IntN(2)})
		for i := range p.Tensors {
			// A view may be late for its reader by the rest of its tensor: not what is checked here.
			if p.Tensors[i].From == View {
				p.Tensors[i] = Tensor{From: Fixed}
			}
		}
		got := parallel(t, p)
		sim := newSimulator(mustModel(t, p))
		best := got.Span
		x := make([]int, len(p.Nodes))
		var try func(v int)
		try = func(v int) {
			if v == len(x) {
				best = min(best, sim.run(x))
				return
			}
			for d := range p.Devices {
				if x[v] = d; p.Nodes[v].Cost[d] != Cannot {
					try(v + 1)
				}
			}
		}
		try(0)
		if best > 0 {
			ratio := float64(got.Span) / float64(best)
			worst, mean, count = max(worst, ratio), mean+ratio, count+1
		}
	}
	t.Logf("%.3f of the best span on average, %.3f at worst", mean/float64(count), worst)
	if mean/float64(count) > 1.025 {
		t.Errorf("got %.3f of the best span on average, want at most 1.025", mean/float64(count))
	}
}
