package values

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/stowage-ml/stowage/tensor"
)

// elements gathers the elements of one tensor, from JSON tokens.
type elements struct {
	dtype tensor.DType
	data  []byte
	strs  []string
}

// add appends one element: a json.Number, a bool or a string.
func (e *elements) add(tok any) error {
	switch v := tok.(type) {
	case json.Number:
		return e.number(v.String(), v)
	case string:
		if e.dtype == tensor.String {
			e.strs = append(e.strs, v)
			return nil
		}
		if e.dtype.IsFloat() && (v == "NaN" || v == "+Inf" || v == "-Inf" || v == "Infinity" || v == "-Infinity") {
			return e.number(v, v)
		}
		return fmt.Errorf("got %q, want %v", v, e.dtype)
	case bool:
		if e.dtype != tensor.Bool {
			break
		}
		bit := byte(0)
		if v {
			bit = 1
		}
		e.data = append(e.data, bit)
		return nil
	}
	return fmt.Errorf("got %v, want %v", tok, e.dtype)
}

func (e *elements) number(s string, tok any) error {
	bits := e.dtype.Bits()
	le := binary.LittleEndian
	switch dt := e.dtype; dt {
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		v, err := strconv.ParseInt(s, 10, bits)
		if err != nil {
			return fmt.Errorf("got %v, want %v", tok, dt)
		}
		e.data = append(e.data, le.AppendUint64(nil, uint64(v))[:bits/8]...)
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		v, err := strconv.ParseUint(s, 10, bits)
		if err != nil {
			return fmt.Errorf("got %v, want %v", tok, dt)
		}
		e.data = append(e.data, le.AppendUint64(nil, v)[:bits/8]...)
	case tensor.Float64:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("got %v, want %v", tok, dt)
		}
		e.data = le.AppendUint64(e.data, math.Float64bits(v))
	case tensor.Float32, tensor.Float16, tensor.BFloat16:
		v, err := strconv.ParseFloat(s, 32)
		if err != nil {
			return fmt.Errorf("got %v, want %v", tok, dt)
		}
		e.float(float32(v))
	default:
		return fmt.Errorf("got %v, want %v", tok, dt)
	}
	return nil
}

// float appends v in the type's own width.
func (e *elements) float(v float32) {
	le := binary.LittleEndian
	switch e.dtype {
	case tensor.Float32:
		e.data = le.AppendUint32(e.data, math.Float32bits(v))
	case tensor.Float16:
		e.data = le.AppendUint16(e.data, uint16(tensor.HalfOf(v)))
	case tensor.BFloat16:
		e.data = le.AppendUint16(e.data, uint16(tensor.BrainOf(v)))
	default:
		panic("BUG: values: " + e.dtype.String() + " is not a float that JSON fills")
	}
}

// tensor returns what was gathered, in memory that is aligned for any element type.
func (e *elements) tensor(shape tensor.Shape) (*tensor.Tensor, error) {
	if e.dtype == tensor.String {
		return tensor.New(shape, e.strs)
	}
	switch e.dtype.Bits() {
	case 8, 16, 32, 64:
	default:
		return nil, fmt.Errorf("values: JSON tensor: got no way to write %v in JSON", e.dtype)
	}
	return Aligned(e.dtype, shape, e.data)
}

// Aligned makes a tensor from raw little-endian bytes, which it copies to memory that is aligned
// for the element type.
func Aligned(dt tensor.DType, shape tensor.Shape, data []byte) (*tensor.Tensor, error) {
	if _, err := tensor.FromBytes(dt, shape, data); err != nil {
		return nil, err
	}
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		return nil, err
	}
	copy(t.Bytes(), data)
	return t, nil
}
