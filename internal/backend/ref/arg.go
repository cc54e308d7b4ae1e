package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// argmax is a search for the largest (or smallest) element along an axis.
type argmax struct {
	band
	least, last bool
}

func makeArg(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	axis, err := axisOf(o, "axis", 0)
	if err != nil {
		return prepared{}, err
	}
	a := argmax{bandOf(shape, axis), o.Node.Op == "ArgMin", o.Node.Attrs.Int("select_last_index", 0) != 0}
	return run(argTable.of(o.In[0].DType)(a))
}

// axisOf returns the dimension of the first input that an attribute names.
func axisOf(o *backend.Op, name string, def int64) (int, error) {
	return (&op.Ctx{Node: o.Node}).AxisAttr(name, def, len(o.In[0].Shape))
}

var argTable = perType[func(argmax) backend.Kernel]{
	F32: argOf[float32], F64: argOf[float64], I8: argOf[int8], I16: argOf[int16], I32: argOf[int32],
	I64: argOf[int64], U8: argOf[uint8], U16: argOf[uint16], U32: argOf[uint32], U64: argOf[uint64],
}

func argOf[T number](a argmax) backend.Kernel {
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), tensor.Cast[int64](c.Out[0].Data)
		if a.n == 0 {
			clear(y)
			return nil
		}
		for i := range a.outer {
			for j := range a.inner {
				y[i*a.inner+j] = int64(argLine(a, x[i*a.n*a.inner+j:]))
			}
		}
		return nil
	}
}

// argLine returns the place of the winner among the elements that begin with x[0]. A NaN wins
// over every number; among equals the first wins, or the last if so asked.
func argLine[T number](a argmax, x []T) int {
	best, win := 0, x[0]
	for k := 1; k < a.n; k++ {
		v := x[k*a.inner]
		better := v > win
		if a.least {
			better = v < win
		}
		if win != win {
			better = false
		} else if v != v {
			better = true
		}
		if better || a.last && v == win {
			best, win = k, v
		}
	}
	return best
}
