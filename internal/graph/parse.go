package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNesting is how deep subgraphs and parentheses may lie inside one another.
const maxNesting = 64

// Parse reads the text that Format writes. White space and line ends separate words and mean
// nothing else. A name may be read before the line that defines it, so that a graph in the wrong
// order can be written down for Validate. Errors name the line; a constant given by its hash is
// one.
func Parse(text string) (*Graph, error) {
	p := &parser{s: text}
	g := p.parseGraph(nil)
	p.space()
	if p.err == nil && p.i < len(p.s) {
		p.failf("got text after the graph, want none")
	}
	if p.err != nil {
		return nil, p.err
	}
	return g, nil
}

// parser is a position in a text. Once err is set, every method returns at once.
type parser struct {
	s     string
	i     int
	depth int
	err   error
	// used counts the bytes of constants, dimOps the operators of the dim being read.
	used   int64
	dimOps int
}

func (p *parser) failf(format string, args ...any) {
	if p.err == nil {
		line := 1 + strings.Count(p.s[:p.i], "\n")
		p.err = fmt.Errorf("graph: text line %d: %s", line, fmt.Sprintf(format, args...))
	}
}

func (p *parser) enter() bool {
	if p.depth++; p.depth > maxNesting {
		p.failf("got more than %d levels of nesting", maxNesting)
	}
	return p.err == nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

// at reports whether the next byte that is not white space is c.
func (p *parser) at(c byte) bool {
	p.space()
	return p.err == nil && p.i < len(p.s) && p.s[p.i] == c
}

// eat steps over tok if it comes next.
func (p *parser) eat(tok string) bool {
	p.space()
	if p.err != nil || !strings.HasPrefix(p.s[p.i:], tok) {
		return false
	}
	p.i += len(tok)
	return true
}

func (p *parser) want(tok string) {
	if !p.eat(tok) {
		p.failf("got %s, want %q", p.next(), tok)
	}
}

// next describes what comes next, for messages.
func (p *parser) next() string {
	p.space()
	if p.i == len(p.s) {
		return "the end"
	}
	return strconv.Quote(p.s[p.i:min(p.i+12, len(p.s))])
}

// take steps over the bytes that ok accepts.
func (p *parser) take(ok func(byte) bool) string {
	p.space()
	start := p.i
	for p.err == nil && p.i < len(p.s) && ok(p.s[p.i]) {
		p.i++
	}
	return p.s[start:p.i]
}

// word reads an unquoted word; it fails when there is none.
func (p *parser) word() string {
	w := p.take(isWordByte)
	if w == "" {
		p.failf("got %s, want a word", p.next())
	}
	return w
}

// eatWord steps over the word w if it comes next, as a whole word.
func (p *parser) eatWord(w string) bool {
	start := p.i
	if p.take(isWordByte) == w && p.err == nil {
		return true
	}
	p.i = start
	return false
}

// number reads a word that may have a sign.
func (p *parser) number() string {
	w := p.take(func(c byte) bool { return isWordByte(c) || c == '+' })
	if w == "" {
		p.failf("got %s, want a number", p.next())
	}
	return w
}

func (p *parser) quoted() string {
	p.space()
	q, err := strconv.QuotedPrefix(p.s[p.i:])
	if p.err != nil || err != nil || q[0] != '"' {
		p.failf("got %s, want a string in quotes", p.next())
		return ""
	}
	p.i += len(q)
	s, err := strconv.Unquote(q)
	if err != nil {
		p.failf("got %s: %v", q, err)
	}
	return s
}

// name reads a value's name: a word that is not a keyword, or a quoted string.
func (p *parser) name() string {
	quoted := p.at('"')
	w := p.wordOrQuoted()
	if keywords[w] && !quoted {
		p.failf("got %q, want a name", w)
	}
	return w
}

func (p *parser) wordOrQuoted() string {
	if p.at('"') {
		return p.quoted()
	}
	w := p.word()
	if !isWord(w) && p.err == nil {
		p.failf("got %q, want a name", w)
	}
	return w
}

// scope is the graph being read and its names.
type scope struct {
	g       *Graph
	ids     map[string]ValueID
	defined []bool
}

// ref returns the value called name, which may be defined later.
func (s *scope) ref(name string) ValueID {
	id, ok := s.ids[name]
	if !ok {
		id = s.g.AddValue(Value{Name: name})
		s.ids[name] = id
		s.defined = append(s.defined, false)
	}
	return id
}

// define reads a name and, after a colon, its type, which is otherwise unknown.
func (p *parser) define(s *scope) (id ValueID, typed bool) {
	name := p.name()
	id = s.ref(name)
	if s.defined[id] {
		p.failf("got a second definition of %q", name)
	}
	s.defined[id] = true
	if typed = p.eat(":"); typed {
		s.g.Values[id].Type = p.parseType()
	}
	return id, typed
}

func (p *parser) parseGraph(outer *scope) *Graph {
	s := &scope{g: &Graph{}, ids: map[string]ValueID{}}
	if !p.enter() {
		return s.g
	}
	defer p.leave()
	if !p.eatWord("graph") {
		p.failf("got %s, want \"graph\"", p.next())
	}
	if p.at('"') {
		s.g.Name = p.quoted()
	}
	p.want("{")
	for !p.eat("}") && p.err == nil {
		p.statement(outer, s)
	}
	for id, ok := range s.defined {
		if !ok {
			p.failf("got no definition of %q", s.g.Values[id].Name)
		}
	}
	return s.g
}

func (p *parser) statement(outer, s *scope) {
	switch {
	case p.eatWord("in"):
		id, _ := p.define(s)
		s.g.Inputs = append(s.g.Inputs, id)
	case p.eatWord("value"):
		p.define(s)
	case p.eatWord("const"):
		p.constant(s)
	case p.eatWord("capture"):
		inner, _ := p.define(s)
		p.want("=")
		name := p.name()
		if outer == nil {
			p.failf("got a capture of %q outside a subgraph", name)
			return
		}
		s.g.Captures = append(s.g.Captures, Capture{Outer: outer.ref(name), Inner: inner})
	case p.eatWord("out"):
		s.g.Outputs = append(s.g.Outputs, s.ref(p.name()))
	default:
		p.node(s)
	}
}

func (p *parser) constant(s *scope) {
	id, typed := p.define(s)
	p.want("=")
	t := p.parseTensor()
	if p.err == nil && t == nil {
		p.failf("got no contents of the constant")
	}
	if p.err != nil {
		return
	}
	v := &s.g.Values[id]
	v.Const = t
	if !typed {
		v.Type = Type{DType: t.DType(), Shape: Of(t.Shape()...)}
	}
}

func (p *parser) node(s *scope) {
	n := &Node{}
	if !p.eat("()") {
		for more := true; more && p.err == nil; more = p.eat(",") {
			id := NoValue
			if !p.eatWord("_") {
				id, _ = p.define(s)
			}
			n.Outputs = append(n.Outputs, id)
		}
	}
	p.want("=")
	p.operator(n)
	p.want("(")
	p.operands(s, n)
	p.want(")")
	if p.eatWord("as") {
		n.Name = p.quoted()
	}
	s.g.Nodes = append(s.g.Nodes, n)
}

// operands reads a node's inputs and, after a semicolon, its attributes.
func (p *parser) operands(s *scope, n *Node) {
	for !p.at(')') && !p.at(';') && p.err == nil {
		if len(n.Inputs) > 0 {
			p.want(",")
		}
		id := NoValue
		if !p.eatWord("_") {
			id = s.ref(p.name())
		}
		n.Inputs = append(n.Inputs, id)
	}
	if !p.eat(";") {
		return
	}
	for more := true; more && p.err == nil; more = p.eat(",") {
		a := Attr{Name: p.wordOrQuoted()}
		p.want("=")
		p.attr(s, &a)
		n.Attrs = append(n.Attrs, a)
	}
}

// operator reads "domain.Op@version" or the domain and the operator in quotes.
func (p *parser) operator(n *Node) {
	if p.at('"') {
		n.Domain, n.Op = p.quoted(), p.quoted()
	} else {
		w := p.word()
		i := strings.LastIndexByte(w, '.')
		n.Domain, n.Op = w[:max(i, 0)], w[i+1:]
	}
	if p.eat("@") {
		v, err := strconv.ParseInt(p.number(), 10, 32)
		if err != nil {
			p.failf("got no version after @, want a number")
		}
		n.Version = int(v)
	}
}
