package tensor

import "math"

// Half is an IEEE 754 binary16 number, held as its bits. Its DType is Float16.
type Half uint16

// Brain is a bfloat16 number, held as its bits. Its DType is BFloat16.
type Brain uint16

// HalfOf rounds f to the nearest binary16 number, ties to even; what is too large becomes
// infinite, and a NaN stays a NaN.
func HalfOf(f float32) Half {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return Half(sign | 0x7e00)
	case b >= 0x47800000:
		return Half(sign | 0x7c00)
	case b < 0x38800000:
		// Subnormal or zero: adding 0.5 puts the 10 fraction bits at the bottom, rounded by the FPU.
		return Half(sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000))
	}
	b += 0xfff + (b>>13)&1
	return Half(sign | uint16((b-0x38000000)>>13))
}

// Float32 returns the value, exactly.
func (h Half) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	mag := uint32(h & 0x7fff)
	switch {
	case mag >= 0x7c00:
		return math.Float32frombits(sign | 0x7f800000 | (mag&0x3ff)<<13)
	case mag >= 0x400:
		return math.Float32frombits(sign | (mag<<13 + 0x38000000))
	}
	f := float32(mag) * (1.0 / (1 << 24))
	return math.Float32frombits(sign | math.Float32bits(f))
}

// BrainOf rounds f to the nearest bfloat16 number, ties to even; a NaN stays a NaN.
func BrainOf(f float32) Brain {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return Brain(b>>16 | 0x40)
	}
	return Brain((b + 0x7fff + (b>>16)&1) >> 16)
}

// Float32 returns the value, exactly.
func (h Brain) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }
