package main

import (
	"math"
	"math/rand/v2"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// builder adds layers with random weights to a model.
type builder struct {
	*testkit.Model
	rng *rand.Rand
}

func newBuilder(seed uint64) *builder {
	return &builder{testkit.NewModel(17), rand.New(rand.NewPCG(seed, 5))}
}

// weights returns an initializer of a scale that keeps the sizes of activations, and its name.
func (b *builder) weights(fanIn int64, shape ...int64) string {
	t := normal(b.rng, shape...)
	data, scale := tensor.Cast[float32](t.Bytes()), float32(1/math.Sqrt(float64(fanIn)))
	for i := range data {
		data[i] *= scale
	}
	return b.Init(b.NewName("w"), t)
}

func (b *builder) scalar(v float32) string { return b.Init(b.NewName("s"), tensor.Scalar(v)) }

func (b *builder) ints(v ...int64) string {
	return b.Init(b.NewName("i"), tensor.Must(tensor.Shape{int64(len(v))}, v))
}

// filter is a convolution of pictures with square kernels, padded so that strides alone shrink it.
type filter struct{ in, out, kernel, stride, group int64 }

func (b *builder) conv(x string, f filter) string {
	p := f.kernel / 2
	return b.Node("Conv", []string{x, b.weights(f.in/f.group*f.kernel*f.kernel, f.out, f.in/f.group, f.kernel, f.kernel),
		b.weights(100, f.out)}, testkit.Ints("kernel_shape", f.kernel, f.kernel), testkit.Ints("strides", f.stride, f.stride),
		testkit.Ints("pads", p, p, p, p), testkit.Int("group", f.group))
}

func (b *builder) silu(x string) string {
	return b.Node("Mul", []string{x, b.Node("Sigmoid", []string{x})})
}

// squeeze scales channels by what their means say; gate is the operator at its end.
func (b *builder) squeeze(x string, channels, inner int64, gate string) string {
	y := b.Node("GlobalAveragePool", []string{x})
	y = b.Node("Relu", []string{b.conv(y, filter{channels, inner, 1, 1, 1})})
	return b.Node("Mul", []string{x, b.Node(gate, []string{b.conv(y, filter{inner, channels, 1, 1, 1})})})
}

// inverted is a block of a mobile network.
type inverted struct {
	in, mid, out, kernel, stride, squeeze int64
	act                                   func(b *builder, x string) string
	gate                                  string
}

func (b *builder) inverted(x string, s inverted) string {
	y := x
	if s.mid != s.in {
		y = s.act(b, b.conv(y, filter{s.in, s.mid, 1, 1, 1}))
	}
	y = s.act(b, b.conv(y, filter{s.mid, s.mid, s.kernel, s.stride, s.mid}))
	if s.squeeze > 0 {
		y = b.squeeze(y, s.mid, s.squeeze, s.gate)
	}
	y = b.conv(y, filter{s.mid, s.out, 1, 1, 1})
	if s.in == s.out && s.stride == 1 {
		y = b.Node("Add", []string{x, y})
	}
	return y
}

// classifier ends a network for pictures.
func (b *builder) classifier(x string, channels int64) *testkit.Model {
	y := b.Node("Flatten", []string{b.Node("GlobalAveragePool", []string{x})})
	y = b.Node("Gemm", []string{y, b.weights(channels, channels, 1000), b.weights(100, 1000)})
	b.Output(b.Node("Softmax", []string{y}), tensor.Float32, int64(1), int64(1000))
	return b.Model
}

func mobileNetV3() *testkit.Model {
	b := newBuilder(3)
	hard := func(b *builder, x string) string { return b.Node("HardSwish", []string{x}) }
	relu := func(b *builder, x string) string { return b.Node("Relu", []string{x}) }
	x := b.Input("x", tensor.Float32, int64(1), int64(3), int64(224), int64(224))
	x = hard(b, b.conv(x, filter{3, 16, 3, 2, 1}))
	for _, s := range []inverted{{16, 16, 16, 3, 1, 0, relu, ""}, {16, 64, 24, 3, 2, 0, relu, ""}, {24, 72, 24, 3, 1, 0, relu, ""},
		{24, 72, 40, 5, 2, 24, relu, "HardSigmoid"}, {40, 120, 40, 5, 1, 32, relu, "HardSigmoid"},
		{40, 240, 80, 3, 2, 0, hard, ""}, {80, 200, 80, 3, 1, 0, hard, ""}, {80, 480, 112, 3, 1, 120, hard, "HardSigmoid"},
		{112, 672, 160, 5, 2, 168, hard, "HardSigmoid"}, {160, 960, 160, 5, 1, 240, hard, "HardSigmoid"}} {
		x = b.inverted(x, s)
	}
	return b.classifier(hard(b, b.conv(x, filter{160, 960, 1, 1, 1})), 960)
}

func efficientNet() *testkit.Model {
	b := newBuilder(4)
	act := func(b *builder, x string) string { return b.silu(x) }
	x := b.Input("x", tensor.Float32, int64(1), int64(3), int64(224), int64(224))
	x = b.silu(b.conv(x, filter{3, 32, 3, 2, 1}))
	for _, s := range [][6]int64{{32, 1, 16, 3, 1, 1}, {16, 6, 24, 3, 2, 2}, {24, 6, 40, 5, 2, 2}, {40, 6, 80, 3, 2, 3},
		{80, 6, 112, 5, 1, 3}, {112, 6, 192, 5, 2, 4}, {192, 6, 320, 3, 1, 1}} {
		in, stride := s[0], s[4]
		for range s[5] {
			x = b.inverted(x, inverted{in, in * s[1], s[2], s[3], stride, max(1, in/4), act, "Sigmoid"})
			in, stride = s[2], 1
		}
	}
	return b.classifier(b.silu(b.conv(x, filter{320, 1280, 1, 1, 1})), 1280)
}

// cross is a block of a detector: half of the channels go through n bottlenecks, all are joined.
func (b *builder) cross(x string, in, out int64, n int) string {
	act := func(f filter, x string) string { return b.silu(b.conv(x, f)) }
	half := out / 2
	y := b.Nodes("Split", []string{act(filter{in, out, 1, 1, 1}, x)}, 2, testkit.Int("axis", 1))
	parts := []string{y[0], y[1]}
	for range n {
		z := parts[len(parts)-1]
		z = b.Node("Add", []string{z, act(filter{half, half, 3, 1, 1}, act(filter{half, half, 3, 1, 1}, z))})
		parts = append(parts, z)
	}
	all := b.Node("Concat", parts, testkit.Int("axis", 1))
	return act(filter{half * int64(n+2), out, 1, 1, 1}, all)
}

func detector() *testkit.Model {
	b := newBuilder(5)
	act := func(f filter, x string) string { return b.silu(b.conv(x, f)) }
	up := func(x string) string {
		scales := b.Init(b.NewName("scales"), tensor.Must(tensor.Shape{4}, []float32{1, 1, 2, 2}))
		return b.Node("Resize", []string{x, "", scales},
			testkit.String("mode", "nearest"), testkit.String("coordinate_transformation_mode", "asymmetric"),
			testkit.String("nearest_mode", "floor"))
	}
	x := b.Input("x", tensor.Float32, int64(1), int64(3), int64(320), int64(320))
	x = act(filter{16, 32, 3, 2, 1}, act(filter{3, 16, 3, 2, 1}, x))
	x = act(filter{32, 64, 3, 2, 1}, b.cross(x, 32, 32, 1))
	p3 := b.cross(x, 64, 64, 2)
	p4 := b.cross(act(filter{64, 128, 3, 2, 1}, p3), 128, 128, 2)
	p5 := b.cross(act(filter{128, 256, 3, 2, 1}, p4), 256, 256, 1)
	y := act(filter{256, 128, 1, 1, 1}, p5)
	pools := []string{y}
	for range 3 {
		y = b.Node("MaxPool", []string{y}, testkit.Ints("kernel_shape", 5, 5), testkit.Ints("pads", 2, 2, 2, 2),
			testkit.Ints("strides", 1, 1))
		pools = append(pools, y)
	}
	p5 = act(filter{512, 256, 1, 1, 1}, b.Node("Concat", pools, testkit.Int("axis", 1)))
	n4 := b.cross(b.Node("Concat", []string{up(p5), p4}, testkit.Int("axis", 1)), 384, 128, 1)
	n3 := b.cross(b.Node("Concat", []string{up(n4), p3}, testkit.Int("axis", 1)), 192, 64, 1)
	var heads []string
	for _, h := range []struct {
		x        string
		channels int64
	}{{n3, 64}, {n4, 128}, {p5, 256}} {
		z := act(filter{h.channels, 80, 3, 1, 1}, act(filter{h.channels, h.channels, 3, 1, 1}, h.x))
		z = b.conv(z, filter{80, 144, 1, 1, 1})
		heads = append(heads, b.Node("Reshape", []string{z, b.ints(1, 144, -1)}))
	}
	z := b.Node("Transpose", []string{b.Node("Concat", heads, testkit.Int("axis", 2))}, testkit.Ints("perm", 0, 2, 1))
	b.Output(b.Node("Sigmoid", []string{z}), tensor.Float32, int64(1), int64(2100), int64(144))
	return b.Model
}

func uNet() *testkit.Model {
	b := newBuilder(6)
	double := func(x string, in, out int64) string {
		x = b.Node("Relu", []string{b.conv(x, filter{in, out, 3, 1, 1})})
		return b.Node("Relu", []string{b.conv(x, filter{out, out, 3, 1, 1})})
	}
	x := b.Input("x", tensor.Float32, int64(1), int64(3), int64(128), int64(128))
	var skips []string
	in := int64(3)
	for _, c := range []int64{32, 64, 128} {
		x = double(x, in, c)
		skips, in = append(skips, x), c
		x = b.Node("MaxPool", []string{x}, testkit.Ints("kernel_shape", 2, 2), testkit.Ints("strides", 2, 2))
	}
	x = double(x, 128, 256)
	for i, c := range []int64{128, 64, 32} {
		x = b.Node("ConvTranspose", []string{x, b.weights(2*c, 2*c, c, 2, 2), b.weights(100, c)},
			testkit.Ints("kernel_shape", 2, 2), testkit.Ints("strides", 2, 2))
		x = double(b.Node("Concat", []string{skips[2-i], x}, testkit.Int("axis", 1)), 2*c, c)
	}
	b.Output(b.conv(x, filter{32, 2, 1, 1, 1}), tensor.Float32, int64(1), int64(2), int64(128), int64(128))
	return b.Model
}

// quantised adds a convolution of octets between steps of quantisation, as exporters write it.
func (b *builder) quantised(x string, f filter) string {
	q := func(t string, scale float32, zero string) []string { return []string{t, b.scalar(scale), zero} }
	zero := b.Init(b.NewName("z"), tensor.Scalar[uint8](128))
	y := b.Node("DequantizeLinear", q(b.Node("QuantizeLinear", q(x, 0.05, zero)), 0.05, zero))
	n := f.out * f.in / f.group * f.kernel * f.kernel
	w := make([]int8, n)
	for i := range w {
		w[i] = int8(b.rng.IntN(255) - 127)
	}
	scales, zeros := make([]float32, f.out), make([]int8, f.out)
	for i := range scales {
		scales[i] = float32(1 / math.Sqrt(float64(n/f.out)) / 70)
	}
	octets := b.Init(b.NewName("w"), tensor.Must(tensor.Shape{f.out, f.in / f.group, f.kernel, f.kernel}, w))
	weights := b.Node("DequantizeLinear", []string{octets, b.Init(b.NewName("s"), tensor.Must(tensor.Shape{f.out}, scales)),
		b.Init(b.NewName("z"), tensor.Must(tensor.Shape{f.out}, zeros))}, testkit.Int("axis", 0))
	p := f.kernel / 2
	return b.Node("Conv", []string{y, weights}, testkit.Ints("kernel_shape", f.kernel, f.kernel),
		testkit.Ints("strides", f.stride, f.stride), testkit.Ints("pads", p, p, p, p), testkit.Int("group", f.group))
}

func quantisedResNet() *testkit.Model {
	b := newBuilder(7)
	x := b.Input("x", tensor.Float32, int64(1), int64(3), int64(224), int64(224))
	x = b.Node("Relu", []string{b.quantised(x, filter{3, 64, 7, 2, 1})})
	x = b.Node("MaxPool", []string{x}, testkit.Ints("kernel_shape", 3, 3), testkit.Ints("strides", 2, 2),
		testkit.Ints("pads", 1, 1, 1, 1))
	in := int64(64)
	for _, c := range []int64{64, 128, 256, 512} {
		for i := range 2 {
			stride, short := int64(1), x
			if i == 0 && c != 64 {
				stride = 2
				short = b.quantised(x, filter{in, c, 1, 2, 1})
			}
			y := b.Node("Relu", []string{b.quantised(x, filter{in, c, 3, stride, 1})})
			x = b.Node("Relu", []string{b.Node("Add", []string{b.quantised(y, filter{c, c, 3, 1, 1}), short})})
			in = c
		}
	}
	return b.classifier(x, 512)
}
