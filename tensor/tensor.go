// Package tensor holds what goes into and comes out of a model: a dense, row-major array with
// an element type and a shape. It knows nothing of models or devices. Sizes are in elements
// unless a name says bytes; memory is little-endian.
package tensor

import (
	"fmt"
	"unsafe"
)

// Element lists the Go types that have a DType.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | complex64 | complex128 | Half | Brain | string
}

// Tensor is a dense array. The zero value is not usable: make one with New, Of, Zeros, Scalar
// or FromBytes. A Tensor does not own its memory: it is as long-lived, and as safe for
// concurrent use, as the slice it was made over.
type Tensor struct {
	dtype DType
	shape Shape
	data  []byte
	strs  []string
}

// TypeOf returns the DType of a Go element type.
func TypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case bool:
		return Bool
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case Half:
		return Float16
	case Brain:
		return BFloat16
	case string:
		return String
	}
	panic("BUG: tensor: element type without a DType")
}

// New makes a tensor of the given shape over data, without a copy: it sees later writes to
// data. The length of data must be the number of elements of the shape.
func New[T Element](shape Shape, data []T) (*Tensor, error) {
	n, ok := shape.Elements()
	if !ok || len(shape) > MaxRank {
		return nil, fmt.Errorf("tensor: shape %v: not a valid shape", shape)
	}
	if int64(len(data)) != n {
		return nil, fmt.Errorf("tensor: shape %v: got %d elements, want %d", shape, len(data), n)
	}
	t := &Tensor{dtype: TypeOf[T](), shape: shape.Clone()}
	if s, ok := any(data).([]string); ok {
		t.strs = s
		return t, nil
	}
	t.data = bytesOf(data)
	return t, nil
}

// Must is New that panics on an error: for shapes written in the program's text.
func Must[T Element](shape Shape, data []T) *Tensor {
	t, err := New(shape, data)
	if err != nil {
		panic(err)
	}
	return t
}

// Of makes a one-dimensional tensor over data, without a copy.
func Of[T Element](data ...T) *Tensor { return Must(Shape{int64(len(data))}, data) }

// Scalar makes a zero-dimensional tensor that holds v.
func Scalar[T Element](v T) *Tensor { return Must(Shape{}, []T{v}) }

// maxBytes is more than any machine's memory, and less than what make panics at.
const maxBytes = 1 << 43

// Zeros makes a tensor of zeros (empty strings) in memory of its own.
func Zeros(dtype DType, shape Shape) (*Tensor, error) {
	n, ok := shape.Elements()
	size, sok := dtype.ByteSize(n)
	if !ok || !sok || !dtype.Valid() || len(shape) > MaxRank {
		return nil, fmt.Errorf("tensor: %v%v: not a valid tensor type", dtype, shape)
	}
	if size > maxBytes || n > maxBytes && dtype == String {
		return nil, fmt.Errorf("tensor: %v%v: got %d bytes, want at most %d", dtype, shape, max(size, n), int64(maxBytes))
	}
	t := &Tensor{dtype: dtype, shape: shape.Clone()}
	if dtype == String {
		t.strs = make([]string, n)
		return t, nil
	}
	t.data = alignedBytes(size)
	return t, nil
}

// FromBytes makes a tensor over raw little-endian bytes, without a copy. Sub-byte types are
// packed, the first element in the low bits. Strings have no bytes: use New.
func FromBytes(dtype DType, shape Shape, data []byte) (*Tensor, error) {
	n, ok := shape.Elements()
	size, sok := dtype.ByteSize(n)
	if !ok || !sok || !dtype.Valid() || dtype == String || len(shape) > MaxRank {
		return nil, fmt.Errorf("tensor: %v%v: not a valid type for raw bytes", dtype, shape)
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("tensor: %v%v: got %d bytes, want %d", dtype, shape, len(data), size)
	}
	return &Tensor{dtype: dtype, shape: shape.Clone(), data: data}, nil
}

// DType returns the element type.
func (t *Tensor) DType() DType { return t.dtype }

// Shape returns the extents. The caller must not change them.
func (t *Tensor) Shape() Shape { return t.shape }

// Len returns the number of elements.
func (t *Tensor) Len() int {
	n, _ := t.shape.Elements()
	return int(n)
}

// Bytes returns the memory behind the tensor, little-endian; nil for strings.
func (t *Tensor) Bytes() []byte { return t.data }

// Strings returns the elements of a string tensor; nil for other types.
func (t *Tensor) Strings() []string { return t.strs }

// String returns the type and shape, such as "float32[1,3,224,224]".
func (t *Tensor) String() string { return t.dtype.String() + t.shape.String() }

// Data returns the elements as a slice over the tensor's own memory, in row-major order. T
// must be the Go type of the tensor's DType.
func Data[T Element](t *Tensor) ([]T, error) {
	want := TypeOf[T]()
	if t.dtype != want {
		return nil, fmt.Errorf("tensor: elements: got %v, want %v", t, want)
	}
	if want == String {
		return any(t.strs).([]T), nil
	}
	return Cast[T](t.data), nil
}

// Cast views little-endian bytes as elements; a tail shorter than an element is left out. T
// must not be string.
func Cast[T Element](b []byte) []T {
	var z T
	n := len(b) / int(unsafe.Sizeof(z))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func bytesOf[T Element](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(z)))
}

// alignedBytes returns n zero bytes that start at a multiple of 8.
func alignedBytes(n int64) []byte {
	if n == 0 {
		return nil
	}
	return bytesOf(make([]uint64, (n+7)/8))[:n:n]
}
