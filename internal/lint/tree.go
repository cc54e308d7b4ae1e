package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Tree is the repository's text: every Go file, whatever its build constraints, and the other
// files that rules read.
type Tree struct {
	// Module is the module path of the go.mod at the root.
	Module string
	Fset   *token.FileSet
	// Files holds the Go files in order of path.
	Files []*File
	// Texts holds the other files that rules read, in order of path.
	Texts []Text
	paths map[string]bool
}

// File is one Go file.
type File struct {
	Path string
	Src  []byte
	AST  *ast.File
	// Test is set for a _test.go file.
	Test bool
	// Generated is set when the file says that a program wrote it.
	Generated bool
	// data are the lines that are tables or raw text, in order and apart from each other; tags
	// the lines of fields with a tag.
	data []span
	tags map[int]bool
}

// Text is one file that is not Go.
type Text struct {
	Path  string
	Lines []string
}

// span is a range of lines, both ends in it.
type span struct{ first, last int }

// Dir is the folder the file is in; "." at the root.
func (f *File) Dir() string { return path.Dir(f.Path) }

// Has reports whether the tree holds the file or folder.
func (t *Tree) Has(name string) bool { return t.paths[name] }

// Text returns the lines of a file that is not Go; nil when there is none.
func (t *Tree) Text(name string) []string {
	for i := range t.Texts {
		if t.Texts[i].Path == name {
			return t.Texts[i].Lines
		}
	}
	return nil
}

func (t *Tree) line(pos token.Pos) int { return t.Fset.Position(pos).Line }

// Load reads a repository. It leaves out testdata, vendor, and folders that start with a dot or
// an underscore, other than .ci.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{Fset: token.NewFileSet(), paths: map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		t.paths[name] = true
		if d.IsDir() {
			if skipped(name, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		return t.add(fsys, name)
	})
	if err != nil {
		return nil, err
	}
	for _, l := range t.Text("go.mod") {
		if m, ok := strings.CutPrefix(l, "module "); ok {
			t.Module = strings.TrimSpace(m)
		}
	}
	if t.Module == "" {
		return nil, fmt.Errorf("lint: go.mod: got no module line, want one")
	}
	return t, nil
}

func skipped(name, base string) bool {
	switch {
	case name == "." || name == ".ci":
		return false
	case base == "testdata" || base == "vendor":
		return true
	}
	return base[0] == '.' || base[0] == '_'
}

func (t *Tree) add(fsys fs.FS, name string) error {
	ext := path.Ext(name)
	switch {
	case ext == ".go", ext == ".md", ext == ".mod", ext == ".s", ext == ".sh", ext == ".yml":
	case name == "Makefile", strings.HasPrefix(name, ".ci/"):
	default:
		return nil
	}
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if ext != ".go" {
		t.Texts = append(t.Texts, Text{name, strings.Split(strings.TrimSuffix(string(src), "\n"), "\n")})
		return nil
	}
	file, err := parser.ParseFile(t.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &File{
		Path: name, Src: src, AST: file,
		Test: strings.HasSuffix(name, "_test.go"), Generated: ast.IsGenerated(file),
	}
	f.data, f.tags = t.dataOf(file), t.tagsOf(file)
	t.Files = append(t.Files, f)
	return nil
}

// dataOf returns the lines that hold tables (array, slice and map literals, in which no function
// is longer than a line) and raw strings, where these are longer than a line.
func (t *Tree) dataOf(file *ast.File) []span {
	var out []span
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if !t.isTable(n) {
				return true
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING || n.Value[0] != '`' {
				return true
			}
		default:
			return true
		}
		if s := (span{t.line(n.Pos()), t.line(n.End())}); s.last > s.first {
			out = append(out, s)
		}
		return false
	})
	return out
}

// tagsOf returns the lines of struct fields that have a tag.
func (t *Tree) tagsOf(file *ast.File) map[int]bool {
	out := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			out[t.line(f.Tag.Pos())] = true
		}
		return true
	})
	return out
}

func (t *Tree) isTable(c *ast.CompositeLit) bool {
	switch c.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
	default:
		return false
	}
	table := true
	ast.Inspect(c, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok && t.line(f.Pos()) != t.line(f.End()) {
			table = false
		}
		return table
	})
	return table
}

// codeLines counts the lines from first to last, a table or raw string as one.
func (f *File) codeLines(first, last int) int {
	n := last - first + 1
	for _, s := range f.data {
		if s.first >= first && s.last <= last {
			n -= s.last - s.first
		}
	}
	return n
}

// unbreakable reports whether a line may be of any width.
func (f *File) unbreakable(line int) bool {
	if f.tags[line] {
		return true
	}
	for _, s := range f.data {
		if line >= s.first && line <= s.last {
			return true
		}
	}
	return false
}

func (f *File) lines() int { return bytes.Count(f.Src, []byte("\n")) }
