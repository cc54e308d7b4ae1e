package cpu

import (
	"github.com/stowage-ml/stowage/internal/backend/cpu/gemm"
	"github.com/stowage-ml/stowage/internal/backend/cpu/window"
	"github.com/stowage-ml/stowage/internal/op"
)

// families lists the subpackages' kernels by operator. Adding a family adds a line here.
var families = map[key][]Family{
	{"", "MatMul"}: {gemm.MatMul}, {"", "Gemm"}: {gemm.Gemm},
	{op.Domain, op.Fused}: {window.Fused},
	{"", "Conv"}:          {window.Conv}, {"", "ConvTranspose"}: {window.ConvTranspose},
	{"", "MaxPool"}: {window.MaxPool}, {"", "AveragePool"}: {window.AveragePool},
	{"", "GlobalMaxPool"}: {window.GlobalMaxPool}, {"", "GlobalAveragePool"}: {window.GlobalAveragePool},
}
