package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// Format returns the graph as text that a person can read, compare and edit, and that Parse reads
// back. The text depends on the graph alone:
//
//	graph "main" {
//	  in x: float32[batch,3]
//	  const w = float32[3,2] [1.0, 0.0, 0.0, 1.0, 0.5, 0.5]
//	  y: float32[batch,2] = MatMul@13(x, w) as "layer1"
//	  z, _ = com.example.Split@1(y; axis=1, mode="even")
//	  out z
//	}
//
// Inputs come first, then captures ("capture inner = outer"), constants, nodes and outputs; an
// absent operand is "_". A constant of more than 64 elements is written as one value ("fill 0.0")
// when all its elements are the same, and otherwise as a hash, which Parse refuses. Names that
// are not plain words are quoted. A value without a source, which Validate refuses, is listed as
// "value v".
func Format(g *Graph) string {
	f := &formatter{}
	f.graph(nil, g)
	f.WriteByte('\n')
	return f.String()
}

type formatter struct {
	strings.Builder
	depth int
}

func (f *formatter) printf(format string, args ...any) { fmt.Fprintf(f, format, args...) }

func (f *formatter) line() { f.WriteByte('\n'); f.WriteString(strings.Repeat("  ", f.depth)) }

// graph writes g, whose captures name values of outer.
func (f *formatter) graph(outer, g *Graph) {
	if g == nil {
		f.WriteString("nil")
		return
	}
	f.WriteString("graph ")
	if g.Name != "" {
		f.WriteString(strconv.Quote(g.Name) + " ")
	}
	f.WriteByte('{')
	f.depth++
	sourced := make([]bool, len(g.Values))
	mark := func(id ValueID) {
		if g.has(id) {
			sourced[id] = true
		}
	}
	for _, id := range g.Inputs {
		mark(id)
		f.line()
		f.printf("in %s", f.declare(g, id))
	}
	for _, c := range g.Captures {
		mark(c.Inner)
		f.line()
		f.printf("capture %s = %s", f.declare(g, c.Inner), outer.ref(c.Outer))
	}
	for _, n := range g.Nodes {
		for _, id := range n.Outputs {
			mark(id)
		}
	}
	f.consts(g, sourced)
	for _, n := range g.Nodes {
		f.line()
		f.node(g, n)
	}
	for _, id := range g.Outputs {
		f.line()
		f.printf("out %s", g.ref(id))
	}
	f.depth--
	f.line()
	f.WriteByte('}')
}

// consts lists the constants and whatever has no source at all.
func (f *formatter) consts(g *Graph, sourced []bool) {
	for i := range g.Values {
		v := &g.Values[i]
		switch {
		case v.Const != nil:
			f.line()
			f.printf("const %s%s = %s", quoteName(v.Name), constType(v), tensorText(v.Const))
		case !sourced[i]:
			f.line()
			f.printf("value %s", f.declare(g, ValueID(i)))
		}
	}
}

// constType returns a constant's declared type, unless it is that of its contents.
func constType(v *Value) string {
	own := Of(v.Const.Shape()...).String()
	if v.DType == v.Const.DType() && v.Shape != nil && shapeText(v.Shape) == own {
		return ""
	}
	return ": " + typeText(v.Type)
}

// declare returns a value's name and, where it has one, its declared type.
func (f *formatter) declare(g *Graph, id ValueID) string {
	if !g.has(id) {
		return g.ref(id)
	}
	v := &g.Values[id]
	if v.DType == tensor.Undefined && v.Shape == nil {
		return quoteName(v.Name)
	}
	return quoteName(v.Name) + ": " + typeText(v.Type)
}

func (f *formatter) node(g *Graph, n *Node) {
	for i, id := range n.Outputs {
		if i > 0 {
			f.WriteString(", ")
		}
		f.WriteString(f.declare(g, id))
	}
	if len(n.Outputs) == 0 {
		f.WriteString("()")
	}
	f.printf(" = %s", opText(n))
	if n.Version != 0 {
		f.printf("@%d", n.Version)
	}
	f.WriteByte('(')
	for i, id := range n.Inputs {
		if i > 0 {
			f.WriteString(", ")
		}
		f.WriteString(g.ref(id))
	}
	for i := range n.Attrs {
		if i == 0 {
			f.WriteString("; ")
		} else {
			f.WriteString(", ")
		}
		f.printf("%s=", quoteWord(n.Attrs[i].Name))
		f.attr(g, &n.Attrs[i])
	}
	f.WriteByte(')')
	if n.Name != "" {
		f.printf(" as %s", strconv.Quote(n.Name))
	}
}

// opText returns "Op" or "domain.Op", or two quoted strings where that could not be told apart.
func opText(n *Node) string {
	plain := isWord(n.Op) && !strings.ContainsAny(n.Op, "./")
	switch {
	case plain && n.Domain == "":
		return n.Op
	case plain && isWord(n.Domain) && !strings.Contains(n.Domain, "/"):
		return n.Domain + "." + n.Op
	}
	return strconv.Quote(n.Domain) + " " + strconv.Quote(n.Op)
}

func (f *formatter) attr(g *Graph, a *Attr) {
	switch a.Kind {
	case AttrInt:
		f.printf("%d", a.Int)
	case AttrFloat:
		f.WriteString(floatText(float64(a.Float), 32))
	case AttrString:
		f.WriteString(strconv.Quote(a.Str))
	case AttrTensor:
		f.WriteString(tensorText(a.Tensor))
	case AttrGraph:
		f.graph(g, a.Graph)
	case AttrInts:
		f.list("ints", len(a.Ints), func(i int) { f.printf("%d", a.Ints[i]) })
	case AttrFloats:
		f.list("floats", len(a.Floats), func(i int) { f.WriteString(floatText(float64(a.Floats[i]), 32)) })
	case AttrStrings:
		f.list("strs", len(a.Strs), func(i int) { f.WriteString(strconv.Quote(a.Strs[i])) })
	case AttrTensors:
		f.WriteString("tensors ")
		f.list("", len(a.Tensors), func(i int) { f.WriteString(tensorText(a.Tensors[i])) })
	case AttrGraphs:
		f.WriteString("graphs ")
		f.list("", len(a.Graphs), func(i int) { f.graph(g, a.Graphs[i]) })
	case AttrSparse:
		f.WriteString("sparse " + tensorText(a.Tensor))
	case AttrType:
		f.WriteString("type " + typeText(a.Type))
	default:
		f.printf("!kind%d", a.Kind)
	}
}

// list writes a list; an empty one is preceded by what it is a list of.
func (f *formatter) list(kind string, n int, item func(int)) {
	if n == 0 && kind != "" {
		f.WriteString(kind + " ")
	}
	f.WriteByte('[')
	for i := range n {
		if i > 0 {
			f.WriteString(", ")
		}
		item(i)
	}
	f.WriteByte(']')
}

func (g *Graph) has(id ValueID) bool { return id >= 0 && int(id) < len(g.Values) }

// ref returns how the text names a value: "_" for none, "!7" for an id out of range.
func (g *Graph) ref(id ValueID) string {
	switch {
	case id == NoValue:
		return "_"
	case g == nil || !g.has(id):
		return fmt.Sprintf("!%d", id)
	}
	return quoteName(g.Values[id].Name)
}

// keywords start a line, or end one.
var keywords = map[string]bool{
	"in": true, "out": true, "const": true, "capture": true, "value": true, "as": true, "_": true,
}

// quoteName returns how the text writes a value's name.
func quoteName(name string) string {
	if keywords[name] {
		return strconv.Quote(name)
	}
	return quoteWord(name)
}

func quoteWord(s string) string {
	if isWord(s) {
		return s
	}
	return strconv.Quote(s)
}

// isWord reports whether a name may stand without quotes.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isWordByte(c) || i == 0 && c == '-' {
			return false
		}
	}
	return s != ""
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '/' ||
		c == '-'
}
