package graph

import (
	"math"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// maxDimOps is the number of operators that the text of one dim may have.
const maxDimOps = 256

// typeText returns "float32[batch,3]", "?[3]" for an unknown element type, or "?" where nothing
// is known.
func typeText(t Type) string {
	switch {
	case t.DType != tensor.Undefined:
		return t.DType.String() + shapeText(t.Shape)
	case t.Shape == nil:
		return "?"
	}
	return "?" + shapeText(t.Shape)
}

// shapeText is Shape.String with names quoted that are not plain.
func shapeText(s Shape) string {
	if s == nil {
		return "[...]"
	}
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = dimText(d)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func dimText(d Dim) string {
	if d.e == nil {
		return strconv.FormatInt(d.n, 10)
	}
	a, b := d.e.a, d.e.b
	switch d.e.op {
	case opUnknown:
		return "?"
	case opSym:
		if isPlainSym(d.e.key) {
			return d.e.key
		}
		return strconv.Quote(d.e.key)
	case opMin:
		return "min(" + dimText(a) + "," + dimText(b) + ")"
	case opMax:
		return "max(" + dimText(a) + "," + dimText(b) + ")"
	case opAdd:
		if b.e == nil && b.n < 0 {
			return dimText(a) + dimText(b)
		}
		return dimText(a) + "+" + dimText(b)
	}
	return dimOperand(a) + string(rune(d.e.op)) + dimOperand(b)
}

func dimOperand(d Dim) string {
	if d.e == nil && d.n >= 0 || d.e != nil && d.e.op != opAdd && d.e.op != opMul && d.e.op != opDiv {
		return dimText(d)
	}
	return "(" + dimText(d) + ")"
}

// isPlainSym reports whether a dim's name may stand without quotes.
func isPlainSym(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isSymByte(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return s != ""
}

func isSymByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

// parseType reads "float32[batch,3]", "float32[...]" or "?".
func (p *parser) parseType() Type {
	var t Type
	if p.eat("?") {
		if !p.at('[') {
			return t
		}
	} else {
		t.DType = p.parseDType()
	}
	t.Shape = p.parseShape()
	return t
}

func (p *parser) parseDType() tensor.DType {
	w := p.word()
	dt, ok := tensor.ParseDType(w)
	if !ok {
		p.failf("got type %q, want an element type such as float32", w)
	}
	return dt
}

func (p *parser) parseShape() Shape {
	p.want("[")
	if p.eat("...") {
		p.want("]")
		return nil
	}
	s := Shape{}
	for !p.eat("]") && p.err == nil {
		if len(s) > 0 {
			p.want(",")
		}
		p.dimOps = 0
		s = append(s, p.dimSum())
	}
	return s
}

// dimSum reads terms joined by + and −. Expressions keep the form they are written in.
func (p *parser) dimSum() Dim {
	d := p.dimProduct()
	for p.err == nil {
		switch {
		case p.eat("+"):
			d = p.dimCombine(opAdd, d, p.dimProduct())
		case p.eat("-"):
			o := p.dimProduct()
			if n, ok := o.Int(); ok {
				d = p.dimCombine(opAdd, d, Known(-n))
			} else {
				d = p.dimCombine(opAdd, d, p.dimCombine(opMul, o, Known(-1)))
			}
		default:
			return d
		}
	}
	return d
}

func (p *parser) dimProduct() Dim {
	d := p.dimAtom()
	for p.err == nil {
		switch {
		case p.eat("*"):
			d = p.dimCombine(opMul, d, p.dimAtom())
		case p.eat("/"):
			o := p.dimAtom()
			if o.Is(0) {
				p.failf("got a division by zero, want a divisor")
				return d
			}
			d = p.dimCombine(opDiv, d, o)
		default:
			return d
		}
	}
	return d
}

func (p *parser) dimCombine(op exprOp, a, b Dim) Dim {
	p.dimOps++
	if p.dimOps > maxDimOps {
		p.failf("got more than %d operators in a dim", maxDimOps)
	}
	if p.err != nil {
		return a
	}
	return combine(op, a, b)
}

func (p *parser) dimAtom() Dim {
	switch {
	case p.at('"'):
		return Sym(p.quoted())
	case p.eat("?"):
		return Unknown()
	case p.eat("min("):
		return p.dimPair(opMin)
	case p.eat("max("):
		return p.dimPair(opMax)
	case p.at('('):
		if !p.enter() {
			return Dim{}
		}
		defer p.leave()
		p.want("(")
		d := p.dimSum()
		p.want(")")
		return d
	}
	neg := p.eat("-")
	w := p.take(isSymByte)
	if !neg && isPlainSym(w) {
		return Sym(w)
	}
	n, err := strconv.ParseUint(w, 10, 63)
	if err != nil || n > math.MaxInt64 {
		p.failf("got %q, want a dim", w)
	}
	if neg {
		return Known(-int64(n))
	}
	return Known(int64(n))
}

func (p *parser) dimPair(op exprOp) Dim {
	if !p.enter() {
		return Dim{}
	}
	defer p.leave()
	a := p.dimSum()
	p.want(",")
	b := p.dimSum()
	p.want(")")
	return p.dimCombine(op, a, b)
}
