// Package npy reads and writes NumPy's .npy format, versions 1 to 3, for the element types that
// it shares with tensors: booleans, integers, float16 to float64 and complex numbers. The format
// is described in NumPy's manual under numpy.lib.format.
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// Magic is what every .npy file starts with.
const Magic = "\x93NUMPY"

// codes are the kinds and sizes of NumPy's type strings.
var codes = map[string]tensor.DType{
	"b1": tensor.Bool, "i1": tensor.Int8, "i2": tensor.Int16, "i4": tensor.Int32, "i8": tensor.Int64,
	"u1": tensor.Uint8, "u2": tensor.Uint16, "u4": tensor.Uint32, "u8": tensor.Uint64,
	"f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64, "c8": tensor.Complex64, "c16": tensor.Complex128,
}

// Holds reports whether the format has the element type.
func Holds(dt tensor.DType) bool { return code(dt) != "" }

func code(dt tensor.DType) string {
	for c, d := range codes {
		if d == dt {
			return c
		}
	}
	return ""
}

// headerAlign is the multiple at which the data starts.
const headerAlign = 64

// Encode writes t as version 1.0, little-endian, in row-major order.
func Encode(t *tensor.Tensor) ([]byte, error) {
	c := code(t.DType())
	if c == "" {
		return nil, fmt.Errorf("npy: %v: got a type that the format lacks", t)
	}
	order := "<"
	if t.DType().Bits() == 8 {
		order = "|"
	}
	var dims strings.Builder
	for _, d := range t.Shape() {
		fmt.Fprintf(&dims, "%d, ", d)
	}
	shape := strings.TrimSuffix(dims.String(), " ")
	if len(t.Shape()) > 1 {
		shape = strings.TrimSuffix(shape, ",")
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, c, shape)
	const prefix = len(Magic) + 4
	pad := headerAlign - (prefix+len(header)+1)%headerAlign
	header += strings.Repeat(" ", pad%headerAlign) + "\n"
	out := make([]byte, 0, prefix+len(header)+len(t.Bytes()))
	out = append(out, Magic+"\x01\x00"...)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	out = append(out, header...)
	return append(out, t.Bytes()...), nil
}

// Decode reads a whole file. Big-endian and column-major data is turned into a tensor's order.
// It takes no more memory than twice the file.
func Decode(b []byte) (*tensor.Tensor, error) {
	text, data, err := split(b)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	n, ok := h.shape.Elements()
	size, fits := h.dtype.ByteSize(n)
	if !ok || !fits {
		return nil, fmt.Errorf("npy: shape: got %v, want one whose bytes can be counted", h.shape)
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("npy: data of %v%v: got %d bytes, want %d", h.dtype, h.shape, len(data), size)
	}
	t, err := tensor.Zeros(h.dtype, h.shape)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	width := h.dtype.Bits() / 8
	if h.columnMajor {
		transpose(t.Bytes(), data, h.shape, width)
	} else {
		copy(t.Bytes(), data)
	}
	if h.bigEndian {
		swap(t.Bytes(), h.dtype)
	}
	if h.dtype == tensor.Bool {
		for i, v := range t.Bytes() {
			if v > 1 {
				return nil, fmt.Errorf("npy: bool element %d: got %d, want 0 or 1", i, v)
			}
		}
	}
	return t, nil
}

// split separates the header's text from the data.
func split(b []byte) (header string, data []byte, err error) {
	if !bytes.HasPrefix(b, []byte(Magic)) || len(b) < len(Magic)+4 {
		return "", nil, fmt.Errorf("npy: start of file: got %q, want %q", b[:min(len(b), len(Magic))], Magic)
	}
	major, rest := b[len(Magic)], b[len(Magic)+2:]
	var size uint64
	switch {
	case major == 1:
		size, rest = uint64(binary.LittleEndian.Uint16(rest)), rest[2:]
	case major <= 3 && len(rest) >= 4:
		size, rest = uint64(binary.LittleEndian.Uint32(rest)), rest[4:]
	default:
		return "", nil, fmt.Errorf("npy: version: got %d, want 1 to 3", major)
	}
	if size > uint64(len(rest)) {
		return "", nil, fmt.Errorf("npy: header: got %d bytes, want %d", len(rest), size)
	}
	return string(rest[:size]), rest[size:], nil
}

// transpose copies column-major elements of the given width to row-major order.
func transpose(dst, src []byte, shape tensor.Shape, width int) {
	index := make([]int64, len(shape))
	for to := 0; to < len(dst); to += width {
		from, stride := int64(0), int64(width)
		for d, n := range shape {
			from += index[d] * stride
			stride *= n
		}
		copy(dst[to:to+width], src[from:])
		for d := len(shape) - 1; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
	}
}

// swap turns big-endian numbers into little-endian ones, in place.
func swap(b []byte, dt tensor.DType) {
	width := dt.Bits() / 8
	if dt == tensor.Complex64 || dt == tensor.Complex128 {
		width /= 2
	}
	for i := 0; i < len(b); i += width {
		slices.Reverse(b[i : i+width])
	}
}
