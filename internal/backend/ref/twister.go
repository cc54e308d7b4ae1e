package ref

import (
	"math"
	"math/rand/v2"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

const (
	twisterWords = 624
	twisterShift = 397
	// twisterScratch is the scratch memory of a kernel that draws numbers.
	twisterScratch = twisterWords * 4
)

// twister is the Mersenne Twister MT19937 of Matsumoto and Nishimura (1998), seeded and read as
// numpy's RandomState does: the operators' reference implementation draws from that, so that a
// node with a seed gives the same numbers here. Its state lies in memory that the caller lends.
type twister struct {
	state []uint32
	next  int
	// spare is the second number of a pair of normal ones.
	spare    float64
	hasSpare bool
}

// newTwister seeds a generator in the first twisterScratch bytes of scratch.
func newTwister(scratch []byte, seed uint32) twister {
	t := twister{state: tensor.Cast[uint32](scratch)[:twisterWords], next: twisterWords}
	t.state[0] = seed
	for i := 1; i < twisterWords; i++ {
		x := t.state[i-1]
		t.state[i] = 1812433253*(x^x>>30) + uint32(i)
	}
	return t
}

// seedOf returns the node's seed, or chance's when it has none.
func seedOf(n *graph.Node) uint32 {
	if a := n.Attrs.Get("seed"); a != nil {
		if a.Kind == graph.AttrInt {
			return uint32(a.Int)
		}
		return uint32(toInt(float64(a.Float)))
	}
	return rand.Uint32()
}

func (t *twister) twist() {
	for i := range t.state {
		y := t.state[i]&0x80000000 | t.state[(i+1)%twisterWords]&0x7fffffff
		v := t.state[(i+twisterShift)%twisterWords] ^ y>>1
		if y&1 == 1 {
			v ^= 0x9908b0df
		}
		t.state[i] = v
	}
	t.next = 0
}

func (t *twister) word() uint32 {
	if t.next == twisterWords {
		t.twist()
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// uniform returns a number in [0, 1), a multiple of 2⁻⁵³.
func (t *twister) uniform() float64 {
	a, b := t.word()>>5, t.word()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

// normal returns a number of the standard normal distribution, by Marsaglia's polar method.
func (t *twister) normal() float64 {
	if t.hasSpare {
		t.hasSpare = false
		return t.spare
	}
	for {
		x, y := 2*t.uniform()-1, 2*t.uniform()-1
		if r := x*x + y*y; r < 1 && r != 0 {
			f := math.Sqrt(-2 * math.Log(r) / r)
			t.spare, t.hasSpare = f*x, true
			return f * y
		}
	}
}
