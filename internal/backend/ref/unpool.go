package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// unpool puts elements back where a pool took them from, and zeros everywhere else.
type unpool struct {
	// plain is the shape that the indices count in, out the result's: never of another rank.
	plain, out tensor.Shape
	total      int64
}

func makeMaxUnpool(o *backend.Op) (prepared, error) {
	x, kernel := o.In[0].Shape, o.Node.Attrs.Ints("kernel_shape", nil)
	axes, err := op.TransposedWindows(o.Node.Attrs, graph.Of(x[2:]...), graph.Of(kernel...))
	if err != nil {
		return prepared{}, err
	}
	u := &unpool{plain: x[:2].Clone(), out: o.Out[0].Shape}
	for i := range axes {
		n, _ := axes[i].Out.Int()
		u.plain = append(u.plain, n)
	}
	var ok bool
	if u.total, ok = u.plain.Elements(); !ok {
		return prepared{}, fmt.Errorf("output: got shape %v, want fewer elements", u.plain)
	}
	kernels := bySize[func(*unpool) backend.Kernel]{B1: unpoolKernel[uint8], B2: unpoolKernel[uint16],
		B4: unpoolKernel[uint32], B8: unpoolKernel[uint64], B16: unpoolKernel[complex128]}
	return run(kernels.of(o.In[0].DType)(u))
}

func unpoolKernel[T uint8 | uint16 | uint32 | uint64 | complex128](u *unpool) backend.Kernel {
	return func(c *backend.Call) error {
		x, index, out := elems[T](&c.In[0]), elems[int64](&c.In[1]), elems[T](&c.Out[0])
		clear(out)
		for i, v := range x {
			at, ok := u.place(index[i])
			if !ok {
				return fmt.Errorf("ref: MaxUnpool: index %d: got %d, want an element of %v inside %v",
					i, index[i], u.plain, u.out)
			}
			out[at] = v
		}
		return nil
	}
}

// place returns where in the result the element is that has number i in the plain shape.
func (u *unpool) place(i int64) (at int64, ok bool) {
	if i < 0 || i >= u.total {
		return 0, false
	}
	step := int64(1)
	for d := len(u.plain) - 1; d >= 0; d-- {
		p := i % u.plain[d]
		if p >= u.out[d] {
			return 0, false
		}
		at += p * step
		step *= u.out[d]
		i /= u.plain[d]
	}
	return at, true
}
