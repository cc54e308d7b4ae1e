package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// room is a package, or a family of packages, and what of ours its code may import. A name that
// ends in "/..." stands for a package and all below it; "." is the root package.
type room struct {
	name string
	may  []string
}

var below = []string{"internal/op", "internal/graph", "tensor"}

// rooms is the arrows of the design. The first row that fits a package counts.
var rooms = []room{
	{"tensor", nil},
	{"arena", nil},
	{"place", nil},
	{"selector", nil},
	{"trace", nil},
	{"internal/simd", nil},
	{"internal/simd/...", []string{"internal/simd/..."}},
	{"internal/graph", []string{"tensor"}},
	{"internal/op", []string{"internal/graph", "tensor"}},
	{"internal/onnx", below},
	{"internal/infer", below},
	{"internal/simplify", below},
	{"internal/fuse", below},
	{"internal/backend", below},
	{"internal/backend/cpu/...", with(below, "internal/backend", "internal/simd/...", "internal/backend/cpu/...")},
	{"internal/backend/...", with(below, "internal/backend")},
	{"device/...", with(below, "internal/backend")},
	{"internal/cost", with(below, "internal/backend", "internal/simd/...")},
	{"internal/plan", with(below, "internal/infer", "internal/simplify", "internal/fuse", "internal/cost", "place",
		"arena", "internal/backend")},
	{"internal/exec", []string{"internal/plan", "internal/backend", "selector", "trace", "internal/graph", "tensor"}},
	{"internal/report", []string{"tensor"}},
	{".", with(below, "internal/onnx", "internal/infer", "internal/simplify", "internal/fuse", "internal/backend/...",
		"internal/simd",
		"internal/cost", "internal/plan", "internal/exec", "trace", "arena", "place", "selector")},
	{"cmd/stowage/...", []string{".", "tensor", "trace", "internal/report", "arena", "place", "selector",
		"cmd/stowage/...", "device/..."}},
	{"examples/...", []string{".", "tensor", "trace", "arena", "place", "selector", "device/..."}},
	{"internal/testkit/...", with(below, "internal/testkit/...", "internal/onnx")},
	{"internal/conform/...", with(below, "internal/testkit/...", "internal/conform/...", "internal/backend/...",
		"internal/infer", "internal/onnx", "internal/simplify", "internal/plan")},
	{"internal/lint", nil},
	{"bench/...", []string{"..."}},
	{"tools/...", []string{"..."}},
}

// forTests are the packages that only tests import, in every room.
var forTests = []string{"internal/testkit/...", "internal/conform/..."}

// pure are the rooms whose tests, too, know nothing of the rest of the house.
var pure = []string{"tensor", "arena", "place", "selector", "trace", "internal/simd", "internal/simd/..."}

// closed are the packages that not even tests of other packages import.
var closed = []string{"cmd/...", "internal/lint", "tools/...", "examples/..."}

func with(a []string, more ...string) []string { return append(slices.Clone(a), more...) }

func fits(pattern, pkg string) bool {
	stem, family := strings.CutSuffix(pattern, "...")
	if !family {
		return pattern == pkg
	}
	return strings.HasPrefix(pkg+"/", stem)
}

func anyFits(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, pkg) })
}

func roomOf(pkg string) *room {
	for i := range rooms {
		if fits(rooms[i].name, pkg) {
			return &rooms[i]
		}
	}
	return nil
}

// checkArrows compares every import of one of our packages with the table.
func checkArrows(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		pkg := f.Dir()
		r := roomOf(pkg)
		if r == nil {
			out = append(out, Finding{Path: f.Path, Line: 1, Name: pkg, Got: "a package without a row in the table of arrows",
				Want: "a row"})
			continue
		}
		for _, spec := range f.AST.Imports {
			to, ours := t.ours(spec)
			if !ours || to == pkg {
				continue
			}
			if ok, want := r.allows(pkg, to, f.Test); !ok {
				out = append(out, Finding{Path: f.Path, Line: t.line(spec.Pos()), Name: pkg, Got: "import of " + to, Want: want})
			}
		}
	}
	return out
}

// ours returns the path of an imported package relative to the module, if it is in it.
func (t *Tree) ours(spec *ast.ImportSpec) (string, bool) {
	p := importPath(spec)
	if p == t.Module {
		return ".", true
	}
	return strings.CutPrefix(p, t.Module+"/")
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("BUG: lint: the parser let pass the import " + spec.Path.Value)
	}
	return p
}

// allows reports whether pkg, or its tests, may import to; want says what they may.
func (r *room) allows(pkg, to string, test bool) (ok bool, want string) {
	may := r.may
	switch {
	case test && anyFits(pure, pkg):
		may = with(may, forTests...)
	case test:
		return !anyFits(closed, to) || anyFits(may, to), fmt.Sprint("none of ", closed)
	}
	if len(may) == 0 {
		return false, "nothing of ours"
	}
	return anyFits(may, to), fmt.Sprint("one of ", may)
}
