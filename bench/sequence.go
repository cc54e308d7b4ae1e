package main

import (
	"math"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

func (b *builder) linear(x string, in, out int64) string {
	return b.Node("Add", []string{b.Node("MatMul", []string{x, b.weights(in, in, out)}), b.weights(100, out)})
}

// layerNorm normalises the last axis by single operators, as exporters before opset 17 write it.
func (b *builder) layerNorm(x string, width int64) string {
	axes := testkit.Ints("axes", -1)
	d := b.Node("Sub", []string{x, b.Node("ReduceMean", []string{x}, axes)})
	v := b.Node("ReduceMean", []string{b.Node("Pow", []string{d, b.scalar(2)})}, axes)
	y := b.Node("Div", []string{d, b.Node("Sqrt", []string{b.Node("Add", []string{v, b.scalar(1e-5)})})})
	return b.Node("Add", []string{b.Node("Mul", []string{y, b.weights(1, width)}), b.weights(100, width)})
}

func (b *builder) gelu(x string) string {
	e := b.Node("Erf", []string{b.Node("Div", []string{x, b.scalar(math.Sqrt2)})})
	return b.Node("Mul", []string{b.Node("Mul", []string{x, b.Node("Add", []string{e, b.scalar(1)})}), b.scalar(0.5)})
}

// tanhGelu is the form that decoders have.
func (b *builder) tanhGelu(x string) string {
	cube := b.Node("Pow", []string{x, b.scalar(3)})
	in := b.Node("Add", []string{x, b.Node("Mul", []string{cube, b.scalar(0.044715)})})
	t := b.Node("Tanh", []string{b.Node("Mul", []string{in, b.scalar(0.7978846)})})
	return b.Node("Mul", []string{b.Node("Mul", []string{x, b.scalar(0.5)}), b.Node("Add", []string{t, b.scalar(1)})})
}

// heads splits the last axis into heads and puts them before the tokens.
func (b *builder) heads(x string, heads, width int64) string {
	return b.Node("Transpose", []string{b.Node("Reshape", []string{x, b.ints(1, -1, heads, width)})},
		testkit.Ints("perm", 0, 2, 1, 3))
}

// attend is attention of q to k and v, which have their heads before the tokens.
func (b *builder) attend(q, k, v string, heads, width int64) string {
	s := b.Node("MatMul", []string{q, b.Node("Transpose", []string{k}, testkit.Ints("perm", 0, 1, 3, 2))})
	s = b.Node("Div", []string{s, b.scalar(float32(math.Sqrt(float64(width))))})
	s = b.Node("Softmax", []string{s}, testkit.Int("axis", -1))
	y := b.Node("Transpose", []string{b.Node("MatMul", []string{s, v})}, testkit.Ints("perm", 0, 2, 1, 3))
	return b.Node("Reshape", []string{y, b.ints(1, -1, heads*width)})
}

// encoder is one layer of a transformer that normalises first.
func (b *builder) encoder(x string, d, heads int64) string {
	y := b.layerNorm(x, d)
	part := func() string { return b.heads(b.linear(y, d, d), heads, d/heads) }
	x = b.Node("Add", []string{x, b.linear(b.attend(part(), part(), part(), heads, d/heads), d, d)})
	y = b.linear(b.gelu(b.linear(b.layerNorm(x, d), d, 4*d)), 4*d, d)
	return b.Node("Add", []string{x, y})
}

func visionTransformer() *testkit.Model {
	const d, heads = 384, 6
	b := newBuilder(8)
	x := b.Input("x", tensor.Float32, int64(1), int64(3), int64(224), int64(224))
	x = b.Node("Conv", []string{x, b.weights(768, d, 3, 16, 16), b.weights(100, d)}, testkit.Ints("kernel_shape", 16, 16),
		testkit.Ints("strides", 16, 16))
	x = b.Node("Transpose", []string{b.Node("Reshape", []string{x, b.ints(1, d, 196)})}, testkit.Ints("perm", 0, 2, 1))
	x = b.Node("Concat", []string{b.weights(1, 1, 1, d), x}, testkit.Int("axis", 1))
	x = b.Node("Add", []string{x, b.weights(1, 1, 197, d)})
	for range 6 {
		x = b.encoder(x, d, heads)
	}
	x = b.Node("Gather", []string{b.layerNorm(x, d), b.Init("first", tensor.Scalar[int64](0))}, testkit.Int("axis", 1))
	b.Output(b.linear(x, d, 1000), tensor.Float32, int64(1), int64(1000))
	return b.Model
}

// decoderStep computes one token with the keys and values of those before it.
func decoderStep() *testkit.Model {
	const d, heads, layers, past = 512, 8, 6, 127
	b := newBuilder(9)
	id := b.Input("id", tensor.Int64, int64(1), int64(1))
	x := b.Node("Gather", []string{b.weights(1, 8000, d), id})
	for i := range layers {
		name := func(s string) string { return s + string(rune('0'+i)) }
		pk := b.Input(name("key"), tensor.Float32, int64(1), int64(heads), int64(past), int64(d/heads))
		pv := b.Input(name("value"), tensor.Float32, int64(1), int64(heads), int64(past), int64(d/heads))
		y := b.linear(b.layerNorm(x, d), d, 3*d)
		p := b.Nodes("Split", []string{y}, 3, testkit.Int("axis", 2))
		q := b.heads(p[0], heads, d/heads)
		k := b.Node("Concat", []string{pk, b.heads(p[1], heads, d/heads)}, testkit.Int("axis", 2))
		v := b.Node("Concat", []string{pv, b.heads(p[2], heads, d/heads)}, testkit.Int("axis", 2))
		x = b.Node("Add", []string{x, b.linear(b.attend(q, k, v, heads, d/heads), d, d)})
		x = b.Node("Add", []string{x, b.linear(b.tanhGelu(b.linear(b.layerNorm(x, d), d, 4*d)), 4*d, d)})
		b.Output(k, tensor.Float32, int64(1), int64(heads), int64(past+1), int64(d/heads))
		b.Output(v, tensor.Float32, int64(1), int64(heads), int64(past+1), int64(d/heads))
	}
	logits := b.Node("MatMul", []string{b.layerNorm(x, d), b.weights(d, d, 8000)})
	b.Output(logits, tensor.Float32, int64(1), int64(1), int64(8000))
	return b.Model
}

// conv1 is a convolution along time.
func (b *builder) conv1(x string, f filter) string {
	p := (f.kernel - 1) / 2
	w := b.weights(f.in/f.group*f.kernel, f.out, f.in/f.group, f.kernel)
	return b.Node("Conv", []string{x, w, b.weights(100, f.out)},
		testkit.Ints("kernel_shape", f.kernel), testkit.Ints("strides", f.stride), testkit.Ints("pads", p, p),
		testkit.Int("group", f.group))
}

// speechEncoder has convolutions along time and transformer layers with gated, depthwise ones.
func speechEncoder() *testkit.Model {
	const d, heads = 256, 4
	b := newBuilder(10)
	swap := testkit.Ints("perm", 0, 2, 1)
	x := b.Input("x", tensor.Float32, int64(1), int64(80), int64(400))
	x = b.gelu(b.conv1(x, filter{80, d, 3, 1, 1}))
	x = b.gelu(b.conv1(x, filter{d, d, 3, 2, 1}))
	x = b.Node("Transpose", []string{x}, swap)
	for range 4 {
		x = b.encoder(x, d, heads)
		y := b.Node("Transpose", []string{b.layerNorm(x, d)}, swap)
		p := b.Nodes("Split", []string{b.conv1(y, filter{d, 2 * d, 1, 1, 1})}, 2, testkit.Int("axis", 1))
		y = b.Node("Mul", []string{p[0], b.Node("Sigmoid", []string{p[1]})})
		y = b.silu(b.conv1(y, filter{d, d, 31, 1, d}))
		y = b.Node("Transpose", []string{b.conv1(y, filter{d, d, 1, 1, 1})}, swap)
		x = b.Node("Add", []string{x, y})
	}
	b.Output(b.layerNorm(x, d), tensor.Float32, int64(1), int64(200), int64(d))
	return b.Model
}

// quantisedEncoder is a transformer whose products are of octets that are scaled as they come.
func quantisedEncoder() *testkit.Model {
	const d, tokens = 384, 64
	b := newBuilder(11)
	x := b.Input("x", tensor.Float32, int64(1), int64(tokens), int64(d))
	linear := func(x string, in, out int64) string {
		q := b.Nodes("DynamicQuantizeLinear", []string{x}, 3)
		w := make([]int8, in*out)
		for i := range w {
			w[i] = int8(b.rng.IntN(255) - 127)
		}
		y := b.Node("MatMulInteger", []string{q[0], b.Init(b.NewName("w"), tensor.Must(tensor.Shape{in, out}, w)), q[2],
			b.Init(b.NewName("z"), tensor.Scalar[int8](0))})
		scale := b.Node("Mul", []string{q[1], b.scalar(float32(1 / math.Sqrt(float64(in)) / 70))})
		y = b.Node("Mul", []string{b.Node("Cast", []string{y}, testkit.Int("to", 1)), scale})
		return b.Node("Add", []string{y, b.weights(100, out)})
	}
	for range 6 {
		part := func() string { return b.heads(linear(x, d, d), 12, d/12) }
		x = b.layerNorm(b.Node("Add", []string{x, linear(b.attend(part(), part(), part(), 12, d/12), d, d)}), d)
		x = b.layerNorm(b.Node("Add", []string{x, linear(b.gelu(linear(x, d, 4*d)), 4*d, d)}), d)
	}
	b.Output(x, tensor.Float32, int64(1), int64(tokens), int64(d))
	return b.Model
}
