package backend

import (
	"sync"

	"github.com/stowage-ml/stowage/tensor"
)

// Consts keeps what kernels make of constants (packed weights, sums of columns), so that plans for
// other shapes, and other sessions of the same model, share it. It is safe for concurrent use. The
// nil Consts keeps nothing.
type Consts struct {
	// Used, when set, is told of each constant that something has been made of: it is seldom read
	// again. It is set before the first use.
	Used func(of *tensor.Tensor)

	mu   sync.Mutex
	made map[constKey]*made

	pool sync.Mutex
	// mapped is the memory of what was made; room is what is left of its last parts.
	mapped, room [][]byte
	total        int64
}

type constKey struct {
	of  *tensor.Tensor
	how string
}

type made struct {
	once sync.Once
	data any
}

// Get returns what make made of a constant the first time it was asked to make it so: how names
// the form and everything that it depends on beside the contents.
func (c *Consts) Get(of *tensor.Tensor, how string, make func() any) any {
	if c == nil {
		return make()
	}
	c.mu.Lock()
	k := constKey{of, how}
	if c.made == nil {
		c.made = map[constKey]*made{}
	}
	m := c.made[k]
	if m == nil {
		m = &made{}
		c.made[k] = m
	}
	c.mu.Unlock()
	m.once.Do(func() {
		m.data = make()
		if c.Used != nil {
			c.Used(of)
		}
	})
	return m.data
}

// poolParts bounds how many parts with room left are looked at.
const poolParts = 4

// partBytes returns the size of the pool's next part when total bytes are in use: a little for a small model,
// then at least one large page, which takes less time to touch than its tenth in small ones.
func partBytes(total int64) int64 {
	if total == 0 {
		return 128 << 10
	}
	return min(max(total, 2<<20), 4<<20)
}

// Bytes returns n zero bytes, at a multiple of 64, for what is made of a constant. They live outside the
// Go heap until Release; those of the nil Consts, or that cannot be had, are of the heap.
func (c *Consts) Bytes(n int) []byte {
	if c == nil || n <= 0 {
		return make([]byte, n)
	}
	c.pool.Lock()
	defer c.pool.Unlock()
	need := (n + 63) &^ 63
	for i := range c.room {
		if r := c.room[i]; len(r) >= need {
			c.room[i] = r[need:]
			return r[:n:n]
		}
	}
	b, err := MapPages(max(int64(need), partBytes(c.total)))
	if err != nil {
		return make([]byte, n)
	}
	c.mapped, c.total = append(c.mapped, b), c.total+int64(len(b))
	c.room = append(c.room, b[need:])
	if len(c.room) > poolParts {
		c.room = c.room[1:]
	}
	return b[:n:n]
}

// Floats is Bytes for n float32.
func (c *Consts) Floats(n int) []float32 {
	if c == nil {
		return make([]float32, n)
	}
	return tensor.Cast[float32](c.Bytes(4 * n))
}

// Release gives the memory of Bytes back, and forgets all that was made. Nothing may use it any more.
func (c *Consts) Release() error {
	c.mu.Lock()
	c.made = nil
	c.mu.Unlock()
	c.pool.Lock()
	defer c.pool.Unlock()
	var first error
	for _, b := range c.mapped {
		if err := UnmapPages(b); err != nil && first == nil {
			first = err
		}
	}
	c.mapped, c.room, c.total = nil, nil, 0
	return first
}
