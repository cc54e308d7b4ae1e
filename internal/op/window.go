package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
)

// Axis is how the window of a convolution or a pool moves along one spatial axis, in elements.
type Axis struct {
	// In is the input's extent, Kernel the window's before dilation, Out the number of windows
	// (for a transposed convolution: the output's extent).
	In, Kernel, Out graph.Dim
	// Begin and End are the padding before and after the input. End may be negative where the
	// last windows leave some of the input out.
	Begin, End       graph.Dim
	Stride, Dilation int64
}

// Reach returns the extent that one window covers.
func (a *Axis) Reach() graph.Dim {
	one := graph.Known(1)
	return a.Kernel.Sub(one).Mul(graph.Known(a.Dilation)).Add(one)
}

// Windows lays windows of the given kernel over the spatial extents in, as the attributes
// auto_pad, pads, strides, dilations and ceil_mode say.
func Windows(attrs graph.Attrs, in, kernel []graph.Dim) ([]Axis, error) {
	return windowsIn(nil, attrs, in, kernel)
}

// windowsIn is Windows, in the memory of an empty list as far as it goes.
func windowsIn(few []Axis, attrs graph.Attrs, in, kernel []graph.Dim) ([]Axis, error) {
	axes, err := axesOf(few, attrs, in, kernel)
	if err != nil {
		return nil, err
	}
	mode, ceil := attrs.Str("auto_pad", "NOTSET"), attrs.Int("ceil_mode", 0) != 0
	for i := range axes {
		a := &axes[i]
		if mode == "SAME_UPPER" || mode == "SAME_LOWER" {
			a.same(mode == "SAME_UPPER")
			continue
		}
		if !a.slide(ceil) {
			return nil, fmt.Errorf("spatial axis %d: a window of %v does not fit in %v elements and %v+%v of padding",
				i, a.Reach(), a.In, a.Begin, a.End)
		}
	}
	return axes, nil
}

// axesOf reads the attributes that convolutions and pools share. Only Out is left unset.
func axesOf(few []Axis, attrs graph.Attrs, in, kernel []graph.Dim) ([]Axis, error) {
	n := len(in)
	if len(kernel) != n {
		return nil, fmt.Errorf("kernel_shape: got %d values, want %d", len(kernel), n)
	}
	strides, err := perAxis(attrs, "strides", n, 1, 1)
	if err != nil {
		return nil, err
	}
	dilations, err := perAxis(attrs, "dilations", n, 1, 1)
	if err != nil {
		return nil, err
	}
	pads, err := perAxis(attrs, "pads", 2*n, 0, 0)
	if err != nil {
		return nil, err
	}
	switch mode := attrs.Str("auto_pad", "NOTSET"); mode {
	case "NOTSET", "":
	case "VALID", "SAME_UPPER", "SAME_LOWER":
		pads = sameEach(0, 2*n)
	default:
		return nil, fmt.Errorf("auto_pad: got %q, want NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode)
	}
	axes := few
	for i := range n {
		if k, ok := kernel[i].Int(); ok && (k < 1 || k > math.MaxInt32) {
			return nil, fmt.Errorf("kernel_shape: got %d on spatial axis %d, want one in [1, %d]", k, i, math.MaxInt32)
		}
		axes = append(axes, Axis{In: in[i], Kernel: kernel[i], Stride: strides[i], Dilation: dilations[i],
			Begin: graph.Known(pads[i]), End: graph.Known(pads[n+i])})
	}
	return axes, nil
}

// perAxis reads a list attribute of n values of at least low; all are def when it is left out.
func perAxis(attrs graph.Attrs, name string, n int, def, low int64) ([]int64, error) {
	vs := attrs.Ints(name, nil)
	if len(vs) == 0 {
		return sameEach(def, n), nil
	}
	if len(vs) != n {
		return nil, fmt.Errorf("%s: got %d values, want %d", name, len(vs), n)
	}
	for _, v := range vs {
		if v < low || v > math.MaxInt32 {
			return nil, fmt.Errorf("%s: got %v, want values in [%d, %d]", name, vs, low, math.MaxInt32)
		}
	}
	return vs, nil
}

// zeros and ones are lists that most windows have, which nobody changes.
var zeros, ones = [8]int64{}, [8]int64{1, 1, 1, 1, 1, 1, 1, 1}

// sameEach returns a list of n times one number, which nobody may change.
func sameEach(x int64, n int) []int64 {
	switch {
	case x == 0 && n <= len(zeros):
		return zeros[:n:n]
	case x == 1 && n <= len(ones):
		return ones[:n:n]
	}
	return slices.Repeat([]int64{x}, n)
}

// same pads so that there is one window for each Stride input elements; the odd element goes
// after the input when upper is set, before it otherwise.
func (a *Axis) same(upper bool) {
	s := graph.Known(a.Stride)
	a.Out = a.In.CeilDiv(s)
	total := a.Out.Sub(graph.Known(1)).Mul(s).Add(a.Reach()).Sub(a.In).Max(graph.Known(0))
	half := total.Div(graph.Known(2))
	a.Begin, a.End = half, total.Sub(half)
	if !upper {
		a.Begin, a.End = a.End, a.Begin
	}
}

// slide counts the windows between the pads. With ceil the last window may be partly beyond
// the end, but the last one does not count if it starts there. It reports whether a window fits;
// none needs to in an axis without elements.
func (a *Axis) slide(ceil bool) bool {
	s := graph.Known(a.Stride)
	padded := a.In.Add(a.Begin)
	fit := padded.Add(a.End).Sub(a.Reach())
	a.Out = fit.Add(s).Div(s)
	if n, ok := fit.Int(); ok && n < 0 {
		a.Out = graph.Known(0)
		return a.In.Is(0)
	}
	if ceil && a.Stride > 1 {
		one := graph.Known(1)
		most := fit.Add(s).CeilDiv(s)
		a.Out = most.Sub(one).Max(most.Min(padded.CeilDiv(s)))
	}
	return true
}

// TransposedWindows lays out a transposed convolution of the given kernel over the spatial
// extents in, as auto_pad, pads, strides, dilations, output_padding and output_shape say: input
// element i reaches output elements i·Stride − Begin + j·Dilation for each j < Kernel.
func TransposedWindows(attrs graph.Attrs, in, kernel []graph.Dim) ([]Axis, error) {
	axes, err := axesOf(nil, attrs, in, kernel)
	if err != nil {
		return nil, err
	}
	n := len(axes)
	extra, err := perAxis(attrs, "output_padding", n, 0, 0)
	if err != nil {
		return nil, err
	}
	want := attrs.Ints("output_shape", nil)
	if len(want) == n+2 {
		want = want[2:]
	}
	if len(want) != 0 && len(want) != n {
		return nil, fmt.Errorf("output_shape: got %d values, want %d", len(want), n)
	}
	mode := attrs.Str("auto_pad", "NOTSET")
	for i := range axes {
		a := &axes[i]
		s := graph.Known(a.Stride)
		full := a.In.Mul(s).Add(a.Reach().Add(graph.Known(extra[i])).Sub(s))
		switch {
		case len(want) > 0:
			a.crop(full, graph.Known(want[i]), mode == "SAME_UPPER")
		case mode == "SAME_UPPER" || mode == "SAME_LOWER":
			a.crop(full, a.In.Mul(s), mode == "SAME_UPPER")
		default:
			a.Out = full.Sub(a.Begin).Sub(a.End)
		}
		if a.In.Is(0) {
			a.Out = graph.Known(0)
		}
		if out, ok := a.Out.Int(); ok && out < 0 {
			return nil, fmt.Errorf("spatial axis %d: got an output of %d elements, want at least 0", i, out)
		}
	}
	return axes, nil
}

// crop cuts the full extent down to out; the odd element is cut at the end when upper is set.
func (a *Axis) crop(full, out graph.Dim, upper bool) {
	total := full.Sub(out).Max(graph.Known(0))
	half := total.Div(graph.Known(2))
	a.Begin, a.End, a.Out = total.Sub(half), half, out
	if upper {
		a.Begin, a.End = a.End, a.Begin
	}
}
