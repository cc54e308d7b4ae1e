package quant

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// axis is how a window moves along one axis: begin is the padding before the input.
type axis struct{ in, kernel, out, stride, dilation, begin int }

// offset returns the place in a phase that tap k of the first window reads; phase returns which phase
// that is, when the padded input is dealt out into as many phases as the stride says.
func (a *axis) offset(k int) int { return k * a.dilation / a.stride }

func (a *axis) phase(k int) int { return k * a.dilation % a.stride }

// reads reports whether any tap reads a phase.
func (a *axis) reads(phase int) bool {
	for k := range min(a.kernel, a.stride) {
		if a.phase(k) == phase {
			return true
		}
	}
	return false
}

// length returns the extent of a phase.
func (a *axis) length() int {
	return ((a.out-1)*a.stride+(a.kernel-1)*a.dilation)/a.stride + 1
}

// window is a convolution over two axes. Channels are those of one group.
type window struct {
	batch, groups, ins, outs int
	h, w                     axis
}

// windowOf reads a convolution's shapes and attributes; ok is false when there is nothing to compute,
// or more than two axes.
func windowOf(n *graph.Node, x, w, y *backend.Arg) (v window, ok bool) {
	if len(x.Shape) < 3 || len(x.Shape) > 4 || len(w.Shape) != len(x.Shape) || len(y.Shape) != len(x.Shape) {
		return v, false
	}
	axes, err := op.Windows(n.Attrs, graph.Of(x.Shape[2:]...), graph.Of(w.Shape[2:]...))
	groups := n.Attrs.Int("group", 1)
	if err != nil || groups < 1 || w.Shape[0]%groups != 0 || w.Shape[1]*groups != x.Shape[1] || y.Shape[1] != w.Shape[0] ||
		y.Shape[0] != x.Shape[0] {
		return v, false
	}
	v = window{batch: int(x.Shape[0]), groups: int(groups), ins: int(w.Shape[1]), outs: int(w.Shape[0] / groups),
		h: axis{in: 1, kernel: 1, out: 1, stride: 1, dilation: 1}}
	list := []*axis{&v.h, &v.w}[2-len(axes):]
	for i := range axes {
		if *list[i], ok = number(&axes[i]); !ok || int64(list[i].out) != y.Shape[2+i] {
			return v, false
		}
	}
	return v, v.batch > 0 && v.ins > 0 && v.outs > 0 && v.room() < math.MaxInt32
}

// room bounds the bytes of everything that is made for one image.
func (v *window) room() float64 {
	plane := float64(v.h.length()*v.h.stride+1) * float64(v.w.length()*v.w.stride+1)
	return 16 * plane * float64(v.ins*v.groups+4) * float64(v.w.kernel)
}

// number returns an axis with plain numbers.
func number(a *op.Axis) (out axis, ok bool) {
	in, iok := a.In.Int()
	kernel, kok := a.Kernel.Int()
	n, ook := a.Out.Int()
	begin, bok := a.Begin.Int()
	if !iok || !kok || !ook || !bok || in < 1 || n < 1 || kernel < 1 || begin < 0 || n > math.MaxInt32/a.Stride ||
		kernel > math.MaxInt32/a.Dilation || begin > math.MaxInt32 || in > math.MaxInt32 {
		return out, false
	}
	return axis{int(in), int(kernel), int(n), int(a.Stride), int(a.Dilation), int(begin)}, true
}
