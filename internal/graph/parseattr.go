package graph

import (
	"strconv"
	"strings"
)

// attr reads an attribute's value; how it begins tells its kind.
func (p *parser) attr(s *scope, a *Attr) {
	switch {
	case p.at('"'):
		a.Kind, a.Str = AttrString, p.quoted()
	case p.at('['):
		p.attrList(a)
	case p.eatWord("ints"):
		a.Kind = AttrInts
		p.want("[]")
	case p.eatWord("floats"):
		a.Kind = AttrFloats
		p.want("[]")
	case p.eatWord("strs"):
		a.Kind = AttrStrings
		p.want("[]")
	case p.eatWord("tensors"):
		a.Kind = AttrTensors
		p.items(func() { a.Tensors = append(a.Tensors, p.parseTensor()) })
	case p.eatWord("graphs"):
		a.Kind = AttrGraphs
		p.items(func() { a.Graphs = append(a.Graphs, p.parseGraph(s)) })
	case p.eatWord("sparse"):
		a.Kind, a.Tensor = AttrSparse, p.parseTensor()
	case p.eatWord("type"):
		a.Kind, a.Type = AttrType, p.parseType()
	default:
		p.attrWord(s, a)
	}
}

// attrWord reads a number, a graph or a tensor.
func (p *parser) attrWord(s *scope, a *Attr) {
	start := p.i
	if p.eatWord("graph") {
		p.i = start
		a.Kind, a.Graph = AttrGraph, p.parseGraph(s)
		return
	}
	w := p.number()
	if isInt(w) {
		a.Kind, a.Int = AttrInt, p.int(w)
		return
	}
	if _, ok := readFloat(w, 32); ok {
		a.Kind, a.Float = AttrFloat, p.float(w)
		return
	}
	if p.err == nil {
		p.i = start
		a.Kind, a.Tensor = AttrTensor, p.parseTensor()
	}
}

// items reads a list in brackets.
func (p *parser) items(item func()) {
	p.want("[")
	for n := 0; !p.eat("]") && p.err == nil; n++ {
		if n > 0 {
			p.want(",")
		}
		item()
	}
}

// attrList reads a list that is not empty; its first item tells its kind.
func (p *parser) attrList(a *Attr) {
	p.items(func() {
		if p.at('"') && (a.Kind == 0 || a.Kind == AttrStrings) {
			a.Kind, a.Strs = AttrStrings, append(a.Strs, p.quoted())
			return
		}
		w := p.number()
		if a.Kind == 0 {
			a.Kind = AttrFloats
			if isInt(w) {
				a.Kind = AttrInts
			}
		}
		switch a.Kind {
		case AttrInts:
			a.Ints = append(a.Ints, p.int(w))
		case AttrFloats:
			a.Floats = append(a.Floats, p.float(w))
		default:
			p.failf("got %q, want a string in quotes", w)
		}
	})
	if a.Kind == 0 {
		p.failf("got an empty list, want ints, floats or strs before it")
	}
}

func isInt(w string) bool {
	return strings.Trim(w, "0123456789") == "" || strings.HasPrefix(w, "-") && strings.Trim(w[1:], "0123456789") == ""
}

func (p *parser) int(w string) int64 {
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		p.failf("got %q, want an integer", w)
	}
	return n
}

func (p *parser) float(w string) float32 {
	f, ok := readFloat(w, 32)
	if !ok {
		p.failf("got %q, want a float", w)
	}
	return float32(f)
}
