package testkit

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-ml/stowage/tensor"
)

func TestModelHoldsWhatItIsGiven(t *testing.T) {
	m := NewModel(17)
	m.IR, m.ProducerVersion, m.Domain, m.Version, m.ModelDoc = 9, "1.2", "org.example", 3, "doc"
	m.Opset("com.microsoft", 1)
	m.Meta("author", "me")
	x := m.Input("x", tensor.Float32, "batch", 3, nil)
	w := m.Init("w", tensor.Of[float32](1, 2, 3))
	y := m.Node("Mul", []string{x, "", w}, Named("mul"), Domain("d"), Outs("y"))
	m.Output(y, tensor.Float32, AnyRank)
	b := m.Bytes()

	if got := uints(t, b, 1); !reflect.DeepEqual(got, []int64{9}) {
		t.Errorf("IR version: got %v, want 9", got)
	}
	opsets := all(t, b, 8)
	if len(opsets) != 2 || string(at(t, opsets[1], 1)) != "com.microsoft" || uints(t, opsets[0], 2)[0] != 17 {
		t.Errorf("opsets: got %q", opsets)
	}
	if meta := at(t, b, 14); string(at(t, meta, 1)) != "author" || string(at(t, meta, 2)) != "me" {
		t.Errorf("metadata: got %q", meta)
	}
	g := at(t, b, 7)
	n := at(t, g, 1)
	if ins := all(t, n, 1); len(ins) != 3 || string(ins[0]) != "x" || len(ins[1]) != 0 || string(ins[2]) != "w" {
		t.Errorf("node inputs: got %q, want x, nothing, w", ins)
	}
	for num, want := range map[protowire.Number]string{2: "y", 3: "mul", 4: "Mul", 7: "d"} {
		if got := string(at(t, n, num)); got != want {
			t.Errorf("node field %d: got %q, want %q", num, got, want)
		}
	}
	if got := at(t, g, 5, 9); !bytes.Equal(got, tensor.Of[float32](1, 2, 3).Bytes()) {
		t.Errorf("initialiser: got % x", got)
	}
	dims := all(t, at(t, g, 11, 2, 1, 2), 1)
	if len(dims) != 3 || string(at(t, dims[0], 2)) != "batch" || uints(t, dims[1], 1)[0] != 3 || len(dims[2]) != 0 {
		t.Errorf("input dims: got %q, want batch, 3, nothing", dims)
	}
	if got := all(t, at(t, g, 12, 2, 1), 2); got != nil {
		t.Errorf("output of any rank: got shape %q, want none", got)
	}
}

func TestEveryAttributeKindHasItsFieldAndType(t *testing.T) {
	one := tensor.Of[float32](1)
	body := NewGraph("then")
	body.OutputOf(body.Const(one), Type{})
	sp := SparseTensor{Values: one, Indices: tensor.Of[int64](4), Shape: tensor.Shape{9}}
	typ := SequenceType(OptionalType(TensorType(tensor.Int8)))
	tests := []struct {
		part  Part
		kind  AttrKind
		field protowire.Number
		count int
	}{
		{Float("a", 1.5), KindFloat, 2, 1},
		{Int("a", -7), KindInt, 3, 1},
		{String("a", "s"), KindString, 4, 1},
		{Tensor("a", one), KindTensor, 5, 1},
		{Body("a", body), KindGraph, 6, 1},
		{Floats("a", 1, 2), KindFloats, 7, 2},
		{PackedFloats("a", 1, 2), KindFloats, 7, 1},
		{Ints("a", 1, 2, -3), KindInts, 8, 3},
		{PackedInts("a", 1, 2, -3), KindInts, 8, 1},
		{Strings("a", "b", "c"), KindStrings, 9, 2},
		{Tensors("a", one, one), KindTensors, 10, 2},
		{Bodies("a", body, body, body), KindGraphs, 11, 3},
		{Sparse("a", sp), KindSparse, 22, 1},
		{Sparses("a", sp, sp), KindSparses, 23, 2},
		{TypeAttr("a", typ), KindType, 14, 1},
		{TypesAttr("a", typ, MapType(tensor.String, typ)), KindTypes, 15, 2},
		{Ref("a", "outer", KindInts), KindInts, 21, 1},
	}
	for _, tt := range tests {
		m := NewModel(13)
		m.Node("Op", nil, tt.part)
		a := at(t, m.Bytes(), 7, 1, 5)
		if got := uints(t, a, 20); len(got) != 1 || got[0] != int64(tt.kind) {
			t.Errorf("kind %d: got type %v", tt.kind, got)
		}
		if got := len(all(t, a, tt.field)); got != tt.count {
			t.Errorf("kind %d: got field %d %d times, want %d", tt.kind, tt.field, got, tt.count)
		}
	}
}

func TestStorageChoosesTheTypedField(t *testing.T) {
	i4, err := tensor.FromBytes(tensor.Int4, tensor.Shape{3}, []byte{0xf1, 0x07})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		t     *tensor.Tensor
		field protowire.Number
		want  []byte
	}{
		{tensor.Of[float32](1), 4, fixed32(1)},
		{tensor.Of(complex64(complex(1, 2))), 4, fixed32(1, 2)},
		{tensor.Of[float64](1), 10, fixed64(1)},
		{tensor.Of(complex(1.0, 2.0)), 10, fixed64(1, 2)},
		{tensor.Of[int8](-1, 5), 5, varints(-1, 5)},
		{tensor.Of[uint8](255), 5, varints(255)},
		{tensor.Of[int16](-300), 5, varints(-300)},
		{tensor.Of[uint16](60000), 5, varints(60000)},
		{tensor.Of[int32](-70000), 5, varints(-70000)},
		{tensor.Of(true, false), 5, varints(1, 0)},
		{tensor.Of(tensor.HalfOf(1)), 5, varints(0x3c00)},
		{tensor.Of(tensor.BrainOf(1)), 5, varints(0x3f80)},
		{i4, 5, varints(0xf1, 7)},
		{tensor.Of[int64](-1), 7, varints(-1)},
		{tensor.Of[uint32](math.MaxUint32), 11, varints(math.MaxUint32)},
		{tensor.Of[uint64](math.MaxUint64), 11, varints(-1)},
		{tensor.Of("text"), 6, []byte("text")},
	}
	for _, tt := range tests {
		m := NewModel(13)
		m.InitAs("w", tt.t, Typed)
		init := at(t, m.Bytes(), 7, 5)
		if got := at(t, init, tt.field); !bytes.Equal(got, tt.want) {
			t.Errorf("%v: got % x, want % x", tt.t, got, tt.want)
		}
		if raw := all(t, init, 9); raw != nil {
			t.Errorf("%v: got raw_data too", tt.t)
		}
	}
}

func fixed32(vs ...float32) (b []byte) {
	for _, v := range vs {
		b = protowire.AppendFixed32(b, math.Float32bits(v))
	}
	return b
}

func fixed64(vs ...float64) (b []byte) {
	for _, v := range vs {
		b = protowire.AppendFixed64(b, math.Float64bits(v))
	}
	return b
}

func varints(vs ...int64) (b []byte) {
	for _, v := range vs {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

func TestFunctionHoldsBodyAndDefaults(t *testing.T) {
	f := NewFunction("local", "Twice", []string{"a"}, []string{"b"})
	f.Opset("", 13)
	f.Attrs = []string{"alpha"}
	f.Default(Int("axis", 1))
	f.Node("Add", []string{"a", "a"}, Outs("b"), Ref("x", "alpha", KindFloat))
	m := NewModel(13)
	m.Function(f)
	p := at(t, m.Bytes(), 25)
	for num, want := range map[protowire.Number]string{1: "Twice", 4: "a", 5: "b", 6: "alpha", 10: "local"} {
		if got := string(at(t, p, num)); got != want {
			t.Errorf("field %d: got %q, want %q", num, got, want)
		}
	}
	if got := string(at(t, p, 7, 4)); got != "Add" {
		t.Errorf("body: got %q, want Add", got)
	}
	if got := string(at(t, p, 11, 1)); got != "axis" {
		t.Errorf("default: got %q, want axis", got)
	}
}

func TestLazyInitialiserEqualsOneInMemory(t *testing.T) {
	data := make([]float32, 5000)
	for i := range data {
		data[i] = float32(i)
	}
	w := tensor.Must(tensor.Shape{50, 100}, data)
	a, b := NewModel(13), NewModel(13)
	a.Init("w", w)
	b.InitLazy("w", tensor.Float32, tensor.Shape{50, 100}, func(out io.Writer) error {
		_, err := out.Write(w.Bytes())
		return err
	})
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the two models differ")
	}
	bad := NewModel(13)
	bad.InitLazy("w", tensor.Float32, tensor.Shape{2}, func(out io.Writer) error {
		_, err := out.Write(make([]byte, 7))
		return err
	})
	if _, err := bad.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), "got 7 bytes, want 8") {
		t.Errorf("short contents: got error %v", err)
	}
}

func TestExternalDataLiesWhereTheModelSays(t *testing.T) {
	m := NewModel(13)
	m.External, m.ExternalMin = "w.bin", 8
	small, a, b := tensor.Of[float32](9), tensor.Of[int64](1, 2, 3), tensor.Of[float64](4, 5)
	m.Init("small", small)
	m.Init("a", a)
	m.Init("b", b)
	dir := t.TempDir()
	if err := m.Save(filepath.Join(dir, "model.onnx")); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	ext, err := os.ReadFile(filepath.Join(dir, "w.bin"))
	if err != nil {
		t.Fatal(err)
	}
	inits := all(t, at(t, file, 7), 5)
	if got := at(t, inits[0], 9); !bytes.Equal(got, small.Bytes()) {
		t.Errorf("small initialiser: got % x inside the model", got)
	}
	for i, want := range []*tensor.Tensor{a, b} {
		kv := map[string]string{}
		for _, p := range all(t, inits[i+1], 13) {
			kv[string(at(t, p, 1))] = string(at(t, p, 2))
		}
		off, _ := strconv.Atoi(kv["offset"])
		n, _ := strconv.Atoi(kv["length"])
		if kv["location"] != "w.bin" || off%externalAlign != 0 || !bytes.Equal(ext[off:off+n], want.Bytes()) {
			t.Errorf("%v: at %v: got other bytes", want, kv)
		}
	}
}

func TestDataSkipsWithoutAFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(DataEnv, dir)
	if got := Data(t); got != dir {
		t.Errorf("got %q, want %q", got, dir)
	}
	os.Unsetenv(DataEnv)
	t.Chdir(dir)
	skipped := true
	t.Run("skip", func(t *testing.T) {
		Data(t)
		skipped = false
	})
	if !skipped {
		t.Error("outside a repository and without the variable: got a folder, want a skip")
	}
}
