package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var poolKernels = []entry{
	{op: "MaxPool", types: []types{floats | octets}, make: checked(asFloat32(makeMaxPool))},
	{op: "AveragePool", types: []types{floats}, make: checked(asFloat32(makeAveragePool))},
	{op: "LpPool", types: []types{floats}, make: checked(asFloat32(makeLpPool))},
	{op: "GlobalAveragePool", types: []types{floats}, make: checked(asFloat32(makeGlobalAveragePool))},
	{op: "GlobalMaxPool", types: []types{floats}, make: checked(asFloat32(makeGlobalMaxPool))},
	{op: "GlobalLpPool", types: []types{floats}, make: checked(asFloat32(makeGlobalLpPool))},
	{op: "MaxUnpool", types: []types{fixed, setOf(tensor.Int64), setOf(tensor.Int64)}, make: checked(makeMaxUnpool)},
}

// pool is the windows over each of a number of planes (channels of images).
type pool struct {
	win    *windows
	planes int
}

func newPool(o *backend.Op) (*pool, error) {
	x := o.In[0].Shape
	win, err := slidingWindows(o, x, o.Node.Attrs.Ints("kernel_shape", nil))
	if err != nil {
		return nil, err
	}
	return &pool{win: win, planes: count(x[:2])}, nil
}

// reads is one tap of the windows lo to hi of one plane that have it inside the input: window
// lo+i reads element at+i·stride of the plane.
type reads struct{ lo, hi, at int }

// each calls visit with the reads of all taps, row by row of windows, and tap by tap in each row:
// a window's taps come in row-major order. Taps in the padding, of which a window may have any number, take no time.
func (w *windows) each(visit func(reads)) {
	if w.outs == 0 {
		return
	}
	rows, last := w.outs/w.last.out, &w.last
	first, _ := last.inside((last.out-1)*last.stride-last.begin, 0, last.in)
	_, end := last.inside(-last.begin, 0, last.in)
	for r := range rows {
		w.eachRow(r, rows, 0, 0, func(base int) {
			for t := first; t < end; t++ {
				if lo, hi, at := w.reach(t, 0, last.out); lo < hi {
					visit(reads{r*last.out + lo, r*last.out + hi, base + at})
				}
			}
		})
	}
}

// eachRow calls visit with where each input row starts that windows of row r, of so many, read, from axis i
// inwards; base is the number of the element that the axes around it give.
func (w *windows) eachRow(r, rows, i, base int, visit func(base int)) {
	a := &w.axes[i]
	if i == len(w.axes)-1 {
		visit(base)
		return
	}
	rows /= a.out
	at := r/rows*a.stride - a.begin
	first, end := a.inside(at, 0, a.in)
	for k := first; k < end; k++ {
		w.eachRow(r%rows, rows, i+1, (base+at+k*a.dilation)*w.axes[i+1].in, visit)
	}
}

// inside returns which taps of the window whose first is at a place are in [low, high): first to end, not included.
func (a *spatialAxis) inside(at, low, high int) (first, end int) {
	if at < low {
		first = min(a.kernel, (low-at+a.dilation-1)/a.dilation)
	}
	if at < high {
		end = min(a.kernel, (high-1-at)/a.dilation+1)
	}
	return first, max(first, end)
}

func makeMaxPool(o *backend.Op) (prepared, error) {
	p, err := newPool(o)
	if err != nil {
		return prepared{}, err
	}
	order := rowMajor
	if o.Node.Attrs.Int("storage_order", 0) != 0 {
		order = p.win.columnMajor()
	}
	kernels := perType[func(*pool, func(int) int) backend.Kernel]{F32: maxPoolKernel[float32],
		F64: maxPoolKernel[float64], I8: maxPoolKernel[int8], U8: maxPoolKernel[uint8]}
	return run(kernels.of(o.In[0].DType)(p, order))
}

func rowMajor(i int) int { return i }

// columnMajor returns the function that numbers an element, given by its row-major number, with
// the first axis running quickest.
func (w *windows) columnMajor() func(int) int {
	return func(i int) int {
		n, size := 0, w.ins
		for j := len(w.axes) - 1; j >= 0; j-- {
			size /= w.axes[j].in
			n += i % w.axes[j].in * size
			i /= w.axes[j].in
		}
		return n
	}
}

// lowest is the identity of max.
func lowest[T number]() T {
	var v any = T(0)
	switch v.(type) {
	case float32:
		v = float32(math.Inf(-1))
	case float64:
		v = math.Inf(-1)
	case int8:
		v = int8(math.MinInt8)
	}
	return v.(T)
}

func maxPoolKernel[T number](p *pool, order func(int) int) backend.Kernel {
	low, stride, ins, outs := lowest[T](), p.win.last.stride, p.win.ins, p.win.outs
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		setAll(out, low)
		if len(c.Out) < 2 || len(c.Out[1].Data) == 0 {
			for i := range p.planes {
				src, dst := x[i*ins:][:ins], out[i*outs:][:outs]
				p.win.each(func(r reads) { maxInto(dst[r.lo:r.hi], src[r.at:], stride) })
			}
			return nil
		}
		index := elems[int64](&c.Out[1])
		setAll(index, -1)
		for i := range p.planes {
			src, dst, at := x[i*ins:][:ins], out[i*outs:][:outs], index[i*outs:][:outs]
			p.win.each(func(r reads) { argMaxInto(dst[r.lo:r.hi], at[r.lo:r.hi], src, r.at, stride) })
			for j, k := range at {
				at[j] = int64(i*ins + order(int(max(k, 0))))
			}
		}
		return nil
	}
}

// maxInto replaces each element of dst by every stride-th of src where that is larger.
func maxInto[T number](dst, src []T, stride int) {
	for i, v := range dst {
		if s := src[i*stride]; s > v {
			dst[i] = s
		}
	}
}

// argMaxInto is maxInto from element from of src on, and keeps the number of the element taken;
// the first of equals wins.
func argMaxInto[T number](dst []T, at []int64, src []T, from, stride int) {
	for i, v := range dst {
		if s := src[from+i*stride]; s > v || at[i] < 0 {
			dst[i], at[i] = s, int64(from+i*stride)
		}
	}
}

func makeAveragePool(o *backend.Op) (prepared, error) {
	p, err := newPool(o)
	if err != nil {
		return prepared{}, err
	}
	sizes := p.win.sizes(o.Node.Attrs.Int("count_include_pad", 0) != 0)
	if o.In[0].DType == tensor.Float64 {
		return run(averagePoolKernel[float64](p, sizes))
	}
	return run(averagePoolKernel[float32](p, sizes))
}

// sizes returns, for each axis and each window along it, the number of taps in the input, or,
// with padding, in the padded input.
func (w *windows) sizes(padding bool) [][]int {
	out := make([][]int, len(w.axes))
	for i, a := range w.axes {
		low, high := 0, a.in
		if padding {
			low, high = -a.begin, a.in+a.end
		}
		out[i] = make([]int, a.out)
		for j := range out[i] {
			first, end := a.inside(j*a.stride-a.begin, low, high)
			out[i][j] = end - first
		}
	}
	return out
}

func averagePoolKernel[T wholeFloat](p *pool, sizes [][]int) backend.Kernel {
	stride, ins, outs := p.win.last.stride, p.win.ins, p.win.outs
	return func(c *backend.Call) error {
		x, out := elems[T](&c.In[0]), elems[T](&c.Out[0])
		clear(out)
		for i := range p.planes {
			src, dst := x[i*ins:][:ins], out[i*outs:][:outs]
			p.win.each(func(r reads) {
				for j, d := 0, dst[r.lo:r.hi]; j < len(d); j++ {
					d[j] += src[r.at+j*stride]
				}
			})
			for j := range dst {
				n, rest := 1, j
				for k := len(sizes) - 1; k >= 0; k-- {
					n *= sizes[k][rest%len(sizes[k])]
					rest /= len(sizes[k])
				}
				dst[j] /= T(max(n, 1))
			}
		}
		return nil
	}
}
