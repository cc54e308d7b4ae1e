package cpu

import (
	"github.com/stowage-ml/stowage/internal/backend/cpu/conv"
	"github.com/stowage-ml/stowage/internal/backend/cpu/gemm"
	"github.com/stowage-ml/stowage/internal/backend/cpu/quant"
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
var families = index([]entry{
	{"", "AveragePool", window.AveragePool},
	{"", "Conv", conv.Conv},
	{"", "Conv", window.Conv},
	{"", "DequantizeLinear", quant.DequantizeLinear},
	{"", "DynamicQuantizeLinear", quant.DynamicQuantizeLinear},
	{"", "Gemm", gemm.Gemm},
	{"", "GlobalAveragePool", window.GlobalAveragePool},
	{"", "GlobalMaxPool", window.GlobalMaxPool},
	{"", "MatMul", gemm.MatMul},
	{"", "MatMulInteger", quant.MatMulInteger},
	{"", "MaxPool", window.MaxPool},
	{"", "QLinearMatMul", quant.QLinearMatMul},
	{"", "QuantizeLinear", quant.QuantizeLinear},
	{op.Domain, op.Fused, conv.Fused},
	{op.Domain, op.Fused, gemm.Fused},
	{op.Domain, op.Fused, quant.Fused},
	{op.Domain, op.Fused, window.Fused},
})

type key struct{ domain, op string }

func index(list []entry) map[key][]Family {
	m := map[key][]Family{}
	for _, e := range list {
		m[key{e.domain, e.op}] = append(m[key{e.domain, e.op}], e.family)
	}
	return m
}
