package quant

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/octet"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// piece is how many elements one task converts.
const piece = 1 << 14

// linear converts tensors of [outer, n, inner] elements, of which those of one middle index share a
// scale and a zero point.
type linear struct {
	level           simd.Level
	outer, n, inner int
	signed          bool
	task            func(c *backend.Call, task, worker int)
	convert         func(p *linear, c *backend.Call, at, n, which int)
	// each is how many runs of inner elements one task converts, or, when there is but one, chunks is how
	// many pieces it is cut into.
	each, chunks int
}

// newLinear describes a QuantizeLinear or DequantizeLinear; nil when it is none that this package
// has.
func newLinear(l simd.Level, o *backend.Op) *linear {
	if len(o.In) < 2 || len(o.Out) != 1 || o.In[1].DType != tensor.Float32 || o.In[0].Shape == nil ||
		o.Node.Attrs.Int("block_size", 0) != 0 || o.Node.Attrs.Int("precision", 0) > 1 {
		return nil
	}
	s := o.In[0].Shape
	count, ok := s.Elements()
	scales, ok2 := o.In[1].Shape.Elements()
	p := &linear{level: l, outer: 1, n: 1, inner: int(count)}
	if !ok || !ok2 {
		return nil
	}
	if scales != 1 {
		axis := o.Node.Attrs.Int("axis", 1)
		if axis < 0 {
			axis += int64(len(s))
		}
		if axis < 0 || axis >= int64(len(s)) || scales != s[axis] {
			return nil
		}
		p.inner = 1
		for i, d := range s {
			switch {
			case i < int(axis):
				p.outer *= int(d)
			case i > int(axis):
				p.inner *= int(d)
			}
		}
		p.n = int(scales)
	}
	if z := o.Arg(2); z.Present() {
		if n, ok := z.Shape.Elements(); !ok || n != scales {
			return nil
		}
	}
	return p
}

// QuantizeLinear returns the kernels for QuantizeLinear.
func QuantizeLinear(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	p := newLinear(l, o)
	if p == nil || o.In[0].DType != tensor.Float32 || !isOctet(o.Out[0].DType) {
		return nil, nil
	}
	p.signed = o.Out[0].DType == tensor.Int8
	p.convert = (*linear).quantise
	return p.candidates("quantise"), nil
}

// DequantizeLinear returns the kernels for DequantizeLinear.
func DequantizeLinear(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	p := newLinear(l, o)
	if p == nil || o.Out[0].DType != tensor.Float32 || !isOctet(o.In[0].DType) {
		return nil, nil
	}
	p.signed = o.In[0].DType == tensor.Int8
	p.convert = (*linear).dequantise
	return p.candidates("dequantise"), nil
}

func (p *linear) candidates(name string) []backend.Candidate {
	p.each, p.chunks = max(1, piece/max(p.inner, 1)), 1
	if p.outer*p.n == 1 {
		p.chunks = (p.inner + piece - 1) / piece
	}
	p.task = p.run
	return []backend.Candidate{{Name: name, Source: source(p.level), Kernel: p.kernel, Flops: 0.05, Stream: 0.7}}
}

// source names the kind of code of the conversions on a level.
func source(l simd.Level) string {
	if l == simd.AVX2 || l == simd.AVX512 {
		return l.String()
	}
	return "go"
}

func (p *linear) kernel(c *backend.Call) error {
	if p.chunks > 1 {
		c.Par(p.chunks, p.task)
	} else {
		c.Par((p.outer*p.n+p.each-1)/p.each, p.task)
	}
	return nil
}

func (p *linear) run(c *backend.Call, task, _ int) {
	if p.chunks > 1 {
		p.convert(p, c, task*piece, min(piece, p.inner-task*piece), 0)
		return
	}
	for i := task * p.each; i < min((task+1)*p.each, p.outer*p.n); i++ {
		p.convert(p, c, i*p.inner, p.inner, i%p.n)
	}
}

// quantise converts n elements from at on, with scale which.
func (p *linear) quantise(c *backend.Call, at, n, which int) {
	octet.Quantise(p.level, c.Out[0].Data[at:][:n], tensor.Cast[float32](c.In[0].Data)[at:][:n],
		octet.StepsOf(tensor.Cast[float32](c.In[1].Data)[which], zero(c, third(c), which), p.signed))
}

// dequantise converts n elements from at on, with scale which.
func (p *linear) dequantise(c *backend.Call, at, n, which int) {
	octet.Dequantise(p.level, tensor.Cast[float32](c.Out[0].Data)[at:][:n], c.In[0].Data[at:][:n],
		tensor.Cast[float32](c.In[1].Data)[which], zero(c, third(c), which), p.signed)
}

// third returns 2, the input of the zero points, or −1 when there are none.
func third(c *backend.Call) int {
	if len(c.In) > 2 && len(c.In[2].Data) > 0 {
		return 2
	}
	return -1
}

// dynamic quantises to a range that the elements span.
type dynamic struct {
	level simd.Level
	count int
	task  func(c *backend.Call, task, worker int)
}

// DynamicQuantizeLinear returns the kernels for DynamicQuantizeLinear.
func DynamicQuantizeLinear(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	if len(o.In) != 1 || len(o.Out) != 3 || o.In[0].DType != tensor.Float32 || !o.Out[1].Present() || !o.Out[2].Present() {
		return nil, nil
	}
	n, ok := o.In[0].Shape.Elements()
	if !ok {
		return nil, nil
	}
	p := newDynamic(l, int(n))
	return []backend.Candidate{{Name: "quantise", Source: source(l), Kernel: p.kernel, Flops: 0.05, Stream: 0.6}}, nil
}

func newDynamic(l simd.Level, count int) *dynamic {
	p := &dynamic{level: l, count: count}
	p.task = p.run
	return p
}

func (p *dynamic) kernel(c *backend.Call) error {
	x := tensor.Cast[float32](c.In[0].Data)
	f := vec.For(p.level)
	low, high := min(0, f.MinOf(x)), max(0, f.MaxOf(x))
	scale := float32(1)
	if low != high {
		scale = (high - low) / 255
	}
	zero := byte(0)
	// Where the elements have no range, all of them are 0.
	if z := math.RoundToEven(max(0, min(255, float64(-low/scale)))); z == z {
		zero = byte(z)
	}
	tensor.Cast[float32](c.Out[1].Data)[0], c.Out[2].Data[0] = scale, zero
	c.Par((p.count+piece-1)/piece, p.task)
	return nil
}

func (p *dynamic) run(c *backend.Call, task, _ int) {
	at := task * piece
	n := min(piece, p.count-at)
	octet.Quantise(p.level, c.Out[0].Data[at:][:n], tensor.Cast[float32](c.In[0].Data)[at:][:n],
		octet.StepsOf(tensor.Cast[float32](c.Out[1].Data)[0], int32(c.Out[2].Data[0]), false))
}
