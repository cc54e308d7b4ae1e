package ref

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// blit copies n elements of width bytes, or strings when width is 0, from element s of src to
// element d of dst.
func blit(dst *backend.View, d int, src *backend.View, s, n, width int) {
	if width == 0 {
		copy(dst.Strs[d:d+n], src.Strs[s:s+n])
		return
	}
	copy(dst.Data[d*width:(d+n)*width], src.Data[s*width:(s+n)*width])
}

// widthOf is the size of an element in bytes; 0 for strings.
func widthOf(dt tensor.DType) int { return dt.Bits() / 8 }

// within returns index i of n with negative ones counted from the end, or an error that names
// the element of indices it stands in.
func within(i int64, n, at int) (int, error) {
	j := i
	if j < 0 {
		j += int64(n)
	}
	if j < 0 || j >= int64(n) {
		return 0, fmt.Errorf("indices: element %d: got %d, want one in [%d, %d]", at, i, -n, n-1)
	}
	return int(j), nil
}

func makeGather(o *backend.Op) (prepared, error) {
	axis, err := axisOf(o, "axis", 0)
	if err != nil {
		return prepared{}, err
	}
	b, n, width := bandOf(o.In[0].Shape, axis), count(o.In[1].Shape), widthOf(o.In[0].DType)
	pick := gatherRows.of(o.In[0].DType)
	return run(func(c *backend.Call) error {
		for k := range n {
			if _, err := within(intAt(&c.In[1], k), b.n, k); err != nil {
				return err
			}
		}
		if b.inner == 1 && pick != nil {
			pick(c, b, n)
			return nil
		}
		for i := range b.outer {
			for k := range n {
				at, _ := within(intAt(&c.In[1], k), b.n, k)
				blit(&c.Out[0], (i*n+k)*b.inner, &c.In[0], (i*b.n+at)*b.inner, b.inner, width)
			}
		}
		return nil
	})
}

// gatherRows has, for the common widths, the Gather of n single elements of each row.
var gatherRows = bySize[func(c *backend.Call, b band, n int)]{
	B4: gatherRow[uint32], B8: gatherRow[uint64],
}

func gatherRow[T tensor.Element](c *backend.Call, b band, n int) {
	x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
	for i := range b.outer {
		row, to := x[i*b.n:(i+1)*b.n], y[i*n:(i+1)*n]
		for k := range to {
			at := intAt(&c.In[1], k)
			if at < 0 {
				at += int64(b.n)
			}
			to[k] = row[at]
		}
	}
}

// makeGatherElements walks the indices and, beside them, the data without the gathered axis.
func makeGatherElements(o *backend.Op) (prepared, error) {
	axis, err := axisOf(o, "axis", 0)
	if err != nil {
		return prepared{}, err
	}
	data, idx := o.In[0].Shape, o.In[1].Shape
	if err := fitsBeside(idx, data, axis); err != nil {
		return prepared{}, err
	}
	w, step := walkBeside(idx, data, axis)
	n, width := int(data[axis]), widthOf(o.In[0].DType)
	return run(func(c *backend.Call) error {
		for off := range w.runs {
			for i := range w.n {
				from := off[0] + i*w.inner[0]
				at, err := within(intAt(&c.In[1], from), n, from)
				if err != nil {
					return err
				}
				blit(&c.Out[0], from, &c.In[0], off[1]+i*w.inner[1]+at*step, 1, width)
			}
		}
		return nil
	})
}

// fitsBeside fails unless idx is no larger than data in every dimension but the axis.
func fitsBeside(idx, data tensor.Shape, axis int) error {
	ok := len(idx) == len(data)
	for i := range idx {
		ok = ok && (i == axis || idx[i] <= data[i])
	}
	if !ok {
		return fmt.Errorf("indices: got shape %v, want one within %v except along axis %d", idx, data, axis)
	}
	return nil
}

// walkBeside walks idx densely, with the place in data of the same coordinates except that the
// axis is at 0; step is how far apart elements lie along the axis.
func walkBeside(idx, data tensor.Shape, axis int) (w walk, step int) {
	there := stepsOf(data)
	step = there[axis]
	there[axis] = 0
	return newWalk(idx, stepsOf(idx), there), step
}

// tuples is how GatherND and ScatterND address slices of data: each row of the indices is a
// tuple of depth coordinates, below batch leading dimensions that run side by side.
type tuples struct {
	// batches times perBatch tuples, each of depth coordinates, name slices of size elements.
	batches, perBatch, depth, size int
	dims                           [tensor.MaxRank]int
	steps                          [tensor.MaxRank]int
	// apart is the number of elements of data in one batch.
	apart int
}

func tuplesOf(data, idx tensor.Shape, batch int) (tuples, error) {
	last := len(idx) - 1
	if last < batch || batch < 0 || idx[last] > int64(len(data)-batch) {
		return tuples{}, fmt.Errorf("indices: got shape %v, want tuples that fit data %v", idx, data)
	}
	for i := range batch {
		if idx[i] != data[i] {
			return tuples{}, fmt.Errorf("indices: got shape %v, want batch dimensions as in data %v", idx, data)
		}
	}
	depth := int(idx[last])
	t := tuples{batches: count(idx[:batch]), perBatch: count(idx[batch:last]), depth: depth,
		size: count(data[batch+depth:]), apart: count(data[batch:])}
	dense := stepsOf(data)
	for i := range depth {
		t.dims[i], t.steps[i] = int(data[batch+i]), dense[batch+i]
	}
	return t, nil
}

// at returns where in data the slice of tuple k begins.
func (t *tuples) at(idx *backend.View, k int) (int, error) {
	off := k / t.perBatch * t.apart
	for i := range t.depth {
		j, err := within(intAt(idx, k*t.depth+i), t.dims[i], k*t.depth+i)
		if err != nil {
			return 0, err
		}
		off += j * t.steps[i]
	}
	return off, nil
}

func makeGatherND(o *backend.Op) (prepared, error) {
	t, err := tuplesOf(o.In[0].Shape, o.In[1].Shape, int(o.Node.Attrs.Int("batch_dims", 0)))
	if err != nil {
		return prepared{}, err
	}
	width := widthOf(o.In[0].DType)
	return run(func(c *backend.Call) error {
		for k := range t.batches * t.perBatch {
			from, err := t.at(&c.In[1], k)
			if err != nil {
				return err
			}
			blit(&c.Out[0], k*t.size, &c.In[0], from, t.size, width)
		}
		return nil
	})
}
