package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

type shortList = [2 * tensor.MaxRank]int64

// makeSlice reads starts, axes and steps in each call; the output's shape is what they gave when
// it was prepared.
func makeSlice(o *backend.Op) (prepared, error) {
	n := o.Node
	in, out := o.In[0].Shape, o.Out[0].Shape
	m := moverOf(o.In[0].DType)
	return run(func(c *backend.Call) error {
		read := stepsOf(in)
		at, err := sliceSteps(n, c, in, out, &read)
		if err != nil {
			return err
		}
		m.begin(&c.Out[0])
		w := newWalk(out, stepsOf(out), read)
		m.walk(&w, &c.Out[0], &c.In[0], 0, at)
		return nil
	})
}

// sliceSteps multiplies the steps of the input by those of the slice, and returns which element
// the slice begins with.
func sliceSteps(n *graph.Node, c *backend.Call, in, out tensor.Shape, read *steps) (int, error) {
	var startBuf, axesBuf, stepBuf shortList
	starts := intsOf(n, "starts", c, 1, &startBuf)
	axes := intsOf(n, "axes", c, 3, &axesBuf)
	steps := intsOf(n, "steps", c, 4, &stepBuf)
	at := 0
	for i, start := range starts {
		axis, err := axisAt(axes, i, len(in))
		if err != nil {
			return 0, err
		}
		step := int64(1)
		if i < len(steps) {
			step = steps[i]
		}
		d := in[axis]
		if start < 0 {
			start += d
		}
		if step > 0 {
			start = min(max(start, 0), d)
		} else {
			start = min(max(start, 0), d-1)
		}
		if out[axis] == 0 {
			return 0, nil
		}
		// |step| ≤ d whenever there is a second element, so the product cannot overflow.
		if last := start; out[axis] > 1 {
			if step > d || step < -d {
				return 0, fmt.Errorf("ref: slice: got step %d along %d elements, want %d elements", step, d, out[axis])
			}
			if last += (out[axis] - 1) * step; last < 0 || last >= d {
				return 0, fmt.Errorf("ref: slice: got element %d of %d along dimension %d", last, d, axis)
			}
		} else if start < 0 || start >= d {
			return 0, fmt.Errorf("ref: slice: got element %d of %d along dimension %d", start, d, axis)
		}
		at += int(start) * read[axis]
		if out[axis] > 1 {
			read[axis] *= int(step)
		}
	}
	return at, nil
}
