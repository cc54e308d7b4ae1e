package tensor

import (
	"fmt"
	"math"
	"math/bits"
)

// DType is an element type. The numbers are those of ONNX's TensorProto.DataType.
type DType uint8

// Element types, in ONNX's numbering.
const (
	Undefined    DType = 0
	Float32      DType = 1
	Uint8        DType = 2
	Int8         DType = 3
	Uint16       DType = 4
	Int16        DType = 5
	Int32        DType = 6
	Int64        DType = 7
	String       DType = 8
	Bool         DType = 9
	Float16      DType = 10
	Float64      DType = 11
	Uint32       DType = 12
	Uint64       DType = 13
	Complex64    DType = 14
	Complex128   DType = 15
	BFloat16     DType = 16
	Float8E4M3FN DType = 17
	Float8E4M3UZ DType = 18
	Float8E5M2   DType = 19
	Float8E5M2UZ DType = 20
	Uint4        DType = 21
	Int4         DType = 22
	Float4E2M1   DType = 23
	Float8E8M0   DType = 24
	Uint2        DType = 25
	Int2         DType = 26
	numDTypes          = 27
)

var dtypes = [numDTypes]struct {
	name string
	bits int
}{
	{"undefined", 0}, {"float32", 32}, {"uint8", 8}, {"int8", 8}, {"uint16", 16}, {"int16", 16}, {"int32", 32},
	{"int64", 64}, {"string", 0}, {"bool", 8}, {"float16", 16}, {"float64", 64}, {"uint32", 32}, {"uint64", 64},
	{"complex64", 64}, {"complex128", 128}, {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8},
	{"float8e5m2", 8}, {"float8e5m2fnuz", 8}, {"uint4", 4}, {"int4", 4}, {"float4e2m1", 4}, {"float8e8m0", 8},
	{"uint2", 2}, {"int2", 2},
}

// Valid reports whether d names an element type.
func (d DType) Valid() bool { return d > Undefined && d < numDTypes }

// String returns the lower-case name, such as "float32".
func (d DType) String() string {
	if d < numDTypes {
		return dtypes[d].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// ParseDType is the inverse of String.
func ParseDType(s string) (DType, bool) {
	for i, t := range dtypes {
		if i > 0 && t.name == s {
			return DType(i), true
		}
	}
	return Undefined, false
}

// Bits returns the width of one element in bits; 0 for strings, which have no fixed width.
func (d DType) Bits() int {
	if d < numDTypes {
		return dtypes[d].bits
	}
	return 0
}

// ByteSize returns the bytes that n elements occupy, sub-byte types packed and rounded up to
// whole bytes. Strings count 0. ok is false when n is negative or the size overflows an int64;
// size then means nothing.
func (d DType) ByteSize(n int64) (size int64, ok bool) {
	if n < 0 {
		return 0, false
	}
	if w := d.Bits() / 8; w > 0 {
		hi, lo := bits.Mul64(uint64(n), uint64(w))
		return int64(lo & math.MaxInt64), hi == 0 && lo <= math.MaxInt64
	}
	perByte := int64(8)
	if d.Bits() > 0 {
		perByte = int64(8 / d.Bits())
	} else {
		n = 0
	}
	return n/perByte + min(n%perByte, 1), true
}

// IsFloat reports whether d is a real floating-point type of any width.
func (d DType) IsFloat() bool {
	switch d {
	case Float32, Float64, Float16, BFloat16, Float8E4M3FN, Float8E4M3UZ, Float8E5M2, Float8E5M2UZ, Float4E2M1,
		Float8E8M0:
		return true
	}
	return false
}

// IsInt reports whether d is a signed or unsigned integer of any width.
func (d DType) IsInt() bool {
	switch d {
	case Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Int4, Uint4, Int2, Uint2:
		return true
	}
	return false
}
