package onnx

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// maxDepth is how deep messages may be nested; a subgraph takes three levels.
	maxDepth = 200
	// slackBytes is the memory that Decode may use whatever the size of the file; beyond it, the
	// structs may take sizeFactor bytes for each byte of the file.
	slackBytes = 64 << 20
	sizeFactor = 4
)

// fieldError is a fault of the file and the path of fields that leads to it.
type fieldError struct{ path, msg string }

func (e *fieldError) Error() string { return "onnx: " + e.path + ": " + e.msg }

// under returns the error as seen from the message that holds it.
func (e *fieldError) under(name string) *fieldError {
	if e.path == "" {
		e.path = name
	} else {
		e.path = name + "." + e.path
	}
	return e
}

// decoder is what the messages of one file share.
type decoder struct {
	all         []byte
	names       map[string]string
	left, limit int64
	depth       int
	// release, when set, gives back the memory through which b is seen; it is called now and then
	// as the walk passes over large fields.
	release func()
	skips   int
}

// skip notes that the walk passes over n bytes.
func (d *decoder) skip(n int) {
	const large, often = 256 << 10, 8
	if n < large || d.release == nil {
		return
	}
	if d.skips++; d.skips%often == 0 {
		d.release()
	}
}

func newDecoder(b []byte) *decoder {
	limit := slackBytes + sizeFactor*int64(len(b))
	return &decoder{all: b, names: map[string]string{}, left: limit, limit: limit}
}

// intern returns one copy of a name that occurs many times.
func (d *decoder) intern(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(b)
	d.names[s] = s
	return s
}

// message walks the fields of one message. Its first error ends the walk and stays.
type message struct {
	d     *decoder
	names fieldNames
	rest  []byte
	num   protowire.Number
	typ   protowire.Type
	val   uint64
	raw   []byte
	err   *fieldError
}

// fieldNames has the name of field n at index n.
type fieldNames []string

func (f fieldNames) of(n protowire.Number) string {
	if int(n) < len(f) && f[n] != "" {
		return f[n]
	}
	return "field " + strconv.Itoa(int(n))
}

// open starts a walk; each is ended by close.
func (d *decoder) open(b []byte, names fieldNames) message {
	m := message{d: d, names: names, rest: b}
	if d.depth++; d.depth > maxDepth {
		m.err = &fieldError{msg: fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	return m
}

func (m *message) close() *fieldError {
	m.d.depth--
	return m.err
}

// next moves to the next field; false at the end and after an error.
func (m *message) next() bool {
	if m.err != nil || len(m.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(m.rest)
	if n < 0 {
		return m.malformed("", n)
	}
	m.num, m.typ, m.raw, m.val = num, typ, nil, 0
	b := m.rest[n:]
	switch typ {
	case protowire.VarintType:
		m.val, n = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		m.val = uint64(v)
	case protowire.Fixed64Type:
		m.val, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		m.raw, n = protowire.ConsumeBytes(b)
		m.d.skip(n)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return m.malformed(m.names.of(num), n)
	}
	m.rest = b[n:]
	return true
}

// malformed records a fault of the encoding in the named field, or in the message itself.
func (m *message) malformed(name string, code int) bool {
	at := cap(m.d.all) - cap(m.rest)
	m.err = &fieldError{path: name, msg: fmt.Sprintf("at byte %d: %s", at, fault(code))}
	return false
}

// fault says what a negative length from protowire means. The library's own messages begin with
// a blank that differs from build to build.
func fault(code int) string {
	err := protowire.ParseError(code)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the data is cut short"
	}
	return strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
}

// fail records a fault of the current field, or of the message before its first field.
func (m *message) fail(format string, args ...any) {
	if m.err != nil {
		return
	}
	m.err = &fieldError{msg: fmt.Sprintf(format, args...)}
	if m.num > 0 {
		m.err.path = m.names.of(m.num)
	}
}

// sub records the error of the message in the current field, element i of a list or, for i < 0,
// the only one.
func (m *message) sub(i int, err *fieldError) {
	if err == nil || m.err != nil {
		return
	}
	name := m.names.of(m.num)
	if i >= 0 {
		name += "[" + strconv.Itoa(i) + "]"
	}
	m.err = err.under(name)
}

// spend takes n elements of the given size from the memory that the file is worth.
func (m *message) spend(n int, size uintptr) bool {
	if m.err != nil {
		return false
	}
	cost := int64(n) * int64(size)
	if cost > m.d.left {
		m.fail("the structure needs more than %d bytes of memory for a file of %d", m.d.limit, len(m.d.all))
		return false
	}
	m.d.left -= cost
	return true
}

// want checks the encoding of the current field.
func (m *message) want(typ protowire.Type) bool {
	if m.typ != typ {
		m.fail("got wire type %d, want %d", m.typ, typ)
		return false
	}
	return true
}

func (m *message) bytes() []byte {
	if !m.want(protowire.BytesType) {
		return nil
	}
	return m.raw
}

// name returns a string that is likely to occur again.
func (m *message) name() string {
	if b := m.bytes(); m.spend(len(b), 1) {
		return m.d.intern(b)
	}
	return ""
}

// text returns a string, byte for byte.
func (m *message) text() string {
	if b := m.bytes(); m.spend(len(b), 1) {
		return string(b)
	}
	return ""
}

func (m *message) int() int64 {
	if !m.want(protowire.VarintType) {
		return 0
	}
	return int64(m.val)
}

func (m *message) float() float32 {
	if !m.want(protowire.Fixed32Type) {
		return 0
	}
	return math.Float32frombits(uint32(m.val))
}

// ints appends a repeated integer, packed or not.
func (m *message) ints(dst []int64) []int64 {
	if m.typ != protowire.BytesType {
		if m.want(protowire.VarintType) && m.spend(1, 8) {
			dst = append(dst, int64(m.val))
		}
		return dst
	}
	n := countVarints(m.raw)
	if !m.spend(n, 8) {
		return dst
	}
	if len(dst) == 0 {
		dst = make([]int64, 0, n)
	}
	for b := m.raw; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			m.malformed(m.names.of(m.num), n)
			return dst
		}
		dst, b = append(dst, int64(v)), b[n:]
	}
	return dst
}

// floats appends a repeated float, packed or not.
func (m *message) floats(dst []float32) []float32 {
	if m.typ != protowire.BytesType {
		if m.want(protowire.Fixed32Type) && m.spend(1, 4) {
			dst = append(dst, math.Float32frombits(uint32(m.val)))
		}
		return dst
	}
	if len(m.raw)%4 != 0 {
		m.fail("got %d bytes of packed floats, want a multiple of 4", len(m.raw))
		return dst
	}
	if !m.spend(len(m.raw), 1) {
		return dst
	}
	for b := m.raw; len(b) > 0; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		dst = append(dst, math.Float32frombits(v))
	}
	return dst
}

// countVarints returns how many varints end in b.
func countVarints(b []byte) int {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// counts has the number of fields of number n at index n, for small n.
type counts [32]int

// count looks a message over before it is decoded, so that lists are made once. It stops at a
// fault; the decoder proper reports that.
func (d *decoder) count(b []byte) (c counts) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return c
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return c
		}
		d.skip(n)
		b = b[n:]
		if int(num) < len(c) {
			c[num]++
		}
	}
	return c
}

// room returns an empty list with room for n elements, out of the memory the file is worth.
func room[T any](m *message, list []T, n int) []T {
	var z T
	if n == 0 || !m.spend(n, unsafe.Sizeof(z)) {
		return list
	}
	return append(make([]T, 0, len(list)+n), list...)
}

// ahead bounds, in bytes, how far following looks.
const ahead = 1 << 20

// following returns how many fields of the current field's number come one after the other from here, the
// current one among them, as far as can be told from nearby.
func (m *message) following() int {
	n := 1
	b := m.rest
	for len(b) > 0 && len(m.rest)-len(b) < ahead {
		num, typ, k := protowire.ConsumeTag(b)
		if k < 0 || num != m.num {
			break
		}
		b = b[k:]
		if k = protowire.ConsumeFieldValue(num, typ, b); k < 0 {
			break
		}
		b = b[k:]
		n++
	}
	return n
}

// grow returns the list with one more element, out of the memory the file is worth.
func grow[T any](m *message, list []T) []T {
	var z T
	if !m.spend(1, unsafe.Sizeof(z)) {
		return append(list, z)
	}
	if len(list) == cap(list) {
		// No more than what the file is worth is taken for what is only expected.
		more := min(max(m.following(), len(list)), max(1, int(m.d.left/int64(unsafe.Sizeof(z)))))
		list = append(make([]T, 0, len(list)+more), list...)
	}
	return append(list, z)
}
