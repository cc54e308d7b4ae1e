package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// spatialAxis is op.Axis with numbers.
type spatialAxis struct {
	in, kernel, out, begin, end, stride, dilation int
}

// windows is a set of windows over the spatial axes of one channel of one image. Windows and
// input elements are numbered in row-major order, and so are the taps, a window's elements.
type windows struct {
	axes []spatialAxis
	// last is the innermost axis.
	last spatialAxis
	// ins, outs and taps are the number of input elements, of windows, and of taps in a window.
	ins, outs, taps int
}

func newWindows(axes []op.Axis) *windows {
	w := &windows{axes: make([]spatialAxis, len(axes)), ins: 1, outs: 1, taps: 1}
	number := func(d graph.Dim) int {
		n, ok := d.Int()
		if !ok {
			panic("BUG: ref: window of an unknown extent " + d.String())
		}
		return int(n)
	}
	for i := range axes {
		a := &axes[i]
		w.last = spatialAxis{in: number(a.In), kernel: number(a.Kernel), out: number(a.Out), begin: number(a.Begin),
			end: number(a.End), stride: int(a.Stride), dilation: int(a.Dilation)}
		w.axes[i] = w.last
		w.ins *= w.last.in
		w.outs *= w.last.out
		w.taps *= w.last.kernel
	}
	return w
}

// slidingWindows returns the windows of a convolution or pool over an input of shape x.
func slidingWindows(o *backend.Op, x, kernel tensor.Shape) (*windows, error) {
	axes, err := op.Windows(o.Node.Attrs, graph.Of(x[2:]...), graph.Of(kernel...))
	if err != nil {
		return nil, err
	}
	return newWindows(axes), nil
}

// swap returns the windows with the parts of in and out exchanged: each input element of a
// transposed convolution is a window over its output.
func (w *windows) swap() *windows {
	s := &windows{axes: make([]spatialAxis, len(w.axes)), ins: w.outs, outs: w.ins, taps: w.taps}
	for i, a := range w.axes {
		a.in, a.out = a.out, a.in
		s.axes[i], s.last = a, a
	}
	return s
}

// row returns where the input row starts that tap t reads in windows of row r (rows run along the
// last axis); ok is false when the row is in the padding.
func (w *windows) row(r, t int) (at int, ok bool) {
	t /= w.last.kernel
	size := w.last.in
	for i := len(w.axes) - 2; i >= 0; i-- {
		a := &w.axes[i]
		p := r%a.out*a.stride - a.begin + t%a.kernel*a.dilation
		if p < 0 || p >= a.in {
			return 0, false
		}
		at += p * size
		size *= a.in
		r /= a.out
		t /= a.kernel
	}
	return at, true
}

// reach returns where, in an input row of n elements, the taps of one number in windows w0 to w1
// (not included) of a row lie: windows lo to hi read at, at+stride and so on; the others read
// padding.
func (w *windows) reach(t, w0, w1 int) (lo, hi, at int) {
	a := &w.last
	first := t%a.kernel*a.dilation - a.begin
	lo, hi = w0, w1
	if first < 0 {
		lo = max(lo, (-first+a.stride-1)/a.stride)
	}
	if first >= a.in {
		return w0, w0, 0
	}
	hi = min(hi, (a.in-1-first)/a.stride+1)
	if hi <= lo {
		return w0, w0, 0
	}
	return lo, hi, first + lo*a.stride
}
