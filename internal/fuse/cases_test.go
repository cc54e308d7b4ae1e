package fuse_test

// conv is a convolution of two channels by constant weights, and its input.
const (
	image   = "in x: float32[1,2,3,3]"
	weights = "const w = float32[2,2,1,1] [1.0, 2.0, 3.0, 4.0]"
)

// rewrites are graphs before and after one rule alone.
var rewrites = []struct{ name, rule, before, after string }{
	{
		"a normalisation by constants becomes a scale and a shift", "affine",
		lines(image, "const s = float32[2] [2.0, 4.0]", "const b = float32[2] [1.0, 1.0]",
			"const m = float32[2] [0.0, 1.0]", "const v = float32[2] [1.0, 4.0]",
			"y = BatchNormalization@9(x, s, b, m, v; epsilon=0.0)", "out y"),
		lines(image, "const y/Mul = float32[2,1,1] [2.0, 2.0]", "const y/Add = float32[2,1,1] [1.0, -1.0]",
			"y/scaled: float32[...] = Mul@9(x, y/Mul)", "y = Add@9(y/scaled, y/Add)", "out y"),
	},
	{
		"a run of maps of channels becomes a shift where its factors cancel", "affine",
		lines(image, "const a = float32[2,1,1] [1.0, 2.0]", "const b = float32[] [2.0]",
			"const c = float32[1,2,1,1] [3.0, 4.0]", "p = Add@13(a, x)", "q = Mul@13(p, b)", "r = Sub@13(q, c)",
			"y = Div@13(r, b)", "out y"),
		lines(image, "const y/Add = float32[2,1,1] [-0.5, 0.0]", "y = Add@13(x, y/Add)", "out y"),
	},
	{
		"a run that others read stays", "affine",
		lines(image, "const b = float32[] [2.0]", "p = Mul@13(x, b)", "y = Mul@13(p, b)", "out y", "out p"),
		lines(image, "const b = float32[] [2.0]", "p = Mul@13(x, b)", "y = Mul@13(p, b)", "out y", "out p"),
	},
	{
		"a factor for each channel scales the weights and the bias", "weights",
		lines(image, weights, "const b = float32[2] [1.0, 2.0]", "const a = float32[2,1,1] [2.0, 10.0]",
			"c = Conv@13(x, w, b)", "y = Mul@13(c, a)", "out y"),
		lines(image, "const w/scaled = float32[2,2,1,1] [2.0, 4.0, 30.0, 40.0]",
			"const y/bias = float32[2] [2.0, 20.0]", "y = Conv@13(x, w/scaled, y/bias)", "out y"),
	},
	{
		"an addition becomes the bias", "weights",
		lines(image, weights, "const a = float32[2,1,1] [2.0, 10.0]", "c = Conv@13(x, w)", "y = Add@13(c, a)", "out y"),
		lines(image, weights, "const y/bias = float32[2] [2.0, 10.0]", "y = Conv@13(x, w, y/bias)", "out y"),
	},
	{
		"the channels of a transposed convolution are the weights' second dim, group by group", "weights",
		lines("in x: float32[1,2,1,1]", "const w = float32[2,2,1,1] [1.0, 1.0, 1.0, 1.0]",
			"const a = float32[4,1,1] [2.0, 3.0, 4.0, 5.0]", "c = ConvTranspose@13(x, w; group=2)", "y = Mul@13(c, a)", "out y"),
		lines("in x: float32[1,2,1,1]", "const w/scaled = float32[2,2,1,1] [2.0, 3.0, 4.0, 5.0]",
			"y = ConvTranspose@13(x, w/scaled; group=2)", "out y"),
	},
	{
		"an addition becomes the third operand of a matrix product, whose factor it takes in", "weights",
		lines("in x: float32[2,2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]", "const b = float32[2] [1.0, 2.0]",
			"const a = float32[2] [10.0, 20.0]", "c = Gemm@13(x, w, b; beta=2.0)", "y = Add@13(c, a)", "out y"),
		lines("in x: float32[2,2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
			"const y/bias = float32[2] [12.0, 24.0]", "y = Gemm@13(x, w, y/bias)", "out y"),
	},
	{
		"packed weights are dequantised in the product that reads them", "dequantised",
		lines("in x: float32[n,2]", "const w = int8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"const b = float32[3] [1.0, 2.0, 3.0]", "t = Transpose@13(w)", "d = DequantizeLinear@13(t, s)",
			"m = MatMul@13(x, d)", "y = Add@13(m, b)", "out y"),
		lines("in x: float32[n,2]", "const w = int8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"const b = float32[3] [1.0, 2.0, 3.0]", "y = stowage.Fused@1(w, s, x, b; body=graph {", "  in w: int8[...]",
			"  in s: float32[...]", "  in x: float32[...]", "  in b: float32[...]", "  t: int8[...] = Transpose@13(w)",
			"  d: float32[...] = DequantizeLinear@13(t, s)", "  m: float32[...] = MatMul@13(x, d)",
			"  y: float32[...] = Add@13(m, b)", "  out y", `}) as "Transpose+DequantizeLinear+MatMul+Add"`, "out y"),
	},
	{
		"a convolution between conversions takes them in, and gets its own copies", "quantised",
		lines("in x: uint8[1,2,3,3]", "const w = int8[1,2,1,1] [1, 2]", "const s = float32[] [0.5]", "const z = uint8[] [3]",
			"a = DequantizeLinear@13(x, s, z)", "b = DequantizeLinear@13(w, s)", "c = Conv@13(a, b)", "r = Relu@14(c)",
			"y = QuantizeLinear@13(r, s, z)", "out y", "out a"),
		lines("in x: uint8[1,2,3,3]", "const w = int8[1,2,1,1] [1, 2]", "const s = float32[] [0.5]", "const z = uint8[] [3]",
			"a = DequantizeLinear@13(x, s, z)", "y = stowage.Fused@1(w, s, x, z; body=graph {", "  in w: int8[...]",
			"  in s: float32[...]", "  in x: uint8[...]", "  in z: uint8[...]", "  b: float32[...] = DequantizeLinear@13(w, s)",
			"  a/c: float32[...] = DequantizeLinear@13(x, s, z)", "  c: float32[...] = Conv@13(a/c, b)",
			"  r: float32[...] = Relu@14(c)", "  y: uint8[...] = QuantizeLinear@13(r, s, z)", "  out y",
			`}) as "DequantizeLinear+DequantizeLinear+Conv+Relu+QuantizeLinear"`, "out y", "out a"),
	},
	{
		"packed weights that others read stay", "dequantised",
		lines("in x: float32[n,3]", "const w = int8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"d = DequantizeLinear@13(w, s)", "y = MatMul@13(x, d)", "out y", "out d"),
		lines("in x: float32[n,3]", "const w = int8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"d = DequantizeLinear@13(w, s)", "y = MatMul@13(x, d)", "out y", "out d"),
	},
	{
		"an infinite product leaves the weights alone", "weights",
		lines(image, "const w = float32[2,2,1,1] [1.0, 2.0, 3.0, 3e+38]", "const a = float32[] [4.0]", "c = Conv@13(x, w)",
			"y = Mul@13(c, a)", "out y"),
		lines(image, "const w = float32[2,2,1,1] [1.0, 2.0, 3.0, 3e+38]", "const a = float32[] [4.0]", "c = Conv@13(x, w)",
			"y = Mul@13(c, a)", "out y"),
	},
	{
		"what passes its input on goes", "identity",
		lines("in x: float32[n,2]", "const s = int64[2] [0, 2]", "const i = int64[1] [0]", "const e = int64[1] [99]",
			"const o = int64[1] [1]", "a = Cast@13(x; to=1)", "b = Reshape@13(a, s)", "c = Slice@13(b, i, e, o)", "d = Transpose@13(c; perm=[0, 1])",
			"f = Sum@13(d)", "y = Neg@13(f)", "out y"),
		lines("in x: float32[n,2]", "y = Neg@13(x)", "out y"),
	},
	{
		"what passes an input on to an output stays", "identity",
		lines("in x: float32[n,2]", "const i = int64[1] [0]", "const e = int64[1] [99]", "const t = int64[1] [-1]",
			"y = Identity@13(x)", "z = Slice@13(x, i, e, i, t)", "out y", "out z"),
		lines("in x: float32[n,2]", "const i = int64[1] [0]", "const e = int64[1] [99]", "const t = int64[1] [-1]",
			"y = Identity@13(x)", "z = Slice@13(x, i, e, i, t)", "out y", "out z"),
	},
	{
		"transpositions are joined, and go when nothing is left of them", "identity",
		lines("in x: float32[2,n,3]", "a = Transpose@13(x; perm=[1, 2, 0])", "b = Transpose@13(a; perm=[2, 0, 1])",
			"y = Neg@13(b)", "c = Transpose@13(a)", "z = Neg@13(c)", "out y", "out z"),
		lines("in x: float32[2,n,3]", "y = Neg@13(x)", "c = Transpose@13(x; perm=[0, 2, 1])", "z = Neg@13(c)", "out y", "out z"),
	},
	{
		"one-hot rows times a matrix are rows of it", "onehot",
		lines("in i: int64[n,1]", "const k = int64[2] [0, 1]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
			"e = Equal@13(i, k)", "c = Cast@13(e; to=1)", "y = MatMul@13(c, w)", "out y"),
		lines("in i: int64[n,1]", "const w/rows = float32[3,2] [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]", "const y/none = int64[] [-1]",
			"const y/end = int64[] [2]", "const y/axes = int64[1] [1]", "y/ids: int64[...] = Squeeze@13(i, y/axes)",
			"y/kept: int64[...] = Clip@13(y/ids, y/none, y/end)", "y = Gather@13(w/rows, y/kept)", "out y"),
	},
	{
		"rows that tell other numbers stay", "onehot",
		lines("in i: int64[n,1]", "const k = int64[2] [1, 2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
			"e = Equal@13(i, k)", "c = Cast@13(e; to=1)", "y = MatMul@13(c, w)", "out y"),
		lines("in i: int64[n,1]", "const k = int64[2] [1, 2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
			"e = Equal@13(i, k)", "c = Cast@13(e; to=1)", "y = MatMul@13(c, w)", "out y"),
	},
	{
		"padding with zeros moves into the convolution", "pad",
		lines(image, weights, "const p = int64[8] [0, 0, 1, 0, 0, 0, 2, 1]", "q = Pad@13(x, p)",
			"y = Conv@13(q, w; auto_pad=\"VALID\", strides=[1, 2])", "out y"),
		lines(image, weights, "y = Conv@13(x, w; pads=[1, 0, 2, 1], strides=[1, 2])", "out y"),
	},
	{
		"padding with zeros moves into an average that counts it", "pad",
		lines(image, "const p = int64[4] [1, 0, 0, 1]", "const a = int64[2] [-2, -1]", "const z = float32[] [0.0]",
			"q = Pad@18(x, p, z, a)", "y = AveragePool@13(q; kernel_shape=[2, 2])", "out y"),
		lines(image, "y = AveragePool@13(x; count_include_pad=1, kernel_shape=[2, 2], pads=[1, 0, 0, 1])", "out y"),
	},
	{
		"other padding stays", "pad",
		lines(image, weights, "const p = int64[8] [0, 0, 1, 0, 0, 0, 2, 1]", "q = Pad@13(x, p; mode=\"edge\")",
			"y = Conv@13(q, w)", "out y"),
		lines(image, weights, "const p = int64[8] [0, 0, 1, 0, 0, 0, 2, 1]", "q = Pad@13(x, p; mode=\"edge\")",
			"y = Conv@13(q, w)", "out y"),
	},
	{
		"rows are gathered before they are made wide", "gather",
		lines("in i: int64[n]", "const w = uint8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"const z = uint8[] [1]", "d = DequantizeLinear@13(w, s, z)", "y = Gather@13(d, i; axis=0)", "out y"),
		lines("in i: int64[n]", "const w = uint8[3,2] [1, 2, 3, 4, 5, 6]", "const s = float32[] [0.5]",
			"const z = uint8[] [1]", "y/quantized: uint8[...] = Gather@13(w, i; axis=0)",
			"y = DequantizeLinear@13(y/quantized, s, z)", "out y"),
	},
	{
		"a layer normalisation that is spelled out", "norm",
		lines("in x: float32[n,4]", "const two = float32[] [2.0]", "const e = float32[] [1e-05]",
			"const g = float32[4] [1.0, 2.0, 3.0, 4.0]", "const b = float32[4] [4.0, 3.0, 2.0, 1.0]",
			"m = ReduceMean@13(x; axes=[-1], keepdims=1)", "d = Sub@13(x, m)", "p = Pow@13(d, two)",
			"v = ReduceMean@13(p; axes=[1], keepdims=1)", "a = Add@13(v, e)", "r = Sqrt@13(a)", "q = Div@13(d, r)",
			"s = Mul@13(q, g)", "y = Add@13(b, s)", "out y"),
		lines("in x: float32[n,4]", "const g = float32[4] [1.0, 2.0, 3.0, 4.0]", "const b = float32[4] [4.0, 3.0, 2.0, 1.0]",
			"y = LayerNormalization@17(x, g, b; axis=-1, epsilon=1e-05)", "out y"),
	},
	{
		"a root mean square normalisation that is spelled out", "norm",
		lines("in x: float32[n,2]", "const one = float32[] [1.0]", "const e = float32[] [1e-05]",
			"p = Mul@13(x, x)", "v = ReduceMean@13(p; axes=[-1])", "a = Add@13(e, v)", "r = Sqrt@13(a)",
			"i = Div@13(one, r)", "y = Mul@13(x, i)", "out y"),
		lines("in x: float32[n,2]", "const y/scale = float32[2] [1.0, 1.0]",
			"y = RMSNormalization@23(x, y/scale; axis=-1, epsilon=1e-05)", "out y"),
	},
	{
		"a normalisation over other dims stays", "norm",
		lines("in x: float32[n,2]", "const e = float32[] [1e-05]", "p = Mul@13(x, x)",
			"v = ReduceMean@13(p; axes=[0])", "a = Add@13(e, v)", "r = Sqrt@13(a)", "y = Div@13(x, r)", "out y"),
		lines("in x: float32[n,2]", "const e = float32[] [1e-05]", "p = Mul@13(x, x)",
			"v = ReduceMean@13(p; axes=[0])", "a = Add@13(e, v)", "r = Sqrt@13(a)", "y = Div@13(x, r)", "out y"),
	},
	{
		"the error function's activation, halved last", "gelu",
		lines("in x: float32[n]", "const r = float32[] [1.4142135]", "const one = float32[] [1.0]",
			"const h = float32[] [0.5]", "a = Div@13(x, r)", "e = Erf@13(a)", "s = Add@13(e, one)", "p = Mul@13(x, s)",
			"y = Mul@13(p, h)", "out y"),
		lines("in x: float32[n]", "y = Gelu@20(x)", "out y"),
	},
	{
		"the error function's activation, halved first", "gelu",
		lines("in x: float32[n]", "const r = float32[] [0.70710677]", "const one = float32[] [1.0]",
			"const h = float32[] [0.5]", "a = Mul@13(x, r)", "e = Erf@13(a)", "s = Add@13(one, e)", "p = Mul@13(h, x)",
			"y = Mul@13(p, s)", "out y"),
		lines("in x: float32[n]", "y = Gelu@20(x)", "out y"),
	},
	{
		"a group holds its nodes, and constants are its inputs", "anchor",
		lines("in x: float32[n,2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]", "const b = float32[2] [1.0, 2.0]",
			"p = MatMul@13(x, w) as \"fc\"", "q = Add@13(p, b)", "y = Relu@13(q)", "out y"),
		lines("in x: float32[n,2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]", "const b = float32[2] [1.0, 2.0]",
			"y = stowage.Fused@1(x, w, b; body=graph {", "  in x: float32[...]", "  in w: float32[...]",
			"  in b: float32[...]", "  p: float32[...] = MatMul@13(x, w) as \"fc\"", "  q: float32[...] = Add@13(p, b)",
			"  y: float32[...] = Relu@13(q)", "  out y", "}) as \"MatMul+Add+Relu fc\"", "out y"),
	},
}

// groups are graphs, and which nodes all rules together leave.
var groups = []struct {
	name   string
	before []string
	after  string
}{
	{
		"what stands behind a convolution, up to what others read",
		[]string{image, weights, "c = Conv@13(x, w)", "r = Relu@13(c)", "e = Exp@13(r)", "y = Sqrt@13(e)", "out y", "out e"},
		"{Conv Relu Exp} Sqrt",
	},
	{
		"a value times a function of itself",
		[]string{image, weights, "c = Conv@13(x, w)", "s = Sigmoid@13(c)", "y = Mul@13(c, s)", "out y"},
		"{Conv Sigmoid Mul}",
	},
	{
		"a function of itself that others read",
		[]string{image, weights, "c = Conv@13(x, w)", "s = Sigmoid@13(c)", "y = Mul@13(c, s)", "out y", "out s"},
		"Conv Sigmoid Mul",
	},
	{
		"a sum of two branches joins the later one",
		[]string{image, weights, "a = Conv@13(x, w)", "b = Conv@13(x, w)", "s = Add@13(a, b)", "y = Relu@13(s)", "out y"},
		"Conv {Conv Add Relu}",
	},
	{
		"a factor for each batch and channel is none for each channel",
		[]string{"in x: float32[n,2,3,3]", "in f: float32[n,2,1,1]", weights, "c = Conv@13(x, w)", "y = Mul@13(c, f)", "out y"},
		"Conv Mul",
	},
	{
		"a product that is spread out is no tail",
		[]string{"in x: float32[1,2]", "in z: float32[4,2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
			"p = MatMul@13(x, w)", "y = Add@13(p, z)", "out y"},
		"MatMul Add",
	},
	{
		"a chain takes what only it reads",
		[]string{"in x: float32[n,2]", "in z: float32[2]", "a = Exp@13(x)", "b = Neg@13(x)", "c = Add@13(a, b)",
			"y = Mul@13(c, z)", "out y"},
		"{Exp Neg Add Mul}",
	},
	{
		"a chain of other types stays",
		[]string{"in x: int64[n]", "a = Neg@13(x)", "b = Abs@13(a)", "f = Cast@13(b; to=1)", "out f"},
		"Neg Abs Cast",
	},
	{
		"a chain keeps its shape",
		[]string{"in x: float32[2]", "in z: float32[3,2]", "a = Exp@13(x)", "b = Neg@13(a)", "c = Add@13(b, z)",
			"y = Abs@13(c)", "out y"},
		"{Exp Neg} {Add Abs}",
	},
	{
		"nothing is kept longer than what it makes",
		[]string{"in x: float32[n,2]", "in u: float32[n,2]", "const w = float32[2,2] [1.0, 2.0, 3.0, 4.0]",
			"a = Softmax@13(x)", "b = Softmax@13(u)", "s = Add@13(a, b)", "m = Softmax@13(u)", "y = Mul@13(s, m)", "out y"},
		"Softmax Softmax Add Softmax Mul",
	},
	{
		"attention with its transpositions",
		[]string{"in q: float32[n,2,2,3]", "in k: float32[n,2,2,3]", "in v: float32[n,2,2,3]", "in m: float32[n,1,1,2]",
			"const s = float32[] [1.5]", "a = Transpose@13(q; perm=[0, 2, 1, 3])", "b = Transpose@13(k; perm=[0, 2, 3, 1])",
			"c = Transpose@13(v; perm=[0, 2, 1, 3])", "p = MatMul@13(a, b)", "d = Div@13(p, s)", "e = Add@13(d, m)",
			"f = Softmax@13(e; axis=-1)", "g = MatMul@13(f, c)", "y = Transpose@13(g; perm=[0, 2, 1, 3])", "out y"},
		"{Transpose Transpose Transpose MatMul Div Add Softmax MatMul Transpose}",
	},
	{
		"attention whose weights others read",
		[]string{"in q: float32[n,2,3]", "in k: float32[n,3,2]", "in v: float32[n,2,3]", "p = MatMul@13(q, k)",
			"f = Softmax@13(p; axis=-1)", "y = MatMul@13(f, v)", "out y", "out f"},
		"MatMul Softmax MatMul",
	},
	{
		"softmax over another dim is no attention",
		[]string{"in q: float32[n,2,3]", "in k: float32[n,3,2]", "in v: float32[n,2,3]", "p = MatMul@13(q, k)",
			"f = Softmax@13(p; axis=1)", "y = MatMul@13(f, v)", "out y"},
		"MatMul Softmax MatMul",
	},
	{
		"a product of integers with its scales and its bias",
		[]string{"in x: float32[n,2]", "const w = uint8[2,2] [1, 2, 3, 4]", "const z = uint8[] [1]",
			"const s = float32[] [0.5]", "const b = float32[2] [1.0, 2.0]", "q, qs, qz = DynamicQuantizeLinear@13(x)",
			"p = MatMulInteger@13(q, w, qz, z)", "c = Cast@13(p; to=1)", "t = Mul@13(qs, s)", "m = Mul@13(c, t)",
			"y = Add@13(m, b)", "out y"},
		"{DynamicQuantizeLinear MatMulInteger Cast Mul Mul Add}",
	},
	{
		"two products of integers share what is quantised",
		[]string{"in x: float32[n,2]", "const w = uint8[2,2] [1, 2, 3, 4]", "const z = uint8[] [1]",
			"const s = float32[] [0.5]", "q, qs, qz = DynamicQuantizeLinear@13(x)", "t = Mul@13(qs, s)",
			"p = MatMulInteger@13(q, w, qz, z)", "c = Cast@13(p; to=1)", "y = Mul@13(c, t)",
			"r = MatMulInteger@13(q, w, qz, z)", "d = Cast@13(r; to=1)", "u = Mul@13(d, t)", "out y", "out u"},
		"DynamicQuantizeLinear Mul {MatMulInteger Cast Mul} {MatMulInteger Cast Mul}",
	},
	{
		"nodes of a branch are fused inside it",
		[]string{"in c: bool[]", "in x: float32[2]", "y = If@13(c; else_branch=graph { capture x = x  a = Exp@13(x)",
			"  b = Neg@13(a)  out b }, then_branch=graph { capture x = x  a = Abs@13(x)  out a })", "out y"},
		"If",
	},
}
