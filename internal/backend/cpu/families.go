package cpu

import (
	"github.com/stowage-ml/stowage/internal/backend/cpu/conv"
	"github.com/stowage-ml/stowage/internal/backend/cpu/gemm"
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
	{"", "Conv", conv.Conv},
	{"", "Gemm", gemm.Gemm},
	{"", "MatMul", gemm.MatMul},
	{op.Domain, "Fused", conv.Fused},
	{op.Domain, "Fused", gemm.Fused},
})

type key struct{ domain, op string }

func index(list []entry) map[key][]Family {
	m := map[key][]Family{}
	for _, e := range list {
		m[key{e.domain, e.op}] = append(m[key{e.domain, e.op}], e.family)
	}
	return m
}
