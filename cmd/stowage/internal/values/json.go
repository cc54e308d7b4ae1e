package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/stowage-ml/stowage/tensor"
)

// document is a tensor that says its own shape; Data is flat, in row-major order.
type document struct {
	Name  string          `json:"name,omitempty"`
	DType string          `json:"dtype"`
	Shape tensor.Shape    `json:"shape"`
	Data  json.RawMessage `json:"data"`
}

// EncodeJSON writes {"name","dtype","shape","data"}, the data flat in row-major order. NaN and
// the infinities are the strings "NaN", "+Inf" and "-Inf". Complex numbers are refused.
func EncodeJSON(name string, t *tensor.Tensor) ([]byte, error) {
	var data []byte
	if t.DType() == tensor.String {
		b, err := json.Marshal(append([]string{}, t.Strings()...))
		if err != nil {
			return nil, fmt.Errorf("values: %v as JSON: %w", t, err)
		}
		data = b
	} else {
		if Numbers(t) == nil {
			return nil, fmt.Errorf("values: %v as JSON: got complex numbers, want real ones", t)
		}
		data = append(data, '[')
		for i := range t.Len() {
			if i > 0 {
				data = append(data, ',')
			}
			data = appendNumber(data, Text(t, i))
		}
		data = append(data, ']')
	}
	return json.Marshal(document{name, t.DType().String(), t.Shape(), data})
}

func appendNumber(b []byte, s string) []byte {
	if s == "NaN" || s == "+Inf" || s == "-Inf" {
		return strconv.AppendQuote(b, s)
	}
	return append(b, s...)
}

// DecodeJSON reads a tensor of the wanted type from nested arrays, from one bare element, or from
// what EncodeJSON writes. Its memory is bounded by a small multiple of the input's length.
func DecodeJSON(b []byte, want tensor.DType) (*tensor.Tensor, error) {
	if text := bytes.TrimLeft(b, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return decodeNested(b, want)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("values: JSON tensor: %w", err)
	}
	if d.DType != "" && d.DType != want.String() {
		return nil, fmt.Errorf("values: JSON tensor: dtype: got %s, want %v", d.DType, want)
	}
	t, err := decodeNested(d.Data, want)
	if err != nil {
		return nil, err
	}
	if n, ok := d.Shape.Elements(); !ok || n != int64(t.Len()) || len(d.Shape) > tensor.MaxRank {
		return nil, fmt.Errorf("values: JSON tensor: shape %v: got %d elements of data", d.Shape, t.Len())
	}
	if want == tensor.String {
		return tensor.New(d.Shape, t.Strings())
	}
	return tensor.FromBytes(want, d.Shape, t.Bytes())
}

// nest follows the brackets of nested arrays.
type nest struct {
	// counts[d] is the number of elements so far in the array that is open at depth d, and
	// extents[d] that of the first array closed at that depth; −1 before.
	counts  []int64
	extents tensor.Shape
	// leaf is the depth of the elements, −1 before the first.
	leaf int
}

func (n *nest) open() error {
	if len(n.counts) == n.leaf {
		return errors.New("got an array beside elements")
	}
	if len(n.counts) == tensor.MaxRank {
		return fmt.Errorf("got more than %d levels", tensor.MaxRank)
	}
	n.count()
	n.counts = append(n.counts, 0)
	if len(n.counts) > len(n.extents) {
		n.extents = append(n.extents, -1)
	}
	return nil
}

func (n *nest) close() error {
	d := len(n.counts) - 1
	got := n.counts[d]
	n.counts = n.counts[:d]
	if n.extents[d] < 0 {
		n.extents[d] = got
	}
	if n.extents[d] != got {
		return fmt.Errorf("ragged: got %d elements at level %d, want %d as before", got, d, n.extents[d])
	}
	return nil
}

func (n *nest) element() error {
	if n.leaf < 0 {
		n.leaf = len(n.counts)
	}
	if n.leaf != len(n.counts) || n.leaf < len(n.extents) {
		return errors.New("got an element beside arrays")
	}
	n.count()
	return nil
}

func (n *nest) count() {
	if d := len(n.counts); d > 0 {
		n.counts[d-1]++
	}
}

// decodeNested reads one value: an element, or arrays of arrays of elements.
func decodeNested(b []byte, want tensor.DType) (*tensor.Tensor, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	n := nest{leaf: -1}
	out := elements{dtype: want}
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("values: JSON tensor: %w", noEOF(err))
		}
		switch tok {
		case json.Delim('['):
			err = n.open()
		case json.Delim(']'):
			err = n.close()
		case json.Delim('{'):
			err = errors.New("got an object, want an element")
		default:
			if err = n.element(); err == nil {
				err = out.add(tok)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("values: JSON tensor: at byte %d: %w", dec.InputOffset(), err)
		}
		if len(n.counts) == 0 {
			break
		}
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("values: JSON tensor: at byte %d: got more after its end", dec.InputOffset())
	}
	return out.tensor(n.extents)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
