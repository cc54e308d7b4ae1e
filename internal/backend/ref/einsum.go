package ref

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// einsum walks the result and, for each element of it, what is summed.
type einsum struct {
	operands    int
	result, sum walk
}

func makeEinsum(o *backend.Op) (prepared, error) {
	if len(o.In) > maxOperands {
		return prepared{}, fmt.Errorf("inputs: got %d, want at most %d", len(o.In), maxOperands)
	}
	ranks, all := make([]int, len(o.In)), make([]int, len(o.In))
	for i := range o.In {
		ranks[i], all[i] = len(o.In[i].Shape), i
	}
	if err := sameType(o, all...); err != nil {
		return prepared{}, err
	}
	e, err := op.ParseEinsum(o.Node.Attrs.Str("equation", ""), ranks)
	if err != nil {
		return prepared{}, err
	}
	extents, err := labelExtents(o, e)
	if err != nil {
		return prepared{}, err
	}
	var summed []int
	for label := range e.Labels {
		if !slices.Contains(e.Out, label) {
			summed = append(summed, label)
		}
	}
	if len(e.Out) > tensor.MaxRank || len(summed) > tensor.MaxRank {
		return prepared{}, fmt.Errorf("equation: got %d letters in the result and %d summed, want at most %d",
			len(e.Out), len(summed), tensor.MaxRank)
	}
	k := einsum{operands: len(o.In), result: labelWalk(o, e, extents, e.Out), sum: labelWalk(o, e, extents, summed)}
	return run(einsumTable.of(o.In[0].DType)(&k))
}

// labelExtents returns how far each label runs: the extents that it stands for, which are equal
// or 1.
func labelExtents(o *backend.Op, e *op.Einsum) (tensor.Shape, error) {
	extents := make(tensor.Shape, e.Labels)
	for i := range extents {
		extents[i] = 1
	}
	for i, axes := range e.In {
		for j, label := range axes {
			d := o.In[i].Shape[j]
			if d != 1 && extents[label] != 1 && d != extents[label] {
				return nil, fmt.Errorf("input %d: got shape %v, want %d along dimension %d", i, o.In[i].Shape, extents[label], j)
			}
			if d != 1 {
				extents[label] = d
			}
		}
	}
	return extents, nil
}

// labelWalk goes through the given labels, in all operands side by side. A label that an operand
// does not have, or has with extent 1, repeats its elements; one that it has twice goes along
// the diagonal.
func labelWalk(o *backend.Op, e *op.Einsum, extents tensor.Shape, labels []int) walk {
	shape := make(tensor.Shape, len(labels))
	operands := make([]steps, len(o.In))
	for k, label := range labels {
		shape[k] = extents[label]
		for i, axes := range e.In {
			dense := stepsOf(o.In[i].Shape)
			for j, l := range axes {
				if l == label && o.In[i].Shape[j] != 1 {
					operands[i][k] += dense[j]
				}
			}
		}
	}
	return newWalk(shape, operands...)
}

var einsumTable = perType[func(*einsum) backend.Kernel]{
	F32: einsumOf[float32, float64], F64: einsumOf[float64, float64],
	I8: einsumOf[int8, int64], I16: einsumOf[int16, int64], I32: einsumOf[int32, int64], I64: einsumOf[int64, int64],
	U8: einsumOf[uint8, uint64], U16: einsumOf[uint16, uint64], U32: einsumOf[uint32, uint64],
	U64: einsumOf[uint64, uint64],
}

func einsumOf[T number, A accumulator](e *einsum) backend.Kernel {
	return func(c *backend.Call) error {
		var x [maxOperands][]T
		for i := range e.operands {
			x[i] = elems[T](&c.In[i])
		}
		y, at := elems[T](&c.Out[0]), 0
		for off := range e.result.runs {
			for range e.result.n {
				y[at] = T(sumProducts[T, A](e, &x, off))
				at++
				for i := range off {
					off[i] += e.result.inner[i]
				}
			}
		}
		return nil
	}
}

// sumProducts adds up, over all summed labels, the product of one element of each operand.
func sumProducts[T number, A accumulator](e *einsum, x *[maxOperands][]T, base offsets) A {
	var acc A
	for off := range e.sum.runs {
		for i := range off {
			off[i] += base[i]
		}
		for range e.sum.n {
			p := A(1)
			for i := range e.operands {
				p *= A(x[i][off[i]])
				off[i] += e.sum.inner[i]
			}
			acc += p
		}
	}
	return acc
}
