package ref

import (
	"math"

	"github.com/stowage-ml/stowage/tensor"
)

// minifloat describes a floating-point format of at most a byte: a sign, an exponent and man
// bits of fraction, as the OCP 8-bit and MX formats and the "FNUZ" formats lay them out.
type minifloat struct {
	bits, man, bias int
	// top is the largest finite code without its sign.
	top byte
	// nan is the code of NaN, inf that of +∞; 0 where there is none.
	nan, inf byte
	// oneZero says that the code of −0 means NaN.
	oneZero bool
}

var (
	float8E4M3FN = minifloat{bits: 8, man: 3, bias: 7, top: 0x7e, nan: 0x7f}
	float8E4M3UZ = minifloat{bits: 8, man: 3, bias: 8, top: 0x7f, nan: 0x80, oneZero: true}
	float8E5M2   = minifloat{bits: 8, man: 2, bias: 15, top: 0x7b, nan: 0x7e, inf: 0x7c}
	float8E5M2UZ = minifloat{bits: 8, man: 2, bias: 16, top: 0x7f, nan: 0x80, oneZero: true}
	// float4E2M1 has no NaN: it becomes −0.
	float4E2M1 = minifloat{bits: 4, man: 1, bias: 1, top: 0x7, nan: 0x8}
)

// minifloatOf returns the format of a type; ok is false for types that are none.
func minifloatOf(dt tensor.DType) (f minifloat, ok bool) {
	switch dt {
	case tensor.Float8E4M3FN:
		return float8E4M3FN, true
	case tensor.Float8E4M3UZ:
		return float8E4M3UZ, true
	case tensor.Float8E5M2:
		return float8E5M2, true
	case tensor.Float8E5M2UZ:
		return float8E5M2UZ, true
	case tensor.Float4E2M1:
		return float4E2M1, true
	}
	return minifloat{}, false
}

// decode returns the value of a code, exactly.
func (f minifloat) decode(code byte) float64 {
	sign := byte(1) << (f.bits - 1)
	mag := code &^ sign
	switch {
	case f.oneZero && code == sign, f.bits == 8 && !f.oneZero && mag > f.top && (f.inf == 0 || mag != f.inf):
		return math.NaN()
	case f.inf != 0 && mag == f.inf:
		return math.Copysign(math.Inf(1), signOf(code&sign))
	}
	exp, frac := int(mag>>f.man), int(mag&(1<<f.man-1))
	if exp == 0 {
		exp = 1
	} else {
		frac |= 1 << f.man
	}
	return math.Copysign(math.Ldexp(float64(frac), exp-f.bias-f.man), signOf(code&sign))
}

func signOf(bit byte) float64 {
	if bit != 0 {
		return -1
	}
	return 1
}

// encode rounds to the nearest code, ties to even. What is too large becomes the largest finite
// code when saturate is set or the format has nothing else, and otherwise infinite or NaN.
func (f minifloat) encode(x float64, saturate bool) byte {
	sign := byte(0)
	if math.Signbit(x) {
		sign = 1 << (f.bits - 1)
	}
	if math.IsNaN(x) {
		return f.nan
	}
	code := f.magnitude(math.Abs(x))
	switch {
	case code > int(f.top) && (saturate || f.bits == 4):
		return sign | f.top
	case code > int(f.top) && f.inf != 0:
		return sign | f.inf
	case code > int(f.top) && f.oneZero:
		return f.nan
	case code > int(f.top):
		return sign | f.nan
	case f.oneZero && code == 0:
		return 0
	}
	return sign | byte(code)
}

// magnitude returns the code of a number that is not negative, above top when it is too large.
func (f minifloat) magnitude(x float64) int {
	if x == 0 {
		return 0
	}
	if x > math.Ldexp(1, 2<<(f.bits-1-f.man)) {
		return math.MaxInt
	}
	least := 1 - f.bias
	_, exp := math.Frexp(x)
	exp = max(exp-1, least)
	return (exp-least)<<f.man + int(math.RoundToEven(math.Ldexp(x, f.man-exp)))
}

// decodeE8M0 returns 2^(code−127), and NaN for 255.
func decodeE8M0(code byte) float64 {
	if code == 0xff {
		return math.NaN()
	}
	return math.Ldexp(1, int(code)-127)
}

// encodeE8M0 rounds the magnitude of x to a power of two: "up", "down" or "nearest" (what lies
// half way goes up). What is too large becomes 2^127 when saturate is set, else NaN, and zero
// becomes the smallest power.
func encodeE8M0(x float64, mode string, saturate bool) byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0xff
	}
	frac, exp := math.Frexp(math.Abs(x))
	code := exp - 1 + 127
	if mode == "up" && frac > 0.5 || mode == "nearest" && frac >= 0.75 {
		code++
	}
	switch {
	case frac == 0 || code < 0:
		return 0
	case code > 0xfe && saturate:
		return 0xfe
	case code > 0xfe:
		return 0xff
	}
	return byte(code)
}
