package move

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	inner "github.com/stowage-ml/stowage/internal/simd/move"
	"github.com/stowage-ml/stowage/tensor"
)

// gather picks runs of inner elements, out of n of them, for each of the outer indices.
type gather struct {
	outer, n, inner, picks int
	tasks                  int
}

// Gather returns the kernels of operator Gather.
func Gather(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "gather")
	x, at := o.In[0], o.In[1]
	if m == nil || at.DType != tensor.Int64 && at.DType != tensor.Int32 {
		return nil, nil
	}
	axis := axisOf(o.Node.Attrs.Int("axis", 0), len(x.Shape))
	g := &gather{outer: product(x.Shape[:axis]), n: int(x.Shape[axis]), inner: product(x.Shape[axis+1:]),
		picks: product(at.Shape)}
	bytes := g.outer * g.picks * g.inner * m.size
	g.tasks = 1
	if o.Threads > 1 {
		g.tasks = max(1, min(bytes/share, g.outer*g.picks, 4*o.Threads))
	}
	c := backend.Candidate{Name: m.name, Source: "go", Kernel: g.kernel(m.size), Stream: 0.1}
	if g.inner*m.size >= 64 {
		c.Stream = 0.6
	}
	return []backend.Candidate{c}, nil
}

func product(s []int64) int {
	n := 1
	for _, d := range s {
		n *= int(d)
	}
	return n
}

func (g *gather) kernel(size int) backend.Kernel {
	switch size {
	case 1:
		return gatherOf[uint8](g)
	case 2:
		return gatherOf[uint16](g)
	case 4:
		return gatherOf[uint32](g)
	case 8:
		return gatherOf[uint64](g)
	}
	return gatherOf[complex128](g)
}

func gatherOf[T inner.Word](g *gather) backend.Kernel {
	task := func(c *backend.Call, i, _ int) {
		dst, src := tensor.Cast[T](c.Out[0].Data), tensor.Cast[T](c.In[0].Data)
		lo, hi := g.outer*g.picks*i/g.tasks, g.outer*g.picks*(i+1)/g.tasks
		for lo < hi {
			row, k := lo/g.picks, lo%g.picks
			n := min(g.picks-k, hi-lo)
			if c.In[1].DType == tensor.Int64 {
				pick(g, dst[lo*g.inner:], src[row*g.n*g.inner:], tensor.Cast[int64](c.In[1].Data)[k:k+n])
			} else {
				pick(g, dst[lo*g.inner:], src[row*g.n*g.inner:], tensor.Cast[int32](c.In[1].Data)[k:k+n])
			}
			lo += n
		}
	}
	return func(c *backend.Call) error {
		var err error
		if c.In[1].DType == tensor.Int64 {
			err = g.check(tensor.Cast[int64](c.In[1].Data), nil)
		} else {
			err = g.check(nil, tensor.Cast[int32](c.In[1].Data))
		}
		if err == nil && g.outer*g.picks*g.inner > 0 {
			c.Par(g.tasks, task)
		}
		return err
	}
}

// check looks at all indices before anything is written.
func (g *gather) check(wide []int64, narrow []int32) error {
	n := int64(g.n)
	for i, v := range wide {
		if v < -n || v >= n {
			return fmt.Errorf("indices: element %d: got %d, want one in [%d, %d]", i, v, -n, n-1)
		}
	}
	for i, v := range narrow {
		if int64(v) < -n || int64(v) >= n {
			return fmt.Errorf("indices: element %d: got %d, want one in [%d, %d]", i, v, -n, n-1)
		}
	}
	return nil
}

func pick[T inner.Word, I int32 | int64](g *gather, dst, src []T, at []I) {
	for i, k := range at {
		from := int(k)
		if from < 0 {
			from += g.n
		}
		if g.inner == 1 {
			dst[i] = src[from]
			continue
		}
		copy(dst[i*g.inner:(i+1)*g.inner], src[from*g.inner:])
	}
}
