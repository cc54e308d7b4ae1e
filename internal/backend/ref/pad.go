package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// margins is how much of the output lies before the input along each dimension; negative where
// the input begins before the output.
type margins [tensor.MaxRank]int

// box plans the move of all that input and output have in common, and returns where it begins in
// each of them.
func box(in, out tensor.Shape, before *margins) (w walk, dst, src int) {
	var shape [tensor.MaxRank]int64
	to, from := stepsOf(out), stepsOf(in)
	for i := range in {
		skip, first := max(0, -before[i]), max(0, before[i])
		shape[i] = max(0, min(in[i]-int64(skip), out[i]-int64(first)))
		dst += first * to[i]
		src += skip * from[i]
	}
	return newWalk(shape[:len(in)], to, from), dst, src
}

func makeCenterCropPad(o *backend.Op) (prepared, error) {
	in, out := o.In[0].Shape, o.Out[0].Shape
	var before margins
	for i := range in {
		// Go rounds the half towards zero, which leaves the odd element at the far end both ways.
		before[i] = int(out[i]-in[i]) / 2
	}
	m := moverOf(o.In[0].DType)
	w, dst, src := box(in, out, &before)
	return run(func(c *backend.Call) error {
		clear(c.Out[0].Data)
		clear(c.Out[0].Strs)
		m.walk(&w, &c.Out[0], &c.In[0], dst, src)
		return nil
	})
}

// makePad reads pads and axes in each call; the output's shape is what they gave when it was
// prepared.
func makePad(o *backend.Op) (prepared, error) {
	n, m := o.Node, moverOf(o.In[0].DType)
	in, out := o.In[0].Shape, o.Out[0].Shape
	mode := n.Attrs.Str("mode", "constant")
	fill := padValue(n, o.In[0].DType)
	return run(func(c *backend.Call) error {
		var before margins
		if err := readPads(n, c, in, out, &before); err != nil {
			return err
		}
		m.begin(&c.Out[0])
		if mode != "constant" {
			return padFromInput(&m, mode, c, &before)
		}
		value := &fill
		if len(c.In) > 2 && c.In[2].DType != tensor.Undefined {
			value = &c.In[2]
		}
		m.run(&c.Out[0], value, 0, 0, count(out), 1, 0)
		w, dst, src := box(in, out, &before)
		m.walk(&w, &c.Out[0], &c.In[0], dst, src)
		return nil
	})
}

// padValue returns the one element that fills when no input gives it: the attribute's, or zero.
func padValue(n *graph.Node, dt tensor.DType) backend.View {
	v := backend.View{DType: dt, Shape: tensor.Shape{}, Data: make([]byte, 16), Strs: make([]string, 1)}
	if floats.has(dt) {
		setFloat(dt, v.Data, 0, float64(n.Attrs.Float("value", 0)))
	}
	return v
}

func readPads(n *graph.Node, c *backend.Call, in, out tensor.Shape, before *margins) error {
	var padBuf, axesBuf shortList
	pads := intsOf(n, "pads", c, 1, &padBuf)
	axes := intsOf(n, "axes", c, 3, &axesBuf)
	half := len(pads) / 2
	for i, p := range pads[:half] {
		axis, err := axisAt(axes, i, len(in))
		if err != nil {
			return err
		}
		if after := pads[half+i]; p+after != out[axis]-in[axis] {
			return fmt.Errorf("ref: pads: got %d and %d at dimension %d, want a sum of %d", p, after, axis, out[axis]-in[axis])
		}
		before[axis] = int(p)
	}
	return nil
}

// source maps an index of the padded dimension to one of the input, of which the kept part
// begins at skip and has n elements; i counts from the first kept one.
func source(mode string, i, n int) int {
	switch mode {
	case "edge":
		return min(max(i, 0), n-1)
	case "wrap":
		return ((i % n) + n) % n
	}
	if n == 1 {
		return 0
	}
	i = ((i % (2*n - 2)) + 2*n - 2) % (2*n - 2)
	return min(i, 2*n-2-i)
}

// padFromInput fills every place of the output with an element of the input.
func padFromInput(m *mover, mode string, c *backend.Call, before *margins) error {
	in, out := c.In[0].Shape, c.Out[0].Shape
	var skip, kept, idx [tensor.MaxRank]int
	for i := range in {
		skip[i] = max(0, -before[i])
		after := int(out[i]-in[i]) - before[i]
		kept[i] = int(in[i]) - skip[i] - max(0, -after)
		if kept[i] <= 0 && out[i] > 0 {
			return fmt.Errorf("ref: pad: got nothing of dimension %d to %s from, want an element", i, mode)
		}
	}
	from := stepsOf(in)
	for at := range count(out) {
		src := 0
		for i := range in {
			src += (skip[i] + source(mode, idx[i]-max(0, before[i]), kept[i])) * from[i]
		}
		m.run(&c.Out[0], &c.In[0], at, src, 1, 1, 1)
		for i := len(out) - 1; i >= 0; i-- {
			if idx[i]++; idx[i] < int(out[i]) {
				break
			}
			idx[i] = 0
		}
	}
	return nil
}
