package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// Constraints for the Go types that elements are stored in.
type (
	signedInt   interface{ int8 | int16 | int32 | int64 }
	unsignedInt interface {
		uint8 | uint16 | uint32 | uint64
	}
	wholeFloat interface{ float32 | float64 }
	// halfFloat is computed in float32 and rounded.
	halfFloat interface {
		tensor.Half | tensor.Brain
		Float32() float32
	}
	number interface {
		signedInt | unsignedInt | wholeFloat
	}
)

// packed is every type whose elements are less than a byte.
var packed = setOf(tensor.Int4, tensor.Uint4, tensor.Int2, tensor.Uint2, tensor.Float4E2M1)

// elems returns the elements of an operand; T is the Go type of its DType, or, for whoever only
// moves elements, any type of the same width.
func elems[T tensor.Element](v *backend.View) []T {
	if v.DType == tensor.String {
		return any(v.Strs).([]T)
	}
	return tensor.Cast[T](v.Data)
}

// perType has one F, mostly an instance of a generic function, for each Go type that numbers
// and booleans are stored in.
type perType[F any] struct {
	F32, F64           F
	F16                F
	BF16               F
	I8, I16, I32, I64  F
	U8, U16, U32, U64  F
	Bool               F
	String             F
	Complex64, Complex F
}

// of returns the member for a type; the zero F for a type that has none.
func (p *perType[F]) of(dt tensor.DType) F {
	switch dt {
	case tensor.Float32:
		return p.F32
	case tensor.Float64:
		return p.F64
	case tensor.Float16:
		return p.F16
	case tensor.BFloat16:
		return p.BF16
	case tensor.Int8:
		return p.I8
	case tensor.Int16:
		return p.I16
	case tensor.Int32:
		return p.I32
	case tensor.Int64:
		return p.I64
	case tensor.Uint8:
		return p.U8
	case tensor.Uint16:
		return p.U16
	case tensor.Uint32:
		return p.U32
	case tensor.Uint64:
		return p.U64
	case tensor.Bool:
		return p.Bool
	case tensor.String:
		return p.String
	case tensor.Complex64:
		return p.Complex64
	case tensor.Complex128:
		return p.Complex
	}
	var none F
	return none
}

// bySize has one F for each width of element, for operators that move elements and do not look
// at them; Sub serves the types of less than a byte.
type bySize[F any] struct{ B1, B2, B4, B8, B16, String, Sub F }

func (p *bySize[F]) of(dt tensor.DType) F {
	switch bits := dt.Bits(); {
	case dt == tensor.String:
		return p.String
	case bits < 8:
		return p.Sub
	case bits == 8:
		return p.B1
	case bits == 16:
		return p.B2
	case bits == 32:
		return p.B4
	case bits == 64:
		return p.B8
	}
	return p.B16
}

// readFloats converts the len(dst) elements of a floating-point tensor that start at element at.
func readFloats(dst []float32, dt tensor.DType, src []byte, at int) {
	switch dt {
	case tensor.Float32:
		copy(dst, tensor.Cast[float32](src)[at:])
	case tensor.Float64:
		for i, x := range tensor.Cast[float64](src)[at : at+len(dst)] {
			dst[i] = float32(x)
		}
	case tensor.Float16:
		for i, x := range tensor.Cast[tensor.Half](src)[at : at+len(dst)] {
			dst[i] = x.Float32()
		}
	case tensor.BFloat16:
		for i, x := range tensor.Cast[tensor.Brain](src)[at : at+len(dst)] {
			dst[i] = x.Float32()
		}
	default:
		panic("BUG: ref: readFloats of " + dt.String())
	}
}

// writeFloats rounds src to a floating-point tensor's type and stores it from element at on.
func writeFloats(dst []byte, dt tensor.DType, at int, src []float32) {
	switch dt {
	case tensor.Float32:
		copy(tensor.Cast[float32](dst)[at:], src)
	case tensor.Float64:
		out := tensor.Cast[float64](dst)[at : at+len(src)]
		for i, x := range src {
			out[i] = float64(x)
		}
	case tensor.Float16:
		out := tensor.Cast[tensor.Half](dst)[at : at+len(src)]
		for i, x := range src {
			out[i] = tensor.HalfOf(x)
		}
	case tensor.BFloat16:
		out := tensor.Cast[tensor.Brain](dst)[at : at+len(src)]
		for i, x := range src {
			out[i] = tensor.BrainOf(x)
		}
	default:
		panic("BUG: ref: writeFloats of " + dt.String())
	}
}

// floatAt returns element i of a floating-point tensor, as a float64.
func floatAt(dt tensor.DType, data []byte, i int) float64 {
	switch dt {
	case tensor.Float32:
		return float64(tensor.Cast[float32](data)[i])
	case tensor.Float64:
		return tensor.Cast[float64](data)[i]
	case tensor.Float16:
		return float64(tensor.Cast[tensor.Half](data)[i].Float32())
	case tensor.BFloat16:
		return float64(tensor.Cast[tensor.Brain](data)[i].Float32())
	}
	panic("BUG: ref: floatAt of " + dt.String())
}

// setFloat rounds x to a floating-point tensor's type and stores it as element i. Float16 and
// bfloat16 are rounded from float32.
func setFloat(dt tensor.DType, data []byte, i int, x float64) {
	switch dt {
	case tensor.Float32:
		tensor.Cast[float32](data)[i] = float32(x)
	case tensor.Float64:
		tensor.Cast[float64](data)[i] = x
	case tensor.Float16:
		tensor.Cast[tensor.Half](data)[i] = tensor.HalfOf(float32(x))
	case tensor.BFloat16:
		tensor.Cast[tensor.Brain](data)[i] = tensor.BrainOf(float32(x))
	default:
		panic("BUG: ref: setFloat of " + dt.String())
	}
}

// intAt returns element i of an integer or boolean tensor.
func intAt(v *backend.View, i int) int64 {
	switch v.DType {
	case tensor.Int64:
		return tensor.Cast[int64](v.Data)[i]
	case tensor.Int32:
		return int64(tensor.Cast[int32](v.Data)[i])
	case tensor.Int16:
		return int64(tensor.Cast[int16](v.Data)[i])
	case tensor.Int8:
		return int64(tensor.Cast[int8](v.Data)[i])
	case tensor.Uint8, tensor.Bool:
		return int64(v.Data[i])
	case tensor.Uint16:
		return int64(tensor.Cast[uint16](v.Data)[i])
	case tensor.Uint32:
		return int64(tensor.Cast[uint32](v.Data)[i])
	case tensor.Uint64:
		return int64(tensor.Cast[uint64](v.Data)[i])
	}
	panic("BUG: ref: intAt of " + v.DType.String())
}

// setInt stores x as element i of an integer tensor, cut off to its width.
func setInt(v *backend.View, i int, x int64) {
	switch v.DType {
	case tensor.Int64, tensor.Uint64:
		tensor.Cast[int64](v.Data)[i] = x
	case tensor.Int32, tensor.Uint32:
		tensor.Cast[int32](v.Data)[i] = int32(x)
	case tensor.Int16, tensor.Uint16:
		tensor.Cast[int16](v.Data)[i] = int16(x)
	case tensor.Int8, tensor.Uint8:
		v.Data[i] = byte(x)
	default:
		panic("BUG: ref: setInt of " + v.DType.String())
	}
}

// numberAt returns element i of a tensor of numbers, as a float64.
func numberAt(v *backend.View, i int) float64 {
	switch {
	case floats.has(v.DType):
		return floatAt(v.DType, v.Data, i)
	case v.DType == tensor.Uint64:
		return float64(tensor.Cast[uint64](v.Data)[i])
	}
	return float64(intAt(v, i))
}

// toInt cuts a number off towards zero; what an int64 cannot hold becomes the nearest that it
// can, and a NaN becomes 0.
func toInt(x float64) int64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
