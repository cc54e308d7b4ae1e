package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

var convKernels = []entry{
	{op: "Conv", types: []types{floats}, make: checked(asFloat32(makeConv))},
	{op: "ConvTranspose", types: []types{floats}, make: checked(asFloat32(makeConvTranspose))},
	{op: "DeformConv", types: []types{floats}, make: checked(asFloat32(makeDeformConv))},
	{op: "ConvInteger", types: []types{octets}, make: checked(makeConvInteger)},
	{op: "QLinearConv", types: qlinearTypes, make: checked(makeQLinearConv)},
}

// conv is a convolution for known shapes. Channels are those of one group.
type conv struct {
	win           *windows
	batch, groups int
	ins, outs     int
	// block is the number of windows whose columns are in scratch at a time; 0 when the input
	// itself has the columns' layout.
	block int
}

// newConv returns the convolution of x with weights w [outs, ins of a group, kernel...].
func newConv(o *backend.Op, x, w tensor.Shape) (*conv, error) {
	win, err := slidingWindows(o, x, w[2:])
	if err != nil {
		return nil, err
	}
	groups := int(o.Node.Attrs.Int("group", 1))
	v := &conv{win: win, batch: int(x[0]), groups: groups, ins: int(w[1]), outs: int(w[0]) / groups}
	if !win.pointwise() {
		v.block = columnBlock(v.ins*win.taps, win.outs)
	}
	return v, nil
}

// pointwise reports whether window i is input element i.
func (w *windows) pointwise() bool {
	for _, a := range w.axes {
		if a.kernel != 1 || a.stride != 1 || a.begin != 0 || a.end != 0 {
			return false
		}
	}
	return true
}

// columnBlock returns how many columns of the given height are worth having at a time, of at
// most n: enough for long inner loops, few enough to stay in cache.
func columnBlock(height, n int) int {
	return max(1, min(n, max(64, min(productCols, 1<<16/max(height, 1)))))
}

// columns is the number of elements of scratch that the convolution needs.
func (v *conv) columns() int { return v.block * v.ins * v.win.taps }

func makeConv(o *backend.Op) (prepared, error) {
	v, err := newConv(o, o.In[0].Shape, o.In[1].Shape)
	if err != nil {
		return prepared{}, err
	}
	if o.In[0].DType == tensor.Float64 {
		return convKernel[float64](v, 8), nil
	}
	return convKernel[float32](v, 4), nil
}

func convKernel[T wholeFloat](v *conv, size int) prepared {
	return prepared{scratch: int64(v.columns() * size), run: func(c *backend.Call) error {
		var bias []T
		if len(c.In) > 2 {
			bias = elems[T](&c.In[2])
		}
		convolve(v, elems[T](&c.Out[0]), elems[T](&c.In[0]), elems[T](&c.In[1]), bias, tensor.Cast[T](c.Scratch))
		return nil
	}}
}

// convolve writes each group's product of the weights with the columns of the input. A nil bias
// is zero.
func convolve[T factor](v *conv, out, x, w, bias, col []T) {
	win, height := v.win, v.ins*v.win.taps
	for i := range v.batch * v.groups {
		g := i % v.groups
		src := x[i*v.ins*win.ins:][:v.ins*win.ins]
		dst := out[i*v.outs*win.outs:][:v.outs*win.outs]
		weights := matrix[T]{w[g*v.outs*height:], height, 1}
		startOutputs(dst, bias, g*v.outs, v.outs, win.outs)
		if v.block == 0 {
			mulAdd(matrix[T]{dst, win.outs, 1}, weights, matrix[T]{src, win.ins, 1}, v.outs, height, win.outs)
			continue
		}
		for p := 0; p < win.outs && height > 0; p += v.block {
			n := min(v.block, win.outs-p)
			gatherColumns(win, col, src, v.ins, p, n)
			mulAdd(matrix[T]{dst[p:], win.outs, 1}, weights, matrix[T]{col, n, 1}, v.outs, height, n)
		}
	}
}

// startOutputs fills n channels of size elements each with their biases, which start at first; a
// nil bias is zero.
func startOutputs[T factor](dst, bias []T, first, n, size int) {
	if bias == nil {
		clear(dst)
		return
	}
	for ch := range n {
		setAll(dst[ch*size:][:size], bias[first+ch])
	}
}

func setAll[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// gatherColumns writes the columns of windows p to p+n: one row for each channel and tap, zero where
// the tap is in the padding.
func gatherColumns[T factor](win *windows, col, x []T, channels, p, n int) {
	last := &win.last
	for j := 0; j < n; {
		r, w0 := (p+j)/last.out, (p+j)%last.out
		w1 := min(last.out, w0+n-j)
		for t := range win.taps {
			base, ok := win.row(r, t)
			lo, hi, at := win.reach(t, w0, w1)
			if !ok {
				lo, hi = w0, w0
			}
			for ch := range channels {
				dst := col[(ch*win.taps+t)*n+j:][:w1-w0]
				clear(dst[:lo-w0])
				clear(dst[hi-w0:])
				if lo < hi {
					takeEvery(dst[lo-w0:hi-w0], x[ch*win.ins+base+at:], last.stride)
				}
			}
		}
		j += w1 - w0
	}
}

// takeEvery copies every stride-th element.
func takeEvery[T any](dst, src []T, stride int) {
	if stride == 1 {
		copy(dst, src[:len(dst)])
		return
	}
	for i := range dst {
		dst[i] = src[i*stride]
	}
}

func makeConvTranspose(o *backend.Op) (prepared, error) {
	x, w := o.In[0].Shape, o.In[1].Shape
	axes, err := op.TransposedWindows(o.Node.Attrs, graph.Of(x[2:]...), graph.Of(w[2:]...))
	if err != nil {
		return prepared{}, err
	}
	groups := int(o.Node.Attrs.Int("group", 1))
	win := newWindows(axes).swap()
	v := &conv{win: win, batch: int(x[0]), groups: groups, ins: int(w[0]) / groups, outs: int(w[1])}
	v.block = columnBlock(v.outs*win.taps, win.outs)
	if o.In[0].DType == tensor.Float64 {
		return transposeKernel[float64](v, 8), nil
	}
	return transposeKernel[float32](v, 4), nil
}

func transposeKernel[T wholeFloat](v *conv, size int) prepared {
	return prepared{scratch: int64(v.block * v.outs * v.win.taps * size), run: func(c *backend.Call) error {
		var bias []T
		if len(c.In) > 2 {
			bias = elems[T](&c.In[2])
		}
		deconvolve(v, elems[T](&c.Out[0]), elems[T](&c.In[0]), elems[T](&c.In[1]), bias, tensor.Cast[T](c.Scratch))
		return nil
	}}
}

// deconvolve multiplies the transposed weights [ins, outs of a group, taps] with the input and
// adds the columns that this gives to where their windows lie in the output.
func deconvolve[T factor](v *conv, out, x, w, bias, col []T) {
	win, height := v.win, v.outs*v.win.taps
	for i := range v.batch * v.groups {
		g := i % v.groups
		src := x[i*v.ins*win.outs:][:v.ins*win.outs]
		dst := out[i*v.outs*win.ins:][:v.outs*win.ins]
		weights := matrix[T]{w[g*v.ins*height:][:v.ins*height], 1, height}
		startOutputs(dst, bias, g*v.outs, v.outs, win.ins)
		for p := 0; p < win.outs && v.ins > 0; p += v.block {
			n := min(v.block, win.outs-p)
			clear(col[:height*n])
			mulAdd(matrix[T]{col, n, 1}, weights, matrix[T]{src[p:], win.outs, 1}, height, v.ins, n)
			scatterColumns(win, dst, col, v.outs, p, n)
		}
	}
}

// scatterColumns adds the columns of windows p to p+n to the elements that their taps lie on.
func scatterColumns[T factor](win *windows, out, col []T, channels, p, n int) {
	last := &win.last
	for j := 0; j < n; {
		r, w0 := (p+j)/last.out, (p+j)%last.out
		w1 := min(last.out, w0+n-j)
		for t := range win.taps {
			base, ok := win.row(r, t)
			lo, hi, at := win.reach(t, w0, w1)
			if !ok || lo >= hi {
				continue
			}
			for ch := range channels {
				src := col[(ch*win.taps+t)*n+j+lo-w0:][:hi-lo]
				dst := out[ch*win.ins+base+at:]
				for k, v := range src {
					dst[k*last.stride] += v
				}
			}
		}
		j += w1 - w0
	}
}
