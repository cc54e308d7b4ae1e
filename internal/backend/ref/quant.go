package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var quantised = integers8to16 | packed | setOf(tensor.Float8E4M3FN, tensor.Float8E4M3UZ, tensor.Float8E5M2,
	tensor.Float8E5M2UZ)

var integers8to16 = octets | setOf(tensor.Int16, tensor.Uint16)

var quantKernels = []entry{
	{op: "QuantizeLinear", types: []types{floats | setOf(tensor.Int32), floats, quantised}, make: checked(makeQuantize)},
	{op: "DequantizeLinear", types: []types{quantised | setOf(tensor.Int32), floats,
		quantised | setOf(tensor.Int32)}, make: checked(makeDequantize)},
	{op: "DynamicQuantizeLinear", types: []types{setOf(tensor.Float32)}, make: checked(makeDynamicQuantize)},
}

// quantBlock is the number of elements that are converted at a time.
const quantBlock = 256

// scaling is which scale belongs to which element of [outer, n, inner].
type scaling struct {
	outer, n, inner int
	// block is how many indices of the middle dim share a scale; blocked says that each outer and
	// inner index has scales of its own too.
	block   int
	blocked bool
	// dtype is that of the quantised side.
	dtype tensor.DType
}

func newScaling(o *backend.Op, dt tensor.DType) *scaling {
	x, s := o.In[0].Shape, o.In[1].Shape
	block := int(o.Node.Attrs.Int("block_size", 0))
	if count(s) == 1 && block == 0 {
		return &scaling{outer: 1, n: 1, inner: count(x), block: 1, dtype: dt}
	}
	axis := int(o.Node.Attrs.Int("axis", 1))
	if axis < 0 {
		axis += len(x)
	}
	return &scaling{outer: count(x[:axis]), n: int(x[axis]), inner: count(x[axis+1:]), block: max(block, 1),
		blocked: block > 0, dtype: dt}
}

// span is a run of elements from at on; element i has scale which+i·step.
type span struct{ at, n, which, step int }

// spans calls visit with spans of at most quantBlock elements that make up the whole tensor.
func (s *scaling) spans(visit func(span)) {
	blocks := (s.n + s.block - 1) / s.block
	for i := range s.outer * s.n {
		row := span{at: i * s.inner, which: i % s.n}
		if s.blocked {
			row.which, row.step = (i/s.n*blocks+i%s.n/s.block)*s.inner, 1
		}
		for j := 0; j < s.inner; j += quantBlock {
			visit(span{row.at + j, min(quantBlock, s.inner-j), row.which + j*row.step, row.step})
		}
	}
}

func makeQuantize(o *backend.Op) (prepared, error) {
	s := newScaling(o, o.Out[0].DType)
	saturate := o.Node.Attrs.Int("saturate", 1) != 0
	return run(func(c *backend.Call) error {
		var buf [quantBlock]float32
		x, scale, zero, out := &c.In[0], &c.In[1], input(c, 2), &c.Out[0]
		if s.dtype.Bits() < 8 {
			clear(out.Data)
		}
		s.spans(func(p span) {
			vs := buf[:p.n]
			if x.DType == tensor.Int32 {
				for i, v := range elems[int32](x)[p.at:][:p.n] {
					vs[i] = float32(v)
				}
			} else {
				readFloats(vs, x.DType, x.Data, p.at)
			}
			for i := range vs {
				k := p.which + i*p.step
				vs[i] = s.quantise(vs[i]/scaleAt(scale, k), s.zero(zero, k))
			}
			s.store(out, p.at, vs, saturate)
		})
		return nil
	})
}

// zero returns zero point i; 0 when there is none, and for floats, whose zero point is always 0.
func (s *scaling) zero(v *backend.View, i int) float32 {
	if len(v.Data) == 0 || s.dtype.IsFloat() {
		return 0
	}
	if count(v.Shape) == 1 {
		i = 0
	}
	if bits := v.DType.Bits(); bits < 8 {
		return float32(widenPacked(v.DType, packedAt(v.Data, bits, i)))
	}
	return float32(intAt(v, i))
}

// quantise rounds a number of steps to even, adds the zero point and saturates. NaN becomes the
// lowest number. Floats are left for store to round.
func (s *scaling) quantise(steps, zero float32) float32 {
	if s.dtype.IsFloat() {
		return steps
	}
	low, high := quantLimits(s.dtype)
	q := math.RoundToEven(float64(steps)) + float64(zero)
	switch {
	case q >= high:
		return float32(high)
	case q > low:
		return float32(q)
	}
	return float32(low)
}

// quantLimits returns the least and the greatest number of an integer type of at most 32 bits.
func quantLimits(dt tensor.DType) (low, high float64) {
	span := math.Ldexp(1, dt.Bits())
	switch dt {
	case tensor.Int2, tensor.Int4, tensor.Int8, tensor.Int16, tensor.Int32:
		return -span / 2, span/2 - 1
	}
	return 0, span - 1
}

// store writes numbers that fit the type to the elements from at on.
func (s *scaling) store(v *backend.View, at int, src []float32, saturate bool) {
	f, float := minifloatOf(s.dtype)
	bits := s.dtype.Bits()
	for i, x := range src {
		code := uint16(int32(x))
		if float {
			code = uint16(f.encode(float64(x), saturate))
		}
		switch {
		case bits < 8:
			setPacked(v.Data, bits, at+i, byte(code))
		case bits == 8:
			v.Data[at+i] = byte(code)
		default:
			elems[uint16](v)[at+i] = code
		}
	}
}

func makeDequantize(o *backend.Op) (prepared, error) {
	s := newScaling(o, o.In[0].DType)
	return run(func(c *backend.Call) error {
		var buf [quantBlock]float32
		x, scale, zero, out := &c.In[0], &c.In[1], input(c, 2), &c.Out[0]
		s.spans(func(p span) {
			vs := buf[:p.n]
			s.load(vs, x, p.at)
			if p.step == 0 {
				m, z := scaleAt(scale, p.which), s.zero(zero, p.which)
				for i, v := range vs {
					vs[i] = (v - z) * m
				}
			} else {
				for i, v := range vs {
					vs[i] = (v - s.zero(zero, p.which+i)) * scaleAt(scale, p.which+i)
				}
			}
			writeFloats(out.Data, out.DType, p.at, vs)
		})
		return nil
	})
}

// load reads the elements from at on.
func (s *scaling) load(dst []float32, v *backend.View, at int) {
	f, float := minifloatOf(s.dtype)
	bits := s.dtype.Bits()
	switch {
	case s.dtype == tensor.Int8:
		for i, x := range elems[int8](v)[at:][:len(dst)] {
			dst[i] = float32(x)
		}
		return
	case s.dtype == tensor.Uint8:
		for i, x := range v.Data[at:][:len(dst)] {
			dst[i] = float32(x)
		}
		return
	}
	for i := range dst {
		switch {
		case bits < 8 && float:
			dst[i] = float32(f.decode(packedAt(v.Data, bits, at+i)))
		case bits < 8:
			dst[i] = float32(widenPacked(s.dtype, packedAt(v.Data, bits, at+i)))
		case float:
			dst[i] = float32(f.decode(v.Data[at+i]))
		default:
			dst[i] = float32(intAt(v, at+i))
		}
	}
}

func makeDynamicQuantize(*backend.Op) (prepared, error) {
	return run(func(c *backend.Call) error {
		x, out := elems[float32](&c.In[0]), c.Out[0].Data
		low, high := float32(0), float32(0)
		for _, v := range x {
			low, high = min(low, v), max(high, v)
		}
		scale := float32(1)
		if low != high {
			scale = (high - low) / 255
		}
		zero := math.RoundToEven(max(0, min(255, float64(-low/scale))))
		for i, v := range x {
			q := math.RoundToEven(float64(v/scale)) + zero
			out[i] = byte(int32(max(0, min(255, q))))
		}
		if len(c.Out[1].Data) > 0 {
			elems[float32](&c.Out[1])[0] = scale
		}
		if len(c.Out[2].Data) > 0 {
			c.Out[2].Data[0] = byte(zero)
		}
		return nil
	})
}
