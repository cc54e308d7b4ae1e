package cpu

import "github.com/stowage-ml/stowage/internal/backend/cpu/gemm"

// families lists the subpackages' kernels by operator. Adding a family adds a line here.
var families = map[key][]Family{
	{"", "MatMul"}: {gemm.MatMul}, {"", "Gemm"}: {gemm.Gemm},
}
