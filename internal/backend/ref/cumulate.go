package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// cumulation is CumSum or CumProd.
type cumulation struct {
	shape                       tensor.Shape
	product, exclusive, reverse bool
}

func makeCumulation(o *backend.Op) (prepared, error) {
	r := &cumulation{o.In[0].Shape, o.Node.Op == "CumProd", o.Node.Attrs.Int("exclusive", 0) != 0,
		o.Node.Attrs.Int("reverse", 0) != 0}
	if n := count(o.In[1].Shape); n != 1 {
		return prepared{}, fmt.Errorf("axis: got %d numbers, want 1", n)
	}
	return run(cumulateTable.of(o.In[0].DType)(r))
}

var cumulateTable = perType[func(*cumulation) backend.Kernel]{
	F32: cumulateOf[float32, float64], F64: cumulateOf[float64, float64],
	I8: cumulateOf[int8, int64], I16: cumulateOf[int16, int64], I32: cumulateOf[int32, int64],
	I64: cumulateOf[int64, int64], U8: cumulateOf[uint8, uint64], U16: cumulateOf[uint16, uint64],
	U32: cumulateOf[uint32, uint64], U64: cumulateOf[uint64, uint64],
}

func cumulateOf[T number, A accumulator](r *cumulation) backend.Kernel {
	return func(c *backend.Call) error {
		axis, rank := intAt(&c.In[1], 0), int64(len(r.shape))
		if axis < -rank || axis >= rank {
			return fmt.Errorf("axis: got %d, want one in [%d, %d]", axis, -rank, rank-1)
		}
		b := bandOf(r.shape, int((axis+rank)%rank))
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		if len(y) == 0 {
			return nil
		}
		for i := range b.outer {
			for j := range b.inner {
				at := i*b.n*b.inner + j
				cumulateLine[T, A](r, x[at:], y[at:], b.n, b.inner)
			}
		}
		return nil
	}
}

func cumulateLine[T number, A accumulator](r *cumulation, x, y []T, n, step int) {
	var acc A
	if r.product {
		acc = 1
	}
	at := 0
	if r.reverse {
		at, step = (n-1)*step, -step
	}
	for range n {
		v := A(x[at])
		if r.exclusive {
			y[at] = T(acc)
		}
		if r.product {
			acc *= v
		} else {
			acc += v
		}
		if !r.exclusive {
			y[at] = T(acc)
		}
		at += step
	}
}
