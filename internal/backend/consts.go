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
