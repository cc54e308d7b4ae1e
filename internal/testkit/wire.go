package testkit

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// shareMin is the length from which bytes are referred to rather than copied.
const shareMin = 1 << 12

// message is a protobuf message whose fields are appended in order. Long contents are kept by
// reference or made only while the message is written, so that a message may be larger than
// memory.
type message struct {
	chunks []chunk
	size   int64
}

// chunk is bytes at hand, or size bytes that fill writes.
type chunk struct {
	bytes []byte
	size  int64
	fill  func(io.Writer) error
}

func (m *message) raw(b []byte) {
	m.size += int64(len(b))
	if len(b) >= shareMin {
		m.chunks = append(m.chunks, chunk{bytes: b[:len(b):len(b)]})
		return
	}
	if n := len(m.chunks); n > 0 && m.chunks[n-1].fill == nil && len(m.chunks[n-1].bytes) < shareMin {
		m.chunks[n-1].bytes = append(m.chunks[n-1].bytes, b...)
		return
	}
	m.chunks = append(m.chunks, chunk{bytes: append([]byte(nil), b...)})
}

func (m *message) tag(field protowire.Number, t protowire.Type) {
	m.raw(protowire.AppendTag(nil, field, t))
}

func (m *message) uint(field protowire.Number, v uint64) {
	m.tag(field, protowire.VarintType)
	m.raw(protowire.AppendVarint(nil, v))
}

func (m *message) int(field protowire.Number, v int64) { m.uint(field, uint64(v)) }

// intNZ leaves the field out when it is zero.
func (m *message) intNZ(field protowire.Number, v int64) {
	if v != 0 {
		m.int(field, v)
	}
}

func (m *message) float(field protowire.Number, v float32) {
	m.tag(field, protowire.Fixed32Type)
	m.raw(protowire.AppendFixed32(nil, math.Float32bits(v)))
}

func (m *message) bytes(field protowire.Number, b []byte) {
	m.tag(field, protowire.BytesType)
	m.raw(protowire.AppendVarint(nil, uint64(len(b))))
	m.raw(b)
}

func (m *message) str(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

// strNZ leaves the field out when it is empty.
func (m *message) strNZ(field protowire.Number, s string) {
	if s != "" {
		m.str(field, s)
	}
}

func (m *message) lazy(field protowire.Number, size int64, fill func(io.Writer) error) {
	m.tag(field, protowire.BytesType)
	m.raw(protowire.AppendVarint(nil, uint64(size)))
	m.chunks = append(m.chunks, chunk{size: size, fill: fill})
	m.size += size
}

func (m *message) msg(field protowire.Number, sub *message) {
	m.tag(field, protowire.BytesType)
	m.raw(protowire.AppendVarint(nil, uint64(sub.size)))
	for _, c := range sub.chunks {
		if c.fill == nil {
			m.raw(c.bytes)
			continue
		}
		m.chunks = append(m.chunks, c)
		m.size += c.size
	}
}

// pair appends a StringStringEntryProto.
func (m *message) pair(field protowire.Number, key, value string) {
	var e message
	e.str(1, key)
	e.str(2, value)
	m.msg(field, &e)
}

func (m *message) packedInts(field protowire.Number, vs []int64) {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendVarint(b, uint64(v))
	}
	m.bytes(field, b)
}

// writeTo writes the message; it fails when a filler writes another number of bytes than it
// announced.
func (m *message) writeTo(w io.Writer) (int64, error) {
	cw := &counter{w: w}
	for _, c := range m.chunks {
		if c.fill == nil {
			if _, err := cw.Write(c.bytes); err != nil {
				return cw.n, err
			}
			continue
		}
		if err := fillExactly(cw, c.size, c.fill); err != nil {
			return cw.n, err
		}
	}
	return cw.n, nil
}

func fillExactly(cw *counter, size int64, fill func(io.Writer) error) error {
	start := cw.n
	if err := fill(cw); err != nil {
		return err
	}
	if got := cw.n - start; got != size {
		return fmt.Errorf("testkit: contents written on demand: got %d bytes, want %d", got, size)
	}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
