package testkit

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-ml/stowage/tensor"
)

// Type is what a value is declared to be: an encoded TypeProto.
type Type struct{ m *message }

// anyRank is the type of AnyRank.
type anyRank struct{}

// AnyRank, as the only dim, leaves the shape out of a type.
var AnyRank anyRank

// TensorType returns the type of a tensor. A dim is an int or int64 (an extent), a string (a
// name), or nil (nothing known); no dims at all is a scalar.
func TensorType(dt tensor.DType, dims ...any) Type { return tensorType(1, dt, dims) }

// SparseType returns the type of a sparse tensor; dims as for TensorType.
func SparseType(dt tensor.DType, dims ...any) Type { return tensorType(8, dt, dims) }

// SequenceType returns the type of a sequence of elem.
func SequenceType(elem Type) Type { return wrapType(4, elem) }

// OptionalType returns the type of an optional elem.
func OptionalType(elem Type) Type { return wrapType(9, elem) }

// MapType returns the type of a map from key to value.
func MapType(key tensor.DType, value Type) Type {
	var in, out message
	in.int(1, int64(key))
	in.msg(2, value.m)
	out.msg(5, &in)
	return Type{&out}
}

func wrapType(field protowire.Number, elem Type) Type {
	var in, out message
	in.msg(1, elem.m)
	out.msg(field, &in)
	return Type{&out}
}

func tensorType(field protowire.Number, dt tensor.DType, dims []any) Type {
	var in, out message
	in.int(1, int64(dt))
	if len(dims) != 1 || dims[0] != any(AnyRank) {
		in.msg(2, shapeProto(dims))
	}
	out.msg(field, &in)
	return Type{&out}
}

func shapeProto(dims []any) *message {
	var shape message
	for _, d := range dims {
		var dim message
		switch d := d.(type) {
		case nil:
		case int:
			dim.int(1, int64(d))
		case int64:
			dim.int(1, d)
		case string:
			dim.str(2, d)
		default:
			panic(fmt.Sprintf("testkit: dim %v: got %T, want int, int64, string or nil", d, d))
		}
		shape.msg(1, &dim)
	}
	return &shape
}

// valueInfo encodes a ValueInfoProto.
func valueInfo(name string, t Type) *message {
	var v message
	v.str(1, name)
	if t.m != nil {
		v.msg(2, t.m)
	}
	return &v
}
