package lint

import (
	"fmt"
	"strings"
)

// guest is a module of others and the packages that may import it.
type guest struct {
	module string
	may    []string
}

// guests lists the modules of others. Adding one adds a line here and its reason to
// RATIONALE.md.
var guests = []guest{
	{"google.golang.org/protobuf", []string{"internal/onnx", "internal/testkit/..."}},
	{"github.com/klauspost/cpuid/v2", []string{"internal/simd"}},
	{"github.com/ebitengine/purego", []string{"device/opencl"}},
	{"go.etcd.io/bbolt", []string{"internal/cost"}},
	{"github.com/alecthomas/kong", []string{"cmd/stowage/..."}},
	{"github.com/schollz/progressbar/v3", []string{"cmd/stowage/..."}},
	{"github.com/yalue/onnxruntime_go", []string{"bench/engine"}},
	{"golang.org/x/term", []string{"cmd/stowage/..."}},
}

// checkOutside compares every import of a package of others with the table of guests.
func checkOutside(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Files {
		for _, spec := range f.AST.Imports {
			p := importPath(spec)
			if _, ours := t.ours(spec); ours || isStandard(p) {
				continue
			}
			want := "a module in the table of guests"
			if g := guestOf(p); g != nil {
				if anyFits(g.may, f.Dir()) {
					continue
				}
				want = fmt.Sprintf("it in %v only", g.may)
			}
			out = append(out, Finding{Path: f.Path, Line: t.line(spec.Pos()), Name: f.Dir(), Got: "import of " + p, Want: want})
		}
	}
	return out
}

func isStandard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

func guestOf(p string) *guest {
	for i := range guests {
		if fits(guests[i].module+"/...", p) {
			return &guests[i]
		}
	}
	return nil
}

// checkReasons asks RATIONALE.md for every module that a go.mod requires directly.
func checkReasons(t *Tree) []Finding {
	rationale := strings.Join(t.Text("RATIONALE.md"), "\n")
	var out []Finding
	for i := range t.Texts {
		if f := &t.Texts[i]; f.Path == "go.mod" || strings.HasSuffix(f.Path, "/go.mod") {
			for n, module := range required(f.Lines) {
				if module != "" && !strings.HasPrefix(module, t.Module) && !strings.Contains(rationale, module) {
					out = append(out, Finding{Path: f.Path, Line: n + 1, Name: module, Got: "no mention in RATIONALE.md",
						Want: "the reason why it is needed"})
				}
			}
		}
	}
	return out
}

// required returns, for each line of a go.mod, the module that it requires directly, or "".
func required(lines []string) []string {
	out := make([]string, len(lines))
	block := false
	for i, l := range lines {
		l = strings.TrimSpace(l)
		switch {
		case l == "require (":
			block = true
			continue
		case l == ")":
			block = false
		}
		rest, single := strings.CutPrefix(l, "require ")
		if !block && !single || strings.HasSuffix(l, "// indirect") {
			continue
		}
		if words := strings.Fields(rest); len(words) >= 2 && words[0] != "//" {
			out[i] = words[0]
		}
	}
	return out
}
