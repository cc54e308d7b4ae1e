// Package values reads the elements of tensors one by one, whatever their type: as numbers, as
// text, as JSON; and makes tensors from JSON or from a seed. It knows nothing of models or files.
package values

import (
	"math"
	"strconv"

	"github.com/stowage-ml/stowage/tensor"
)

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// At reads element i of a tensor.
type At func(i int) float64

func slice[T number](s []T) At { return func(i int) float64 { return float64(s[i]) } }

// Numbers returns a reader of the elements as float64; nil for strings and complex numbers. A
// bool is 0 or 1; integers beyond 2^53 are rounded.
func Numbers(t *tensor.Tensor) At {
	b := t.Bytes()
	switch t.DType() {
	case tensor.Float32:
		return slice(tensor.Cast[float32](b))
	case tensor.Float64:
		return slice(tensor.Cast[float64](b))
	case tensor.Int8:
		return slice(tensor.Cast[int8](b))
	case tensor.Int16:
		return slice(tensor.Cast[int16](b))
	case tensor.Int32:
		return slice(tensor.Cast[int32](b))
	case tensor.Int64:
		return slice(tensor.Cast[int64](b))
	case tensor.Uint8, tensor.Bool:
		return slice(b)
	case tensor.Uint16:
		return slice(tensor.Cast[uint16](b))
	case tensor.Uint32:
		return slice(tensor.Cast[uint32](b))
	case tensor.Uint64:
		return slice(tensor.Cast[uint64](b))
	case tensor.Float16:
		s := tensor.Cast[tensor.Half](b)
		return func(i int) float64 { return float64(s[i].Float32()) }
	case tensor.BFloat16:
		s := tensor.Cast[tensor.Brain](b)
		return func(i int) float64 { return float64(s[i].Float32()) }
	}
	return small(t)
}

// small reads the types of 8 bits and less that Go has no type for.
func small(t *tensor.Tensor) At {
	b := t.Bytes()
	if f, ok := minifloats[t.DType()]; ok {
		width := t.DType().Bits()
		return func(i int) float64 { return f.value(field(b, i, width)) }
	}
	switch dt := t.DType(); dt {
	case tensor.Uint4, tensor.Uint2:
		return func(i int) float64 { return float64(field(b, i, dt.Bits())) }
	case tensor.Int4, tensor.Int2:
		shift := 8 - dt.Bits()
		return func(i int) float64 { return float64(int8(field(b, i, dt.Bits())<<shift) >> shift) }
	case tensor.Float8E8M0:
		return func(i int) float64 {
			if b[i] == 0xff {
				return math.NaN()
			}
			return math.Ldexp(1, int(b[i])-127)
		}
	}
	return nil
}

// field returns element i of packed elements of width bits; width divides 8.
func field(b []byte, i, width int) uint8 {
	bit := i * width
	return b[bit/8] >> (bit % 8) & (1<<width - 1)
}

// minifloat is a sign, exponent and mantissa format of at most 8 bits.
type minifloat struct {
	mantissa, bias int
	// infinite says that the largest exponent holds infinities and NaNs, as in IEEE 754.
	infinite bool
	// nan is the magnitude, or with unsigned zero (uz) the whole code, that is the only NaN;
	// 0 when there is none of this kind.
	nan uint8
	uz  bool
}

var minifloats = map[tensor.DType]minifloat{
	tensor.Float8E4M3FN: {mantissa: 3, bias: 7, nan: 0x7f},
	tensor.Float8E4M3UZ: {mantissa: 3, bias: 8, nan: 0x80, uz: true},
	tensor.Float8E5M2:   {mantissa: 2, bias: 15, infinite: true},
	tensor.Float8E5M2UZ: {mantissa: 2, bias: 16, nan: 0x80, uz: true},
	tensor.Float4E2M1:   {mantissa: 1, bias: 1},
}

func (f minifloat) value(code uint8) float64 {
	top := uint8(0x80)
	if f.mantissa == 1 {
		top = 0x08
	}
	mag := code &^ top
	if f.nan != 0 && (f.uz && code == f.nan || !f.uz && mag == f.nan) {
		return math.NaN()
	}
	exp, man := int(mag>>f.mantissa), int(mag&(1<<f.mantissa-1))
	v := math.Ldexp(float64(man), 1-f.bias-f.mantissa)
	switch {
	case f.infinite && exp == 0x1f && man == 0:
		v = math.Inf(1)
	case f.infinite && exp == 0x1f:
		return math.NaN()
	case exp > 0:
		v = math.Ldexp(float64(man|1<<f.mantissa), exp-f.bias-f.mantissa)
	}
	if code&top != 0 {
		return -v
	}
	return v
}

// maxText is the length at which a string element is cut for display, in bytes.
const maxText = 60

// Text returns element i as text: the shortest digits that give the number back, true or false,
// or the start of a string in quotes.
func Text(t *tensor.Tensor, i int) string {
	switch t.DType() {
	case tensor.String:
		s := t.Strings()[i]
		if len(s) > maxText {
			return strconv.Quote(s[:maxText]) + "…"
		}
		return strconv.Quote(s)
	case tensor.Bool:
		return strconv.FormatBool(t.Bytes()[i] != 0)
	case tensor.Int64:
		return strconv.FormatInt(tensor.Cast[int64](t.Bytes())[i], 10)
	case tensor.Uint64:
		return strconv.FormatUint(tensor.Cast[uint64](t.Bytes())[i], 10)
	case tensor.Complex64:
		return strconv.FormatComplex(complex128(tensor.Cast[complex64](t.Bytes())[i]), 'g', -1, 64)
	case tensor.Complex128:
		return strconv.FormatComplex(tensor.Cast[complex128](t.Bytes())[i], 'g', -1, 128)
	}
	v := Numbers(t)(i)
	if t.DType() == tensor.Float64 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	if t.DType().IsInt() {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}
