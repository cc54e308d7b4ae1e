package cpu

import (
	"github.com/stowage-ml/stowage/internal/backend/cpu/conv"
	"github.com/stowage-ml/stowage/internal/backend/cpu/gemm"
	"github.com/stowage-ml/stowage/internal/backend/cpu/move"
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
	{"", "Concat", move.Concat},
	{"", "Conv", conv.Conv},
	{"", "Conv", window.Conv},
	{"", "ConvTranspose", window.ConvTranspose},
	{"", "DepthToSpace", move.DepthToSpace},
	{"", "Expand", move.Expand},
	{"", "Gather", move.Gather},
	{"", "Gemm", gemm.Gemm},
	{"", "GlobalAveragePool", window.GlobalAveragePool},
	{"", "GlobalMaxPool", window.GlobalMaxPool},
	{"", "MatMul", gemm.MatMul},
	{"", "MaxPool", window.MaxPool},
	{"", "Pad", move.Pad},
	{"", "Resize", window.Resize},
	{"", "Slice", move.Slice},
	{"", "SpaceToDepth", move.SpaceToDepth},
	{"", "Split", move.Split},
	{"", "Tile", move.Tile},
	{"", "Transpose", move.Transpose},
	{"", "Upsample", window.Resize},
	{op.Domain, op.Fused, conv.Fused},
	{op.Domain, op.Fused, gemm.Fused},
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
