package move

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// list returns what some versions of an operator have as an attribute and others as input i; ok is
// false when it is an input whose contents are not known.
func list(o *backend.Op, name string, i int) (v []int64, ok bool) {
	if v := o.Node.Attrs.Ints(name, nil); v != nil {
		return v, true
	}
	a := o.Arg(i)
	switch {
	case !a.Present():
		return nil, true
	case a.Const == nil:
		return nil, false
	case a.DType == tensor.Int64:
		return tensor.Cast[int64](a.Const.Bytes()), true
	case a.DType == tensor.Int32:
		for _, x := range tensor.Cast[int32](a.Const.Bytes()) {
			v = append(v, int64(x))
		}
		return v, true
	}
	return nil, false
}

// Slice returns the kernels of operator Slice when it is known where the slice lies.
func Slice(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "slice")
	starts, ok := list(o, "starts", 1)
	axes, aok := list(o, "axes", 3)
	steps, sok := list(o, "steps", 4)
	if m == nil || !ok || !aok || !sok {
		return nil, nil
	}
	in, out := o.In[0].Shape, o.Out[0].Shape
	dims := whole(out)
	for i, start := range starts {
		axis, step := i, int64(1)
		if axes != nil {
			axis = axisOf(axes[i], len(in))
		}
		if steps != nil {
			step = steps[i]
		}
		n := in[axis]
		if start < 0 {
			start += n
		}
		last := n
		if step < 0 {
			last--
		}
		start = min(max(start, 0), last)
		if out[axis] == 1 {
			step = 1
		}
		if end := start + (out[axis]-1)*step; out[axis] > 0 && (start < 0 || start >= n || end < 0 || end >= n) {
			return nil, nil
		}
		dims[axis].src = side{axis, int(start), int(step)}
	}
	m.add(0, 0, dims...)
	return m.candidates(1, either...), nil
}
