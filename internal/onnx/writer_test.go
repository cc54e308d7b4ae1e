package onnx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"google.golang.org/protobuf/encoding/protowire"
)

// pb is a message under construction; each method returns it with one more field.
type pb []byte

func (p pb) int(n protowire.Number, v int64) pb {
	return protowire.AppendVarint(protowire.AppendTag(p, n, protowire.VarintType), uint64(v))
}

func (p pb) str(n protowire.Number, list ...string) pb {
	for _, s := range list {
		p = protowire.AppendString(protowire.AppendTag(p, n, protowire.BytesType), s)
	}
	return p
}

func (p pb) msg(n protowire.Number, list ...pb) pb {
	for _, m := range list {
		p = protowire.AppendBytes(protowire.AppendTag(p, n, protowire.BytesType), m)
	}
	return p
}

func (p pb) f32(n protowire.Number, v float32) pb {
	return protowire.AppendFixed32(protowire.AppendTag(p, n, protowire.Fixed32Type), math.Float32bits(v))
}

func (p pb) f64(n protowire.Number, v float64) pb {
	return protowire.AppendFixed64(protowire.AppendTag(p, n, protowire.Fixed64Type), math.Float64bits(v))
}

// packed appends integers as one packed field.
func (p pb) packed(n protowire.Number, vs ...int64) pb {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return p.msg(n, b)
}

// The messages of ONNX, as short as tests need them.

func model(parts ...pb) pb { return modelIR(8, parts...) }

// modelIR imports version 17 of the standard operators; parts are whole fields of the model.
func modelIR(ir int64, parts ...pb) pb {
	m := pb{}.int(1, ir).msg(8, pb{}.str(1, "").int(2, 17))
	for _, p := range parts {
		m = append(m, p...)
	}
	return m
}

// graphOf is the model's graph; parts are whole fields of the graph.
func graphOf(parts ...pb) pb { return pb{}.msg(7, body(parts...)) }

func body(parts ...pb) pb {
	g := pb{}.str(2, "g")
	for _, p := range parts {
		g = append(g, p...)
	}
	return g
}

// in, out and info are fields of a graph: float32 values of the given dims.
func in(name string, dims ...any) pb   { return pb{}.msg(11, value(name, 1, dims...)) }
func out(name string, dims ...any) pb  { return pb{}.msg(12, value(name, 1, dims...)) }
func info(name string, dims ...any) pb { return pb{}.msg(13, value(name, 1, dims...)) }

func value(name string, elem int64, dims ...any) pb {
	return pb{}.str(1, name).msg(2, pb{}.msg(1, pb{}.int(1, elem).msg(2, shapeOf(dims...))))
}

// shapeOf makes a dim of each number, name or, for nil, nothing.
func shapeOf(dims ...any) pb {
	s := pb{}
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			s = s.msg(1, pb{}.int(1, int64(d)))
		case string:
			s = s.msg(1, pb{}.str(2, d))
		default:
			s = s.msg(1, pb{})
		}
	}
	return s
}

// node is a field of a graph. Lists of names are split at blanks; "_" is a name left out.
func node(op, name, ins, outs string, attrs ...pb) pb {
	return pb{}.msg(1, call1(op, name, ins, outs, attrs...))
}

func call1(op, name, ins, outs string, attrs ...pb) pb {
	domain, op, found := strings.Cut(op, ":")
	if !found {
		domain, op = "", domain
	}
	n := pb{}
	for _, s := range strings.Fields(ins) {
		n = n.str(1, strings.TrimPrefix(s, "_"))
	}
	for _, s := range strings.Fields(outs) {
		n = n.str(2, strings.TrimPrefix(s, "_"))
	}
	n = n.str(3, name).str(4, op).msg(5, attrs...)
	if domain != "" {
		n = n.str(7, domain)
	}
	return n
}

// attr is an attribute with one field of its own.
func attr(name string, typ AttrType, field pb) pb {
	return append(pb{}.str(1, name).int(20, int64(typ)), field...)
}

func intAttr(name string, v int64) pb   { return attr(name, attrInt, pb{}.int(3, v)) }
func graphAttr(name string, g pb) pb    { return attr(name, attrGraph, pb{}.msg(6, g)) }
func refAttr(name, of string, t int) pb { return pb{}.str(1, name).str(21, of).int(20, int64(t)) }
func initial(name string, v float32) pb { return pb{}.msg(5, float1(name, v)) }
func float1(name string, v float32) pb  { return pb{}.int(1, 1).int(2, 1).str(8, name).f32(4, v) }
func fnOf(parts ...pb) pb               { return pb{}.msg(25, cat(parts...)) }
func fnNode(op, name, i, o string) pb   { return pb{}.msg(7, call1(op, name, i, o)) }
func fnHead(name, ins, outs string) pb {
	return pb{}.str(1, name).str(10, "f").str(4, strings.Fields(ins)...).str(5, strings.Fields(outs)...)
}

func cat(parts ...pb) pb {
	var all pb
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func mustImport(t *testing.T, b []byte) *Imported {
	t.Helper()
	f, err := FromBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	im, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Validate(im.Graph); err != nil {
		t.Fatalf("%v\n%s", err, dump(im.Graph))
	}
	return im
}

// importError returns the message with which a model is refused.
func importError(t *testing.T, b []byte) string {
	t.Helper()
	f, err := FromBytes(b)
	if err == nil {
		_, err = f.Import()
	}
	if err == nil {
		t.Fatal("got no error")
	}
	return err.Error()
}

// dump lays a graph out as text, a line for each node, subgraphs indented.
func dump(g *graph.Graph) string {
	var b strings.Builder
	dumpTo(&b, g, "")
	return b.String()
}

func dumpTo(b *strings.Builder, g *graph.Graph, indent string) {
	fmt.Fprintf(b, "%s(%s) -> (%s)\n", indent, names(g, g.Inputs), names(g, g.Outputs))
	for _, c := range g.Captures {
		fmt.Fprintf(b, "%scapture %s\n", indent, g.ValueName(c.Inner))
	}
	for _, v := range g.Values {
		if v.Const != nil {
			fmt.Fprintf(b, "%sconst %s %v\n", indent, v.Name, v.Const)
		}
	}
	for _, n := range g.Nodes {
		fmt.Fprintf(b, "%s%s(%s) -> (%s)\n", indent, n.Label(), names(g, n.Inputs), names(g, n.Outputs))
		for _, sub := range n.Bodies() {
			dumpTo(b, sub, indent+"  ")
		}
	}
}

func names(g *graph.Graph, ids []graph.ValueID) string {
	var list []string
	for _, id := range ids {
		list = append(list, g.ValueName(id))
	}
	return strings.Join(list, ", ")
}
