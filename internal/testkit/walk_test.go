package testkit

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message as it stands on the wire.
type field struct {
	num  protowire.Number
	uint uint64
	raw  []byte
}

// walk splits a message into its fields.
func walk(t *testing.T, b []byte) []field {
	t.Helper()
	var out []field
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("tag: %v", protowire.ParseError(n))
		}
		b = b[n:]
		f := field{num: num}
		switch typ {
		case protowire.VarintType:
			f.uint, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.uint = uint64(v)
		case protowire.BytesType:
			f.raw, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d: wire type %d", num, typ)
		}
		if n < 0 {
			t.Fatalf("field %d: %v", num, protowire.ParseError(n))
		}
		b = b[n:]
		out = append(out, f)
	}
	return out
}

// all returns the contents of every field with the number.
func all(t *testing.T, b []byte, num protowire.Number) [][]byte {
	t.Helper()
	var out [][]byte
	for _, f := range walk(t, b) {
		if f.num == num {
			out = append(out, f.raw)
		}
	}
	return out
}

// uints returns the numbers in every field with the number.
func uints(t *testing.T, b []byte, num protowire.Number) []int64 {
	t.Helper()
	var out []int64
	for _, f := range walk(t, b) {
		if f.num == num {
			out = append(out, int64(f.uint))
		}
	}
	return out
}

// at follows a path of field numbers through the first message at each step.
func at(t *testing.T, b []byte, path ...protowire.Number) []byte {
	t.Helper()
	for i, num := range path {
		next := all(t, b, num)
		if len(next) == 0 {
			t.Fatalf("no field %d at step %d of %v", num, i, path)
		}
		b = next[0]
	}
	return b
}
