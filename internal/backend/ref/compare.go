package ref

import (
	"cmp"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// order is a set of outcomes of a comparison. A NaN has none of them.
type order uint8

const (
	isLess order = 1 << iota
	isEqual
	isGreater
)

// compared is the make of an operator that is true where the outcome is in the set.
func compared(want order) func(*backend.Op) (prepared, error) {
	return func(o *backend.Op) (prepared, error) {
		w, err := pairWalk(o.In[0].Shape, o.In[1].Shape, o.Out[0].Shape)
		if err != nil {
			return prepared{}, err
		}
		return run(comparisons.of(o.In[0].DType)(w, want))
	}
}

var comparisons = perType[func(walk, order) backend.Kernel]{
	F32: compareRun[float32], F64: compareRun[float64],
	F16: compareHalf[tensor.Half], BF16: compareHalf[tensor.Brain],
	I8: compareRun[int8], I16: compareRun[int16], I32: compareRun[int32], I64: compareRun[int64],
	U8: compareRun[uint8], U16: compareRun[uint16], U32: compareRun[uint32], U64: compareRun[uint64],
	Bool: compareBool, String: compareRun[string],
}

func outcome[T cmp.Ordered](a, b T) order {
	switch {
	case a < b:
		return isLess
	case a == b:
		return isEqual
	case a > b:
		return isGreater
	}
	return 0
}

func compareRun[T interface {
	number | string
}](w walk, want order) backend.Kernel {
	return zip(w, func(dst []uint8, a, b []T, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = bit(outcome(a[ia], b[ib])&want != 0)
			ia, ib = ia+sa, ib+sb
		}
	})
}

func compareHalf[T halfFloat](w walk, want order) backend.Kernel {
	return zip(w, func(dst []uint8, a, b []T, sa, sb int) {
		ia, ib := 0, 0
		for i := range dst {
			dst[i] = bit(outcome(a[ia].Float32(), b[ib].Float32())&want != 0)
			ia, ib = ia+sa, ib+sb
		}
	})
}

func compareBool(w walk, want order) backend.Kernel {
	return zip(w, boolRun(func(a, b bool) bool { return outcome(bit(a), bit(b))&want != 0 }))
}

// makeWhere takes each element from the second operand where the first is true, else from the
// third.
func makeWhere(o *backend.Op) (prepared, error) {
	out := o.Out[0].Shape
	for i := range 3 {
		if err := checkSpread(o.In[i].Shape, out); err != nil {
			return prepared{}, err
		}
	}
	w := newWalk(out, stepsOf(out), spread(o.In[0].Shape, out), spread(o.In[1].Shape, out), spread(o.In[2].Shape, out))
	return run(choices.of(o.In[1].DType)(w))
}

var choices = bySize[func(walk) backend.Kernel]{
	B1: choose[uint8], B2: choose[uint16], B4: choose[uint32], B8: choose[uint64],
	B16: choose[complex128], String: choose[string],
}

func choose[T tensor.Element](w walk) backend.Kernel {
	return func(c *backend.Call) error {
		dst, cond := elems[T](&c.Out[0]), c.In[0].Data
		a, b := elems[T](&c.In[1]), elems[T](&c.In[2])
		for off := range w.runs {
			for i := range w.n {
				if cond[off[1]+i*w.inner[1]] != 0 {
					dst[off[0]+i] = a[off[2]+i*w.inner[2]]
				} else {
					dst[off[0]+i] = b[off[3]+i*w.inner[3]]
				}
			}
		}
		return nil
	}
}
