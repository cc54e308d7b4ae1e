package npy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

// file builds a .npy file of the given version around a header and data.
func file(version byte, header, data string) []byte {
	b := []byte(Magic + string([]byte{version, 0}))
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), data...)
}

func describe(descr, order, shape string) string {
	return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n"
}

func TestEveryTypeSurvivesARoundTrip(t *testing.T) {
	for dt := tensor.Float32; dt.Valid(); dt++ {
		for _, shape := range []tensor.Shape{{}, {5}, {2, 3}, {0}, {2, 0, 3}, {1, 1, 1, 2}} {
			if !Holds(dt) {
				continue
			}
			in, err := tensor.Zeros(dt, shape)
			if err != nil {
				t.Fatal(err)
			}
			for i := range in.Bytes() {
				in.Bytes()[i] = byte(i*37 + 1)
				if dt == tensor.Bool {
					in.Bytes()[i] &= 1
				}
			}
			b, err := Encode(in)
			if err != nil {
				t.Fatalf("%v: %v", in, err)
			}
			out, err := Decode(b)
			if err != nil {
				t.Fatalf("%v: %v", in, err)
			}
			if out.DType() != dt || !out.Shape().Equal(shape) || !bytes.Equal(out.Bytes(), in.Bytes()) {
				t.Errorf("%v: got %v with other contents or type", in, out)
			}
		}
	}
}

func TestHeaderIsWhatNumPyWrites(t *testing.T) {
	for _, c := range []struct {
		t    *tensor.Tensor
		want string
	}{
		{tensor.Must(tensor.Shape{2, 3}, make([]float32, 6)), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"},
		{tensor.Of[int8](1), "{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }"},
		{tensor.Scalar(true), "{'descr': '|b1', 'fortran_order': False, 'shape': (), }"},
		{tensor.Of(tensor.HalfOf(1)), "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }"},
	} {
		b, err := Encode(c.t)
		if err != nil {
			t.Fatal(err)
		}
		header, data, err := split(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimRight(header, " \n"); got != c.want {
			t.Errorf("%v: got header %s, want %s", c.t, got, c.want)
		}
		if at := len(b) - len(data); at%headerAlign != 0 || !strings.HasSuffix(header, "\n") {
			t.Errorf("%v: got data at %d, want a multiple of %d after a newline", c.t, at, headerAlign)
		}
	}
}

func TestOtherOrdersBecomeRowMajorLittleEndian(t *testing.T) {
	want := []uint16{1, 2, 3, 4, 5, 6}
	for name, b := range map[string][]byte{
		"rows":             file(1, describe("'<u2'", "False", "(2, 3)"), "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00"),
		"columns":          file(2, describe("'<u2'", "True", "(2, 3)"), "\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06\x00"),
		"big-endian":       file(3, describe(`">u2"`, "False", "(2L, 3L)"), "\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06"),
		"both, key order":  file(1, "{ 'shape':(2,3),'fortran_order':True,'descr':'>u2'}", "\x00\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06"),
		"native by equals": file(1, describe("'=u2'", "False", "(2, 3,)"), "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00"),
	} {
		got, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s, err := tensor.Data[uint16](got)
		if err != nil || !got.Shape().Equal(tensor.Shape{2, 3}) {
			t.Errorf("%s: got %v, %v", name, got, err)
			continue
		}
		for i := range want {
			if s[i] != want[i] {
				t.Errorf("%s: got %v, want %v", name, s, want)
				break
			}
		}
	}
}

func TestBigEndianComplexSwapsEachPart(t *testing.T) {
	got, err := Decode(file(1, describe("'>c8'", "False", "()"), "\x3f\x80\x00\x00\x40\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	if v := tensor.Cast[complex64](got.Bytes())[0]; v != 1+2i {
		t.Errorf("got %v, want 1+2i", v)
	}
}

func TestWhatIsNotAPlainArrayIsRefused(t *testing.T) {
	good := describe("'<f4'", "False", "(1,)")
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":            {nil, `npy: start of file: got "", want "\x93NUMPY"`},
		"other file":       {[]byte("PK\x03\x04 a zip archive"), "npy: start of file"},
		"version":          {file(4, good, "\x00\x00\x00\x00"), "npy: version: got 4, want 1 to 3"},
		"header cut off":   {file(1, good, "")[:20], "npy: header: got 10 bytes, want"},
		"data short":       {file(1, good, "\x00\x00\x00"), "npy: data of float32[1]: got 3 bytes, want 4"},
		"data long":        {file(1, good, "\x00\x00\x00\x00\x00"), "npy: data of float32[1]: got 5 bytes, want 4"},
		"strings":          {file(1, describe("'<U5'", "False", "(1,)"), ""), `npy: descr: got "<U5", want numbers or bools`},
		"objects":          {file(1, describe("'|O'", "False", "(1,)"), ""), `npy: descr: got "|O"`},
		"unknown type":     {file(1, describe("'<f3'", "False", "(1,)"), ""), `npy: descr: got "<f3", want bool`},
		"structured":       {file(1, describe("[('a', '<f4')]", "False", "(1,)"), ""), "want a plain array"},
		"no shape":         {file(1, "{'descr': '<f4', 'fortran_order': False}", ""), "got no shape"},
		"key twice":        {file(1, "{'descr': '<f4', 'descr': '<f4'}", ""), "want one descr"},
		"other key":        {file(1, "{'x': 1}", ""), "want the key descr"},
		"negative extent":  {file(1, describe("'<f4'", "False", "(-1,)"), ""), "npy: header"},
		"overflow":         {file(1, describe("'<f4'", "False", "(9223372036854775807, 3)"), ""), "want one whose bytes can be counted"},
		"extent too large": {file(1, describe("'<f4'", "False", "(99999999999999999999,)"), ""), "npy: header"},
		"rank":             {file(1, describe("'<f4'", "False", "("+strings.Repeat("1,", 17)+")"), "\x00\x00\x00\x00"), "at most 16 extents"},
		"after the end":    {file(1, good+"x", "\x00\x00\x00\x00"), "want the end"},
		"bool of 2":        {file(1, describe("'|b1'", "False", "(2,)"), "\x01\x02"), "npy: bool element 1: got 2, want 0 or 1"},
		"huge header":      {file(2, strings.Repeat(" ", maxHeader+1), ""), "want at most 4096"},
	} {
		_, err := Decode(c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestTypesThatTheFormatLacksAreRefused(t *testing.T) {
	for _, in := range []*tensor.Tensor{tensor.Of("a"), tensor.Of(tensor.BrainOf(1))} {
		if _, err := Encode(in); err == nil || Holds(in.DType()) {
			t.Errorf("%v: got no error", in)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(file(1, describe("'<f4'", "False", "(2, 1)"), "\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(file(2, describe("'>c16'", "True", "()"), strings.Repeat("\x01", 16)))
	f.Add(file(1, describe("'|b1'", "False", "(0, 9223372036854775807)"), ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(in)
		if err != nil {
			t.Fatalf("%v: %v", in, err)
		}
		out, err := Decode(again)
		if err != nil || out.String() != in.String() || !bytes.Equal(out.Bytes(), in.Bytes()) {
			t.Fatalf("%v: got %v, %v after a round trip", in, out, err)
		}
	})
}
