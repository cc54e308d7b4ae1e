package npy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// header is what a file says of its data.
type header struct {
	dtype       tensor.DType
	bigEndian   bool
	columnMajor bool
	shape       tensor.Shape
}

// maxHeader is the longest header read, in bytes: far more than any plain array needs.
const maxHeader = 4096

// parseHeader reads the header, a Python dict with the keys descr, fortran_order and shape.
func parseHeader(s string) (header, error) {
	if len(s) > maxHeader {
		return header{}, fmt.Errorf("npy: header: got %d bytes, want at most %d", len(s), maxHeader)
	}
	p := parser{rest: s}
	var h header
	seen := map[string]bool{}
	p.want("{")
	for !p.take("}") && p.err == nil {
		key := p.quoted()
		p.want(":")
		if seen[key] {
			p.fail("one " + key)
		}
		seen[key] = true
		switch key {
		case "descr":
			h.dtype, h.bigEndian = p.descr()
		case "fortran_order":
			h.columnMajor = p.truth()
		case "shape":
			h.shape = p.tuple()
		default:
			p.fail("the key descr, fortran_order or shape")
		}
		if !p.take(",") {
			p.want("}")
			break
		}
	}
	if p.space(); p.rest != "" {
		p.fail("the end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if p.err == nil && !seen[key] {
			p.err = fmt.Errorf("npy: header %q: got no %s", strings.TrimSpace(s), key)
		}
	}
	return h, p.err
}

// parser reads the tokens of a header; after the first error it reads nothing more.
type parser struct {
	rest string
	err  error
}

func (p *parser) fail(want string) {
	if p.err == nil {
		p.err = fmt.Errorf("npy: header: got %.40q, want %s", p.rest, want)
	}
	p.rest = ""
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \n\t") }

func (p *parser) take(tok string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, tok)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *parser) want(tok string) {
	if !p.take(tok) {
		p.fail(strconv.Quote(tok))
	}
}

func (p *parser) quoted() string {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		p.fail("a quoted string")
		return ""
	}
	s, rest, ok := strings.Cut(p.rest[1:], p.rest[:1])
	if !ok {
		p.fail("a closing quote")
	}
	p.rest = rest
	return s
}

func (p *parser) descr() (dt tensor.DType, bigEndian bool) {
	p.space()
	if strings.HasPrefix(p.rest, "[") {
		p.fail("a plain array, not a structured one")
		return
	}
	s := p.quoted()
	if p.err != nil {
		return
	}
	if s == "" || !strings.Contains("<>|=", s[:1]) {
		s = "|" + s
	}
	dt, ok := codes[s[1:]]
	switch {
	case strings.HasPrefix(s[1:], "U"), strings.HasPrefix(s[1:], "S"), strings.HasPrefix(s[1:], "O"):
		p.err = fmt.Errorf("npy: descr: got %q, want numbers or bools (give strings as .json or .pb)", s)
	case !ok:
		p.err = fmt.Errorf("npy: descr: got %q, want bool, integer, float or complex", s)
	}
	return dt, s[0] == '>'
}

func (p *parser) truth() bool {
	if p.take("True") {
		return true
	}
	if !p.take("False") {
		p.fail("True or False")
	}
	return false
}

func (p *parser) tuple() tensor.Shape {
	shape := tensor.Shape{}
	p.want("(")
	for !p.take(")") && p.err == nil {
		p.space()
		n := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		d, err := strconv.ParseInt(p.rest[:n], 10, 64)
		if err != nil || len(shape) == tensor.MaxRank {
			p.fail(fmt.Sprintf("at most %d extents", tensor.MaxRank))
			break
		}
		p.rest = p.rest[n:]
		// Python 2 wrote long integers with an L.
		p.take("L")
		shape = append(shape, d)
		if !p.take(",") {
			p.want(")")
			break
		}
	}
	return shape
}
