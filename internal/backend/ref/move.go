package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var moveKernels = checkedAll([]entry{
	{op: "Transpose", types: []types{movable}, make: makeTranspose},
	{op: "Concat", types: []types{movable}, make: makeConcat},
	{op: "Split", types: []types{movable, indices}, make: makeSplit},
	{op: "Slice", types: []types{movable, indices}, make: makeSlice},
	{op: "Pad", types: []types{movable, indices, movable, indices}, make: makePad},
	{op: "Tile", types: []types{movable, indices}, make: makeTile},
	{op: "Trilu", types: []types{fixed, indices}, make: makeTrilu},
	{op: "ReverseSequence", types: []types{movable, indices}, make: makeReverseSequence},
	{op: "DepthToSpace", types: []types{movable}, make: makeDepthToSpace},
	{op: "SpaceToDepth", types: []types{movable}, make: makeSpaceToDepth},
	{op: "CenterCropPad", types: []types{movable, indices}, make: makeCenterCropPad},
})

// moving returns a kernel that fills the output by one walk over output and input.
func moving(dt tensor.DType, w walk) (prepared, error) {
	m := moverOf(dt)
	return run(func(c *backend.Call) error {
		m.begin(&c.Out[0])
		m.walk(&w, &c.Out[0], &c.In[0], 0, 0)
		return nil
	})
}

// dimOf returns the dimension that an attribute names; inference has checked it.
func dimOf(axis int64, rank int) int {
	if axis < 0 {
		return int(axis) + rank
	}
	return int(axis)
}

// axisAt returns the dimension that entry i of a list read in this call names; without a list,
// dimension i.
func axisAt(axes []int64, i, rank int) (int, error) {
	axis := int64(i)
	if axes != nil {
		if i >= len(axes) {
			return 0, fmt.Errorf("ref: axes: got %d, want more than %d", len(axes), i)
		}
		axis = axes[i]
	}
	if axis < int64(-rank) || axis >= int64(rank) {
		return 0, fmt.Errorf("ref: axes: got %d, want one in [%d, %d]", axis, -rank, rank-1)
	}
	return dimOf(axis, rank), nil
}

// intsOf returns the list that some versions of an operator read from an attribute and others
// from input i, as it is in this call; nil when there is neither. It keeps a short list in buf.
func intsOf(n *graph.Node, name string, c *backend.Call, i int, buf *[2 * tensor.MaxRank]int64) []int64 {
	if a := n.Attrs.Get(name); a != nil && a.Kind == graph.AttrInts {
		return a.Ints
	}
	if i >= len(c.In) || c.In[i].DType == tensor.Undefined {
		return nil
	}
	k := min(count(c.In[i].Shape), len(buf))
	for j := range k {
		buf[j] = intAt(&c.In[i], j)
	}
	return buf[:k]
}

func makeTranspose(o *backend.Op) (prepared, error) {
	in, out := o.In[0].Shape, o.Out[0].Shape
	perm := o.Node.Attrs.Ints("perm", nil)
	dense := stepsOf(in)
	var read steps
	for i := range in {
		if perm == nil {
			read[i] = dense[len(in)-1-i]
		} else {
			read[i] = dense[dimOf(perm[i], len(in))]
		}
	}
	return moving(o.In[0].DType, newWalk(out, stepsOf(out), read))
}

// block returns how a tensor of a shape lies around an axis: outer blocks of inner elements.
func block(shape tensor.Shape, axis int) (outer, inner int) {
	return count(shape[:axis]), count(shape[axis:])
}

func makeConcat(o *backend.Op) (prepared, error) {
	out := o.Out[0].Shape
	axis := dimOf(o.Node.Attrs.Int("axis", 1), len(out))
	m := moverOf(o.Out[0].DType)
	outer, width := block(out, axis)
	inner := make([]int, len(o.In))
	sum := 0
	for i := range o.In {
		_, inner[i] = block(o.In[i].Shape, axis)
		sum += inner[i]
	}
	if sum != width {
		return prepared{}, fmt.Errorf("ref: concat: got inputs of %d elements a block, want %d", sum, width)
	}
	return run(func(c *backend.Call) error {
		m.begin(&c.Out[0])
		at := 0
		for i, n := range inner {
			for b := range outer {
				m.run(&c.Out[0], &c.In[i], b*width+at, b*n, n, 1, 1)
			}
			at += n
		}
		return nil
	})
}

func makeSplit(o *backend.Op) (prepared, error) {
	in := o.In[0].Shape
	axis := dimOf(o.Node.Attrs.Int("axis", 0), len(in))
	m := moverOf(o.In[0].DType)
	outer, width := block(in, axis)
	inner := make([]int, len(o.Out))
	sum := 0
	for i := range o.Out {
		if !o.Out[i].Present() {
			return prepared{}, fmt.Errorf("ref: split: output %d: left out", i)
		}
		_, inner[i] = block(o.Out[i].Shape, axis)
		sum += inner[i]
	}
	if sum != width {
		return prepared{}, fmt.Errorf("ref: split: got outputs of %d elements a block, want %d", sum, width)
	}
	return run(func(c *backend.Call) error {
		at := 0
		for i, n := range inner {
			m.begin(&c.Out[i])
			for b := range outer {
				m.run(&c.Out[i], &c.In[0], b*n, b*width+at, n, 1, 1)
			}
			at += n
		}
		return nil
	})
}

// lane is one dimension of a move: its extent, and how far apart its elements lie in the output
// and in the input.
type lane struct{ n, dst, src int }

// laneWalk plans a walk over output and input along lanes, outermost first.
func laneWalk(lanes []lane) (walk, error) {
	var shape tensor.Shape
	var dst, src steps
	for _, l := range lanes {
		if l.n == 1 {
			continue
		}
		if len(shape) == tensor.MaxRank {
			return walk{}, fmt.Errorf("ref: move: got more than %d dimensions, want fewer", tensor.MaxRank)
		}
		dst[len(shape)], src[len(shape)] = l.dst, l.src
		shape = append(shape, int64(l.n))
	}
	return newWalk(shape, dst, src), nil
}

// alongLanes returns a kernel that moves the input to the output along lanes.
func alongLanes(dt tensor.DType, lanes []lane) (prepared, error) {
	w, err := laneWalk(lanes)
	if err != nil {
		return prepared{}, err
	}
	return moving(dt, w)
}

// makeTile sees every dimension as two: how often the input is repeated, and the input's own.
func makeTile(o *backend.Op) (prepared, error) {
	in, out := o.In[0].Shape, o.Out[0].Shape
	from, to := stepsOf(in), stepsOf(out)
	var lanes []lane
	for i := range in {
		n, times := int(in[i]), 0
		if n > 0 {
			times = int(out[i]) / n
		}
		lanes = append(lanes, lane{times, to[i] * n, 0}, lane{n, to[i], from[i]})
	}
	return alongLanes(o.In[0].DType, lanes)
}

// makeDepthToSpace takes the place within a block from the outer part of the channels ("DCR") or
// from the inner part ("CRD").
func makeDepthToSpace(o *backend.Op) (prepared, error) {
	b := int(o.Node.Attrs.Int("blocksize", 1))
	out := o.Out[0].Shape
	to := stepsOf(out)
	c, h, w := int(out[1]), int(o.In[0].Shape[2]), int(o.In[0].Shape[3])
	place, channel := c*h*w, h*w
	switch mode := o.Node.Attrs.Str("mode", "DCR"); mode {
	case "DCR":
	case "CRD":
		place, channel = h*w, b*b*h*w
	default:
		return prepared{}, fmt.Errorf("ref: mode: got %q, want DCR or CRD", mode)
	}
	return alongLanes(o.In[0].DType, []lane{
		{int(out[0]), to[0], b * b * c * h * w}, {c, to[1], channel},
		{h, b * to[2], w}, {b, to[2], b * place}, {w, b, 1}, {b, 1, place},
	})
}

func makeSpaceToDepth(o *backend.Op) (prepared, error) {
	b := int(o.Node.Attrs.Int("blocksize", 1))
	in := o.In[0].Shape
	from := stepsOf(in)
	c, h, w := int(in[1]), int(in[2])/b, int(in[3])/b
	return alongLanes(o.In[0].DType, []lane{
		{int(in[0]), b * b * c * h * w, from[0]}, {b, b * c * h * w, from[2]}, {b, c * h * w, 1},
		{c, h * w, from[1]}, {h, w, b * from[2]}, {w, 1, b},
	})
}

func makeReverseSequence(o *backend.Op) (prepared, error) {
	in := o.In[0].Shape
	timeAxis := dimOf(o.Node.Attrs.Int("time_axis", 0), len(in))
	dense := stepsOf(in)
	times, batches := int(in[timeAxis]), int(in[1-timeAxis])
	timeStep, batchStep, inner := dense[timeAxis], dense[1-timeAxis], count(in[2:])
	m := moverOf(o.In[0].DType)
	return run(func(c *backend.Call) error {
		m.begin(&c.Out[0])
		for b := range batches {
			n := intAt(&c.In[1], b)
			if n < 0 || n > int64(times) {
				return fmt.Errorf("ref: sequence_lens: got %d, want 0 to %d", n, times)
			}
			for t := range times {
				from := t
				if t < int(n) {
					from = int(n) - 1 - t
				}
				m.run(&c.Out[0], &c.In[0], b*batchStep+t*timeStep, b*batchStep+from*timeStep, inner, 1, 1)
			}
		}
		return nil
	})
}

// makeTrilu keeps what lies on or above (upper) or below the k-th diagonal, and zeros the rest.
func makeTrilu(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	upper := o.Node.Attrs.Int("upper", 1) != 0
	rows, cols := int(shape[len(shape)-2]), int(shape[len(shape)-1])
	size := o.In[0].DType.Bits() / 8
	total := count(shape[:len(shape)-1])
	return run(func(c *backend.Call) error {
		k := 0
		if len(c.In) > 1 && c.In[1].DType != tensor.Undefined {
			k = int(min(max(intAt(&c.In[1], 0), int64(-rows)), int64(cols)))
		}
		copy(c.Out[0].Data, c.In[0].Data)
		for r := range total {
			diagonal := r%rows + k
			row := c.Out[0].Data[r*cols*size : (r+1)*cols*size]
			if upper {
				clear(row[:min(max(diagonal, 0), cols)*size])
			} else {
				clear(row[min(max(diagonal+1, 0), cols)*size:])
			}
		}
		return nil
	})
}
