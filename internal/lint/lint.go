// Package lint holds the repository to its own rules: which package may import which, how long
// files, functions and lines may be, what must have a comment, and what no code may do. It reads
// source as text and syntax trees; it knows nothing of types, builds or models. Only tests
// import it. Lengths are in lines, widths in characters.
package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one thing that holds everywhere in the tree.
type Rule struct {
	// Name is what exceptions and messages call the rule.
	Name string
	// Check returns every place where the rule is broken.
	Check func(*Tree) []Finding
}

// Rules lists every rule. Adding a rule adds a line here and a bad example to the tests.
var Rules = []Rule{
	{"arrows", checkArrows},
	{"outside", checkOutside},
	{"reasons", checkReasons},
	{"file-length", checkFileLength},
	{"function-length", checkFunctionLength},
	{"function-share", checkFunctionShare},
	{"line-width", checkLineWidth},
	{"package-comment", checkPackageComments},
	{"doc-comment", checkDocComments},
	{"comment-words", checkCommentWords},
	{"init", checkInit},
	{"cgo", checkCgo},
	{"panic", checkPanic},
	{"links", checkLinks},
	{"commands", checkCommands},
}

// Finding is one place where a rule is broken.
type Finding struct {
	Rule string
	// Path is relative to the repository's root, with slashes. Line counts from 1.
	Path string
	Line int
	// Name is the function, package or word concerned; exceptions name it.
	Name string
	Got  string
	Want string
}

// String says where, what is there and what should be, such as
// "a/b.go:12: function-length: run: got 75 lines, want at most 60".
func (f Finding) String() string {
	what := f.Rule
	if f.Name != "" {
		what += ": " + f.Name
	}
	return fmt.Sprintf("%s:%d: %s: got %s, want %s", f.Path, f.Line, what, f.Got, f.Want)
}

// Exception lets one place break one rule.
type Exception struct {
	Rule, Path, Name string
	// Reason says why the rule would make this place worse.
	Reason string
}

func (e Exception) covers(f Finding) bool {
	return e.Rule == f.Rule && e.Path == f.Path && e.Name == f.Name
}

// Run checks one rule and returns its findings in order of place, without those that an
// exception covers. A used exception is marked in used, which has one element for each.
func Run(t *Tree, r Rule, exceptions []Exception, used []bool) []Finding {
	var out []Finding
	for _, f := range r.Check(t) {
		f.Rule = r.Name
		i := slices.IndexFunc(exceptions, func(e Exception) bool { return e.covers(f) })
		if i >= 0 {
			used[i] = true
			continue
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return out
}
