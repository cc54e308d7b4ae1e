package selector

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestBucketsAreHalfOctaves(t *testing.T) {
	for v, want := range map[int64]byte{-1: 0, 0: 0, 1: 1, 2: 3, 3: 4, 4: 5, 5: 5, 6: 6, 7: 6, 8: 7, math.MaxInt64: 126} {
		if got := bucket(v); got != want {
			t.Errorf("%d: got %d, want %d", v, got, want)
		}
	}
}

// resolver counts how often a route had to be resolved.
type resolver struct {
	routes Routes[int]
	times  int
	print  Fingerprint
}

func (r *resolver) route(arms []Arm, s *Signals) int {
	r.print = AppendFingerprint(r.print[:0], arms, s)
	if got, ok := r.routes.Get(r.print); ok {
		return got
	}
	r.times++
	got := Choose(Tiers, arms, s)
	r.routes.Put(r.print, got)
	return got
}

func TestJitterDoesNotResolveAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	arms := []Arm{{Device: 0, Bytes: 100}, {Device: 1, Bytes: 100}}
	// 1<<20 is the edge of a bucket.
	var now [2]int64
	s := &Signals{Devices: make([]Device, 2), Latency: func(a *Arm) (int64, bool) { return now[a.Device], true }}
	var r resolver
	for range 1000 {
		for i := range s.Devices {
			now[i] = int64(float64(int64(1)<<(20+i)) * (1 + 0.1*(rng.Float64()-0.5)))
			free := int64(float64(int64(1)<<30) * (1 + 0.1*(rng.Float64()-0.5)))
			s.Devices[i] = Device{HasLoad: true, InFlight: rng.IntN(2), Slots: 8, HasMemory: true, Free: free, Total: 1 << 31}
		}
		r.route(arms, s)
	}
	if r.times != 1 {
		t.Errorf("got %d resolutions for jitter of 10 %%, want 1", r.times)
	}
	s.Devices[0].InFlight = 8
	if got := r.route(arms, s); got != 1 || r.times != 2 {
		t.Errorf("saturated: got arm %d after %d resolutions, want 1 after 2", got, r.times)
	}
	s.Devices[0] = Device{HasMemory: true, Free: 99, Total: 1 << 31}
	if got := r.route(arms, s); got != 1 || r.times != 3 {
		t.Errorf("full: got arm %d after %d resolutions, want 1 after 3", got, r.times)
	}
	s.Devices[0] = Device{Lost: true}
	if got := r.route(arms, s); got != 1 || r.times != 4 {
		t.Errorf("lost: got arm %d after %d resolutions, want 1 after 4", got, r.times)
	}
}

func TestRoutesAreThoseOfTheSameTiers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var r resolver
	for range 3000 {
		arms := []Arm{{Device: 0, EstimateNs: 1000, Bytes: 10}, {Device: 1, EstimateNs: 1000, Bytes: 10}}
		s := &Signals{}
		for range 2 {
			s.Devices = append(s.Devices, Device{HasLoad: true, InFlight: rng.IntN(5), Slots: 4, HasMemory: true,
				Free: int64(5 + rng.IntN(3)*20), Total: 100})
		}
		if got, want := r.route(arms, s), Choose(Tiers, arms, s); got != want {
			t.Fatalf("%+v: got arm %d, want %d", s.Devices, got, want)
		}
	}
}

func TestRoutesForgetTheOneUsedLongestAgo(t *testing.T) {
	var c Routes[int]
	print := func(i int) Fingerprint { return Fingerprint{0, byte(2 * i), 0} }
	for i := range maxRoutes + 1 {
		c.Put(print(i), i)
		c.Get(print(0))
	}
	if _, ok := c.Get(print(1)); ok {
		t.Error("the route used longest ago is still there")
	}
	if got, ok := c.Get(print(0)); !ok || got != 0 {
		t.Error("a route in use is gone")
	}
	c.Put(print(0), 7)
	if got, _ := c.Get(print(0)); got != 7 {
		t.Errorf("got %d after it was replaced by 7", got)
	}
	c.Clear()
	if _, ok := c.Get(print(0)); ok {
		t.Error("a route is there after Clear")
	}
}

func TestRoutesServeManyCallers(t *testing.T) {
	var c Routes[int]
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			for i := range 200 {
				f := Fingerprint{0, byte(2 * ((i + caller) % 40)), 0}
				if got, ok := c.Get(f); ok && got != int(f[1]) {
					t.Errorf("got %d for %v", got, f)
				}
				c.Put(f, int(f[1]))
			}
		})
	}
	group.Wait()
}
