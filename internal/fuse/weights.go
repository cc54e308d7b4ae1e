package fuse

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// findScaled moves an affine map of channels into the constant weights and the bias of the
// convolution before it, and an addition into the bias of a matrix product. Large weights stay as
// they are, since a second copy costs more than the factor does; the bias then follows it.
func findScaled(f *finder) {
	for i, n := range f.g.Nodes {
		if f.taken[i] || !isOp(n, "BatchNormalization", "Add", "Sub", "Mul", "Div") || soleOutput(n) == graph.NoValue {
			continue
		}
		for _, v := range n.Inputs {
			a := f.maker(v, "Conv", "ConvTranspose", "Gemm")
			if a < 0 || !f.private(v) || soleOutput(f.g.Nodes[a]) == graph.NoValue {
				continue
			}
			out := f.fact(v)
			if out.Shape.Unranked() || !f.sameRank(n.Outputs[0], out.Shape) {
				continue
			}
			f.r.free()
			m, ok := f.affineOf(n, out.Shape, 1)
			if ok && m.x == v && f.absorbs(f.g.Nodes[a], n, m) {
				break
			}
		}
	}
}

// channelsOf describes the weights of an anchor: how many channels the output has, and which of
// them element i of the weights belongs to; all elements of a run belong to one.
type channelsOf struct {
	count, run int
	of         func(i int) int
}

// weightChannels returns the layout of an anchor's constant weights; ok is false for weights that
// are not constant.
func (f *finder) weightChannels(n *graph.Node) (c channelsOf, ok bool) {
	w := f.constant(n.Input(1))
	if w == nil || w.DType() != tensor.Float32 || len(w.Shape()) < 2 || w.Len() == 0 {
		return c, false
	}
	s := w.Shape()
	inner := int(int64(w.Len()) / s[0])
	switch n.Op {
	case "Conv":
		return channelsOf{int(s[0]), inner, func(i int) int { return i / inner }}, true
	case "ConvTranspose":
		groups := int(n.Attrs.Int("group", 1))
		if groups < 1 || int(s[0])%groups != 0 {
			return c, false
		}
		outs, kernel, ins := int(s[1]), inner/int(s[1]), int(s[0])/groups
		return channelsOf{outs * groups, kernel, func(i int) int { return i/inner/ins*outs + i/kernel%outs }}, true
	case "Gemm":
		if n.Attrs.Int("transB", 0) != 0 {
			return channelsOf{int(s[0]), inner, func(i int) int { return i / inner }}, true
		}
		return channelsOf{int(s[1]), 1, func(i int) int { return i % int(s[1]) }}, true
	}
	return c, false
}

// absorbs writes the patch that makes an anchor compute an affine map of its result; it reports
// whether it can.
func (f *finder) absorbs(anchor, n *graph.Node, m affine) bool {
	ch, ok := f.weightChannels(anchor)
	if !ok || anchor.Op == "Gemm" && m.mul != nil || max(len(m.mul), len(m.add)) > ch.count {
		return false
	}
	bias, ok := f.biasOf(anchor, ch.count)
	if !ok {
		return false
	}
	if m.mul != nil && f.packs(anchor) {
		return bias != nil && f.unbias(anchor, n, m, bias)
	}
	out := *anchor
	out.Inputs = slices.Clone(anchor.Inputs)
	w := f.constant(anchor.Inputs[1])
	if m.mul != nil {
		if !f.afford(int64(len(w.Bytes()))) {
			return false
		}
		scaled, ok := scaledBy(w, m.mul, ch)
		if !ok {
			return false
		}
		out.Inputs[1] = f.addConst(f.g.ValueName(anchor.Inputs[1])+"/scaled", scaled)
	}
	if m.add != nil || bias != nil {
		list := f.r.lend(ch.count)
		for i := range list {
			list[i] = at(bias, i, 0)*at(m.mul, i, 1) + at(m.add, i, 0)
		}
		if !finite(list) {
			return false
		}
		for len(out.Inputs) < 3 {
			out.Inputs = append(out.Inputs, graph.NoValue)
		}
		out.Inputs[2] = f.addConst(f.g.ValueName(n.Outputs[0])+"/bias", tensor.Of(narrowed(list)...))
		if out.Op == "Gemm" {
			out.Attrs = slices.DeleteFunc(slices.Clone(out.Attrs), func(a graph.Attr) bool { return a.Name == "beta" })
		}
	}
	out.Outputs = []graph.ValueID{n.Outputs[0]}
	f.remove(anchor)
	f.swap(n, &out)
	return true
}

// keptBytes is the size of weights from which on a second copy is not worth what it saves.
const keptBytes = 16 << 10

// packs reports whether kernels can multiply the weights as they bring them into their own order,
// which makes a second copy that is scaled a waste: those of convolutions that mix channels.
func (f *finder) packs(anchor *graph.Node) bool {
	w := f.constant(anchor.Inputs[1])
	return anchor.Op == "Conv" && w.Shape()[1] > 1 && len(w.Bytes()) > keptBytes
}

// unbias moves the bias of a convolution behind the map m that node n makes of its result, so that
// the factor stands next to the convolution; it reports whether it can.
func (f *finder) unbias(anchor, n *graph.Node, m affine, bias []float64) bool {
	m = f.r.then(affine{x: m.x, add: bias}, m)
	if !finite(m.mul, m.add) || m.mul == nil {
		return false
	}
	conv := *anchor
	conv.Inputs = conv.Inputs[:2:2]
	f.swap(anchor, &conv)
	f.putAffine(m, []*graph.Node{n}, len(f.fact(m.x).Shape), 1)
	return true
}

// biasOf returns the bias of an anchor, multiplied by what it is multiplied by: nil when there is
// none; ok is false when it is not a constant with one element for each channel, or one for all.
func (f *finder) biasOf(n *graph.Node, channels int) (bias []float64, ok bool) {
	v := n.Input(2)
	if v == graph.NoValue {
		return nil, true
	}
	b := f.floats(v)
	if b == nil {
		return nil, false
	}
	s := f.constant(v).Shape()
	if len(b) != 1 && len(b) != channels || len(s) > 0 && s[len(s)-1] != int64(len(b)) {
		return nil, false
	}
	beta := 1.0
	if n.Op == "Gemm" {
		beta = float64(n.Attrs.Float("beta", 1))
	}
	bias = f.r.lend(len(b))
	for i, x := range b {
		bias[i] = float64(x) * beta
	}
	return bias, finite(bias)
}

// scaledBy returns weights multiplied by one factor for each channel; ok is false when a
// product is not finite.
func scaledBy(w *tensor.Tensor, mul []float64, ch channelsOf) (out *tensor.Tensor, ok bool) {
	src := tensor.Cast[float32](w.Bytes())
	dst := make([]float32, len(src))
	var lost float32
	for i := 0; i < len(src); i += ch.run {
		m := float32(at(mul, ch.of(i), 1))
		run := dst[i:][:ch.run]
		for j, x := range src[i:][:ch.run] {
			y := x * m
			lost += y - y
			run[j] = y
		}
	}
	if lost != 0 {
		return nil, false
	}
	return tensor.Must(w.Shape(), dst), true
}
