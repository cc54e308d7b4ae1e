package quant

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

var negInf, posInf = float32(math.Inf(-1)), float32(math.Inf(1))

// ConvInteger returns the kernels for ConvInteger with constant weights.
func ConvInteger(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) < 2 || len(o.Out) != 1 || o.Out[0].DType != tensor.Int32 || o.Out[0].Shape == nil {
		return nil, nil
	}
	v, ok := windowOf(o.Node, &o.In[0], &o.In[1], &o.Out[0])
	if !ok {
		return nil, nil
	}
	p := newConv(l, o, v, 0, 1, 2, 3)
	if p == nil {
		return nil, nil
	}
	return p.candidate(o), nil
}

// QLinearConv returns the kernels for QLinearConv with constant weights.
func QLinearConv(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) < 8 || len(o.Out) != 1 || !isOctet(o.Out[0].DType) || o.Out[0].Shape == nil {
		return nil, nil
	}
	v, ok := windowOf(o.Node, &o.In[0], &o.In[3], &o.Out[0])
	if !ok {
		return nil, nil
	}
	for _, i := range []int{1, 4, 6} {
		if o.In[i].DType != tensor.Float32 || i != 4 && !single(&o.In[i]) {
			return nil, nil
		}
	}
	p := newConv(l, o, v, 0, 3, 2, 5)
	if p == nil || !single(&o.In[7]) || o.In[7].DType != o.Out[0].DType {
		return nil, nil
	}
	if o.Arg(8).Present() {
		p.bias = 8
	}
	p.mode = toOctets
	p.requantise = &requantise{scaleX: 1, scaleW: 4, scaleY: 6, zeroY: 7, signed: o.Out[0].DType == tensor.Int8,
		lo: negInf, hi: posInf}
	return p.candidate(o), nil
}

func (p *conv) candidate(o *backend.Op) []backend.Candidate {
	k, scratch := p.candidates(o)
	return []backend.Candidate{{Name: "convolve", Source: source(p.level), Kernel: k, Scratch: scratch,
		Flops: integerShare(p.level), Stream: 0.6}}
}

// integerShare is the rate of products of 8-bit integers as a share of the machine's rate of those of
// float32.
func integerShare(l simd.Level) float64 {
	switch {
	case simd.Dot(l):
		return 3
	case l == simd.AVX2:
		return 1.2
	case l == simd.AVX512:
		return 0.7
	}
	return 0.05
}
