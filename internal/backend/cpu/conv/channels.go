package conv

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// channelMap is what a body does to each output channel of a convolution by constant weights before
// anything else: it multiplies by scale and adds shift, which are nil for ones and for zeros.
type channelMap struct {
	scale, shift []float32
	// key names the scale among those of the same weights.
	key string
	// next is the body's first node behind it.
	next int
}

// channelsOf returns the map of a body whose first node is the convolution.
func channelsOf(o *backend.Op, body *graph.Graph, at operands) channelMap {
	m := channelMap{next: 1}
	if o.In[at.w].Const == nil || len(o.Out[0].Shape) < 2 {
		return m
	}
	channels := o.Out[0].Shape[1]
	if at.bias >= 0 {
		if b := o.In[at.bias].Const; b == nil || b.DType() != tensor.Float32 || int64(b.Len()) != channels {
			return m
		}
	}
	if t := perChannel(o, body, m.next, "Mul"); t != nil {
		m.scale, m.key = spread(t, channels), fmt.Sprintf(" by %p", t)
		m.next++
	}
	if t := perChannel(o, body, m.next, "Add"); t != nil {
		m.shift = spread(t, channels)
		m.next++
	}
	if at.bias < 0 {
		return m
	}
	shift := spread(o.In[at.bias].Const, channels)
	for i := range shift {
		if m.scale != nil {
			shift[i] *= m.scale[i]
		}
		if m.shift != nil {
			shift[i] += m.shift[i]
		}
	}
	m.shift = shift
	return m
}

// perChannel returns the constant of one element, or one for each channel, that node i of a body
// combines with the result of the node before, whose only use that is; nil when it does not.
func perChannel(o *backend.Op, body *graph.Graph, i int, op string) *tensor.Tensor {
	if i >= len(body.Nodes) {
		return nil
	}
	n, from := body.Nodes[i], body.Nodes[i-1].Outputs[0]
	if n.Domain != "" || n.Op != op || len(n.Inputs) != 2 || usesOf(body, from) != 1 {
		return nil
	}
	k := slices.Index(n.Inputs, from)
	if k < 0 {
		return nil
	}
	in := slices.Index(body.Inputs, n.Inputs[1-k])
	if in < 0 || o.In[in].Const == nil || o.In[in].DType != tensor.Float32 {
		return nil
	}
	shape, out := o.In[in].Shape, o.Out[0].Shape
	for j, d := range shape {
		axis := len(out) - len(shape) + j
		if axis < 0 || d != 1 && (axis != 1 || d != out[1]) {
			return nil
		}
	}
	return o.In[in].Const
}

// usesOf counts the reads of a value by a body's nodes and outputs.
func usesOf(body *graph.Graph, v graph.ValueID) int {
	uses := 0
	for _, n := range body.Nodes {
		for _, in := range n.Inputs {
			if in == v {
				uses++
			}
		}
	}
	for _, out := range body.Outputs {
		if out == v {
			uses++
		}
	}
	return uses
}

// spread returns the elements of a constant, or n times its one.
func spread(t *tensor.Tensor, n int64) []float32 {
	out, e := make([]float32, n), tensor.Cast[float32](t.Bytes())
	for i := range out {
		out[i] = e[min(i, len(e)-1)]
	}
	return out
}

// scaleBlock multiplies packed weights, whose last dim is the channels of block o of group g.
func (p *plan) scaleBlock(packed []float32, g, o int) {
	if p.scale == nil {
		return
	}
	lanes := p.scale[g*p.outs+o*p.b:][:min(p.b, p.outs-o*p.b)]
	var factors vec.Pattern
	for i := range factors {
		if i%p.b < len(lanes) {
			factors[i] = lanes[i%p.b]
		}
	}
	vec.For(p.level).VP[vec.Mul](packed, packed, &factors)
}
