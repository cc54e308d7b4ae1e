package gemm

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd/gemm"
	"github.com/stowage-ml/stowage/internal/simd/octet"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// octets is a right operand of 8-bit integers, each less a zero point and times a scale. It is never
// in memory as a whole as float32.
type octets struct {
	// data, scale and zero are inputs; zero is −1 when there is none.
	data, scale, zero int
	signed            bool
	// each says that columns have scales and zero points of their own.
	each bool
}

// octetsOf returns the operand that a DequantizeLinear of inputs makes; axis is the dimension of the
// product's columns in it, n their number. Nil when scales belong to anything else.
func octetsOf(o *backend.Op, dq *graph.Node, inputs []int, axis, n int) *octets {
	for i, at := range inputs {
		if at < 0 && dq.Inputs[i] != graph.NoValue {
			return nil
		}
	}
	q := &octets{data: inputs[0], scale: inputs[1], zero: -1}
	data, scale := &o.In[q.data], &o.In[q.scale]
	if data.DType != tensor.Int8 && data.DType != tensor.Uint8 || scale.DType != tensor.Float32 || len(data.Shape) != 2 ||
		dq.Attrs.Int("block_size", 0) != 0 || dq.Attrs.Int("output_dtype", 0) > 1 {
		return nil
	}
	q.signed = data.DType == tensor.Int8
	scales, ok := count(scale.Shape)
	switch at := int(dq.Attrs.Int("axis", 1)); {
	case !ok:
		return nil
	case scales != 1 && (scales != n || (at+2)%2 != axis):
		return nil
	}
	q.each = scales != 1
	if len(inputs) > 2 && inputs[2] >= 0 {
		q.zero = inputs[2]
		if zeros, ok := count(o.In[q.zero].Shape); !ok || zeros != scales {
			return nil
		}
	}
	return q
}

// octetBlock is how many elements are dequantised at a time for few rows: they stay in the
// first-level cache.
const octetBlock = 8192

// few reports whether there are so few rows that packing is not worth its time.
func (p *product) few() bool { return p.m <= dotRows }

// cutOctets chooses how many columns and steps are dequantised at a time.
func (p *product) cutOctets() {
	w := gemm.Cols(p.level)
	switch {
	case !p.few():
		p.sub, p.kc = taskCols, min(p.kc, packSteps)
	case p.transB:
		p.sub = max(w, octetBlock/p.kc/w*w)
	default:
		p.sub, p.kc = 8*w, min(p.kc, octetBlock/(8*w))
	}
	p.sub = max(1, min(p.sub, p.n))
}

// octetFloats returns the floats of a worker's scratch memory for what it dequantises at a time.
func (p *product) octetFloats() int {
	n := roundUp(p.kc*p.sub, 16)
	if p.transB && !p.few() {
		n += roundUp(gemm.PackedLen(p.level, p.kc, p.sub), 16)
	}
	return n
}

// dequantise gives the product its right operand from row k on.
func (p *product) dequantise(c *backend.Call, t *part, mul *gemm.Mul, k int, scratch []float32) {
	if mul.K == 0 {
		return
	}
	q := p.octets
	data := c.In[q.data].Data[p.b[t.batch]:]
	scales := tensor.Cast[float32](c.In[q.scale].Data)
	mul.B = scratch
	if !p.transB {
		for i := range mul.K {
			q.row(p, c, scratch[i*t.n:][:t.n], data[(k+i)*p.ldb+t.j:][:t.n], t.j)
		}
		mul.LDB = t.n
		return
	}
	for j := range t.n {
		at := 0
		if q.each {
			at = t.j + j
		}
		from := data[(t.j+j)*p.ldb+k:][:mul.K]
		octet.Dequantise(p.level, scratch[j*mul.K:][:mul.K], from, scales[at], q.zeroAt(c, at), q.signed)
	}
	if p.few() {
		mul.Transposed, mul.LDB = true, mul.K
		return
	}
	mul.B = scratch[roundUp(p.kc*p.sub, 16):]
	gemm.PackTransposed(p.level, mul.B, scratch, mul.K, mul.K, t.n)
	mul.Packed, mul.LDB = true, mul.K
}

// row dequantises a row of columns from j on.
func (q *octets) row(p *product, c *backend.Call, dst []float32, src []byte, j int) {
	scales := tensor.Cast[float32](c.In[q.scale].Data)
	if !q.each {
		octet.Dequantise(p.level, dst, src, scales[0], q.zeroAt(c, 0), q.signed)
		return
	}
	octet.Dequantise(p.level, dst, src, 1, 0, q.signed)
	if q.zero >= 0 {
		for i := range dst {
			dst[i] -= float32(q.zeroAt(c, j+i))
		}
	}
	vec.For(p.level).VV[vec.Mul](dst, dst, scales[j:][:len(dst)])
}

// zeroAt returns a zero point.
func (q *octets) zeroAt(c *backend.Call, i int) int32 {
	switch {
	case q.zero < 0:
		return 0
	case q.signed:
		return int32(int8(c.In[q.zero].Data[i]))
	}
	return int32(c.In[q.zero].Data[i])
}
