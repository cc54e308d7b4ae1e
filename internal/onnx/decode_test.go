package onnx

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestDecodeNamesTheFieldThatIsBroken(t *testing.T) {
	good := node("Add", "a", "x x", "y", intAttr("axis", 1))
	deep := pb{}
	for range 90 {
		deep = body(node("If", "", "c", "y", graphAttr("then_branch", deep)))
	}
	tests := []struct {
		name string
		in   pb
		want string
	}{
		{"empty", nil, "onnx: model: the file is empty"},
		{"no graph", model(), "onnx: model: has no graph"},
		{"text", pb("this is not a model at all"), "onnx: model"},
		{"two graphs", model(graphOf(), graphOf()), "onnx: model.graph: given twice"},
		{"length beyond the end", model(graphOf(good, pb{0x0a, 0x7f})), "onnx: model.graph.node: at byte"},
		{"tag cut short", model(graphOf(good, pb{0x80})), "onnx: model.graph: at byte"},
		{"field number 0", model(graphOf(pb{0x00, 0x00})), "onnx: model.graph: at byte"},
		{"overlong varint", model(graphOf(pb{}.msg(1, pb{}.msg(5, append(pb{0x18}, bytes.Repeat([]byte{0xff}, 11)...))))),
			"onnx: model.graph.node[0].attribute[0].i: at byte"},
		{"group not begun", model(graphOf(good, good, pb{}.msg(1, protowire.AppendTag(nil, 5, protowire.EndGroupType)))),
			"onnx: model.graph.node[2].attribute: at byte"},
		{"number for a name", model(graphOf(pb{}.msg(1, pb{}.int(4, 1)))),
			"onnx: model.graph.node[0].op_type: got wire type 0, want 2"},
		{"name for a number", model(graphOf(pb{}.msg(1, pb{}.msg(5, pb{}.str(3, "x"))))),
			"onnx: model.graph.node[0].attribute[0].i: got wire type 2, want 0"},
		{"half a packed float", model(graphOf(pb{}.msg(1, pb{}.msg(5, pb{}.str(7, "12345"))))),
			"attribute[0].floats: got 5 bytes of packed floats, want a multiple of 4"},
		{"packed integer cut short", model(graphOf(pb{}.msg(5, pb{}.msg(1, pb{0x01, 0x80})))),
			"onnx: model.graph.initializer[0].dims: at byte"},
		{"packed integer too long", model(graphOf(pb{}.msg(5, pb{}.msg(1, pb(bytes.Repeat([]byte{0x80}, 20)))))),
			"onnx: model.graph.initializer[0].dims: at byte"},
		{"dim of a type", model(graphOf(pb{}.msg(11, value("x", 1, 1), value("y", 1)), pb{}.msg(11, pb{}.msg(2,
			pb{}.msg(1, pb{}.msg(2, pb{}.msg(1, pb{}, pb{}.f32(1, 1)))))))),
			"onnx: model.graph.input[2].type.tensor_type.shape.dim[1].dim_value: got wire type 5, want 0"},
		{"too deep", model(graphOf(deep)), "nested more than 200 deep"},
		{"empty nodes without end", model(graphOf(bytes.Repeat([]byte{0x0a, 0}, 1<<20))),
			"onnx: model.graph.node: the structure needs more than"},
		{"empty dims without end", model(graphOf(pb{}.msg(11, pb{}.msg(2, pb{}.msg(1, pb{}.msg(2,
			bytes.Repeat([]byte{0x0a, 0}, 3<<20))))))), "shape: the structure needs more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Decode(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestDecodeReadsListsPackedAndNot(t *testing.T) {
	attrs := []pb{
		pb{}.str(1, "ints").int(8, 1).int(8, -2).packed(8, 3, 1<<40),
		pb{}.str(1, "floats").f32(7, 1).msg(7, binary.LittleEndian.AppendUint32(nil, math.Float32bits(-2.5))),
	}
	tensor := pb{}.int(1, 2).packed(1, 3, 4).int(2, 1)
	m, err := Decode(model(graphOf(node("Op", "", "x", "y", attrs...), pb{}.msg(5, tensor))))
	if err != nil {
		t.Fatal(err)
	}
	got := m.Graph.Nodes[0].Attrs
	if want := []int64{1, -2, 3, 1 << 40}; !reflect.DeepEqual(got[0].Ints, want) || got[0].Type != attrInts {
		t.Errorf("got %v of type %d, want %v", got[0].Ints, got[0].Type, want)
	}
	if want := []float32{1, -2.5}; !reflect.DeepEqual(got[1].Lists.Floats, want) || got[1].Type != attrFloats {
		t.Errorf("got %v of type %d, want %v", got[1].Lists.Floats, got[1].Type, want)
	}
	if want := []int64{2, 3, 4}; !reflect.DeepEqual(m.Graph.Inits[0].Dims, want) {
		t.Errorf("got dims %v, want %v", m.Graph.Inits[0].Dims, want)
	}
}

func TestDecodeSkipsUnknownFields(t *testing.T) {
	junk := cat(pb{}.int(99, 1), pb{}.str(98, "x"), pb{}.f32(97, 1), pb{}.f64(96, 1),
		protowire.AppendTag(nil, 95, protowire.StartGroupType), pb{}.int(1, 1),
		protowire.AppendTag(nil, 95, protowire.EndGroupType))
	m, err := Decode(cat(junk, model(graphOf(junk, pb{}.msg(1, cat(junk, call1("Add", "a", "x y", "z"), junk)))), junk))
	if err != nil {
		t.Fatal(err)
	}
	want := Node{Name: "a", Op: "Add", Inputs: []string{"x", "y"}, Outputs: []string{"z"}}
	if !reflect.DeepEqual(m.Graph.Nodes[0], want) {
		t.Errorf("got %+v, want %+v", m.Graph.Nodes[0], want)
	}
}

func TestDecodeReadsEveryKindOfType(t *testing.T) {
	elem := pb{}.msg(1, pb{}.int(1, 7))
	tests := []struct {
		name string
		in   pb
		want TypeProto
	}{
		{"nothing", pb{}, TypeProto{}},
		{"unranked tensor", elem, TypeProto{Kind: TensorType, Elem: 7}},
		{"scalar", pb{}.msg(1, pb{}.int(1, 7).msg(2, pb{})), TypeProto{Kind: TensorType, Elem: 7, HasShape: true}},
		{"dims", pb{}.msg(1, pb{}.msg(2, shapeOf(0, "n", nil))), TypeProto{Kind: TensorType, HasShape: true,
			Dims: []DimProto{{HasValue: true}, {Param: "n"}, {}}}},
		{"sequence", pb{}.msg(4, pb{}.msg(1, elem)),
			TypeProto{Kind: SequenceType, Inner: &TypeProto{Kind: TensorType, Elem: 7}}},
		{"optional", pb{}.msg(9, pb{}.msg(1, elem)),
			TypeProto{Kind: OptionalType, Inner: &TypeProto{Kind: TensorType, Elem: 7}}},
		{"sparse tensor", pb{}.msg(8, pb{}.int(1, 7)), TypeProto{Kind: SparseType, Elem: 7}},
		{"map", pb{}.msg(5, pb{}.int(1, 7)), TypeProto{Kind: MapType}},
		{"opaque", pb{}.msg(7, pb{}), TypeProto{Kind: OpaqueType}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Decode(model(graphOf(pb{}.msg(11, pb{}.str(1, "x").msg(2, tt.in)))))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Graph.Inputs[0].Type; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestEveryPrefixIsReadOrRefused(t *testing.T) {
	whole := everything()
	if _, err := Decode(whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		m, err := Decode(whole[:n:n])
		if err != nil && !strings.HasPrefix(err.Error(), "onnx: model") {
			t.Fatalf("%d bytes: got %v, want the path of the fault", n, err)
		}
		if err == nil {
			if _, err = Import(m, nil); err != nil && !strings.HasPrefix(err.Error(), "onnx: ") {
				t.Fatalf("%d bytes: got %v, want an error of this package", n, err)
			}
		}
	}
}

// TestOpenDoesNotReadWeights opens a file that is mostly hole: reading it would take seconds
// and gigabytes.
func TestOpenDoesNotReadWeights(t *testing.T) {
	const weight = 1400 << 20
	if math.MaxInt == math.MaxInt32 || runtime.GOOS == "windows" {
		t.Skip("no room to map the file, or no mmap")
	}
	name := filepath.Join(t.TempDir(), "big.onnx")
	tensor := func(name string) pb { return pb{}.int(1, weight/4).int(2, 1).str(8, name) }
	raw := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.BytesType), weight)
	inner := len(tensor("a")) + len(raw) + weight
	init := protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.BytesType), uint64(inner))
	init = cat(init, tensor("a"), raw)
	init2 := bytes.Replace(init, []byte{1, 'a'}, []byte{1, 'b'}, 1)
	rest := body(in("x", 1), out("y"), node("Add", "", "a b", "y"))
	size := 2*(len(init)+weight) + len(rest)
	head := cat(model(), protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.BytesType), uint64(size)))

	h, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for _, part := range []struct {
		b    []byte
		hole int64
	}{{head, 0}, {init, weight}, {init2, weight}, {rest, 0}} {
		if _, err := h.WriteAt(part.b, at); err != nil {
			t.Fatal(err)
		}
		at += int64(len(part.b)) + part.hole
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("allocated %d bytes, want at most 1 MiB", got)
	}
	if im.WeightBytes != int64(2*weight) {
		t.Errorf("got %d bytes of weights, want %d", im.WeightBytes, int64(2*weight))
	}
}
