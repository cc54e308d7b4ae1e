package stowage

import (
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// pick draws one of several.
func pick[T any](c *opCase, of ...T) T { return of[c.r.IntN(len(of))] }

// chance is true once in n.
func (c *opCase) chance(n int) bool { return c.r.IntN(n) == 0 }

// dim draws an extent, seldom 0.
func (c *opCase) dim() int64 {
	if c.chance(40) {
		return 0
	}
	return pick[int64](c, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 19, 23, 24, 31, 32, 33, 40, 47, 48,
		63, 64, 65, 97)
}

// small draws an extent of a few elements.
func (c *opCase) small() int64 { return pick[int64](c, 1, 1, 2, 2, 3, 4, 5, 7) }

// shape draws extents for so many elements at most.
func (c *opCase) shape(rank int, most int64) []int64 {
	s, n := make([]int64, rank), int64(1)
	for _, i := range c.r.Perm(rank) {
		for s[i] = c.dim(); s[i]*n > most; {
			s[i] /= 2
		}
		n *= max(s[i], 1)
	}
	return s
}

// add adds a node; kv are its attributes' names and values. It returns the outputs' names.
func (c *opCase) add(op string, in []string, outputs int, kv ...any) []string {
	n := opNode{op: op, in: slices.Clone(in)}
	for i := range outputs {
		n.out = append(n.out, fmt.Sprintf("y%d_%d", len(c.nodes), i))
	}
	for i := 0; i < len(kv); i += 2 {
		name := kv[i].(string)
		n.text += fmt.Sprintf("%s=%v ", name, kv[i+1])
		switch v := kv[i+1].(type) {
		case int64:
			n.parts = append(n.parts, testkit.Int(name, v))
		case []int64:
			n.parts = append(n.parts, testkit.Ints(name, v...))
		case float64:
			n.parts = append(n.parts, testkit.Float(name, float32(v)))
		case string:
			n.parts = append(n.parts, testkit.String(name, v))
		case []string:
			n.parts = append(n.parts, testkit.Strings(name, v...))
		default:
			panic(fmt.Sprintf("attribute %s: %T", name, v))
		}
	}
	c.nodes = append(c.nodes, n)
	return n.out
}

// feed adds an input of the model.
func (c *opCase) feed(t *tensor.Tensor) string {
	v := opValue{name: fmt.Sprintf("in%d", len(c.inputs)), t: t, free: c.chance(4)}
	c.inputs = append(c.inputs, v)
	return v.name
}

// constant adds a constant.
func (c *opCase) constant(t *tensor.Tensor) string {
	v := opValue{name: fmt.Sprintf("k%d", len(c.inits)), t: t}
	c.inits = append(c.inits, v)
	return v.name
}

// either feeds a tensor, or makes it a constant.
func (c *opCase) either(t *tensor.Tensor) string {
	if c.chance(2) {
		return c.feed(t)
	}
	return c.constant(t)
}

// ints is a list that is a constant, mostly.
func (c *opCase) ints(v ...int64) string {
	if c.chance(6) {
		return c.feed(tensor.Of(v...))
	}
	return c.constant(tensor.Of(v...))
}

// random draws a tensor.
func (c *opCase) random(dt tensor.DType, shape ...int64) *tensor.Tensor {
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		panic(err)
	}
	b := t.Bytes()
	for i := range t.Len() {
		switch dt {
		case tensor.Float32:
			tensor.Cast[float32](b)[i] = float32(c.float())
		case tensor.Float64:
			tensor.Cast[float64](b)[i] = c.float()
		case tensor.Float16:
			tensor.Cast[tensor.Half](b)[i] = tensor.HalfOf(float32(c.float()))
		case tensor.BFloat16:
			tensor.Cast[tensor.Brain](b)[i] = tensor.BrainOf(float32(c.float()))
		case tensor.String:
			t.Strings()[i] = pick(c, "", "a", "ab", "\x00")
		case tensor.Bool:
			b[i] = byte(c.r.IntN(2))
		default:
			c.whole(t, i)
		}
	}
	return t
}

// whole draws an integer: small, anything, or the least or the greatest there is.
func (c *opCase) whole(t *tensor.Tensor, i int) {
	x := uint64(c.r.IntN(21)) - 10
	switch c.r.IntN(8) {
	case 0:
		x = c.r.Uint64()
	case 1:
		x = pick[uint64](c, math.MaxUint64, 1<<63, math.MaxInt64, 1<<31, math.MaxInt32, 0x80, 0x7f, 0)
	}
	size := t.DType().Bits() / 8
	for k := range size {
		t.Bytes()[i*size+k] = byte(x >> (8 * k))
	}
}

func (c *opCase) float() float64 {
	if c.special && c.chance(12) {
		return pick(c, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e-40, -1e-39, 1e-45, 88.8,
			-104, 0, 0.5, 1.5, -2.5, 1e-20)
	}
	if c.chance(30) {
		return float64(c.r.IntN(5) - 2)
	}
	return c.r.NormFloat64()
}

// floats draws a float32 operand.
func (c *opCase) floats(shape ...int64) string { return c.either(c.random(tensor.Float32, shape...)) }

// fedFloats is floats for an operand that is an input of the model.
func (c *opCase) fedFloats(shape ...int64) string { return c.feed(c.random(tensor.Float32, shape...)) }

// weights draws float32 numbers that are finite: what the padding is multiplied with.
func (c *opCase) weights(shape ...int64) *tensor.Tensor {
	special := c.special
	c.special = false
	t := c.random(tensor.Float32, shape...)
	c.special = special
	return t
}

// positive draws numbers above 0.
func (c *opCase) positive(shape ...int64) string {
	t := c.random(tensor.Float32, shape...)
	for i, x := range tensor.Cast[float32](t.Bytes()) {
		tensor.Cast[float32](t.Bytes())[i] = 0.1 + float32(math.Abs(float64(x)))
	}
	return c.either(t)
}

// broadcast draws a shape that broadcasts with another.
func (c *opCase) broadcast(s []int64) []int64 {
	p := slices.Clone(s)
	how := c.r.IntN(6)
	for i := range p {
		switch {
		case how == 0, how == 1 && c.chance(2), how == 2 && i != 1, how == 3 && i != len(p)-1,
			how == 4 && i == len(p)-1:
			p[i] = 1
		}
	}
	for len(p) > 0 && p[0] == 1 && c.chance(2) {
		p = p[1:]
	}
	return p
}

// axis draws an axis of a rank, counted from either end.
func (c *opCase) axis(rank int) int64 {
	a := c.r.Int64N(int64(max(rank, 1)))
	if c.chance(2) {
		a -= int64(rank)
	}
	return a
}

// extend adds a node behind the result, whose shape is known.
func (c *opCase) extend() bool {
	x, t := c.outputs[0], c.want[0]
	s := t.Shape()
	if t.DType() != tensor.Float32 || len(s) == 0 || t.Len() > 1<<15 {
		return false
	}
	var out []string
	switch c.r.IntN(12) {
	case 0, 1:
		out = c.add(pick(c, "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Elu", "Abs", "Neg",
			"Softplus", "Erf"),
			[]string{x}, 1)
	case 2, 3, 4:
		in := []string{x, c.floats(c.broadcast(s)...)}
		if c.chance(3) {
			slices.Reverse(in)
		}
		out = c.add(pick(c, "Add", "Mul", "Sub", "Add", "Mul", "Max", "PRelu"), in, 1)
	case 5:
		g := c.add(pick(c, "Sigmoid", "HardSigmoid", "Relu", "Tanh"), []string{x}, 1)
		out = c.add(pick(c, "Mul", "Add"), []string{x, g[0]}, 1)
	case 6:
		if c.opset < 13 {
			return false
		}
		out = c.add(pick(c, "Softmax", "LogSoftmax"), []string{x}, 1, "axis", c.axis(len(s)))
	case 7:
		out = c.add("Concat", pick(c, []string{x, x}, []string{x, c.fedFloats(s...)}), 1, "axis", c.axis(len(s)))
	default:
		if out = c.extendShaped(x, s); out == nil {
			return false
		}
	}
	if c.chance(8) {
		out = append(out, c.outputs[0])
	}
	c.outputs = out
	return true
}

// extendShaped adds a node that needs a shape of some kind.
func (c *opCase) extendShaped(x string, s []int64) []string {
	switch k := c.r.IntN(6); {
	case k == 0 && c.opset >= 11:
		in := []string{x, c.constant(tensor.Scalar(float32(-0.5))), c.constant(tensor.Scalar[float32](6))}
		return c.add("Clip", in[:1+c.r.IntN(3)], 1)
	case k == 1:
		perm := make([]int64, len(s))
		for i, p := range c.r.Perm(len(s)) {
			perm[i] = int64(p)
		}
		return c.add("Transpose", []string{x}, 1, "perm", perm)
	case k == 2 && len(s) >= 2 && len(s) < 6:
		return c.add("MatMul", []string{x, c.floats(s[len(s)-1], c.small())}, 1)
	case len(s) == 4 && s[2] > 0 && s[3] > 0 && k == 3:
		m, kk := c.small(), pick[int64](c, 1, 3)
		return c.add("Conv", []string{x, c.constant(c.weights(m, s[1], kk, kk))}, 1,
			"pads", []int64{kk / 2, kk / 2, kk / 2, kk / 2})
	case len(s) >= 2 && k == 4:
		v := func() string { return c.floats(s[1]) }
		return c.add("BatchNormalization", []string{x, v(), v(), v(), c.positive(s[1])}, 1)
	case len(s) == 4 && k == 5:
		return c.add(pick(c, "MaxPool", "AveragePool"), []string{x}, 1, "kernel_shape", []int64{2, 3},
			"pads", []int64{0, 1, 1, 1}, "strides", []int64{2, 1})
	}
	return nil
}
