package arena

import "math"

// Format says how many bytes a row of elements takes in storage, scales included: block formats
// keep one scale for every Group elements of a row, and some keep one for each row or tensor.
type Format struct {
	// Name is for people.
	Name string
	// Bits is the width of an element. A row, or a group, is a whole number of bytes.
	Bits int64
	// Group is the number of elements that share a scale of GroupBytes; 0 means no groups.
	// A row must be a multiple of it.
	Group, GroupBytes int64
	// RowBytes is stored once for each row, and TensorBytes once for all.
	RowBytes, TensorBytes int64
}

// Plain storage formats.
var (
	Float64  = Format{Name: "f64", Bits: 64}
	Float32  = Format{Name: "f32", Bits: 32}
	Float16  = Format{Name: "f16", Bits: 16}
	BFloat16 = Format{Name: "bf16", Bits: 16}
	Int64    = Format{Name: "i64", Bits: 64}
	Int32    = Format{Name: "i32", Bits: 32}
	Int16    = Format{Name: "i16", Bits: 16}
	Int8     = Format{Name: "i8", Bits: 8}
	Bool     = Format{Name: "bool", Bits: 8}
)

// Scaled storage formats. Scales of fp8 are float32; those of integer blocks are float16. MX
// formats follow the OCP Microscaling specification 1.0: 32 elements share a power of two of one
// byte. NVFP4 has an fp8 scale for 16 elements, and a float32 scale for the tensor.
var (
	FP8Tensor = Format{Name: "fp8/tensor", Bits: 8, TensorBytes: 4}
	FP8Token  = Format{Name: "fp8/token", Bits: 8, RowBytes: 4}
	MXFP8     = Format{Name: "mxfp8", Bits: 8, Group: 32, GroupBytes: 1}
	MXFP4     = Format{Name: "mxfp4", Bits: 4, Group: 32, GroupBytes: 1}
	NVFP4     = Format{Name: "nvfp4", Bits: 4, Group: 16, GroupBytes: 1, TensorBytes: 4}
)

// FP8Group is fp8 with a float32 scale for each group of elements.
func FP8Group(group int64) Format {
	return Format{Name: "fp8/group", Bits: 8, Group: group, GroupBytes: 4}
}

// Int8Block is int8 with a float16 scale for each block of elements.
func Int8Block(block int64) Format {
	return Format{Name: "int8/block", Bits: 8, Group: block, GroupBytes: 2}
}

// Int4Block is int4 with a float16 scale for each block of elements.
func Int4Block(block int64) Format {
	return Format{Name: "int4/block", Bits: 4, Group: block, GroupBytes: 2}
}

// Bytes returns the size of rows rows of dim elements each. ok is false when the size overflows,
// dim is not a multiple of the group, or a number is negative.
func (f Format) Bytes(rows, dim int64) (n int64, ok bool) {
	if rows < 0 || dim < 0 || f.Bits < 0 || f.Group < 0 || f.GroupBytes < 0 || f.RowBytes < 0 || f.TensorBytes < 0 {
		return 0, false
	}
	whole, groups := dim, int64(1)
	if f.Group > 0 {
		if dim%f.Group != 0 {
			return 0, false
		}
		whole, groups = f.Group, dim/f.Group
	}
	c := counter{}
	unit := c.ceil8(c.mul(whole, f.Bits))
	if f.Group > 0 {
		unit = c.add(unit, f.GroupBytes)
	}
	n = c.add(c.mul(rows, c.add(c.mul(groups, unit), f.RowBytes)), f.TensorBytes)
	return n, !c.over
}

// counter does arithmetic on numbers that are not negative, and remembers an overflow.
type counter struct{ over bool }

func (c *counter) add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		c.over = true
		return 0
	}
	return a + b
}

func (c *counter) mul(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		c.over = true
		return 0
	}
	return a * b
}

// ceil8 turns bits into whole bytes.
func (c *counter) ceil8(bits int64) int64 { return c.add(bits, 7) / 8 }
