package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// resolve returns the attribute itself or, when it refers to one of the enclosing function,
// what the call passes; ok is false when the call passes nothing and there is no default.
func (s *scope) resolve(a *Attribute) (b bound, ok bool, err error) {
	if a.Ref == "" {
		return bound{a, s}, true, nil
	}
	if s.call.fn == nil {
		return b, false, fmt.Errorf("attribute %.120q refers to attribute %.120q of a function, but is in none", a.Name,
			a.Ref)
	}
	b, ok = s.call.attrs[a.Ref]
	if ok && a.Type != attrUntyped && b.attr.Type != a.Type {
		return b, false, fmt.Errorf("attribute %.120q: got type %d from attribute %.120q of the function, want %d",
			a.Name, b.attr.Type, a.Ref, a.Type)
	}
	return b, ok, nil
}

// attributes converts the attributes of a node, in order of name.
func (s *scope) attributes(n *Node, out *graph.Node) error {
	if len(n.Attrs) == 0 {
		return nil
	}
	if err := s.im.spend(int64(len(n.Attrs)) * nodeCost); err != nil {
		return err
	}
	out.Attrs = make(graph.Attrs, 0, len(n.Attrs))
	for i := range n.Attrs {
		b, ok, err := s.resolve(&n.Attrs[i])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		name := n.Attrs[i].Name
		if name == "" {
			return fmt.Errorf("attribute %d has no name", i)
		}
		if b.attr.Type == attrTypes {
			s.im.unsupported(out, fmt.Sprintf("attribute %.120q is a list of types", name))
			continue
		}
		a, err := s.attribute(b)
		if err != nil {
			return fmt.Errorf("attribute %.120q: %w", name, err)
		}
		a.Name = name
		out.Attrs = append(out.Attrs, a)
	}
	slices.SortStableFunc(out.Attrs, func(a, b graph.Attr) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out.Attrs); i++ {
		if out.Attrs[i].Name == out.Attrs[i-1].Name {
			return fmt.Errorf("attribute %.120q is given twice", out.Attrs[i].Name)
		}
	}
	return nil
}

func (s *scope) attribute(b bound) (out graph.Attr, err error) {
	switch a := b.attr; a.Type {
	case attrInt:
		out.Kind, out.Int = graph.AttrInt, a.Int
	case attrFloat:
		out.Kind, out.Float = graph.AttrFloat, a.Float
	case attrString:
		out.Kind, out.Str = graph.AttrString, a.Str
	case attrInts:
		out.Kind, out.Ints = graph.AttrInts, a.Ints
	case attrTensor:
		out.Kind = graph.AttrTensor
		if a.Tensor == nil {
			return out, errors.New("got no tensor")
		}
		out.Tensor, err = s.im.tensor(a.Tensor)
	case attrGraph:
		out.Kind = graph.AttrGraph
		if a.Graph == nil {
			return out, errors.New("got no graph")
		}
		out.Graph, err = s.subgraph(a.Graph, b.env)
	default:
		return s.listAttribute(b)
	}
	return out, err
}

func (s *scope) listAttribute(b bound) (out graph.Attr, err error) {
	l := b.attr.Lists
	if l == nil {
		l = &AttrLists{}
	}
	switch b.attr.Type {
	case attrFloats:
		out.Kind, out.Floats = graph.AttrFloats, l.Floats
	case attrStrings:
		out.Kind, out.Strs = graph.AttrStrings, l.Strs
	case attrTensors:
		out.Kind = graph.AttrTensors
		out.Tensors, err = convert(l.Tensors, s.im.tensor)
	case attrGraphs:
		out.Kind = graph.AttrGraphs
		out.Graphs, err = convert(l.Graphs, func(g *Graph) (*graph.Graph, error) { return s.subgraph(g, b.env) })
	case attrSparse:
		out.Kind = graph.AttrSparse
		if l.Sparse == nil {
			return out, errors.New("got no sparse tensor")
		}
		out.Tensor, err = s.im.dense(l.Sparse)
	case attrSparses:
		out.Kind = graph.AttrTensors
		out.Tensors, err = convert(l.Sparses, s.im.dense)
	case attrType:
		out.Kind = graph.AttrType
		if l.Type != nil {
			out.Type, _, err = s.im.typ(l.Type)
		}
	case attrUntyped:
		err = errors.New("got neither a type nor a value")
	default:
		err = fmt.Errorf("got type %d, want one of 1 to %d", b.attr.Type, attrTypes)
	}
	return out, err
}

func convert[P, T any](list []P, f func(*P) (T, error)) ([]T, error) {
	out := make([]T, len(list))
	for i := range list {
		var err error
		if out[i], err = f(&list[i]); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
	}
	return out, nil
}

// subgraph imports a graph that is an attribute written in scope env, or a default when nil.
func (s *scope) subgraph(g *Graph, env *scope) (*graph.Graph, error) {
	if env == nil {
		env = s
	}
	if env.g != s.g {
		return nil, errors.New("a subgraph that is passed to a function and used in a subgraph there is not supported")
	}
	if s.depth == maxGraphs {
		return nil, fmt.Errorf("subgraphs are nested more than %d deep", maxGraphs)
	}
	return s.im.graph(g, env, env.call)
}

// constant makes a value of a Constant node.
func (s *scope) constant(n *Node) error {
	if len(n.Outputs) != 1 {
		return fmt.Errorf("got %d outputs, want 1", len(n.Outputs))
	}
	var t *tensor.Tensor
	for i := range n.Attrs {
		b, ok, err := s.resolve(&n.Attrs[i])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if t != nil {
			return fmt.Errorf("got attribute %.120q and another value, want one of them", n.Attrs[i].Name)
		}
		if t, err = s.im.constant(n.Attrs[i].Name, b.attr); err != nil {
			return fmt.Errorf("attribute %.120q: %w", n.Attrs[i].Name, err)
		}
	}
	switch {
	case t == nil:
		return errors.New("got no value")
	case n.Outputs[0] == "":
		return nil
	}
	_, err := s.compute(n.Outputs[0], t)
	return err
}

// constTypes has the attributes that a Constant node may have.
var constTypes = map[string]AttrType{
	"value": attrTensor, "sparse_value": attrSparse, "value_int": attrInt, "value_ints": attrInts,
	"value_float": attrFloat, "value_floats": attrFloats, "value_string": attrString, "value_strings": attrStrings,
}

// constant returns the value of an attribute of a Constant node, over the attribute's memory.
func (im *importer) constant(name string, a *Attribute) (*tensor.Tensor, error) {
	if t := im.tensors[a]; t != nil {
		return t, nil
	}
	if want, ok := constTypes[name]; !ok || a.Type != want {
		return nil, fmt.Errorf("got type %d, want one that a Constant of this form has", a.Type)
	}
	var t *tensor.Tensor
	l := a.Lists
	if l == nil {
		l = &AttrLists{}
	}
	switch a.Type {
	case attrTensor:
		if a.Tensor == nil {
			return nil, errors.New("got no tensor")
		}
		return im.tensor(a.Tensor)
	case attrSparse:
		if l.Sparse == nil {
			return nil, errors.New("got no sparse tensor")
		}
		return im.dense(l.Sparse)
	case attrInt:
		t = tensor.Scalar(a.Int)
	case attrInts:
		t = tensor.Of(a.Ints...)
	case attrFloat:
		t = tensor.Scalar(a.Float)
	case attrFloats:
		t = tensor.Of(l.Floats...)
	case attrString:
		t = tensor.Scalar(a.Str)
	case attrStrings:
		t = tensor.Of(l.Strs...)
	}
	im.weigh(t)
	im.tensors[a] = t
	return t, nil
}
