package ref

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// wants reports whether the node has output i.
func wants(n *graph.Node, i int) bool { return i < len(n.Outputs) && n.Outputs[i] != graph.NoValue }

// outData returns the memory of output i; nil when the node leaves it out.
func outData(c *backend.Call, i int) []byte {
	if i < len(c.Out) {
		return c.Out[i].Data
	}
	return nil
}

// sameType fails unless the given inputs, as far as they are present, have the first one's type.
func sameType(o *backend.Op, inputs ...int) error {
	want := o.In[inputs[0]].DType
	for _, i := range inputs[1:] {
		if a := o.Arg(i); a.Present() && a.DType != want {
			return fmt.Errorf("input %d: got %v, want %v as input %d has", i, a.DType, want, inputs[0])
		}
	}
	return nil
}

// makeOneHot reads the depth from the output's shape, and indices of any number type, cut to
// whole numbers. From version 11 on negative indices count from the end; those outside the depth
// leave a line of the off value.
func makeOneHot(o *backend.Op) (prepared, error) {
	rank := len(o.In[0].Shape)
	axis := o.Node.Attrs.Int("axis", -1)
	if axis < 0 {
		axis += int64(rank) + 1
	}
	if axis < 0 || axis > int64(rank) || count(o.In[2].Shape) != 2 {
		return prepared{}, fmt.Errorf("axis %d of rank %d with values %v: want an axis of rank %d and two values",
			o.Node.Attrs.Int("axis", -1), rank, o.In[2].Shape, rank+1)
	}
	b := bandOf(o.Out[0].Shape, int(axis))
	width, wraps := widthOf(o.In[2].DType), o.Node.Version >= 11
	return run(func(c *backend.Call) error {
		idx, out := &c.In[0], &c.Out[0]
		for i := range b.outer * b.n * b.inner {
			blit(out, i, &c.In[2], 0, 1, width)
		}
		for i := range b.outer * b.inner {
			at := wholeAt(idx, i)
			if at < 0 && wraps {
				at += int64(b.n)
			}
			if at >= 0 && at < int64(b.n) {
				blit(out, (i/b.inner*b.n+int(at))*b.inner+i%b.inner, &c.In[2], 1, 1, width)
			}
		}
		return nil
	})
}

// wholeAt returns element i of a tensor of any number type, without its fraction.
func wholeAt(v *backend.View, i int) int64 {
	if !floats.has(v.DType) {
		return intAt(v, i)
	}
	x := floatAt(v.DType, v.Data, i)
	if !(x > -1<<62 && x < 1<<62) {
		return -1 << 62
	}
	return int64(x)
}

// nonZero has, for each type, the test of element i.
var nonZero = perType[func(*backend.View, int) bool]{
	F32: isNonZero[float32], F64: isNonZero[float64], I8: isNonZero[int8], I16: isNonZero[int16],
	I32: isNonZero[int32], I64: isNonZero[int64], U8: isNonZero[uint8], U16: isNonZero[uint16],
	U32: isNonZero[uint32], U64: isNonZero[uint64], Bool: isNonZero[uint8], String: isNonZero[string],
	F16: isNonZeroHalf, BF16: isNonZeroHalf, Complex64: isNonZero[complex64], Complex: isNonZero[complex128],
}

func isNonZero[T tensor.Element](v *backend.View, i int) bool {
	var zero T
	return elems[T](v)[i] != zero
}

func isNonZeroHalf(v *backend.View, i int) bool { return tensor.Cast[uint16](v.Data)[i]&0x7fff != 0 }

func makeNonZero(o *backend.Op) (prepared, error) {
	shape, total := o.In[0].Shape, count(o.In[0].Shape)
	test, dense := nonZero.of(o.In[0].DType), stepsOf(shape)
	return run(func(c *backend.Call) error {
		n := 0
		for i := range total {
			if test(&c.In[0], i) {
				n++
			}
		}
		if err := c.Place(0, tensor.Shape{int64(len(shape)), int64(n)}); err != nil {
			return err
		}
		y, k := tensor.Cast[int64](c.Out[0].Data), 0
		for i := 0; i < total && len(y) > 0; i++ {
			if !test(&c.In[0], i) {
				continue
			}
			for d := range shape {
				y[d*n+k] = int64(i / dense[d] % int(shape[d]))
			}
			k++
		}
		return nil
	})
}

func makeCompress(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	b, axis := band{1, count(shape), 1}, -1
	if o.Node.Attrs.Get("axis") != nil {
		a, err := axisOf(o, "axis", 0)
		if err != nil {
			return prepared{}, err
		}
		b, axis = bandOf(shape, a), a
	}
	width := widthOf(o.In[0].DType)
	return run(func(c *backend.Call) error {
		var chosen []int
		for i, ok := range c.In[1].Data {
			switch {
			case ok == 0:
			case i >= b.n:
				return fmt.Errorf("condition: element %d: got true, want false beyond the %d elements", i, b.n)
			default:
				chosen = append(chosen, i)
			}
		}
		out := tensor.Shape{int64(len(chosen))}
		if axis >= 0 {
			out = shape.Clone()
			out[axis] = int64(len(chosen))
		}
		if err := c.Place(0, out); err != nil {
			return err
		}
		for i := range b.outer {
			for k, j := range chosen {
				blit(&c.Out[0], (i*len(chosen)+k)*b.inner, &c.In[0], (i*b.n+j)*b.inner, b.inner, width)
			}
		}
		return nil
	})
}

// topk is a choice of the k first elements of each line, in order.
type topk struct {
	band
	k       int
	largest bool
}

func makeTopK(o *backend.Op) (prepared, error) {
	axis, err := axisOf(o, "axis", -1)
	if err != nil {
		return prepared{}, err
	}
	t := topk{band: bandOf(o.In[0].Shape, axis), largest: o.Node.Attrs.Int("largest", 1) != 0}
	for i := range o.Out {
		if wants(o.Node, i) && o.Out[i].Shape != nil {
			t.k = int(o.Out[i].Shape[axis])
		}
	}
	if t.k > t.n {
		return prepared{}, fmt.Errorf("k: got %d, want at most the %d elements along axis %d", t.k, t.n, axis)
	}
	return prepared{run: topkTable.of(o.In[0].DType)(t), scratch: int64(t.n) * 8}, nil
}

var topkTable = perType[func(topk) backend.Kernel]{
	F32: topkOf[float32], F64: topkOf[float64], I8: topkOf[int8], I16: topkOf[int16], I32: topkOf[int32],
	I64: topkOf[int64], U8: topkOf[uint8], U16: topkOf[uint16], U32: topkOf[uint32], U64: topkOf[uint64],
}

func topkOf[T number](t topk) backend.Kernel {
	return func(c *backend.Call) error {
		x, order := elems[T](&c.In[0]), tensor.Cast[int64](c.Scratch)[:t.n]
		values, indices := tensor.Cast[T](outData(c, 0)), tensor.Cast[int64](outData(c, 1))
		if t.k == 0 {
			return nil
		}
		for i := range t.outer * t.inner {
			line, to := x[i/t.inner*t.n*t.inner+i%t.inner:], i/t.inner*t.k*t.inner+i%t.inner
			sortLine(t, line, order)
			for j, from := range order[:t.k] {
				if len(values) > 0 {
					values[to+j*t.inner] = line[int(from)*t.inner]
				}
				if len(indices) > 0 {
					indices[to+j*t.inner] = from
				}
			}
		}
		return nil
	}
}

// sortLine puts the places of a line's elements in order of rank; of equals the first comes
// first.
func sortLine[T number](t topk, line []T, order []int64) {
	for j := range order {
		order[j] = int64(j)
	}
	slices.SortFunc(order, func(a, b int64) int {
		c := ascending(line[int(a)*t.inner], line[int(b)*t.inner])
		if t.largest {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a, b))
	})
}

// ascending compares two elements; a NaN is larger than every number and equal to a NaN.
func ascending[T cmp.Ordered](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return -cmp.Compare(a, b)
}
