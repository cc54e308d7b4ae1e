package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

var resizeKernels = []entry{
	{op: "Resize", types: []types{fixed, floats, setOf(tensor.Float32), setOf(tensor.Int64)},
		make: withContents(asFloat32(makeResize), 1, 2, 3)},
	{op: "Upsample", types: []types{fixed, setOf(tensor.Float32)}, make: withContents(asFloat32(makeResize), 1)},
	{op: "GridSample", types: []types{floats}, make: asFloat32(makeGridSample)},
	{op: "AffineGrid", types: []types{floats, setOf(tensor.Int64)}, make: makeAffineGrid},
	{op: "RoiAlign", types: []types{floats, floats, setOf(tensor.Int64)}, make: makeRoiAlign},
	{op: "MaxRoiPool", types: []types{floats}, make: makeMaxRoiPool},
	{op: "Col2Im", types: []types{numbers, setOf(tensor.Int64)}, make: withContents(asFloat32(makeCol2Im), 1, 2)},
}

// resampled is one dimension of a Resize: output element i is the sum over taps t of
// weight[i·taps+t] times input element index[i·taps+t]; no weights at all means 1.
type resampled struct {
	taps   int
	index  []int32
	weight []float64
	// outside marks output elements that lie outside the region that has contents; nil for none.
	outside []bool
	// same says that the dimension is left as it is.
	same bool
}

// resizing is a prepared Resize.
type resizing struct {
	dims  []resampled
	steps steps
	out   tensor.Shape
	fill  float64
}

func makeResize(o *backend.Op) (prepared, error) {
	axes, err := resizeAxes(o)
	if err != nil {
		return prepared{}, err
	}
	if n, ok := o.Out[0].Shape.Elements(); n == 0 && ok {
		return run(func(*backend.Call) error { return nil })
	}
	r := &resizing{dims: make([]resampled, len(axes)), steps: stepsOf(o.In[0].Shape), out: o.Out[0].Shape,
		fill: float64(o.Node.Attrs.Float("extrapolation_value", 0))}
	rule := resizeRuleOf(o.Node)
	copies := rule.mode == "nearest"
	for i := range axes {
		if axes[i].in == 0 || max(axes[i].in, axes[i].out) > math.MaxInt32 {
			return prepared{}, fmt.Errorf("X: axis %d: got %d elements to make %d, want between 1 and 2³¹−1",
				i, axes[i].in, axes[i].out)
		}
		r.dims[i] = rule.resample(&axes[i])
		copies = copies && r.dims[i].outside == nil
	}
	if copies {
		return run(resizeCopies.of(o.In[0].DType)(r))
	}
	weigh := resizeWeights.of(o.In[0].DType)
	if weigh == nil {
		return prepared{}, fmt.Errorf("X: got %v, want a real number type for mode %q", o.In[0].DType, rule.mode)
	}
	return prepared{run: weigh(r), scratch: int64(r.row()) * 8}, nil
}

// row is the extent of the last dimension.
func (r *resizing) row() int {
	if n := len(r.out); n > 0 {
		return int(r.out[n-1])
	}
	return 1
}

// resizeAxis is what decides the coordinates along one dimension.
type resizeAxis struct {
	in, out int
	// scale is out/in, as asked for. bySize says that it is exactly the ratio of the extents.
	scale      float64
	bySize     bool
	start, end float64
}

// resizeAxes gathers scales, sizes and regions of all dimensions.
func resizeAxes(o *backend.Op) ([]resizeAxis, error) {
	shape := o.In[0].Shape
	all := make([]resizeAxis, len(shape))
	for i := range all {
		all[i] = resizeAxis{in: int(shape[i]), out: int(o.Out[0].Shape[i]), scale: 1, end: 1}
	}
	list, err := op.ResizeAxes(o.Node, len(shape))
	if err != nil {
		return nil, err
	}
	roiIn, scalesIn, sizesIn := op.ResizeInputs(o.Node)
	roi, scales := constFloats(o, roiIn), constFloats(o, scalesIn)
	if scalesIn < 0 {
		for _, s := range o.Node.Attrs.Floats("scales", nil) {
			scales = append(scales, float64(s))
		}
	}
	sizes := constInts(o, sizesIn)
	before := make([]int64, len(list))
	for i, a := range list {
		before[i] = shape[a]
	}
	if len(sizes) != len(list) && len(scales) != len(list) {
		return nil, fmt.Errorf("scales: got %d numbers, want %d", len(scales), len(list))
	}
	for i, a := range list {
		ax := &all[a]
		if len(sizes) != len(list) {
			ax.scale = scales[i]
		} else if s, ok := op.AspectScale(o.Node, before, sizes); ok {
			ax.scale = s
		} else {
			ax.scale, ax.bySize = float64(ax.out)/float64(max(ax.in, 1)), true
		}
		if len(roi) == 2*len(list) {
			ax.start, ax.end = roi[i], roi[len(list)+i]
		}
	}
	return all, nil
}

// resizeCopies serves a Resize that only repeats and drops elements.
var resizeCopies = bySize[func(*resizing) backend.Kernel]{
	B1: resizeCopy[uint8], B2: resizeCopy[uint16], B4: resizeCopy[uint32], B8: resizeCopy[uint64],
	B16: resizeCopy[complex128],
}

func resizeCopy[T tensor.Element](r *resizing) backend.Kernel {
	last := len(r.dims) - 1
	for last >= 0 && r.dims[last].same {
		last--
	}
	tail := count(r.out[last+1:])
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		copyDim(r, 0, last, tail, x, y)
		return nil
	}
}

// copyDim fills y, which is one element of each dimension outside dim, from x, which begins
// where its source does. Dimensions beyond last are left as they are: tail elements lie together.
func copyDim[T tensor.Element](r *resizing, dim, last, tail int, x, y []T) {
	switch {
	case dim > last:
		copy(y[:tail], x[:tail])
	case dim == last && tail == 1:
		for i, j := range r.dims[dim].index {
			y[i] = x[j]
		}
	default:
		apart := len(y) / len(r.dims[dim].index)
		for i, j := range r.dims[dim].index {
			copyDim(r, dim+1, last, tail, x[int(j)*r.steps[dim]:], y[i*apart:(i+1)*apart])
		}
	}
}

var resizeWeights = perType[func(*resizing) backend.Kernel]{
	F32: resizeWeigh[float32], F64: resizeWeigh[float64], I8: resizeWeigh[int8], I16: resizeWeigh[int16],
	I32: resizeWeigh[int32], I64: resizeWeigh[int64], U8: resizeWeigh[uint8], U16: resizeWeigh[uint16],
	U32: resizeWeigh[uint32], U64: resizeWeigh[uint64],
}

// resizeWeigh computes the output row by row: each is a weighted sum of resampled input rows,
// summed as float64.
func resizeWeigh[T number](r *resizing) backend.Kernel {
	return func(c *backend.Call) error {
		x, y := elems[T](&c.In[0]), elems[T](&c.Out[0])
		acc := tensor.Cast[float64](c.Scratch)[:r.row()]
		var pos [tensor.MaxRank]int
		for at := 0; at < len(y); at += len(acc) {
			clear(acc)
			row := y[at : at+len(acc)]
			if r.anyOutside(pos[:]) {
				for i := range row {
					row[i] = T(r.fill)
				}
			} else {
				weighDim(r, 0, pos[:], 1, x, acc)
				r.store(len(r.dims)-1, acc)
				roundTo(row, acc)
			}
			for d := len(r.out) - 2; d >= 0; d-- {
				if pos[d]++; pos[d] < int(r.out[d]) {
					break
				}
				pos[d] = 0
			}
		}
		return nil
	}
}

// anyOutside reports whether the row at pos lies outside in a dimension other than the last.
func (r *resizing) anyOutside(pos []int) bool {
	for d := range len(r.dims) - 1 {
		if out := r.dims[d].outside; out != nil && out[pos[d]] {
			return true
		}
	}
	return false
}

// store puts the fill value where the last dimension lies outside.
func (r *resizing) store(last int, acc []float64) {
	if last < 0 || r.dims[last].outside == nil {
		return
	}
	for i, out := range r.dims[last].outside {
		if out {
			acc[i] = r.fill
		}
	}
}

// weighDim adds weight times the resampled part of x to acc; x begins at the source of one
// element of each dimension outside dim.
func weighDim[T number](r *resizing, dim int, pos []int, weight float64, x []T, acc []float64) {
	if dim >= len(r.dims)-1 {
		weighRow(r, weight, x, acc)
		return
	}
	d := &r.dims[dim]
	for t := pos[dim] * d.taps; t < (pos[dim]+1)*d.taps; t++ {
		w := weight
		if d.weight != nil {
			w *= d.weight[t]
		}
		if w != 0 {
			weighDim(r, dim+1, pos, w, x[int(d.index[t])*r.steps[dim]:], acc)
		}
	}
}

func weighRow[T number](r *resizing, weight float64, x []T, acc []float64) {
	if len(r.dims) == 0 {
		acc[0] += weight * float64(x[0])
		return
	}
	d := &r.dims[len(r.dims)-1]
	switch d.taps {
	case 1:
		for i, j := range d.index {
			acc[i] += weight * float64(x[j])
		}
	case 2:
		for i := range acc {
			j, w := d.index[2*i:2*i+2], d.weight[2*i:2*i+2]
			acc[i] += weight * (w[0]*float64(x[j[0]]) + w[1]*float64(x[j[1]]))
		}
	default:
		for i := range acc {
			sum := 0.0
			for t := i * d.taps; t < (i+1)*d.taps; t++ {
				if d.weight[t] != 0 {
					sum += d.weight[t] * float64(x[d.index[t]])
				}
			}
			acc[i] += weight * sum
		}
	}
}

// roundTo converts to the output's type; integers lose their fraction and stay in range.
func roundTo[T number](dst []T, src []float64) {
	lo, hi := limits[T]()
	for i, v := range src {
		switch {
		case v <= float64(lo):
			dst[i] = lo
		case v >= float64(hi):
			dst[i] = hi
		default:
			dst[i] = T(v)
		}
	}
}
