package graph

import (
	"math"
	"math/bits"
	"strconv"
)

// Dim is one extent of a shape: a known number, an expression over named dims ("2*seq+1"), or
// unknown. Dims are immutable values. Arithmetic on known dims saturates at ±math.MaxInt64, so
// an overflow is seen where the size in bytes is computed, never as a small wrong number. The
// zero Dim is the known number 0.
type Dim struct {
	n int64
	e *expr
}

type exprOp byte

const (
	opUnknown exprOp = '?'
	opSym     exprOp = 's'
	opAdd     exprOp = '+'
	opMul     exprOp = '*'
	opDiv     exprOp = '/'
	opMin     exprOp = 'm'
	opMax     exprOp = 'M'
)

type expr struct {
	op   exprOp
	a, b Dim
	key  string
}

// Known returns the dim n.
func Known(n int64) Dim { return Dim{n: n} }

// Sym returns the dim called name; two dims of one name are the same number. An empty name is
// Unknown.
func Sym(name string) Dim {
	if name == "" {
		return Unknown()
	}
	return Dim{e: &expr{op: opSym, key: name}}
}

// Unknown returns a dim about which nothing is known; it is not the same as any other dim.
func Unknown() Dim { return Dim{e: &unknown} }

// unknown serves every unknown dim: being unknown, two are not the same for sharing it.
var unknown = expr{op: opUnknown, key: "?"}

// Int returns the number when it is known.
func (d Dim) Int() (n int64, ok bool) { return d.n, d.e == nil }

// Is reports whether d is known to be n.
func (d Dim) Is(n int64) bool { return d.e == nil && d.n == n }

// IsUnknown reports whether nothing is known about d or a part of it.
func (d Dim) IsUnknown() bool { return d.e != nil && d.e.op == opUnknown }

// Name returns the name of a dim that is just a name.
func (d Dim) Name() (name string, ok bool) {
	if d.e != nil && d.e.op == opSym {
		return d.e.key, true
	}
	return "", false
}

// Same reports whether a and b are known to be the same number.
func (d Dim) Same(o Dim) bool {
	if d.e == nil || o.e == nil {
		return d.e == nil && o.e == nil && d.n == o.n
	}
	return d.e == o.e && d.e.op != opUnknown || d.e.op != opUnknown && d.e.key == o.e.key && d.e.op == o.e.op
}

// String returns the number, the expression, or "?".
func (d Dim) String() string {
	if d.e == nil {
		return strconv.FormatInt(d.n, 10)
	}
	return d.e.key
}

// Eval returns the number that d has when every name has the value that bind gives it.
func (d Dim) Eval(bind map[string]int64) (int64, bool) {
	if d.e == nil {
		return d.n, true
	}
	switch d.e.op {
	case opUnknown:
		return 0, false
	case opSym:
		n, ok := bind[d.e.key]
		return n, ok
	}
	a, aok := d.e.a.Eval(bind)
	b, bok := d.e.b.Eval(bind)
	if !aok || !bok {
		return 0, false
	}
	return combine(d.e.op, Known(a), Known(b)).Int()
}

// Add returns d + o.
func (d Dim) Add(o Dim) Dim {
	if d.e == nil && o.e != nil {
		d, o = o, d
	}
	switch {
	case o.Is(0):
		return d
	case o.e == nil && d.e != nil && d.e.op == opAdd && d.e.b.e == nil:
		return d.e.a.Add(d.e.b.Add(o))
	}
	return combine(opAdd, d, o)
}

// Sub returns d − o.
func (d Dim) Sub(o Dim) Dim {
	switch {
	case d.Same(o):
		return Known(0)
	case d.e != nil && d.e.op == opAdd && d.e.a.Same(o):
		return d.e.b
	case d.e != nil && d.e.op == opAdd && d.e.b.Same(o):
		return d.e.a
	}
	return d.Add(o.Mul(Known(-1)))
}

// Mul returns d · o.
func (d Dim) Mul(o Dim) Dim {
	if d.e == nil && o.e != nil {
		d, o = o, d
	}
	switch {
	case o.Is(1):
		return d
	case o.Is(0):
		return Known(0)
	case o.e == nil && d.e != nil && d.e.op == opMul && d.e.b.e == nil:
		return d.e.a.Mul(d.e.b.Mul(o))
	case d.e != nil && o.e != nil && d.e.key > o.e.key:
		d, o = o, d
	}
	return combine(opMul, d, o)
}

// Div returns ⌊d / o⌋; division by a known zero is Unknown.
func (d Dim) Div(o Dim) Dim {
	switch {
	case o.Is(0):
		return Unknown()
	case o.Is(1):
		return d
	case d.Same(o):
		return Known(1)
	case d.e != nil && d.e.op == opMul && d.e.b.Same(o):
		return d.e.a
	case d.e != nil && d.e.op == opMul && d.e.a.Same(o):
		return d.e.b
	}
	if n, ok := o.Int(); ok && d.e != nil && d.e.op == opMul {
		if m, ok := d.e.b.Int(); ok && m%n == 0 {
			return d.e.a.Mul(Known(m / n))
		}
	}
	return combine(opDiv, d, o)
}

// CeilDiv returns ⌈d / o⌉ for a positive o.
func (d Dim) CeilDiv(o Dim) Dim { return d.Add(o.Sub(Known(1))).Div(o) }

// Min returns the smaller of d and o.
func (d Dim) Min(o Dim) Dim {
	if d.Same(o) {
		return d
	}
	return combine(opMin, d, o)
}

// Max returns the larger of d and o.
func (d Dim) Max(o Dim) Dim {
	if d.Same(o) {
		return d
	}
	return combine(opMax, d, o)
}

func combine(op exprOp, a, b Dim) Dim {
	if a.IsUnknown() || b.IsUnknown() || op == opDiv && b.Is(0) {
		return Unknown()
	}
	if a.e == nil && b.e == nil {
		return Known(arith(op, a.n, b.n))
	}
	var key string
	switch op {
	case opMin:
		key = "min(" + a.String() + "," + b.String() + ")"
	case opMax:
		key = "max(" + a.String() + "," + b.String() + ")"
	case opAdd:
		if n, ok := b.Int(); ok && n < 0 {
			key = a.String() + b.String()
			break
		}
		key = a.String() + "+" + b.String()
	default:
		key = paren(a) + string(rune(op)) + paren(b)
	}
	return Dim{e: &expr{op: op, a: a, b: b, key: key}}
}

func paren(d Dim) string {
	if d.e == nil && d.n >= 0 || d.e != nil && d.e.op != opAdd && d.e.op != opMul && d.e.op != opDiv {
		return d.String()
	}
	return "(" + d.String() + ")"
}

func arith(op exprOp, a, b int64) int64 {
	switch op {
	case opAdd:
		return satAdd(a, b)
	case opMul:
		return satMul(a, b)
	case opDiv:
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q
	case opMin:
		return min(a, b)
	case opMax:
		return max(a, b)
	}
	panic("BUG: graph: dim operator " + string(rune(op)))
}

func satAdd(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return -math.MaxInt64
	}
	return s
}

func satMul(a, b int64) int64 {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		lo = math.MaxInt64
	}
	if (a < 0) != (b < 0) {
		return -int64(lo)
	}
	return int64(lo)
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return uint64(-a)
	}
	return uint64(a)
}
