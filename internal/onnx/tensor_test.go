package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stowage-ml/stowage/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// dtypeCases has three elements of each type: as memory, and as entries of its typed field.
var dtypeCases = []struct {
	dt    tensor.DType
	field protowire.Number
	raw   []byte
	ints  []int64
	fixed []byte
}{
	{dt: tensor.Float32, field: 4, raw: f32s(1, -2, 0.5), fixed: f32s(1, -2, 0.5)},
	{dt: tensor.Complex64, field: 4, raw: f32s(1, 2, 3, 4, 5, 6), fixed: f32s(1, 2, 3, 4, 5, 6)},
	{dt: tensor.Float64, field: 10, raw: f64s(1, -2, 0.5), fixed: f64s(1, -2, 0.5)},
	{dt: tensor.Complex128, field: 10, raw: f64s(1, 2, 3, 4, 5, 6), fixed: f64s(1, 2, 3, 4, 5, 6)},
	{dt: tensor.Int64, field: 7, raw: words(8, 1, -2, math.MinInt64), ints: []int64{1, -2, math.MinInt64}},
	{dt: tensor.Uint64, field: 11, raw: words(8, 1, 2, -1), ints: []int64{1, 2, -1}},
	{dt: tensor.Uint32, field: 11, raw: words(4, 1, 2, 0xffffffff), ints: []int64{1, 2, 0xffffffff}},
	{dt: tensor.Int32, field: 5, raw: words(4, 1, -2, math.MinInt32), ints: []int64{1, -2, math.MinInt32}},
	{dt: tensor.Int16, field: 5, raw: words(2, 1, -2, -32768), ints: []int64{1, -2, -32768}},
	{dt: tensor.Uint16, field: 5, raw: words(2, 1, 2, 65535), ints: []int64{1, 2, 65535}},
	{dt: tensor.Int8, field: 5, raw: words(1, 1, -2, -128), ints: []int64{1, -2, -128}},
	{dt: tensor.Uint8, field: 5, raw: words(1, 1, 2, 255), ints: []int64{1, 2, 255}},
	{dt: tensor.Bool, field: 5, raw: words(1, 1, 0, 1), ints: []int64{1, 0, 1}},
	{dt: tensor.Float16, field: 5, raw: words(2, 0x3c00, 0xc000, 0x7c00), ints: []int64{0x3c00, 0xc000, 0x7c00}},
	{dt: tensor.BFloat16, field: 5, raw: words(2, 0x3f80, 0xc000, 0x7f80), ints: []int64{0x3f80, 0xc000, 0x7f80}},
	{dt: tensor.Float8E4M3FN, field: 5, raw: words(1, 0x38, 0xff, 1), ints: []int64{0x38, 0xff, 1}},
	{dt: tensor.Float8E4M3UZ, field: 5, raw: words(1, 0x38, 0xff, 1), ints: []int64{0x38, 0xff, 1}},
	{dt: tensor.Float8E5M2, field: 5, raw: words(1, 0x38, 0xff, 1), ints: []int64{0x38, 0xff, 1}},
	{dt: tensor.Float8E5M2UZ, field: 5, raw: words(1, 0x38, 0xff, 1), ints: []int64{0x38, 0xff, 1}},
	{dt: tensor.Float8E8M0, field: 5, raw: words(1, 0x38, 0xff, 1), ints: []int64{0x38, 0xff, 1}},
	{dt: tensor.Uint4, field: 5, raw: words(1, 0x21, 0x0f), ints: []int64{0x21, 0x0f}},
	{dt: tensor.Int4, field: 5, raw: words(1, 0xe1, 0x08), ints: []int64{0xe1, 0x08}},
	{dt: tensor.Float4E2M1, field: 5, raw: words(1, 0x21, 0x0f), ints: []int64{0x21, 0x0f}},
	{dt: tensor.Uint2, field: 5, raw: words(1, 0x39), ints: []int64{0x39}},
	{dt: tensor.Int2, field: 5, raw: words(1, 0x39), ints: []int64{0x39}},
}

func words(width int, vs ...int64) []byte {
	var out []byte
	for _, v := range vs {
		out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(v))[:width]...)
	}
	return out
}

func f32s(vs ...float32) []byte {
	var out []byte
	for _, v := range vs {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func f64s(vs ...float64) []byte {
	var out []byte
	for _, v := range vs {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// tensorHead is the start of a tensor message of three elements.
func tensorHead(dt tensor.DType) pb { return pb{}.int(1, 3).int(2, int64(dt)).str(8, "t") }

// typedForms returns the ways to write entries in a typed field: packed, one by one, and half
// packed.
func typedForms(dt tensor.DType, field protowire.Number, ints []int64, fixed []byte) map[string]pb {
	head := tensorHead(dt)
	single, width := head, 4
	if field == 10 {
		width = 8
	}
	if fixed == nil {
		for _, v := range ints {
			single = single.int(field, v)
		}
		half := len(ints) / 2
		return map[string]pb{"packed": head.packed(field, ints...), "single": single,
			"mixed": head.packed(field, ints[:half]...).packed(field, ints[half:]...)}
	}
	for at := 0; at < len(fixed); at += width {
		if width == 4 {
			single = protowire.AppendTag(single, field, protowire.Fixed32Type)
		} else {
			single = protowire.AppendTag(single, field, protowire.Fixed64Type)
		}
		single = append(single, fixed[at:at+width]...)
	}
	return map[string]pb{"packed": head.msg(field, fixed), "single": single,
		"mixed": head.msg(field, fixed[:width], fixed[width:])}
}

func TestEveryTypeInEveryField(t *testing.T) {
	seen := map[tensor.DType]bool{tensor.String: true}
	for _, tt := range dtypeCases {
		seen[tt.dt] = true
		forms := typedForms(tt.dt, tt.field, tt.ints, tt.fixed)
		forms["raw"] = tensorHead(tt.dt).msg(9, tt.raw)
		for form, b := range forms {
			t.Run(fmt.Sprint(tt.dt, "/", form), func(t *testing.T) {
				for shift := range 8 {
					b := append(make(pb, shift, shift+len(b)), b...)[shift:]
					name, got, err := DecodeTensor(b)
					if err != nil {
						t.Fatal(err)
					}
					want, err := tensor.FromBytes(tt.dt, tensor.Shape{3}, tt.raw)
					if err != nil {
						t.Fatal(err)
					}
					if name != "t" || !reflect.DeepEqual(got, want) {
						t.Fatalf("shift %d: got %q %v %x, want %x", shift, name, got, got.Bytes(), tt.raw)
					}
				}
			})
		}
	}
	for dt := tensor.Float32; dt.Valid(); dt++ {
		if !seen[dt] {
			t.Errorf("%v: no case", dt)
		}
	}
}

func TestStringsAreBytes(t *testing.T) {
	b := pb{}.int(1, 3).int(2, int64(tensor.String)).str(6, "a", "", "\xff\x00é")
	_, got, err := DecodeTensor(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "", "\xff\x00é"}; !reflect.DeepEqual(got.Strings(), want) {
		t.Errorf("got %q, want %q", got.Strings(), want)
	}
}

func TestEncodeTensorIsInverse(t *testing.T) {
	scalar := tensor.Scalar(int64(-7))
	tests := []*tensor.Tensor{scalar, tensor.Of[float32](), tensor.Of("a", ""), tensor.Scalar("x"), tensor.Of(true,
		false),
		tensor.Must(tensor.Shape{2, 0, 3}, []float64{}), tensor.Must(tensor.Shape{1, 2}, []complex64{1, 2i})}
	for _, tt := range dtypeCases {
		want, err := tensor.FromBytes(tt.dt, tensor.Shape{3}, tt.raw)
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, want)
	}
	for _, want := range tests {
		name, got, err := DecodeTensor(EncodeTensor("n", want))
		if err != nil {
			t.Errorf("%v: %v", want, err)
			continue
		}
		same := name == "n" && got.DType() == want.DType() && got.Shape().Equal(want.Shape()) &&
			bytes.Equal(got.Bytes(), want.Bytes()) && fmt.Sprint(got.Strings()) == fmt.Sprint(want.Strings())
		if !same {
			t.Errorf("got %q %v, want %v", name, got, want)
		}
	}
}

func TestContentsAreNotCopied(t *testing.T) {
	if bigEndian {
		t.Skip("bytes are swapped here")
	}
	for _, b := range []pb{tensorHead(1).msg(9, f32s(1, 2, 3)), tensorHead(1).msg(4, f32s(1, 2, 3))} {
		b = append(make(pb, 8), b...)
		for (uintptr(unsafe.Pointer(&b[0]))+uintptr(len(b)-12))%4 != 0 {
			b = append(pb{0}, b...)
		}
		at := 0
		for b[at] == 0 {
			at++
		}
		_, got, err := DecodeTensor(b[at:])
		if err != nil {
			t.Fatal(err)
		}
		if &got.Bytes()[0] != &b[len(b)-12] {
			t.Error("got a copy, want the file's own bytes")
		}
	}
}

func TestTensorIsRefused(t *testing.T) {
	head := func(dt tensor.DType, dims ...int64) pb {
		p := pb{}.int(2, int64(dt)).str(8, "w")
		for _, d := range dims {
			p = p.int(1, d)
		}
		return p
	}
	tests := []struct {
		name string
		in   pb
		want string
	}{
		{"too few raw bytes", head(1, 2, 2).msg(9, f32s(1, 2, 3)),
			`onnx: tensor "w": float32[2,2]: got 12 bytes of raw_data, want 16`},
		{"too many raw bytes", head(7).msg(9, make(pb, 9)), `int64[]: got 9 bytes of raw_data, want 8`},
		{"no bytes", head(1, 2), "got 0 bytes of raw_data, want 8"},
		{"too few entries", head(7, 3).packed(7, 1, 2), "got 2 elements of int64_data, want 3"},
		{"half a complex", head(14, 1).f32(4, 1), "got 1 elements of float_data, want 2"},
		{"too few strings", head(8, 2).str(6, "a"), "got 1 elements of string_data, want 2"},
		{"strings in raw", head(8, 1).msg(9, pb("a")), "got strings outside string_data"},
		{"wrong field", head(1, 1).packed(7, 1), "got elements in another typed field, want them in float_data alone"},
		{"two fields", head(7, 1).packed(7, 1).f32(4, 1), "want them in int64_data alone"},
		{"raw and typed", head(1, 1).f32(4, 1).msg(9, f32s(1)), "got both raw_data and a typed field"},
		{"unknown type", head(99, 1).msg(9, f32s(1)), "got data type 99, want one of 1 to 26"},
		{"negative type", pb{}.int(2, -1).str(8, "w"), "got data type -1"},
		{"no type", pb{}.int(1, 1).str(8, "w"), "got data type 0"},
		{"negative dim", head(1, -1), "got dims [-1] of float32"},
		{"too many elements", head(1, 1<<40, 1<<40), "too many elements"},
		{"too many bytes", head(11, 1<<61), "too many elements"},
		{"rank", head(1, make([]int64, 17)...), "got rank 17, want at most 16"},
		{"segment", head(1, 1).msg(3, pb{}).msg(9, f32s(1)), "segments are not supported"},
		{"external", head(1, 1).int(14, 1).msg(13, pb{}.str(1, "location").str(2, "f")), "there is no folder"},
		{"sequence", pb{}.str(1, "s").int(2, 1).msg(3, head(1, 1).msg(9, f32s(1))), "got a sequence or an optional"},
		{"empty optional", pb{}.str(1, "opt").int(2, 3), "got a sequence or an optional"},
		{"wire type", head(7, 1).f32(7, 1), "int64_data: got wire type 5, want 2"},
		{"fixed width", head(11, 1).f32(10, 1), "double_data: got wire type 5, want 1"},
		{"packed width", head(1, 1).msg(4, pb("123")), "float_data: got 3 packed bytes, want a multiple of 4"},
		{"packed varint", head(7, 1).msg(7, append(bytes.Repeat(pb{0xff}, 10), 1)),
			"int64_data: variable length integer overflow"},
		{"truncated varint", head(7, 1).msg(7, pb{1, 0x80}), "int64_data: the data is cut short"},
		{"truncated", head(7, 1).msg(9, words(8, 1))[:12], "onnx: tensor.raw_data: at byte"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := DecodeTensor(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestBoolsBecomeZeroOrOne(t *testing.T) {
	raw := tensorHead(tensor.Bool).msg(9, pb{0, 2, 255})
	typed := tensorHead(tensor.Bool).packed(5, 0, 256+2, -1)
	for _, b := range []pb{raw, typed} {
		before := bytes.Clone(b)
		_, got, err := DecodeTensor(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := []byte{0, 1, 1}; !bytes.Equal(got.Bytes(), want) || !bytes.Equal(b, before) {
			t.Errorf("got %v, want %v and the file unchanged", got.Bytes(), want)
		}
	}
}

func TestSwappedReversesWords(t *testing.T) {
	in := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	tests := []struct {
		dt   tensor.DType
		want []byte
	}{
		{tensor.Float16, []byte{2, 1, 4, 3, 6, 5, 8, 7}},
		{tensor.Complex64, []byte{4, 3, 2, 1, 8, 7, 6, 5}},
		{tensor.Int64, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{tensor.Int4, in},
	}
	for _, tt := range tests {
		if got := swapped(in, wordSize(tt.dt)); !bytes.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.dt, got, tt.want)
		}
	}
}
