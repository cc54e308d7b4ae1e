package place

import (
	"math/rand/v2"
	"testing"
)

func TestCopyTreesAreCheapest(t *testing.T) {
	for seed := range seeds(t, 2000) {
		rng := rand.New(rand.NewPCG(seed, 29))
		p := random(rng, shape{nodes: 1 + rng.IntN(9), devices: 2 + rng.IntN(4), relay: true})
		m := mustModel(t, p)
		x := lowest(m.dom)
		for v := range x {
			if d := rng.IntN(m.k); m.cost[v*m.k+d] != never {
				x[v] = d
			}
		}
		sum := int64(0)
		for v := range x {
			sum += m.cost[v*m.k+x[v]]
		}
		for _, c := range m.copies(x) {
			sum += c.Cost
		}
		if want := worth(p, x); sum != want || m.total(x) != want {
			t.Fatalf("seed %d: got copies of %d ns in all, priced at %d ns, want %d ns", seed, sum, m.total(x), want)
		}
	}
}

func TestTransfersAreRounded(t *testing.T) {
	for _, c := range []struct {
		latency int64
		rate    float64
		bytes   int64
		want    int64
	}{
		{10, 1, 5, 15}, {0, 0.0625, 8, 1}, {0, 0.0625, 7, 0}, {3, 0.1, 30, 6}, {0, 0, 1<<63 - 1, 0},
		{1, 1, 1<<62 - 4, 1<<62 - 3}, {1, 1, 1 << 62, MaxCost}, {0, 1e300, 1 << 40, MaxCost}, {0, 2.5, 1<<63 - 1, MaxCost},
		{0, 1<<62 + 2048, 1, MaxCost},
	} {
		p := two(c.latency, c.rate)
		if got := p.transfer(0, 1, c.bytes); got != c.want {
			t.Errorf("%d ns + %v ns × %d: got %d ns, want %d ns", c.latency, c.rate, c.bytes, got, c.want)
		}
	}
}
