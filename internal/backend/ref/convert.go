package ref

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var intLoads = perType[load[int64]]{
	I8: loadInt[int8], I16: loadInt[int16], I32: loadInt[int32], I64: loadInt[int64],
	U8: loadInt[uint8], U16: loadInt[uint16], U32: loadInt[uint32], U64: loadInt[uint64],
}

var floatLoads = perType[load[float64]]{
	F32: loadFloat[float32], F64: loadFloat[float64], U64: loadFloat[uint64],
	F16: loadHalf[tensor.Half], BF16: loadHalf[tensor.Brain],
}

var intStores = perType[store[int64]]{
	F32: storeInt[float32], F64: storeInt[float64],
	F16:  func(v *backend.View, at int, src []int64) { storeHalf(v, at, src, tensor.HalfOf) },
	BF16: func(v *backend.View, at int, src []int64) { storeHalf(v, at, src, tensor.BrainOf) },
	I8:   storeInt[int8], I16: storeInt[int16], I32: storeInt[int32], I64: storeInt[int64],
	U8: storeInt[uint8], U16: storeInt[uint16], U32: storeInt[uint32], U64: storeInt[uint64],
	Bool: storeBool[int64],
}

var floatStores = perType[store[float64]]{
	F32: storeFloat[float32], F64: storeFloat[float64],
	F16:  func(v *backend.View, at int, src []float64) { storeHalf(v, at, src, tensor.HalfOf) },
	BF16: func(v *backend.View, at int, src []float64) { storeHalf(v, at, src, tensor.BrainOf) },
	I8:   storeCut[int8], I16: storeCut[int16], I32: storeInt32, I64: storeCut[int64],
	U8: storeCut[uint8], U16: storeCut[uint16], U32: storeCut[uint32], U64: storeUint64,
	Bool: storeBool[float64],
}

func loadInt[T signedInt | unsignedInt](dst []int64, v *backend.View, at int) {
	for i, x := range elems[T](v)[at : at+len(dst)] {
		dst[i] = int64(x)
	}
}

func loadFloat[T wholeFloat | uint64](dst []float64, v *backend.View, at int) {
	for i, x := range elems[T](v)[at : at+len(dst)] {
		dst[i] = float64(x)
	}
}

func loadHalf[T halfFloat](dst []float64, v *backend.View, at int) {
	for i, x := range elems[T](v)[at : at+len(dst)] {
		dst[i] = float64(x.Float32())
	}
}

// storeInt keeps the low bits of what an integer type cannot hold.
func storeInt[T number](v *backend.View, at int, src []int64) {
	dst := elems[T](v)[at:]
	for i, x := range src {
		dst[i] = T(x)
	}
}

func storeFloat[T wholeFloat](v *backend.View, at int, src []float64) {
	dst := elems[T](v)[at:]
	for i, x := range src {
		dst[i] = T(x)
	}
}

func storeHalf[T halfFloat, S int64 | float64](v *backend.View, at int, src []S, round func(float32) T) {
	dst := elems[T](v)[at:]
	for i, x := range src {
		dst[i] = round(sticky(float64(x)))
	}
}

// sticky cuts x off to a float32 and sets its last bit when that loses anything, so that
// rounding the result to fewer bits is rounding x once.
func sticky(x float64) float32 {
	f := float32(x)
	b := math.Float32bits(f)
	r := float64(f)
	if r == x || x != x || b&1 == 1 {
		return f
	}
	if math.Abs(r) > math.Abs(x) {
		return math.Float32frombits(b - 1)
	}
	return math.Float32frombits(b + 1)
}

// storeCut takes the whole part of a number, to the bounds of int64, and keeps its low bits.
func storeCut[T signedInt | unsignedInt](v *backend.View, at int, src []float64) {
	dst := elems[T](v)[at:]
	for i, x := range src {
		dst[i] = T(toInt(x))
	}
}

// storeInt32 goes to the bounds of int32.
func storeInt32(v *backend.View, at int, src []float64) {
	dst := elems[int32](v)[at:]
	for i, x := range src {
		dst[i] = int32(min(max(toInt(x), math.MinInt32), math.MaxInt32))
	}
}

// storeUint64 goes to the upper bound of uint64; negative numbers wrap as in storeCut.
func storeUint64(v *backend.View, at int, src []float64) {
	dst := elems[uint64](v)[at:]
	for i, x := range src {
		switch {
		case x >= math.MaxUint64:
			dst[i] = math.MaxUint64
		case x >= math.MaxInt64:
			dst[i] = uint64(x)
		default:
			dst[i] = uint64(toInt(x))
		}
	}
}

// storeBool makes everything but zero true.
func storeBool[T int64 | float64](v *backend.View, at int, src []T) {
	for i, x := range src {
		v.Data[at+i] = bit(x != 0)
	}
}
