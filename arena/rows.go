package arena

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rows is an expression for a number of rows: integers, names of dims, + − * / (which rounds
// down), parentheses, and the functions ceil(a, b), which is a/b rounded up, min and max.
// Examples: "n", "2*n+1", "ceil(n, 128)". "" is 1.
type Rows string

// Eval returns the value, given the dims. It fails when the text is not an expression, a dim is
// unknown, a number on the way is negative or overflows, or something is divided by zero.
func (r Rows) Eval(dims map[string]int64) (int64, error) {
	if r == "" {
		return 1, nil
	}
	e := evaluator{text: string(r), dims: dims}
	v, err := e.sum(0)
	if err == nil && e.peek() != 0 {
		err = e.fail("got %q, want the end", e.text[e.at:])
	}
	if err != nil {
		return 0, err
	}
	return v, nil
}

// maxDepth is how deep expressions nest.
const maxDepth = 100

// evaluator reads an expression from left to right, and works it out on the way.
type evaluator struct {
	text string
	at   int
	dims map[string]int64
}

func (e *evaluator) fail(format string, args ...any) error {
	return fmt.Errorf("rows %q, column %d: %s", e.text, e.at+1, fmt.Sprintf(format, args...))
}

// peek returns the next character that is not a space, and 0 at the end.
func (e *evaluator) peek() byte {
	for e.at < len(e.text) && (e.text[e.at] == ' ' || e.text[e.at] == '\t') {
		e.at++
	}
	if e.at == len(e.text) {
		return 0
	}
	return e.text[e.at]
}

func (e *evaluator) sum(depth int) (int64, error) {
	return e.chain("+-", func() (int64, error) {
		return e.chain("*/", func() (int64, error) { return e.atom(depth) })
	})
}

// chain reads operands with operators of one rank between, and works from left to right.
func (e *evaluator) chain(operators string, operand func() (int64, error)) (int64, error) {
	v, err := operand()
	for err == nil {
		op := e.peek()
		if op == 0 || strings.IndexByte(operators, op) < 0 {
			break
		}
		e.at++
		var w int64
		if w, err = operand(); err == nil {
			v, err = e.apply(op, v, w)
		}
	}
	return v, err
}

// apply works out v op w, both at least 0.
func (e *evaluator) apply(op byte, v, w int64) (int64, error) {
	switch {
	case op == '+' && v <= math.MaxInt64-w:
		return v + w, nil
	case op == '-' && v >= w:
		return v - w, nil
	case op == '-':
		return 0, e.fail("got %d - %d, want at least 0", v, w)
	case op == '*' && (v == 0 || w <= math.MaxInt64/v):
		return v * w, nil
	case op == '/' && w > 0:
		return v / w, nil
	case op == '/':
		return 0, e.fail("got %d / 0", v)
	}
	return 0, e.fail("got %d %c %d, want less than 2^63", v, op, w)
}

// atom reads a number, a dim, a call or something in parentheses.
func (e *evaluator) atom(depth int) (int64, error) {
	if depth > maxDepth {
		return 0, e.fail("got parentheses in parentheses, want at most %d deep", maxDepth)
	}
	c := e.peek()
	if c == '(' {
		e.at++
		v, err := e.sum(depth + 1)
		if err == nil {
			err = e.expect(')')
		}
		return v, err
	}
	word := e.word()
	switch {
	case word == "":
		return 0, e.fail("got %q, want a number, a dim or (", e.text[e.at:])
	case word[0] >= '0' && word[0] <= '9':
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, e.fail("got %q, want a number below 2^63", word)
		}
		return v, nil
	case e.peek() == '(':
		return e.call(word, depth)
	}
	v, ok := e.dims[word]
	if !ok || v < 0 {
		return 0, e.fail("got dim %q, want one that is known and at least 0", word)
	}
	return v, nil
}

// word reads letters, digits, _ and dots.
func (e *evaluator) word() string {
	from := e.at
	for e.at < len(e.text) {
		c := e.text[e.at]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c >= 0x80
		if !letter {
			break
		}
		e.at++
	}
	return e.text[from:e.at]
}

func (e *evaluator) expect(c byte) error {
	if got := e.peek(); got != c {
		return e.fail("got %q, want %q", e.text[e.at:], c)
	}
	e.at++
	return nil
}

func (e *evaluator) call(name string, depth int) (int64, error) {
	var arg [2]int64
	for i, before := range [...]byte{'(', ','} {
		err := e.expect(before)
		if err == nil {
			arg[i], err = e.sum(depth + 1)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := e.expect(')'); err != nil {
		return 0, err
	}
	switch name {
	case "min":
		return min(arg[0], arg[1]), nil
	case "max":
		return max(arg[0], arg[1]), nil
	case "ceil":
		down, err := e.apply('/', arg[0], arg[1])
		if err == nil && down*arg[1] != arg[0] {
			down++
		}
		return down, err
	}
	return 0, e.fail("got function %q, want ceil, min or max", name)
}
