package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// octets is the types that quantised products take.
var octets = setOf(tensor.Int8, tensor.Uint8)

// qlinearTypes is the types of an operator of quantised operands: three times data, scale and
// zero point (the first two operands' before the result's scale and zero point), then a bias.
var qlinearTypes = []types{octets, floats, octets, octets, floats, octets, floats, octets, setOf(tensor.Int32)}

// shifted writes the 8-bit elements of v less a zero point to dst.
func shifted(dst []int32, v *backend.View, at int, zero int32) {
	if v.DType == tensor.Int8 {
		for i, x := range tensor.Cast[int8](v.Data)[at : at+len(dst)] {
			dst[i] = int32(x) - zero
		}
		return
	}
	for i, x := range v.Data[at : at+len(dst)] {
		dst[i] = int32(x) - zero
	}
}

var absent backend.View

// input returns input i of a call, which the caller only reads; the zero View when it is absent.
func input(c *backend.Call, i int) *backend.View {
	if i < len(c.In) {
		return &c.In[i]
	}
	return &absent
}

// zeroAt returns zero point i of 8-bit zero points that may be absent (0) or one for all.
func zeroAt(v *backend.View, i int) int32 {
	switch {
	case len(v.Data) == 0:
		return 0
	case len(v.Data) == 1:
		i = 0
	}
	if v.DType == tensor.Int8 {
		return int32(int8(v.Data[i]))
	}
	return int32(v.Data[i])
}

// scaleAt returns scale i of scales that may be one for all.
func scaleAt(v *backend.View, i int) float32 {
	if count(v.Shape) == 1 {
		i = 0
	}
	return float32(floatAt(v.DType, v.Data, i))
}

// intConv is a convolution of 8-bit integers, computed in int32 on copies of its operands.
type intConv struct {
	*conv
	xs, ws int
}

func newIntConv(o *backend.Op, x, w int) (*intConv, error) {
	v, err := newConv(o, o.In[x].Shape, o.In[w].Shape)
	if err != nil {
		return nil, err
	}
	return &intConv{conv: v, xs: count(o.In[x].Shape), ws: count(o.In[w].Shape)}, nil
}

// words is the number of int32 of scratch that run needs.
func (v *intConv) words() int { return v.xs + v.ws + v.columns() }

func (v *intConv) run(out []int32, x, w, xZero, wZero *backend.View, bias, scratch []int32) {
	xs, ws, col := scratch[:v.xs], scratch[v.xs:][:v.ws], scratch[v.xs+v.ws:]
	shifted(xs, x, 0, zeroAt(xZero, 0))
	size := v.ins * v.win.taps
	for ch := range v.groups * v.outs {
		shifted(ws[ch*size:][:size], w, ch*size, zeroAt(wZero, ch))
	}
	convolve(v.conv, out, xs, ws, bias, col)
}

func makeConvInteger(o *backend.Op) (prepared, error) {
	v, err := newIntConv(o, 0, 1)
	if err != nil {
		return prepared{}, err
	}
	return prepared{scratch: int64(4 * v.words()), run: func(c *backend.Call) error {
		v.run(elems[int32](&c.Out[0]), &c.In[0], &c.In[1], input(c, 2), input(c, 3), nil,
			tensor.Cast[int32](c.Scratch))
		return nil
	}}, nil
}

func makeQLinearConv(o *backend.Op) (prepared, error) {
	v, err := newIntConv(o, 0, 3)
	if err != nil {
		return prepared{}, err
	}
	sums := count(o.Out[0].Shape)
	return prepared{scratch: int64(4 * (v.words() + sums)), run: func(c *backend.Call) error {
		scratch := tensor.Cast[int32](c.Scratch)
		var bias []int32
		if len(c.In) > 8 {
			bias = elems[int32](&c.In[8])
		}
		acc := scratch[v.words():][:sums]
		v.run(acc, &c.In[0], &c.In[3], &c.In[2], &c.In[5], bias, scratch[:v.words()])
		scale, zero := scaleAt(&c.In[6], 0), zeroAt(&c.In[7], 0)
		for i := range v.batch * v.groups * v.outs {
			ch := i % (v.groups * v.outs)
			m := scaleAt(&c.In[1], 0) * scaleAt(&c.In[4], ch) / scale
			requantize(&c.Out[0], i*v.win.outs, acc[i*v.win.outs:][:v.win.outs], m, zero)
		}
		return nil
	}}, nil
}

// requantize writes sums times scale, rounded to even, plus a zero point, saturated, to the 8-bit
// elements of v from at on.
func requantize(v *backend.View, at int, sums []int32, scale float32, zero int32) {
	low, high := 0.0, 255.0
	if v.DType == tensor.Int8 {
		low, high = -128, 127
	}
	dst := v.Data[at:][:len(sums)]
	for i, s := range sums {
		q := math.RoundToEven(float64(float32(s)*scale)) + float64(zero)
		dst[i] = byte(int32(max(low, min(high, q))))
	}
}
