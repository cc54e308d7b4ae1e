package testkit

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-ml/stowage/tensor"
)

// Storage says which field of a TensorProto holds the elements.
type Storage uint8

// The ways to store elements. Strings always go to string_data.
const (
	// Raw stores little-endian bytes in raw_data.
	Raw Storage = iota
	// Typed stores the elements in the typed field of their type (float_data, int32_data, ...).
	Typed
)

// initializer is a named constant that is encoded when the model is written, because only then
// it is known whether it goes to another file.
type initializer struct {
	head *message
	// data appends the elements to the message; size and fill are set when they may be external.
	data func(*message)
	size int64
	fill func(io.Writer) error
}

func newInitializer(name string, t *tensor.Tensor, how Storage) *initializer {
	in := &initializer{head: tensorHead(name, t.DType(), t.Shape())}
	in.data = func(m *message) { appendElements(m, t, how) }
	if how == Raw && t.DType() != tensor.String {
		b := t.Bytes()
		in.size = int64(len(b))
		in.fill = func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		}
	}
	return in
}

// encode returns the TensorProto; ext is nil for contents inside the model.
func (in *initializer) encode(ext *external) *message {
	m := &message{}
	for _, c := range in.head.chunks {
		m.raw(c.bytes)
	}
	if ext == nil || in.fill == nil || in.size < ext.min {
		in.data(m)
		return m
	}
	off := ext.add(in)
	m.pair(13, "location", ext.file)
	m.pair(13, "offset", fmt.Sprint(off))
	m.pair(13, "length", fmt.Sprint(in.size))
	m.int(14, 1)
	return m
}

// externalAlign is where each tensor starts in a file of external data: at a page, as files
// meant to be mapped have it.
const externalAlign = 4096

// external lays out a file of external data.
type external struct {
	file  string
	min   int64
	size  int64
	inits []*initializer
	offs  []int64
}

func (e *external) add(in *initializer) int64 {
	off := (e.size + externalAlign - 1) / externalAlign * externalAlign
	e.inits, e.offs = append(e.inits, in), append(e.offs, off)
	e.size = off + in.size
	return off
}

func (e *external) writeTo(w io.Writer) (int64, error) {
	cw := &counter{w: w}
	for i, in := range e.inits {
		if _, err := cw.Write(make([]byte, e.offs[i]-cw.n)); err != nil {
			return cw.n, err
		}
		if err := fillExactly(cw, in.size, in.fill); err != nil {
			return cw.n, err
		}
	}
	return cw.n, nil
}

// tensorHead encodes a TensorProto's name, type and shape.
func tensorHead(name string, dt tensor.DType, shape tensor.Shape) *message {
	m := &message{}
	for _, d := range shape {
		m.int(1, d)
	}
	m.int(2, int64(dt))
	m.strNZ(8, name)
	return m
}

// tensorProto encodes a whole TensorProto.
func tensorProto(name string, t *tensor.Tensor, how Storage) *message {
	m := tensorHead(name, t.DType(), t.Shape())
	appendElements(m, t, how)
	return m
}

func appendElements(m *message, t *tensor.Tensor, how Storage) {
	switch {
	case t.DType() == tensor.String:
		for _, s := range t.Strings() {
			m.str(6, s)
		}
	case how == Raw:
		m.bytes(9, t.Bytes())
	default:
		appendTyped(m, t)
	}
}

// appendTyped follows the comments of TensorProto: narrow types, and packed sub-byte types byte
// by byte, go to int32_data.
func appendTyped(m *message, t *tensor.Tensor) {
	b := t.Bytes()
	switch t.DType() {
	case tensor.Float32, tensor.Complex64:
		packedFloats(m, 4, tensor.Cast[float32](b))
	case tensor.Float64, tensor.Complex128:
		packedDoubles(m, 10, tensor.Cast[float64](b))
	case tensor.Int64:
		m.packedInts(7, tensor.Cast[int64](b))
	case tensor.Uint32:
		m.packedInts(11, widen(tensor.Cast[uint32](b)))
	case tensor.Uint64:
		m.packedInts(11, widen(tensor.Cast[uint64](b)))
	case tensor.Int32:
		m.packedInts(5, widen(tensor.Cast[int32](b)))
	case tensor.Int16:
		m.packedInts(5, widen(tensor.Cast[int16](b)))
	case tensor.Int8:
		m.packedInts(5, widen(tensor.Cast[int8](b)))
	case tensor.Uint16, tensor.Float16, tensor.BFloat16:
		m.packedInts(5, widen(tensor.Cast[uint16](b)))
	default:
		m.packedInts(5, widen(b))
	}
}

func widen[T int8 | int16 | int32 | uint8 | uint16 | uint32 | uint64](vs []T) []int64 {
	out := make([]int64, len(vs))
	for i, v := range vs {
		out[i] = int64(v)
	}
	return out
}

func packedFloats(m *message, field protowire.Number, vs []float32) {
	b := make([]byte, 0, 4*len(vs))
	for _, v := range vs {
		b = protowire.AppendFixed32(b, math.Float32bits(v))
	}
	m.bytes(field, b)
}

func packedDoubles(m *message, field protowire.Number, vs []float64) {
	b := make([]byte, 0, 8*len(vs))
	for _, v := range vs {
		b = protowire.AppendFixed64(b, math.Float64bits(v))
	}
	m.bytes(field, b)
}
