package lint

import (
	"go/ast"
	"go/token"
	"strings"
)

// checkInit lets only the packages of devices have an init function: importing one adds it.
func checkInit(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		if fits("device/...", f.Dir()) {
			continue
		}
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				out = append(out, Finding{Path: f.Path, Line: t.line(fn.Pos()), Name: "init", Got: "an init function",
					Want: "an explicit list or a value made by a function"})
			}
		}
	}
	return out
}

func checkCgo(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		for _, spec := range f.AST.Imports {
			if importPath(spec) == "C" {
				out = append(out, Finding{Path: f.Path, Line: t.line(spec.Pos()), Got: `import "C"`, Want: "no cgo"})
			}
		}
	}
	return out
}

// checkPanic asks that code outside of tests, and of what only tests import, panics only on
// impossible states, which its message says.
func checkPanic(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		if f.Test || anyFits(forTests, f.Dir()) {
			continue
		}
		for _, d := range f.AST.Decls {
			name := ""
			if fn, ok := d.(*ast.FuncDecl); ok {
				name = fn.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && isIdent(c.Fun, "panic") && !saysBug(c.Args) {
					out = append(out, Finding{Path: f.Path, Line: t.line(c.Pos()), Name: name, Got: "a panic without its reason",
						Want: `an error, or a message that starts with "BUG: "`})
				}
				return true
			})
		}
	}
	return out
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// saysBug reports whether the text that the arguments begin with is a literal "BUG: …": alone,
// as the start of a sum, or as the format of a call.
func saysBug(args []ast.Expr) bool {
	if len(args) == 0 {
		return false
	}
	switch e := args[0].(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING && strings.HasPrefix(e.Value[1:], "BUG: ")
	case *ast.BinaryExpr:
		return saysBug([]ast.Expr{e.X})
	case *ast.CallExpr:
		return saysBug(e.Args)
	}
	return false
}
