package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// checkPackageComments asks for one package comment in each package: "Package x …", or, in a
// command, any sentence. Test files count where a folder has nothing else.
func checkPackageComments(t *Tree) []Finding {
	pkgs := map[string][]*File{}
	var order []string
	for _, tests := range []bool{false, true} {
		for _, f := range t.Files {
			key := f.Dir() + " " + f.AST.Name.Name
			if f.Test != tests || strings.HasSuffix(key, "_test") || tests && len(pkgs[key]) > 0 && !pkgs[key][0].Test {
				continue
			}
			if pkgs[key] == nil {
				order = append(order, key)
			}
			pkgs[key] = append(pkgs[key], f)
		}
	}
	var out []Finding
	for _, key := range order {
		out = append(out, packageComment(pkgs[key])...)
	}
	return out
}

func packageComment(files []*File) []Finding {
	var out []Finding
	docs := 0
	name := files[0].AST.Name.Name
	for _, f := range files {
		doc := f.AST.Doc.Text()
		if doc == "" {
			continue
		}
		docs++
		if want := "Package " + name + " "; name != "main" && !strings.HasPrefix(doc, want) {
			out = append(out, Finding{Path: f.Path, Line: 1, Name: name, Got: quoteStart(doc),
				Want: fmt.Sprintf("%q first", want)})
		}
	}
	if docs != 1 {
		out = append(out, Finding{Path: files[0].Path, Line: 1, Name: name, Got: fmt.Sprintf("%d package comments", docs),
			Want: "1 in the package"})
	}
	return out
}

func quoteStart(doc string) string {
	line, _, _ := strings.Cut(doc, "\n")
	return fmt.Sprintf("%q", line)
}

// checkDocComments asks for a comment on every exported identifier of a library package, which
// starts with the identifier where it is a function's, a method's or a type's. Error and Unwrap
// need none: the language gives their contract.
func checkDocComments(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.written() {
		if f.Test || f.AST.Name.Name == "main" {
			continue
		}
		report := func(pos token.Pos, name string, doc *ast.CommentGroup, named bool) {
			switch text := doc.Text(); {
			case text == "":
				out = append(out, Finding{Path: f.Path, Line: t.line(pos), Name: name, Got: "no doc comment", Want: "one"})
			case named && !startsWith(text, name):
				out = append(out, Finding{Path: f.Path, Line: t.line(pos), Name: name, Got: quoteStart(text),
					Want: "the comment to start with the name"})
			}
		}
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				r := receiver(d)
				known := r != "" && (d.Name.Name == "Error" || d.Name.Name == "Unwrap")
				if d.Name.IsExported() && (r == "" || ast.IsExported(r)) && !known {
					report(d.Pos(), d.Name.Name, d.Doc, true)
				}
			case *ast.GenDecl:
				docsOf(d, report)
			}
		}
	}
	return out
}

// docsOf calls report for every exported name that a declaration makes.
func docsOf(d *ast.GenDecl, report func(token.Pos, string, *ast.CommentGroup, bool)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if s.Name.IsExported() {
				report(s.Pos(), s.Name.Name, doc, true)
			}
		case *ast.ValueSpec:
			doc := d.Doc
			if s.Doc != nil {
				doc = s.Doc
			} else if doc == nil {
				doc = s.Comment
			}
			for _, n := range s.Names {
				if n.IsExported() {
					report(n.Pos(), n.Name, doc, false)
				}
			}
		}
	}
}

func startsWith(doc, name string) bool {
	for _, article := range []string{"A ", "An ", "The "} {
		if rest, ok := strings.CutPrefix(doc, article); ok {
			doc = rest
			break
		}
	}
	rest, ok := strings.CutPrefix(doc, name)
	return ok && !token.IsIdentifier(rest[:min(1, len(rest))])
}

// unwanted is what no comment holds. The words are in pieces so that this file passes.
var unwanted = []struct {
	re   *regexp.Regexp
	want string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`), "the work done, or nothing said"},
	{regexp.MustCompile(`(?i)\bissue #?\d+`), "a comment that stands without a tracker"},
	{regexp.MustCompile(`^\s*(//|/\*|#|;)\s*[-=*#~]{5,}`), "no banner: a function or a file of its own"},
}

// checkCommentWords looks for unfinished work, tracker numbers and banners.
func checkCommentWords(t *Tree) []Finding {
	var out []Finding
	look := func(path string, line int, text string) {
		for _, u := range unwanted {
			if m := u.re.FindString(text); m != "" {
				out = append(out, Finding{Path: path, Line: line, Got: fmt.Sprintf("%q", strings.TrimSpace(m)), Want: u.want})
			}
		}
	}
	for _, f := range t.Files {
		for _, g := range f.AST.Comments {
			for _, c := range g.List {
				for i, l := range strings.Split(c.Text, "\n") {
					look(f.Path, t.line(c.Pos())+i, l)
				}
			}
		}
	}
	for _, f := range t.Texts {
		if strings.HasSuffix(f.Path, ".md") {
			continue
		}
		for i, l := range f.Lines {
			look(f.Path, i+1, l)
		}
	}
	return out
}
