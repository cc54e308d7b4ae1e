package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Source finds the contents of files that a model refers to.
type Source interface {
	// External returns the whole file at a slash-separated path relative to the model's folder.
	External(location string) ([]byte, error)
}

// DecodeTensor reads a file that holds one tensor, as test data does. The tensor may share
// memory with b.
func DecodeTensor(b []byte) (name string, t *tensor.Tensor, err error) {
	var p TensorProto
	if err := newDecoder(b).tensor(&p, b); err != nil {
		return "", nil, err.under("tensor")
	}
	t, err = p.Tensor(nil)
	switch {
	case err == nil:
	case p.segment || p.Name == "" && len(p.Raw) == 0:
		return p.Name, nil, fmt.Errorf("onnx: got a sequence or an optional (or a broken file), want a tensor: %w", err)
	default:
		return p.Name, nil, fmt.Errorf("onnx: %w", err)
	}
	return p.Name, t, nil
}

// Tensor returns the tensor, over the file's own bytes where they are already laid out as in
// memory. Contents in other files are looked for in src, which may be nil. The number of bytes
// or elements must be what the type and the dims ask for.
func (p *TensorProto) Tensor(src Source) (*tensor.Tensor, error) {
	t, err := p.tensor(src)
	if err != nil {
		return nil, fmt.Errorf("tensor %.120q: %w", p.Name, err)
	}
	return t, nil
}

func (p *TensorProto) tensor(src Source) (*tensor.Tensor, error) {
	dt, shape := tensor.DType(p.Type), tensor.Shape(p.Dims)
	if p.Type < 0 || p.Type > math.MaxUint8 || !dt.Valid() {
		return nil, fmt.Errorf("got data type %d, want one of 1 to %d", p.Type, tensor.Int2)
	}
	if len(shape) > tensor.MaxRank {
		return nil, fmt.Errorf("got rank %d, want at most %d", len(shape), tensor.MaxRank)
	}
	n, ok := shape.Elements()
	size, sok := dt.ByteSize(n)
	if !ok || !sok || size > math.MaxInt || n > math.MaxInt {
		return nil, fmt.Errorf("got dims %v of %v: a negative extent or too many elements", shape, dt)
	}
	switch {
	case p.segment:
		return nil, errors.New("segments are not supported")
	case p.external:
		if dt == tensor.String {
			return nil, errors.New("got strings in external data, want them in string_data")
		}
		b, err := p.externalData(src, size)
		if err != nil {
			return nil, err
		}
		return tensor.FromBytes(dt, shape, native(dt, b))
	case len(p.Raw) > 0 && p.typed != 0:
		return nil, errors.New("got both raw_data and a typed field, want one of them")
	case dt == tensor.String:
		return p.strings(shape, n)
	case p.typed != 0:
		return p.typedTensor(dt, shape, size)
	}
	if int64(len(p.Raw)) != size {
		return nil, fmt.Errorf("%v%v: got %d bytes of raw_data, want %d", dt, shape, len(p.Raw), size)
	}
	return tensor.FromBytes(dt, shape, native(dt, p.Raw))
}

func (p *TensorProto) strings(shape tensor.Shape, n int64) (*tensor.Tensor, error) {
	if len(p.Raw) > 0 || p.typed&^(1<<fieldStrings) != 0 {
		return nil, errors.New("got strings outside string_data")
	}
	got := int64(0)
	if err := p.each(fieldStrings, func(*message) { got++ }); err != nil {
		return nil, err
	}
	if got != n {
		return nil, fmt.Errorf("string%v: got %d elements of string_data, want %d", shape, got, n)
	}
	out := make([]string, 0, n)
	err := p.each(fieldStrings, func(m *message) { out = append(out, string(m.bytes())) })
	if err != nil {
		return nil, err
	}
	return tensor.New(shape, out)
}

// The numbers of the typed fields.
const (
	fieldFloats  protowire.Number = 4
	fieldInt32s  protowire.Number = 5
	fieldStrings protowire.Number = 6
	fieldInt64s  protowire.Number = 7
	fieldDoubles protowire.Number = 10
	fieldUint64s protowire.Number = 11
)

// typedField returns the field that holds elements of dt, and how many bytes of the tensor one
// entry of the field stands for.
func typedField(dt tensor.DType) (num protowire.Number, width int) {
	switch dt {
	case tensor.Float32, tensor.Complex64:
		return fieldFloats, 4
	case tensor.Float64, tensor.Complex128:
		return fieldDoubles, 8
	case tensor.Int64:
		return fieldInt64s, 8
	case tensor.Uint64:
		return fieldUint64s, 8
	case tensor.Uint32:
		return fieldUint64s, 4
	case tensor.Int32:
		return fieldInt32s, 4
	}
	return fieldInt32s, (dt.Bits() + 7) / 8
}

func (p *TensorProto) typedTensor(dt tensor.DType, shape tensor.Shape, size int64) (*tensor.Tensor, error) {
	num, width := typedField(dt)
	field := tensorFields.of(num)
	if p.typed != 1<<num {
		return nil, fmt.Errorf("%v%v: got elements in another typed field, want them in %s alone", dt, shape, field)
	}
	fixed := num == fieldFloats || num == fieldDoubles
	got, chunks, last := int64(0), 0, []byte(nil)
	err := p.each(num, func(m *message) {
		chunks++
		switch {
		case m.typ != protowire.BytesType:
			got++
		case !fixed:
			got += int64(countVarints(m.raw))
		case len(m.raw)%width != 0:
			m.fail("got %d packed bytes, want a multiple of %d", len(m.raw), width)
		default:
			got, last = got+int64(len(m.raw)/width), m.raw
		}
	})
	if err != nil {
		return nil, err
	}
	if want := size / int64(width); got != want {
		return nil, fmt.Errorf("%v%v: got %d elements of %s, want %d", dt, shape, got, field, want)
	}
	if fixed && chunks == 1 && int64(len(last)) == size {
		return tensor.FromBytes(dt, shape, native(dt, last))
	}
	b, err := p.fill(num, width, fixed, size)
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(dt, shape, native(dt, b))
}

// fill copies the entries of a typed field to little-endian elements of the given width.
func (p *TensorProto) fill(num protowire.Number, width int, fixed bool, size int64) ([]byte, error) {
	t, err := tensor.Zeros(tensor.Uint8, tensor.Shape{size})
	if err != nil {
		return nil, err
	}
	out := t.Bytes()
	at := 0
	put := func(v uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		at += copy(out[at:], b[:width])
	}
	fe := p.each(num, func(m *message) {
		switch {
		case fixed && m.typ == protowire.BytesType:
			at += copy(out[at:], m.raw)
		case fixed && m.want(fixedType(width)), !fixed && m.typ == protowire.VarintType:
			put(m.val)
		case !fixed && m.want(protowire.BytesType):
			for b := m.raw; len(b) > 0; {
				v, n := protowire.ConsumeVarint(b)
				if n < 0 {
					m.fail("%s", fault(n))
					return
				}
				put(v)
				b = b[n:]
			}
		}
	})
	return out, fe
}

func fixedType(width int) protowire.Type {
	if width == 4 {
		return protowire.Fixed32Type
	}
	return protowire.Fixed64Type
}

// each calls f for every occurrence of a field in the tensor's message.
func (p *TensorProto) each(num protowire.Number, f func(*message)) error {
	d := decoder{all: p.body}
	m := d.open(p.body, tensorFields)
	for m.next() {
		if m.num == num {
			f(&m)
		}
	}
	if m.err != nil {
		return fmt.Errorf("%s: %s", m.err.path, m.err.msg)
	}
	return nil
}

// EncodeTensor is the inverse of DecodeTensor: the tensor's contents become raw_data, or
// string_data for strings.
func EncodeTensor(name string, t *tensor.Tensor) []byte {
	out := make([]byte, 0, len(t.Bytes())+len(name)+64)
	for _, d := range t.Shape() {
		out = protowire.AppendVarint(protowire.AppendTag(out, 1, protowire.VarintType), uint64(d))
	}
	out = protowire.AppendVarint(protowire.AppendTag(out, 2, protowire.VarintType), uint64(t.DType()))
	for _, s := range t.Strings() {
		out = protowire.AppendString(protowire.AppendTag(out, fieldStrings, protowire.BytesType), s)
	}
	if name != "" {
		out = protowire.AppendString(protowire.AppendTag(out, 8, protowire.BytesType), name)
	}
	if t.DType() != tensor.String {
		raw := fileOrder(t.DType(), t.Bytes())
		out = protowire.AppendBytes(protowire.AppendTag(out, 9, protowire.BytesType), raw)
	}
	return out
}
