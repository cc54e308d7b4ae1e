package testkit

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-ml/stowage/tensor"
)

// Part is one thing said of a node beside its operator and inputs: an attribute, its name, its
// domain, its outputs' names.
type Part func(*node)

type node struct {
	in, out                       []string
	name, op, doc, domain, overld string
	attrs                         []*message
}

// Named gives the node a name.
func Named(name string) Part { return func(n *node) { n.name = name } }

// Domain says which operator set the node's operator is from.
func Domain(domain string) Part { return func(n *node) { n.domain = domain } }

// Overload says which of several functions of one name the node calls.
func Overload(s string) Part { return func(n *node) { n.overld = s } }

// Doc gives the node a doc string.
func Doc(s string) Part { return func(n *node) { n.doc = s } }

// Outs names the node's outputs; an empty name leaves an optional output out.
func Outs(names ...string) Part { return func(n *node) { n.out = names } }

// AttrKind is an attribute's type, in ONNX's numbering.
type AttrKind int64

// The types of attribute.
const (
	KindFloat   AttrKind = 1
	KindInt     AttrKind = 2
	KindString  AttrKind = 3
	KindTensor  AttrKind = 4
	KindGraph   AttrKind = 5
	KindFloats  AttrKind = 6
	KindInts    AttrKind = 7
	KindStrings AttrKind = 8
	KindTensors AttrKind = 9
	KindGraphs  AttrKind = 10
	KindSparse  AttrKind = 11
	KindSparses AttrKind = 12
	KindType    AttrKind = 13
	KindTypes   AttrKind = 14
)

// attr encodes an AttributeProto and makes it a Part.
func attr(name string, kind AttrKind, value func(*message)) Part {
	var m message
	m.str(1, name)
	if value != nil {
		value(&m)
	}
	m.int(20, int64(kind))
	return func(n *node) { n.attrs = append(n.attrs, &m) }
}

// Float is an attribute of one float.
func Float(name string, v float32) Part {
	return attr(name, KindFloat, func(m *message) { m.float(2, v) })
}

// Int is an attribute of one integer.
func Int(name string, v int64) Part {
	return attr(name, KindInt, func(m *message) { m.int(3, v) })
}

// String is an attribute of one string.
func String(name, v string) Part {
	return attr(name, KindString, func(m *message) { m.str(4, v) })
}

// Tensor is an attribute of one tensor.
func Tensor(name string, t *tensor.Tensor) Part {
	return attr(name, KindTensor, func(m *message) { m.msg(5, tensorProto("", t, Raw)) })
}

// Body is an attribute of one subgraph.
func Body(name string, g *Graph) Part {
	return attr(name, KindGraph, func(m *message) { m.msg(6, g.encode(nil)) })
}

// Floats is an attribute of a list of floats.
func Floats(name string, vs ...float32) Part {
	return attr(name, KindFloats, func(m *message) {
		for _, v := range vs {
			m.float(7, v)
		}
	})
}

// PackedFloats is Floats in the packed encoding, which readers must accept too.
func PackedFloats(name string, vs ...float32) Part {
	return attr(name, KindFloats, func(m *message) {
		var b []byte
		for _, v := range vs {
			b = protowire.AppendFixed32(b, math.Float32bits(v))
		}
		m.bytes(7, b)
	})
}

// Ints is an attribute of a list of integers.
func Ints(name string, vs ...int64) Part {
	return attr(name, KindInts, func(m *message) {
		for _, v := range vs {
			m.int(8, v)
		}
	})
}

// PackedInts is Ints in the packed encoding, which readers must accept too.
func PackedInts(name string, vs ...int64) Part {
	return attr(name, KindInts, func(m *message) { m.packedInts(8, vs) })
}

// Strings is an attribute of a list of strings.
func Strings(name string, vs ...string) Part {
	return attr(name, KindStrings, func(m *message) {
		for _, v := range vs {
			m.str(9, v)
		}
	})
}

// Tensors is an attribute of a list of tensors.
func Tensors(name string, ts ...*tensor.Tensor) Part {
	return attr(name, KindTensors, func(m *message) {
		for _, t := range ts {
			m.msg(10, tensorProto("", t, Raw))
		}
	})
}

// Bodies is an attribute of a list of subgraphs.
func Bodies(name string, gs ...*Graph) Part {
	return attr(name, KindGraphs, func(m *message) {
		for _, g := range gs {
			m.msg(11, g.encode(nil))
		}
	})
}

// SparseTensor is a sparse tensor in coordinate form: values, one-dimensional, at indices, which
// are linear (one-dimensional) or by dimension (two-dimensional), of a tensor of shape Shape.
type SparseTensor struct {
	Values, Indices *tensor.Tensor
	Shape           tensor.Shape
}

func (s SparseTensor) encode(name string) *message {
	m := &message{}
	m.msg(1, tensorProto(name, s.Values, Raw))
	m.msg(2, tensorProto("", s.Indices, Raw))
	for _, d := range s.Shape {
		m.int(3, d)
	}
	return m
}

// Sparse is an attribute of one sparse tensor.
func Sparse(name string, s SparseTensor) Part {
	return attr(name, KindSparse, func(m *message) { m.msg(22, s.encode("")) })
}

// Sparses is an attribute of a list of sparse tensors.
func Sparses(name string, ss ...SparseTensor) Part {
	return attr(name, KindSparses, func(m *message) {
		for _, s := range ss {
			m.msg(23, s.encode(""))
		}
	})
}

// TypeAttr is an attribute of one type.
func TypeAttr(name string, t Type) Part {
	return attr(name, KindType, func(m *message) { m.msg(14, t.m) })
}

// TypesAttr is an attribute of a list of types.
func TypesAttr(name string, ts ...Type) Part {
	return attr(name, KindTypes, func(m *message) {
		for _, t := range ts {
			m.msg(15, t.m)
		}
	})
}

// Ref is an attribute, in the body of a function, that has the value of the function's own
// attribute called of.
func Ref(name, of string, kind AttrKind) Part {
	return attr(name, kind, func(m *message) { m.str(21, of) })
}

func (n *node) encode() *message {
	m := &message{}
	for _, s := range n.in {
		m.str(1, s)
	}
	for _, s := range n.out {
		m.str(2, s)
	}
	m.strNZ(3, n.name)
	m.str(4, n.op)
	for _, a := range n.attrs {
		m.msg(5, a)
	}
	m.strNZ(6, n.doc)
	m.strNZ(7, n.domain)
	m.strNZ(8, n.overld)
	return m
}
