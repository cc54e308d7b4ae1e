package onnx

import (
	"bytes"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// everything is a model with a bit of all that a file may have.
func everything() pb {
	f := fnOf(fnHead("F", "a", "b"), opset17, pb{}.msg(11, intAttr("k", 5)), pb{}.msg(12, value("t", 1, "k")),
		pb{}.msg(7, call1("Op", "", "a", "t", refAttr("axis", "k", int(attrInt)))), fnNode("Relu", "", "t", "b"))
	inner := body(node("If", "", "c", "m", then(body(node("Add", "", "x w", "z"), out("z"))), els(body(out("w")))),
		out("m"))
	return model(f, pb{}.msg(14, pb{}.str(1, "k").str(2, "v")), graphOf(
		in("c"), in("x", "n", 3), in("w"), initial("w", 1), pb{}.msg(15, sparseOf()),
		pb{}.msg(5, pb{}.int(1, 2).int(2, 8).str(8, "s8").str(6, "abc", "d")),
		node("If", "", "c", "y", then(inner), els(body(out("x")))), node("Constant", "", "", "k", intAttr("value_int", 1)),
		node("f:F", "", "y", "u", intAttr("k", 2)), node("f:F", "", "x", "y2"), info("u", 1), out("u", 1), out("y2")))
}

// FuzzDecode reads anything as a model: it is refused, or it makes a sound graph.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(everything()))
	f.Add([]byte(model(graphOf(in("x", 1), node("Add", "a", "x x", "y"), out("y", 1)))))
	f.Add([]byte(outside("w.bin", "4", "12")))
	for _, tt := range dtypeCases[:3] {
		for _, b := range typedForms(tt.dt, tt.field, tt.ints, tt.fixed) {
			f.Add([]byte(model(graphOf(pb{}.msg(5, b), out("t")))))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		im, err := Import(m, nil)
		if err != nil {
			return
		}
		if err := graph.Validate(im.Graph); err != nil {
			t.Errorf("%v\n%s", err, dump(im.Graph))
		}
	})
}

// FuzzTensor reads anything as a tensor: it is refused, or it survives being written and read.
func FuzzTensor(f *testing.F) {
	for _, tt := range dtypeCases {
		f.Add([]byte(tensorHead(tt.dt).msg(9, tt.raw)))
		for _, b := range typedForms(tt.dt, tt.field, tt.ints, tt.fixed) {
			f.Add([]byte(b))
		}
	}
	f.Add([]byte(pb{}.int(1, 2).int(2, int64(tensor.String)).str(6, "a", "b")))
	f.Fuzz(func(t *testing.T, b []byte) {
		name, got, err := DecodeTensor(b)
		if err != nil {
			return
		}
		again, back, err := DecodeTensor(EncodeTensor(name, got))
		if err != nil || again != name || back.String() != got.String() || !bytes.Equal(back.Bytes(), got.Bytes()) {
			t.Errorf("wrote %q %v, read %q %v, %v", name, got, again, back, err)
		}
	})
}
