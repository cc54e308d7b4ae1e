package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var shapeKernels = checkedAll([]entry{
	{op: "Identity", types: []types{movable}, make: makeCopy},
	{op: "Shape", types: []types{movable}, make: makeShape},
	{op: "Size", types: []types{movable}, make: makeSize},
	{op: "Reshape", types: []types{movable, indices}, make: makeCopy},
	{op: "Squeeze", types: []types{movable, indices}, make: makeCopy},
	{op: "Unsqueeze", types: []types{movable, indices}, make: makeCopy},
	{op: "Flatten", types: []types{movable}, make: makeCopy},
	{op: "ConstantOfShape", types: []types{indices}, make: makeConstantOfShape},
	{op: "Expand", types: []types{movable, indices}, make: makeExpand},
	{op: "Range", types: []types{numbers}, make: makeRange},
	{op: "EyeLike", types: []types{numbers | bools}, make: makeEyeLike},
})

// makeCopy serves every operator whose output is its first input's bytes under another shape.
func makeCopy(*backend.Op) (prepared, error) {
	return run(func(c *backend.Call) error {
		copy(c.Out[0].Data, c.In[0].Data)
		copy(c.Out[0].Strs, c.In[0].Strs)
		return nil
	})
}

func makeShape(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	start, n := o.Node.Attrs.Int("start", 0), o.Out[0].Shape[0]
	if start < 0 {
		start += int64(len(shape))
	}
	start = max(start, 0)
	return run(func(c *backend.Call) error {
		if n > 0 {
			copy(tensor.Cast[int64](c.Out[0].Data), shape[start:start+n])
		}
		return nil
	})
}

func makeSize(o *backend.Op) (prepared, error) {
	n := int64(count(o.In[0].Shape))
	return run(func(c *backend.Call) error {
		tensor.Cast[int64](c.Out[0].Data)[0] = n
		return nil
	})
}

func makeConstantOfShape(o *backend.Op) (prepared, error) {
	value := o.Node.Attrs.Tensor("value")
	if value == nil {
		value = tensor.Scalar(float32(0))
	}
	one := backend.ViewOf(value)
	m, n := moverOf(one.DType), count(o.Out[0].Shape)
	return run(func(c *backend.Call) error {
		m.begin(&c.Out[0])
		m.run(&c.Out[0], &one, 0, 0, n, 1, 0)
		return nil
	})
}

func makeExpand(o *backend.Op) (prepared, error) {
	from, to := o.In[0].Shape, o.Out[0].Shape
	if err := checkSpread(from, to); err != nil {
		return prepared{}, err
	}
	m, w := moverOf(o.In[0].DType), newWalk(to, stepsOf(to), spread(from, to))
	return run(func(c *backend.Call) error {
		m.begin(&c.Out[0])
		m.walk(&w, &c.Out[0], &c.In[0], 0, 0)
		return nil
	})
}

var ranges = perType[backend.Kernel]{
	F32: rangeOf[float32], F64: rangeOf[float64],
	F16:  func(c *backend.Call) error { return rangeOfHalf(c, tensor.HalfOf) },
	BF16: func(c *backend.Call) error { return rangeOfHalf(c, tensor.BrainOf) },
	I8:   rangeOf[int8], I16: rangeOf[int16], I32: rangeOf[int32], I64: rangeOf[int64],
	U8: rangeOf[uint8], U16: rangeOf[uint16], U32: rangeOf[uint32], U64: rangeOf[uint64],
}

func makeRange(o *backend.Op) (prepared, error) { return run(ranges.of(o.In[0].DType)) }

// rangeOf sets element i to start + i·delta.
func rangeOf[T number](c *backend.Call) error {
	start, delta := elems[T](&c.In[0])[0], elems[T](&c.In[2])[0]
	for i, dst := 0, elems[T](&c.Out[0]); i < len(dst); i++ {
		dst[i] = start + T(i)*delta
	}
	return nil
}

func rangeOfHalf[T halfFloat](c *backend.Call, round func(float32) T) error {
	start, delta := elems[T](&c.In[0])[0].Float32(), elems[T](&c.In[2])[0].Float32()
	for i, dst := 0, elems[T](&c.Out[0]); i < len(dst); i++ {
		dst[i] = round(start + float32(i)*delta)
	}
	return nil
}

// makeEyeLike writes ones on the diagonal that lies k to the right of the main one.
func makeEyeLike(o *backend.Op) (prepared, error) {
	if !(numbers | bools).has(o.Out[0].DType) {
		return prepared{}, fmt.Errorf("ref: dtype: got %v, want %v", o.Out[0].DType, numbers|bools)
	}
	rows, cols := int(o.Out[0].Shape[0]), int(o.Out[0].Shape[1])
	k := int(max(min(o.Node.Attrs.Int("k", 0), math.MaxInt32), math.MinInt32))
	one := func(v *backend.View, i int) { setFloat(v.DType, v.Data, i, 1) }
	switch dt := o.Out[0].DType; {
	case dt == tensor.Bool:
		one = func(v *backend.View, i int) { v.Data[i] = 1 }
	case dt.IsInt():
		one = func(v *backend.View, i int) { setInt(v, i, 1) }
	}
	return run(func(c *backend.Call) error {
		clear(c.Out[0].Data)
		for r := range rows {
			if col := r + k; col >= 0 && col < cols {
				one(&c.Out[0], r*cols+col)
			}
		}
		return nil
	})
}
