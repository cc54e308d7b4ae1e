package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// merge joins n elements of the updates, from element s on, with those of the first output from
// element d on.
type merge func(c *backend.Call, d, s, n int)

// scatterPlan says where updates go, and sends them there through m.
type scatterPlan func(o *backend.Op, m merge) (backend.Kernel, error)

// scatterer makes an operator that copies its first input and merges updates, its third input,
// into it.
func scatterer(plan scatterPlan) maker {
	return func(o *backend.Op) (prepared, error) {
		reduction := o.Node.Attrs.Str("reduction", "none")
		switch {
		case reduction == "none":
			return overwriter(2, plan)(o)
		case !(numbers | bools).has(o.In[0].DType):
			return prepared{}, fmt.Errorf("data: got %v, want %v for a reduction", o.In[0].DType, numbers|bools)
		}
		if err := sameType(o, 0, 2); err != nil {
			return prepared{}, err
		}
		return asFloat32(func(o *backend.Op) (prepared, error) {
			m := mergeTable.of(o.In[0].DType)(reduction)
			if m == nil {
				return prepared{}, fmt.Errorf("reduction: got %q, want none, add, mul, max or min", reduction)
			}
			return scatter(o, plan, m)
		})(o)
	}
}

// overwriter makes an operator that copies its first input and overwrites some of it with
// another input's elements.
func overwriter(updates int, plan scatterPlan) maker {
	return func(o *backend.Op) (prepared, error) {
		if err := sameType(o, 0, updates); err != nil {
			return prepared{}, err
		}
		width := widthOf(o.In[0].DType)
		return scatter(o, plan, func(c *backend.Call, d, s, n int) {
			blit(&c.Out[0], d, &c.In[updates], s, n, width)
		})
	}
}

func scatter(o *backend.Op, plan scatterPlan, m merge) (prepared, error) {
	k, err := plan(o, m)
	if err != nil {
		return prepared{}, err
	}
	return run(func(c *backend.Call) error {
		copy(c.Out[0].Data, c.In[0].Data)
		copy(c.Out[0].Strs, c.In[0].Strs)
		return k(c)
	})
}

var mergeTable = perType[func(string) merge]{
	F32: mergeOf[float32], F64: mergeOf[float64], I8: mergeOf[int8], I16: mergeOf[int16], I32: mergeOf[int32],
	I64: mergeOf[int64], U8: mergeOf[uint8], U16: mergeOf[uint16], U32: mergeOf[uint32], U64: mergeOf[uint64],
	Bool: mergeOf[uint8],
}

// mergeOf returns the merge that a reduction names; nil when there is none. A NaN stays a NaN.
func mergeOf[T number](reduction string) merge {
	var join func(a, b T) T
	switch reduction {
	case "add":
		join = func(a, b T) T { return a + b }
	case "mul":
		join = func(a, b T) T { return a * b }
	case "max":
		join = func(a, b T) T { return max(a, b) }
	case "min":
		join = func(a, b T) T { return min(a, b) }
	default:
		return nil
	}
	return func(c *backend.Call, d, s, n int) {
		dst, src := tensor.Cast[T](c.Out[0].Data)[d:d+n], tensor.Cast[T](c.In[2].Data)[s:s+n]
		for i, v := range src {
			dst[i] = join(dst[i], v)
		}
	}
}

func planScatterElements(o *backend.Op, m merge) (backend.Kernel, error) {
	axis, err := axisOf(o, "axis", 0)
	if err != nil {
		return nil, err
	}
	data, idx := o.In[0].Shape, o.In[1].Shape
	if !idx.Equal(o.In[2].Shape) {
		return nil, fmt.Errorf("updates: got shape %v, want %v as the indices have", o.In[2].Shape, idx)
	}
	if err := fitsBeside(idx, data, axis); err != nil {
		return nil, err
	}
	w, step := walkBeside(idx, data, axis)
	n := int(data[axis])
	return func(c *backend.Call) error {
		for off := range w.runs {
			for i := range w.n {
				from := off[0] + i*w.inner[0]
				at, err := within(intAt(&c.In[1], from), n, from)
				if err != nil {
					return err
				}
				m(c, off[1]+i*w.inner[1]+at*step, from, 1)
			}
		}
		return nil
	}, nil
}

func planScatterND(o *backend.Op, m merge) (backend.Kernel, error) {
	t, err := tuplesOf(o.In[0].Shape, o.In[1].Shape, 0)
	if err != nil {
		return nil, err
	}
	if got, want := count(o.In[2].Shape), t.perBatch*t.size; got != want {
		return nil, fmt.Errorf("updates: got shape %v with %d elements, want %d", o.In[2].Shape, got, want)
	}
	return func(c *backend.Call) error {
		for k := range t.perBatch {
			to, err := t.at(&c.In[1], k)
			if err != nil {
				return err
			}
			m(c, to, k*t.size, t.size)
		}
		return nil
	}, nil
}

// planTensorScatter writes one block of every batch entry at the place along the axis that the
// entry's write index names; in circular mode a block that reaches the end goes on at the start.
func planTensorScatter(o *backend.Op, m merge) (backend.Kernel, error) {
	axis, err := axisOf(o, "axis", -2)
	if err != nil {
		return nil, err
	}
	data, upd := o.In[0].Shape, o.In[1].Shape
	for i := range upd {
		if len(upd) != len(data) || axis == 0 || upd[i] > data[i] || i != axis && upd[i] != data[i] {
			return nil, fmt.Errorf("update: got shape %v, want %v or less along axis %d", upd, data, axis)
		}
	}
	if w := o.Arg(2); w.Present() && (len(w.Shape) != 1 || w.Shape[0] != data[0]) {
		return nil, fmt.Errorf("write_indices: got shape %v, want [%d]", w.Shape, data[0])
	}
	cache, block := bandOf(data, axis), bandOf(upd, axis)
	perBatch := count(data[1:axis])
	circular := o.Node.Attrs.Str("mode", "linear") == "circular"
	return func(c *backend.Call) error {
		for i := range block.outer {
			start := int64(0)
			if len(c.In) > 2 && c.In[2].DType != tensor.Undefined {
				start = intAt(&c.In[2], i/perBatch)
			}
			room := int64(cache.n)
			if !circular {
				room -= int64(block.n) - 1
			}
			if block.n > 0 && (start < 0 || start >= room) {
				return fmt.Errorf("write_indices: element %d: got %d, want one in [0, %d]", i/perBatch, start, room-1)
			}
			for j := range block.n {
				to := (int(start) + j) % cache.n
				m(c, (i*cache.n+to)*cache.inner, (i*block.n+j)*block.inner, block.inner)
			}
		}
		return nil
	}, nil
}
