package place

import (
	"math/rand/v2"
	"testing"
)

func TestEveryNodeHasARunnerUpAMarginAndAReason(t *testing.T) {
	p := fanOut()
	s := solve(t, p, Auto)
	got, err := Explain(p, s)
	if err != nil {
		t.Fatal(err)
	}
	want := []Choice{
		{0, cpu, gpu, 1048582, ItsCopies},
		{1, cpu, gpu, 1 + 1048586 + 14 - 100, ItsCopies},
		{2, cpu, -1, 0, OnlyDevice},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("node %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestNoRoomIsAReason(t *testing.T) {
	p := two(1, 0, costs(100, 1))
	p.Nodes[0].Bytes, p.Capacity = []int64{8, 8}, []int64{Unlimited, 4}
	got, err := Explain(p, solve(t, p, Auto))
	if want := (Choice{0, cpu, gpu, -99, NoRoom}); err != nil || got[0] != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestMarginsAreWhatMovingOneNodeAdds(t *testing.T) {
	for seed := range seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 31))
		p := random(rng, shape{nodes: 1 + rng.IntN(12), devices: 2 + rng.IntN(2), relay: seed%2 == 0})
		s := solve(t, p, Greedy)
		choices, err := Explain(p, s)
		if err != nil {
			t.Fatal(err)
		}
		for v, c := range choices {
			least := int64(-1)
			x := append([]int(nil), s.Device...)
			for d := range p.Devices {
				if x[v] = d; d != s.Device[v] {
					if cost := worth(p, x); cost >= 0 && (least < 0 || cost < least) {
						least = cost
					}
				}
			}
			if (c.RunnerUp < 0) != (least < 0) || least >= 0 && s.Cost+c.Margin != least {
				t.Fatalf("seed %d, node %d: got %+v, want a margin of %d ns", seed, v, c, least-s.Cost)
			}
		}
	}
}
