package stowage

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

// bytesType draws uint8 or int8.
func (c *opCase) bytesType() tensor.DType { return pick(c, tensor.Uint8, tensor.Int8) }

// scale draws a factor of quantisation, or one for each of n.
func (c *opCase) scale(n int64) *tensor.Tensor {
	if n == 0 {
		return tensor.Scalar(pick[float32](c, 0.05, 0.01, 0.125, 1, 0.0039))
	}
	t := c.random(tensor.Float32, n)
	for i := range tensor.Cast[float32](t.Bytes()) {
		tensor.Cast[float32](t.Bytes())[i] = pick[float32](c, 0.05, 0.01, 0.125, 1, 0.0039)
	}
	return t
}

// zero draws a zero point, or n of them.
func (c *opCase) zero(dt tensor.DType, n int64) *tensor.Tensor {
	if n == 0 {
		return c.random(dt)
	}
	return c.random(dt, n)
}

func quantizeCase(c *opCase) []string {
	s := c.shape(1+c.r.IntN(4), 5000)
	if c.chance(3) {
		return c.add("DynamicQuantizeLinear", []string{c.fedFloats(s...)}, 3)
	}
	var n int64
	axis := c.axis(len(s))
	kv := []any{"axis", axis}
	if c.chance(2) {
		n = s[(axis+int64(len(s)))%int64(len(s))]
	}
	if c.opset < 13 {
		n, kv = 0, nil
	}
	dt := c.bytesType()
	scale := c.either(c.scale(n))
	if c.chance(2) {
		x := c.random(dt, s...)
		if n == 0 && c.opset >= 10 && c.chance(8) {
			return c.add("DequantizeLinear", []string{c.feed(c.random(tensor.Int32, s...)), scale}, 1)
		}
		in := []string{c.feed(x), scale, c.either(c.zero(dt, n))}
		return c.add("DequantizeLinear", in[:2+c.r.IntN(2)], 1, kv...)
	}
	in := []string{c.fedFloats(s...), scale, c.either(c.zero(dt, n))}
	return c.add("QuantizeLinear", in, 1, kv...)
}

func quantProductCase(c *opCase) []string {
	k, m, n := c.dim(), c.dim(), c.dim()
	batch := c.shape(c.r.IntN(3), 6)
	ta, tb := c.bytesType(), c.bytesType()
	a, b := c.random(ta, append(c.broadcast(batch), m, k)...), c.random(tb, append(c.broadcast(batch), k, n)...)
	if c.chance(2) {
		b = c.random(tb, k, n)
	}
	if c.chance(2) {
		za, zb := c.either(c.zero(ta, 0)), c.either(c.zero(tb, pick(c, 0, n)))
		in := []string{c.feed(a), c.either(b), za, zb}
		return c.add("MatMulInteger", in[:2+c.r.IntN(3)], 1)
	}
	ty := c.bytesType()
	per := pick(c, 0, n)
	if len(b.Shape()) > 2 {
		per = 0
	}
	c.step = 1
	return c.add("QLinearMatMul", []string{c.feed(a), c.either(c.scale(0)), c.either(c.zero(ta, 0)),
		c.either(b), c.either(c.scale(per)),
		c.either(c.zero(tb, per)), c.either(c.scale(0)), c.either(c.zero(ty, 0))}, 1)
}

func quantConvCase(c *opCase) []string {
	rank := pick(c, 1, 2, 2, 2)
	g, in, out := c.channels()
	k := c.kernel(rank)
	tx, tw := c.bytesType(), c.bytesType()
	x := c.feed(c.random(tx, append([]int64{pick[int64](c, 1, 1, 2), g * in}, c.image(rank)...)...))
	w := c.either(c.random(tw, append([]int64{g * out, in}, k...)...))
	kv := append(c.window(rank, k), "group", g)
	per := pick(c, 0, g*out)
	if c.chance(2) {
		args := []string{x, w, c.either(c.zero(tx, 0)), c.either(c.zero(tw, per))}
		return c.add("ConvInteger", args[:2+c.r.IntN(3)], 1, kv...)
	}
	c.step = 1
	args := []string{x, c.either(c.scale(0)), c.either(c.zero(tx, 0)), w, c.either(c.scale(per)),
		c.either(c.zero(tw, per)),
		c.either(c.scale(0)), c.either(c.zero(tx, 0))}
	if c.chance(2) {
		b := c.random(tensor.Int32, g*out)
		for i := range tensor.Cast[int32](b.Bytes()) {
			tensor.Cast[int32](b.Bytes())[i] = int32(c.r.IntN(4001) - 2000)
		}
		args = append(args, c.either(b))
	}
	return c.add("QLinearConv", args, 1, kv...)
}

// sandwichCase puts an operator on floats between dequantisation and quantisation, or makes the dynamic
// form of an integer product.
func sandwichCase(c *opCase) []string {
	if c.opset < 13 {
		c.opset = 13 + c.opset%8
	}
	c.step = 1
	deq := func(t *tensor.Tensor, per, axis int64) string {
		in := []string{c.either(t), c.constant(c.scale(per)), c.constant(c.zero(t.DType(), per))}
		return c.add("DequantizeLinear", in, 1, "axis", axis)[0]
	}
	s := c.shape(2, 3000)
	x := c.random(c.bytesType(), s...)
	var y []string
	switch c.r.IntN(5) {
	case 0:
		n := c.dim()
		y = c.add("MatMul", []string{deq(x, 0, 0), deq(c.random(c.bytesType(), s[1], n), pick(c, 0, n), 1)}, 1)
	case 1:
		g, in, out := c.channels()
		k := c.kernel(2)
		x := c.random(c.bytesType(), append([]int64{c.small(), g * in}, c.image(2)...)...)
		w := c.random(tensor.Int8, append([]int64{g * out, in}, k...)...)
		y = c.add("Conv", []string{deq(x, 0, 0), deq(w, pick(c, 0, g*out), 0)}, 1, append(c.window(2, k),
			"group", g)...)
	case 2:
		n := c.dim()
		y = c.add("Gemm", []string{deq(x, 0, 0), deq(c.random(c.bytesType(), n, s[1]), pick(c, 0, n), 0),
			c.floats(n)}, 1, "transB", int64(1))
	case 3:
		y = c.add(pick(c, "Relu", "Sigmoid", "Softmax", "Tanh"), []string{deq(x, 0, 0)}, 1)
	case 4:
		return dynamicProduct(c, s)
	}
	if c.chance(3) {
		y = c.add("Relu", y, 1)
	}
	if c.chance(4) {
		return y
	}
	return c.add("QuantizeLinear", []string{y[0], c.constant(c.scale(0)), c.constant(c.zero(c.bytesType(), 0))}, 1)
}

// dynamicProduct multiplies floats by way of 8-bit integers.
func dynamicProduct(c *opCase, s []int64) []string {
	n := c.dim()
	q := c.add("DynamicQuantizeLinear", []string{c.fedFloats(s...)}, 3)
	per := pick(c, 0, n)
	w := c.random(c.bytesType(), s[1], n)
	y := c.add("MatMulInteger", []string{q[0], c.constant(w), q[2], c.constant(c.zero(w.DType(), per))}, 1)
	f := c.add("Cast", y, 1, "to", int64(tensor.Float32))
	scale := c.add("Mul", []string{q[1], c.constant(c.scale(per))}, 1)
	y = c.add("Mul", []string{f[0], scale[0]}, 1)
	if c.chance(2) {
		y = c.add("Add", []string{y[0], c.floats(n)}, 1)
	}
	return y
}

// recurrentCase draws an LSTM, GRU or RNN.
func recurrentCase(c *opCase) []string {
	op := pick(c, "LSTM", "LSTM", "GRU", "GRU", "RNN")
	gates := map[string]int64{"LSTM": 4, "GRU": 3, "RNN": 1}[op]
	seq, batch, in, hid := 1+c.r.Int64N(6), c.small(), pick[int64](c, 1, 3, 8, 16, 17, 33), pick[int64](c, 1, 2,
		3, 7, 8, 15, 16, 17, 32, 40)
	dirs, direction := int64(1), pick(c, "forward", "reverse", "bidirectional")
	if direction == "bidirectional" {
		dirs = 2
	}
	kv := []any{"hidden_size", hid, "direction", direction}
	data, state := []int64{seq, batch, in}, []int64{dirs, batch, hid}
	if c.opset >= 14 && c.chance(5) {
		kv = append(kv, "layout", int64(1))
		data, state = []int64{batch, seq, in}, []int64{batch, dirs, hid}
	}
	args := []string{c.fedFloats(data...), c.floats(dirs, gates*hid, in), c.floats(dirs, gates*hid, hid), "",
		"", "", "", ""}
	if c.chance(2) {
		args[3] = c.floats(dirs, 2*gates*hid)
	}
	if c.chance(4) {
		n := c.random(tensor.Int32, batch)
		for i := range tensor.Cast[int32](n.Bytes()) {
			tensor.Cast[int32](n.Bytes())[i] = c.r.Int32N(int32(seq) + 1)
		}
		args[4] = c.either(n)
	}
	if c.chance(2) {
		args[5] = c.floats(state...)
	}
	outs := pick(c, 1, 2)
	if op == "LSTM" {
		outs = pick(c, 1, 3)
		if c.chance(2) {
			args[6] = c.floats(state...)
		}
		if c.chance(4) {
			args[7] = c.floats(dirs, 3*hid)
		}
	} else {
		args = args[:6]
	}
	if op == "GRU" && c.chance(2) {
		kv = append(kv, "linear_before_reset", int64(1))
	}
	if c.chance(6) {
		kv = append(kv, "clip", 0.8)
	}
	if c.chance(4) {
		var fs []string
		for range dirs * map[string]int64{"LSTM": 3, "GRU": 2, "RNN": 1}[op] {
			fs = append(fs, pick(c, "Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Softplus", "Elu"))
		}
		kv = append(kv, "activations", fs)
	}
	return c.add(op, args, outs, kv...)
}

func attentionCase(c *opCase) []string {
	c.opset = 23 + c.r.Int64N(2)
	batch, kv, group := c.small(), pick[int64](c, 1, 2, 3), pick[int64](c, 1, 1, 2, 3)
	heads, q, k := kv*group, 1+c.r.Int64N(40), 1+c.r.Int64N(70)
	d, dv := pick[int64](c, 1, 3, 4, 8, 15, 16, 17, 32, 64), pick[int64](c, 1, 4, 8, 16, 17, 32)
	attrs := []any{}
	shapes := [3][]int64{{batch, heads, q, d}, {batch, kv, k, d}, {batch, kv, k, dv}}
	if c.chance(3) {
		shapes = [3][]int64{{batch, q, heads * d}, {batch, k, kv * d}, {batch, k, kv * dv}}
		attrs = append(attrs, "q_num_heads", heads, "kv_num_heads", kv)
	}
	in := []string{c.fedFloats(shapes[0]...), c.fedFloats(shapes[1]...), c.fedFloats(shapes[2]...), "", "", ""}
	total, outs := k, 1
	if c.chance(5) {
		past := c.r.Int64N(9)
		in[4], in[5] = c.fedFloats(batch, kv, past, d), c.fedFloats(batch, kv, past, dv)
		total, outs = k+past, 3
	}
	if c.chance(2) {
		shape := pick(c, []int64{q, total}, []int64{1, 1, q, total}, []int64{batch, 1, q, total}, []int64{batch,
			heads, q, total}, []int64{1, total})
		in[3] = c.feed(c.random(pick(c, tensor.Float32, tensor.Bool), shape...))
	}
	if c.chance(3) {
		attrs = append(attrs, "is_causal", int64(1))
	}
	if c.chance(4) {
		attrs = append(attrs, "softcap", 2.0)
	}
	if c.chance(4) {
		attrs = append(attrs, "scale", 0.3)
	}
	if c.chance(8) {
		attrs, outs = append(attrs, "qk_matmul_output_mode", c.r.Int64N(4)), 4
	}
	return c.add("Attention", in, outs, attrs...)
}

// headsCase writes attention as two products with a softmax between them.
func headsCase(c *opCase) []string {
	if c.opset < 13 {
		c.opset = 13
	}
	lead := []int64{c.small(), c.small()}[:c.r.IntN(3)]
	q, k, d, dv := 1+c.r.Int64N(40), 1+c.r.Int64N(70), pick[int64](c, 1, 4, 8, 16, 17, 32, 64), pick[int64](c,
		1, 4, 8, 17, 32)
	with := func(s ...int64) []int64 { return append(slices.Clone(lead), s...) }
	x := c.fedFloats(with(q, d)...)
	var kt string
	if c.chance(2) {
		kt = c.fedFloats(with(d, k)...)
	} else {
		perm := make([]int64, len(lead)+2)
		for i := range perm {
			perm[i] = int64(i)
		}
		perm[len(lead)], perm[len(lead)+1] = perm[len(lead)+1], perm[len(lead)]
		kt = c.add("Transpose", []string{c.fedFloats(with(k, d)...)}, 1, "perm", perm)[0]
	}
	factor := c.constant(tensor.Scalar(float32(1 / math.Sqrt(float64(d)))))
	if c.chance(4) {
		x = c.add("Mul", []string{x, factor}, 1)[0]
	}
	y := c.add("MatMul", []string{x, kt}, 1)[0]
	if c.chance(2) {
		y = c.add(pick(c, "Mul", "Div"), []string{y, factor}, 1)[0]
	}
	if c.chance(2) {
		y = c.add("Add", []string{y, c.floats(c.broadcast(with(q, k))...)}, 1)[0]
	}
	y = c.add("Softmax", []string{y}, 1, "axis", int64(-1))[0]
	return c.add("MatMul", []string{y, c.fedFloats(with(k, dv)...)}, 1)
}
