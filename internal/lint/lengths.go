package lint

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode/utf8"
)

// The limits. Tables of data and raw strings count as one line, whatever their length, and may
// be of any width, as may a field with a tag, which cannot be broken; generated files are left
// out.
const (
	maxFile     = 500
	maxFunction = 60
	// maxUsual is the length that usualShare percent of all functions stay within.
	maxUsual   = 40
	usualShare = 95
	maxWidth   = 120
)

func (t *Tree) written() []*File {
	var out []*File
	for _, f := range t.Files {
		if !f.Generated {
			out = append(out, f)
		}
	}
	return out
}

func checkFileLength(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.written() {
		if n := f.codeLines(1, f.lines()); n > maxFile {
			out = append(out, Finding{Path: f.Path, Line: maxFile, Got: fmt.Sprintf("%d lines", n),
				Want: fmt.Sprintf("at most %d", maxFile)})
		}
	}
	return out
}

// function is one measured function: a declaration, or a literal outside of any.
type function struct {
	file  *File
	name  string
	line  int
	lines int
}

// functions measures every function, from its func to its closing brace.
func functions(t *Tree) []function {
	var out []function
	for _, f := range t.written() {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			var name string
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = n.Name.Name
				if r := receiver(n); r != "" {
					name = r + "." + name
				}
			case *ast.FuncLit:
				name = "func literal"
			default:
				return true
			}
			first, last := t.line(n.Pos()), t.line(n.End())
			if d, ok := n.(*ast.FuncDecl); ok {
				first = t.line(d.Type.Pos())
			}
			out = append(out, function{f, name, first, f.codeLines(first, last)})
			return false
		})
	}
	return out
}

// receiver returns the name of a method's type, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	for e := d.Recv.List[0].Type; ; {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func checkFunctionLength(t *Tree) []Finding {
	var out []Finding
	for _, fn := range functions(t) {
		if fn.lines > maxFunction {
			out = append(out, Finding{Path: fn.file.Path, Line: fn.line, Name: fn.name, Got: fmt.Sprintf("%d lines", fn.lines),
				Want: fmt.Sprintf("at most %d", maxFunction)})
		}
	}
	return out
}

// checkFunctionShare names the functions over the usual length when there are too many of them.
func checkFunctionShare(t *Tree) []Finding {
	fns := functions(t)
	var long []function
	for _, fn := range fns {
		if fn.lines > maxUsual {
			long = append(long, fn)
		}
	}
	if 100*len(long) <= (100-usualShare)*len(fns) {
		return nil
	}
	var out []Finding
	for _, fn := range long {
		out = append(out, Finding{Path: fn.file.Path, Line: fn.line, Name: fn.name,
			Got:  fmt.Sprintf("%d lines (%d of %d functions are over %d)", fn.lines, len(long), len(fns), maxUsual),
			Want: fmt.Sprintf("%d %% of functions within %d", usualShare, maxUsual)})
	}
	return out
}

func checkLineWidth(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.written() {
		for i, l := range strings.Split(string(f.Src), "\n") {
			if n := utf8.RuneCountInString(l); n > maxWidth && !f.unbreakable(i+1) {
				out = append(out, Finding{Path: f.Path, Line: i + 1, Got: fmt.Sprintf("%d characters", n),
					Want: fmt.Sprintf("at most %d", maxWidth)})
			}
		}
	}
	return out
}
