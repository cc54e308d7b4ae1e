package place

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// seeds is the number of random problems of each kind.
func seeds(t testing.TB, n int) uint64 {
	if testing.Short() {
		return uint64(n) / 10
	}
	return uint64(n)
}

func TestExactEqualsBruteForce(t *testing.T) {
	for _, c := range []struct {
		devices, nodes, seeds int
		relay                 bool
	}{
		{1, 10, 50, false}, {2, 10, 1000, false}, {3, 10, 700, false}, {4, 10, 500, false},
		{3, 7, 200, true}, {4, 6, 150, true}, {2, 8, 100, true},
	} {
		t.Run(fmt.Sprintf("%d devices, %d nodes, relay %v", c.devices, c.nodes, c.relay), func(t *testing.T) {
			for seed := range seeds(t, c.seeds) {
				rng := rand.New(rand.NewPCG(seed, uint64(c.devices)))
				p := random(rng, shape{nodes: 1 + rng.IntN(c.nodes), devices: c.devices, relay: c.relay})
				want := brute(p)
				for _, strategy := range []string{Exact, Auto} {
					s := solve(t, p, strategy)
					if s.Cost != want || !s.Proven {
						t.Fatalf("seed %d: %s: got %d ns, proven %v, by %s, want %d ns, proven\n%+v", seed, strategy, s.Cost, s.Proven,
							s.Method, want, p)
					}
				}
			}
		})
	}
}
