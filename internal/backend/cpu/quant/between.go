package quant

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// sandwich is a convolution of dequantised operands whose result is quantised.
type sandwich struct {
	// x and w are the DequantizeLinear nodes of the operands.
	x, w, conv *graph.Node
	// limit is a Relu or Clip behind the convolution, or nil.
	limit    *graph.Node
	quantise *graph.Node
}

// between returns the kernels for a convolution of dequantised operands whose result is limited and
// quantised: it is computed in integers.
func between(l simd.Level, o *backend.Op, body *graph.Graph) []backend.Candidate {
	s := sandwichOf(body)
	if s == nil {
		return nil
	}
	at := func(n *graph.Node, i int) int {
		if n == nil || n.Input(i) == graph.NoValue {
			return -1
		}
		return slices.Index(body.Inputs, n.Input(i))
	}
	x, w := at(s.x, 0), at(s.w, 0)
	r := &requantise{scaleX: at(s.x, 1), scaleW: at(s.w, 1), scaleY: at(s.quantise, 1), zeroY: at(s.quantise, 2),
		lo: negInf, hi: posInf, signed: o.Out[0].DType == tensor.Int8}
	for _, i := range []int{x, w, r.scaleX, r.scaleW, r.scaleY} {
		if i < 0 || o.In[i].Shape == nil {
			return nil
		}
	}
	v, ok := windowOf(s.conv, &o.In[x], &o.In[w], &o.Out[0])
	if !ok || !s.scaled(o, r, v.groups*v.outs) || !s.limits(o, body, r) {
		return nil
	}
	p := newConv(l, o, v, x, w, at(s.x, 2), at(s.w, 2))
	if p == nil || r.zeroY >= 0 && (!single(&o.In[r.zeroY]) || o.In[r.zeroY].DType != o.Out[0].DType) {
		return nil
	}
	if s.conv.Input(2) != graph.NoValue {
		if p.bias = at(s.conv, 2); p.bias < 0 || o.In[p.bias].DType != tensor.Float32 {
			return nil
		}
	}
	p.mode, p.requantise = toOctets, r
	return p.candidate(o)
}

// sandwichOf takes a body apart; nil when it is none.
func sandwichOf(body *graph.Graph) *sandwich {
	s := &sandwich{}
	made := map[graph.ValueID]*graph.Node{}
	for _, n := range body.Nodes {
		if n.Domain != "" || s.quantise != nil {
			return nil
		}
		switch n.Op {
		case "DequantizeLinear":
			made[n.Outputs[0]] = n
		case "Conv":
			if s.conv != nil {
				return nil
			}
			s.conv = n
			s.x, s.w = made[n.Inputs[0]], made[n.Inputs[1]]
		case "Relu", "Clip":
			if s.conv == nil || s.limit != nil || n.Inputs[0] != s.conv.Outputs[0] {
				return nil
			}
			s.limit = n
		case "QuantizeLinear":
			s.quantise = n
		default:
			return nil
		}
	}
	if s.conv == nil || s.quantise == nil || s.x == nil || s.w == nil {
		return nil
	}
	last := s.conv
	if s.limit != nil {
		last = s.limit
	}
	if s.quantise.Inputs[0] != last.Outputs[0] {
		return nil
	}
	return s
}

// scaled reports whether the scales are such as the kernel has: one for the data, and one, or one for each
// channel, for the weights.
func (s *sandwich) scaled(o *backend.Op, r *requantise, channels int) bool {
	for _, n := range []*graph.Node{s.x, s.w, s.quantise} {
		if n.Attrs.Int("block_size", 0) != 0 {
			return false
		}
	}
	for _, i := range []int{r.scaleX, r.scaleY} {
		if !single(&o.In[i]) || o.In[i].DType != tensor.Float32 {
			return false
		}
	}
	n, ok := o.In[r.scaleW].Shape.Elements()
	if !ok || o.In[r.scaleW].DType != tensor.Float32 || n != 1 && n != int64(channels) {
		return false
	}
	axis := s.w.Attrs.Int("axis", 1)
	return n == 1 || axis == 0
}

// limits reads the limit behind the convolution, and reports whether it is known.
func (s *sandwich) limits(o *backend.Op, body *graph.Graph, r *requantise) bool {
	switch {
	case s.limit == nil:
		return true
	case s.limit.Op == "Relu":
		r.lo = 0
		return true
	}
	for i, bound := range []*float32{&r.lo, &r.hi} {
		*bound = s.limit.Attrs.Float([]string{"min", "max"}[i], *bound)
		v := s.limit.Input(i + 1)
		if v == graph.NoValue {
			continue
		}
		at := slices.Index(body.Inputs, v)
		if at < 0 || o.In[at].Const == nil || o.In[at].DType != tensor.Float32 || o.In[at].Const.Len() != 1 {
			return false
		}
		*bound = tensor.Cast[float32](o.In[at].Const.Bytes())[0]
	}
	return r.lo <= r.hi
}
