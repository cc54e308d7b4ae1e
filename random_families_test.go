package stowage

import (
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

// opFamilies draws operators and their operands, and returns the names of the outputs, some of which may be
// absent. Not all that is drawn need be valid.
var opFamilies = map[string]func(*opCase) []string{
	"conv": convCase, "conv2": convCase, "transposed": transposedCase, "pool": poolCase, "matmul": matmulCase,
	"gemm": gemmCase, "resize": resizeCase, "unary": unaryCase, "binary": binaryCase, "whole": wholeCase,
	"cast": castCase,
	"norm": normCase, "softmax": softmaxCase, "reduce": reduceCase, "arg": argCase, "move": moveCase,
	"slice": sliceCase,
	"pad":   padCase, "gather": gatherCase, "quantize": quantizeCase, "qproduct": quantProductCase,
	"qconv":    quantConvCase,
	"sandwich": sandwichCase, "recurrent": recurrentCase, "attention": attentionCase, "heads": headsCase,
	"where": whereCase, "layers": layersCase,
}

// window draws the attributes of a sliding window over so many dimensions.
func (c *opCase) window(rank int, kernel []int64, kv ...any) []any {
	ones := func(other ...int64) []int64 {
		v := make([]int64, rank)
		for i := range v {
			v[i] = pick(c, append(other, 1, 1)...)
		}
		return v
	}
	if c.chance(2) {
		kv = append(kv, "kernel_shape", kernel)
	}
	if c.chance(2) {
		kv = append(kv, "strides", ones(2, 3))
	}
	if c.chance(3) {
		kv = append(kv, "dilations", ones(2, 3))
	}
	switch c.r.IntN(4) {
	case 0:
		kv = append(kv, "auto_pad", pick(c, "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
	case 1, 2:
		pads := make([]int64, 2*rank)
		for i := range pads {
			pads[i] = c.r.Int64N(min(kernel[i%rank], 4) + 1)
			if same := kernel[i%rank] / 2; c.chance(2) {
				pads[i] = same
			}
		}
		kv = append(kv, "pads", pads)
	}
	return kv
}

// kernel draws the extents of a window.
func (c *opCase) kernel(rank int) []int64 {
	k := make([]int64, rank)
	same := pick[int64](c, 1, 2, 3, 3, 3, 5, 7)
	for i := range k {
		if k[i] = same; c.chance(4) {
			k[i] = pick[int64](c, 1, 2, 3, 4, 5, 7, 9)
		}
	}
	return k
}

// image draws extents of a picture, or of what has as many dimensions as are asked for.
func (c *opCase) image(rank int) []int64 {
	s := make([]int64, rank)
	for i := range s {
		s[i] = []int64{0, 40, 24, 8}[rank]
		s[i] = 1 + c.r.Int64N(s[i])
	}
	if c.chance(40) {
		s[0] = 0
	}
	return s
}

func (c *opCase) rank() int { return pick(c, 1, 2, 2, 2, 2, 2, 3) }

// channels draws a number of groups and how many channels of each kind each has.
func (c *opCase) channels() (groups, in, out int64) {
	switch c.r.IntN(5) {
	case 0: // depthwise
		return pick[int64](c, 1, 2, 3, 5, 8, 13, 16, 17, 24, 33), 1, pick[int64](c, 1, 1, 1, 2, 3)
	case 1:
		return pick[int64](c, 2, 3, 4, 5), pick[int64](c, 1, 2, 3, 4, 8, 16), pick[int64](c, 1, 2, 3, 5, 8, 16)
	}
	return 1, pick[int64](c, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 32, 33), pick[int64](c, 1, 2, 3, 4, 7, 8, 9, 15,
		16, 17, 31, 32, 48, 65)
}

func convCase(c *opCase) []string {
	rank := c.rank()
	g, in, out := c.channels()
	k := c.kernel(rank)
	x := c.fedFloats(append([]int64{pick[int64](c, 1, 1, 2, 3), g * in}, c.image(rank)...)...)
	w := c.weights(append([]int64{g * out, in}, k...)...)
	args := []string{x, c.constant(w)}
	if c.chance(6) {
		args[1] = c.feed(w)
	}
	if c.chance(2) {
		args = append(args, c.floats(g*out))
	}
	return c.add("Conv", args, 1, append(c.window(rank, k), "group", g)...)
}

func transposedCase(c *opCase) []string {
	rank := c.rank()
	g, in, out := c.channels()
	k := c.kernel(rank)
	size := c.image(rank)
	for i := range size {
		size[i] = min(size[i], 12)
	}
	args := []string{c.fedFloats(append([]int64{pick[int64](c, 1, 1, 2), g * in}, size...)...),
		c.either(c.weights(append([]int64{g * in, out}, k...)...))}
	if c.chance(2) {
		args = append(args, c.floats(g*out))
	}
	kv := append(c.window(rank, k), "group", g)
	if c.chance(3) {
		extra := make([]int64, rank)
		for i := range extra {
			extra[i] = c.r.Int64N(2)
		}
		kv = append(kv, "output_padding", extra)
	}
	if c.chance(8) {
		to := make([]int64, rank)
		for i := range to {
			to[i] = size[i] + k[i] - 1 + c.r.Int64N(3) - 1
		}
		kv = append(kv, "output_shape", to)
	}
	return c.add("ConvTranspose", args, 1, kv...)
}

func poolCase(c *opCase) []string {
	rank := c.rank()
	k := c.kernel(rank)
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float16)
	op := pick(c, "MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool")
	if op == "MaxPool" && c.opset >= 12 && c.chance(8) {
		dt = pick(c, tensor.Int8, tensor.Uint8)
	}
	shape := append([]int64{pick[int64](c, 1, 1, 2, 3), pick[int64](c, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 32,
		33)}, c.image(rank)...)
	x := []string{c.feed(c.random(dt, shape...))}
	if op[0] == 'G' {
		return c.add(op, x, 1)
	}
	kv := c.window(rank, k)
	if !slices.ContainsFunc(kv, func(v any) bool { return v == "kernel_shape" }) {
		kv = append(kv, "kernel_shape", k)
	}
	if c.opset < 10 || op != "MaxPool" && c.opset < 19 {
		if i := slices.IndexFunc(kv, func(v any) bool { return v == "dilations" }); i >= 0 {
			kv = slices.Delete(kv, i, i+2)
		}
	}
	if c.opset >= 10 && c.chance(2) && (op != "LpPool" || c.opset >= 18) {
		kv = append(kv, "ceil_mode", int64(1))
	}
	switch {
	case op == "AveragePool" && c.chance(2):
		kv = append(kv, "count_include_pad", int64(1))
	case op == "MaxPool" && c.chance(5):
		return c.add(op, x, 2, append(kv, "storage_order", c.r.Int64N(2))...)
	case op == "LpPool":
		kv = append(kv, "p", 1+c.r.Int64N(3))
	}
	return c.add(op, x, 1, kv...)
}

func matmulCase(c *opCase) []string {
	k, m, n := c.dim(), c.dim(), c.dim()
	if c.chance(12) {
		k = pick[int64](c, 300, 513, 1025)
	}
	batch := c.shape(c.r.IntN(4), 6)
	a, b := append(c.broadcast(batch), m, k), append(c.broadcast(batch), k, n)
	if c.chance(8) {
		a = []int64{k}
	}
	if c.chance(4) {
		b = pick(c, []int64{k}, []int64{k, n})
	}
	dt := pick(c, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float64)
	x, y := c.random(dt, a...), c.random(dt, b...)
	if c.chance(4) {
		return c.add("MatMul", []string{c.constant(x), c.feed(y)}, 1)
	}
	return c.add("MatMul", []string{c.feed(x), c.either(y)}, 1)
}

func gemmCase(c *opCase) []string {
	k, m, n := c.dim(), c.dim(), c.dim()
	ta, tb := c.r.Int64N(2), c.r.Int64N(2)
	a, b := []int64{m, k}, []int64{k, n}
	if ta == 1 {
		slices.Reverse(a)
	}
	if tb == 1 {
		slices.Reverse(b)
	}
	in := []string{c.fedFloats(a...), c.floats(b...)}
	if c.opset < 11 || !c.chance(4) {
		in = append(in, c.floats(pick(c, []int64{n}, []int64{1, n}, []int64{m, 1}, []int64{m, n}, []int64{1, 1},
			[]int64{1}, nil)...))
	}
	kv := []any{"transA", ta, "transB", tb}
	if c.chance(3) {
		kv = append(kv, "alpha", pick(c, 0.5, 0, -1.25), "beta", pick(c, 0.5, 0, 2.0))
	}
	return c.add("Gemm", in, 1, kv...)
}

func resizeCase(c *opCase) []string {
	rank := pick(c, 1, 2, 2, 2, 3)
	s := append([]int64{c.small(), pick[int64](c, 1, 2, 3, 8, 16, 17)}, c.image(rank)...)
	mode := pick(c, "nearest", "nearest", "linear", "linear", "cubic")
	// Whether what is not finite counts when its weight is 0 is not said.
	c.special = c.special && mode != "cubic"
	x := c.fedFloats(s...)
	scales := make([]float32, len(s))
	scales[0], scales[1] = 1, 1
	for i := range rank {
		scales[2+i] = pick[float32](c, 1, 2, 2, 2, 3, 0.5, 0.7, 1.3, 4)
	}
	if c.opset < 11 {
		op := pick(c, "Upsample", "Resize")
		if c.opset < 10 {
			op = "Upsample"
		}
		if c.opset < 9 {
			return nil
		}
		return c.add(op, []string{x, c.either(tensor.Of(scales...))}, 1, "mode", pick(c, "nearest", "linear"))
	}
	kv := []any{"mode", mode, "coordinate_transformation_mode", pick(c, "half_pixel", "pytorch_half_pixel",
		"align_corners",
		"asymmetric", "tf_crop_and_resize", "half_pixel_symmetric")}
	if c.chance(2) {
		kv = append(kv, "nearest_mode", pick(c, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
	}
	if c.opset >= 18 && c.chance(4) {
		kv = append(kv, "antialias", int64(1))
	}
	if c.chance(4) {
		kv = append(kv, "exclude_outside", int64(1), "cubic_coeff_a", pick(c, -0.5, -0.75))
	}
	if c.chance(4) {
		kv = append(kv, "extrapolation_value", 2.5)
	}
	roi := make([]float32, 2*len(s))
	for i := range len(s) {
		roi[len(s)+i] = 1
		if i > 1 {
			roi[i], roi[len(s)+i] = pick[float32](c, 0, 0.2, -0.1), pick[float32](c, 1, 0.7, 1.2)
		}
	}
	in := []string{x, c.constant(tensor.Of(roi...))}
	if c.chance(2) {
		return c.add("Resize", append(in, c.either(tensor.Of(scales...))), 1, kv...)
	}
	to := slices.Clone(s)
	for i := range rank {
		to[2+i] = pick(c, s[2+i], 2*s[2+i], 1+c.r.Int64N(20))
	}
	if c.opset >= 18 && c.chance(2) {
		return c.add("Resize", append(in[:1:1], "", "", c.ints(to[2:]...)), 1,
			append(kv, "axes", []int64{2, 3, 4}[:rank], "keep_aspect_ratio_policy", pick(c, "stretch",
				"not_larger", "not_smaller"))...)
	}
	return c.add("Resize", append(in, "", c.ints(to...)), 1, kv...)
}
