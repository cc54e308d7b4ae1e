package cpu

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend/cpu/attention"
	"github.com/stowage-ml/stowage/internal/backend/cpu/conv"
	"github.com/stowage-ml/stowage/internal/backend/cpu/elem"
	"github.com/stowage-ml/stowage/internal/backend/cpu/gemm"
	"github.com/stowage-ml/stowage/internal/backend/cpu/move"
	"github.com/stowage-ml/stowage/internal/backend/cpu/quant"
	"github.com/stowage-ml/stowage/internal/backend/cpu/rnn"
	"github.com/stowage-ml/stowage/internal/backend/cpu/window"
	"github.com/stowage-ml/stowage/internal/op"
)

// entry is an operator and a family that has kernels for it.
type entry struct {
	domain, op string
	family     Family
}

// families lists the subpackages' kernels by operator, the better of equal ones first. Adding a
// family adds lines here.
var families = index(slices.Concat([]entry{
	{"", "Attention", attention.Attention},
	{"", "AveragePool", window.AveragePool},
	{"", "Concat", move.Concat},
	{"", "Conv", conv.Conv},
	{"", "Conv", window.Conv},
	{"", "ConvInteger", quant.ConvInteger},
	{"", "ConvTranspose", window.ConvTranspose},
	{"", "DequantizeLinear", quant.DequantizeLinear},
	{"", "DynamicQuantizeLinear", quant.DynamicQuantizeLinear},
	{"", "GRU", rnn.GRU},
	{"", "DepthToSpace", move.DepthToSpace},
	{"", "Expand", move.Expand},
	{"", "Gather", move.Gather},
	{"", "Gemm", gemm.Gemm},
	{"", "GlobalAveragePool", window.GlobalAveragePool},
	{"", "GlobalMaxPool", window.GlobalMaxPool},
	{"", "LSTM", rnn.LSTM},
	{"", "MatMul", gemm.MatMul},
	{"", "MatMulInteger", quant.MatMulInteger},
	{"", "MaxPool", window.MaxPool},
	{"", "QLinearConv", quant.QLinearConv},
	{"", "QLinearMatMul", quant.QLinearMatMul},
	{"", "QuantizeLinear", quant.QuantizeLinear},
	{"", "RNN", rnn.RNN},
	{"", "Pad", move.Pad},
	{"", "Resize", window.Resize},
	{"", "Slice", move.Slice},
	{"", "SpaceToDepth", move.SpaceToDepth},
	{"", "Split", move.Split},
	{"", "Tile", move.Tile},
	{"", "Transpose", move.Transpose},
	{"", "Upsample", window.Resize},
	{op.Domain, op.Fused, attention.Fused},
	{op.Domain, op.Fused, conv.Fused},
	{op.Domain, op.Fused, gemm.Fused},
	{op.Domain, op.Fused, quant.Fused},
	{op.Domain, op.Fused, window.Fused},
	{op.Domain, op.Fused, elem.Chain},
},
	each(elem.Chain,
		"Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "Ceil",
		"Celu", "Clip", "Cos", "Cosh", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
		"HardSwish", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow",
		"Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
		"Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tan", "Tanh", "ThresholdedRelu",
	),
	each(elem.Softmax, "LogSoftmax", "Softmax"),
	each(elem.LayerNorm, "LayerNormalization", "RMSNormalization"),
	each(elem.GroupNorm, "GroupNormalization", "InstanceNormalization"),
	each(elem.LpNorm, "LpNormalization"),
	each(elem.LRN, "LRN"),
	each(elem.Reduce, "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
		"ReduceSumSquare"),
	each(elem.Arg, "ArgMax", "ArgMin"),
	each(elem.Compare, "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
	each(elem.Integer, "Add", "And", "Div", "Max", "Min", "Mul", "Or", "Sub", "Xor"),
	each(elem.Where, "Where"),
	each(elem.Not, "Not"),
	each(elem.Cast, "Cast"),
))

// kernels lists the names of all kernels that a level may have, sorted. Adding a kernel adds its name.
var kernels = []string{"argmax", "attention", "averagepool", "cast", "compare", "concat", "conv-blocked", "conv-first",
	"conv-last", "conv-plain", "conv-winograd", "convolve", "deconv", "deconv-depthwise", "deconv-scatter", "depthtospace",
	"depthwise", "dequantise", "elementwise", "expand", "gather", "gemm", "gemv", "globalaveragepool", "globalmaxpool", group,
	"groupnorm", "gru", "integer", "layernorm", "lpnorm", "lrn", "lstm", "matmul", "maxpool", "not", "pad", "quantise", "reduce",
	"resize", "rnn", "slice", "softmax", "spacetodepth", "split", "tile", "transpose", "where"}

// Kernels returns the names that Backend.Off may list, sorted.
func Kernels() []string { return slices.Clone(kernels) }

// each gives a family to several standard operators.
func each(f Family, ops ...string) []entry {
	var out []entry
	for _, name := range ops {
		out = append(out, entry{"", name, f})
	}
	return out
}

type key struct{ domain, op string }

func index(list []entry) map[key][]Family {
	m := map[key][]Family{}
	for _, e := range list {
		m[key{e.domain, e.op}] = append(m[key{e.domain, e.op}], e.family)
	}
	return m
}
