package ref

import (
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// types is a set of element types, a bit for each.
type types uint32

func setOf(ds ...tensor.DType) types {
	var s types
	for _, d := range ds {
		s |= 1 << d
	}
	return s
}

func (s types) has(d tensor.DType) bool { return s>>d&1 == 1 }

// String lists the members, such as "float32|float64".
func (s types) String() string {
	var names []string
	for d := tensor.Float32; d.Valid(); d++ {
		if s.has(d) {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, "|")
}

var (
	bools    = setOf(tensor.Bool)
	strs     = setOf(tensor.String)
	signed   = setOf(tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64)
	unsigned = setOf(tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64)
	integers = signed | unsigned
	floats   = setOf(tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16)
	numbers  = integers | floats
	indices  = setOf(tensor.Int32, tensor.Int64)
	// fixed is every type whose elements are whole bytes.
	fixed = numbers | bools | setOf(tensor.Complex64, tensor.Complex128, tensor.Float8E4M3FN,
		tensor.Float8E4M3UZ, tensor.Float8E5M2, tensor.Float8E5M2UZ, tensor.Float8E8M0)
	anything = fixed | strs
)
