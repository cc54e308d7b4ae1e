package selector

import (
	"math"
	"math/bits"
	"sync"
)

// Fingerprint is what a pick by Tiers depends on, coarsely: for each arm its fit and its device's
// load, and its time and its device's free memory in half octaves.
type Fingerprint []byte

// fields is how many bytes of a fingerprint an arm has: fit and load, time, free memory.
const fields = 3

// gone marks an arm on a device that cannot be used.
const gone = 0xff

// AppendFingerprint appends the fingerprint of a branch's arms, so that one for several branches
// can be made without allocating.
func AppendFingerprint(f Fingerprint, arms []Arm, s *Signals) Fingerprint {
	for i := range arms {
		a := &arms[i]
		d := s.at(a.Device)
		e := eyes{signals: s}
		if !e.can(a) {
			f = append(f, gone, 0, 0)
			continue
		}
		fit, load := e.worst(a)
		ns, _ := s.latency(a)
		free := int64(0)
		if d.HasMemory {
			free = d.Free
		}
		f = append(f, byte(fit)<<4|byte(load), bucket(ns), bucket(free))
	}
	return f
}

// bucket returns the half octave of a number: 0 for 0 and less, else 1 + ⌊2·log₂ v⌋.
func bucket(v int64) byte {
	if v <= 0 {
		return 0
	}
	octave := bits.Len64(uint64(v)) - 1
	b := byte(2*octave + 1)
	if float64(v) >= math.Sqrt2*float64(uint64(1)<<octave) {
		b++
	}
	return b
}

// near reports whether two fingerprints are of the same arms with the same fits and loads, and
// all amounts within a bucket of each other: so a value that jitters about the edge of a bucket is
// no change.
func (f Fingerprint) near(g Fingerprint) bool {
	if len(f) != len(g) {
		return false
	}
	for i := range f {
		if i%fields == 0 && f[i] != g[i] {
			return false
		}
		if d := int(f[i]) - int(g[i]); d < -1 || d > 1 {
			return false
		}
	}
	return true
}

// Routes keeps what was resolved under signals that were nearly the same: R is an arm for each
// branch, say. It holds a few of them, the one used longest ago leaves first. The zero Routes is empty.
// It is safe for concurrent use.
type Routes[R any] struct {
	mu    sync.Mutex
	kept  []kept[R]
	clock uint64
}

type kept[R any] struct {
	print Fingerprint
	route R
	used  uint64
}

// maxRoutes is how many routes are kept.
const maxRoutes = 16

// Get returns a route that was put for signals near these.
func (c *Routes[R]) Get(f Fingerprint) (route R, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.kept {
		if k := &c.kept[i]; k.print.near(f) {
			c.clock++
			k.used = c.clock
			return k.route, true
		}
	}
	return route, false
}

// Put keeps a route, instead of one for signals near these when there is one.
func (c *Routes[R]) Put(f Fingerprint, route R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	k := kept[R]{append(Fingerprint(nil), f...), route, c.clock}
	oldest := 0
	for i := range c.kept {
		if c.kept[i].print.near(f) {
			c.kept[i] = k
			return
		}
		if c.kept[i].used < c.kept[oldest].used {
			oldest = i
		}
	}
	if len(c.kept) < maxRoutes {
		c.kept = append(c.kept, k)
		return
	}
	c.kept[oldest] = k
}

// Clear forgets all routes: after a change that fingerprints do not show, such as another plan.
func (c *Routes[R]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = nil
}
