package conv

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// axis is how windows move along one spatial axis.
type axis struct{ in, kernel, out, stride, dilation, begin int }

// plain reports whether output i reads input i alone.
func (a axis) plain() bool { return a.kernel == 1 && a.stride == 1 && a.begin == 0 && a.in == a.out }

// padded reports whether a window reaches beyond the input.
func (a axis) padded() bool { return a.begin > 0 || a.reach(a.out) > a.in+a.begin }

// reach is how many elements, padding included, the first n windows span.
func (a axis) reach(n int) int { return (n-1)*a.stride + (a.kernel-1)*a.dilation + 1 }

// taps returns which taps of window i lie in the input: first to end, not included.
func (a axis) taps(i int) (first, end int) {
	at := i*a.stride - a.begin
	if at < 0 {
		first = (-at + a.dilation - 1) / a.dilation
	}
	if at < a.in {
		end = min(a.kernel, (a.in-1-at)/a.dilation+1)
	}
	return min(first, a.kernel), max(end, min(first, a.kernel))
}

var unit = axis{in: 1, kernel: 1, out: 1, stride: 1, dilation: 1}

// shape is a convolution over two spatial axes. Channels are those of one group.
type shape struct {
	batch, groups, ins, outs int
	h, w                     axis
}

// shapeOf reads the operands' shapes and the anchor's attributes; ok is false when there is nothing to
// compute, when they do not fit each other, or when two axes do not do.
func shapeOf(n *graph.Node, x, w, y *backend.Arg) (s shape, ok bool) {
	xs, ws, ys := x.Shape, w.Shape, y.Shape
	if len(xs) < 3 || len(ws) != len(xs) || len(ys) != len(xs) {
		return s, false
	}
	axes, err := op.Windows(n.Attrs, graph.Of(xs[2:]...), graph.Of(ws[2:]...))
	if err != nil {
		return s, false
	}
	s.batch, s.groups = int(xs[0]), int(n.Attrs.Int("group", 1))
	if s.groups < 1 || ws[0]%int64(s.groups) != 0 || ws[1]*int64(s.groups) != xs[1] || ys[1] != ws[0] || ys[0] != xs[0] {
		return s, false
	}
	s.ins, s.outs = int(ws[1]), int(ws[0])/s.groups
	list, ok := numbers(axes)
	if !ok || s.batch < 1 || s.ins < 1 || s.outs < 1 {
		return s, false
	}
	for i, a := range list {
		if int64(a.out) != ys[2+i] {
			return s, false
		}
	}
	s.h, s.w, ok = two(list)
	return s, ok
}

// numbers returns the axes with plain numbers; ok is false when one has none or is empty.
func numbers(axes []op.Axis) (out []axis, ok bool) {
	for i := range axes {
		a := &axes[i]
		in, iok := a.In.Int()
		kernel, kok := a.Kernel.Int()
		n, ook := a.Out.Int()
		begin, bok := a.Begin.Int()
		if !iok || !kok || !ook || !bok || in < 1 || n < 1 || kernel < 1 {
			return nil, false
		}
		// What a window spans must be a small number: all offsets are products of such.
		if n*a.Stride > math.MaxInt32 || kernel*a.Dilation > math.MaxInt32 || begin > math.MaxInt32 {
			return nil, false
		}
		out = append(out, axis{int(in), int(kernel), int(n), int(a.Stride), int(a.Dilation), int(begin)})
	}
	return out, true
}

// two leaves out axes of one element and joins plain neighbours, until there are at most two.
func two(axes []axis) (h, w axis, ok bool) {
	var out []axis
	for _, a := range axes {
		if a.plain() && a.in == 1 {
			continue
		}
		if n := len(out); n > 0 && a.plain() && out[n-1].plain() {
			out[n-1].in *= a.in
			out[n-1].out = out[n-1].in
			continue
		}
		if a.plain() {
			a.dilation = 1
		}
		out = append(out, a)
	}
	switch len(out) {
	case 0:
		return unit, unit, true
	case 1:
		return unit, out[0], true
	case 2:
		return out[0], out[1], true
	}
	return h, w, false
}
