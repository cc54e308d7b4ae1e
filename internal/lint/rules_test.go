package lint

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const mod = "module example.org/m\n"

// lines returns n lines of the same text.
func lines(n int, text string) string { return strings.Repeat(text+"\n", n) }

// example is a small tree. want is what the rule's findings say, in order; none when the tree
// keeps the rule.
type example struct {
	rule  string
	name  string
	files map[string]string
	want  []string
}

// examples holds, for each rule, trees that break it and trees that do not.
var examples = []example{
	{"arrows", "an arrow upwards", map[string]string{
		"internal/op/a.go": "package op\nimport \"example.org/m/internal/plan\"\n",
	}, []string{"internal/op/a.go:2: arrows: internal/op: got import of internal/plan, want one of [internal/graph tensor]"}},
	{"arrows", "a pure room looks out", map[string]string{
		"arena/a.go": "package arena\nimport \"example.org/m/tensor\"\n",
	}, []string{"arena/a.go:2: arrows: arena: got import of tensor, want nothing of ours"}},
	{"arrows", "a backend knows another", map[string]string{
		"internal/backend/cpu/a.go": "package cpu\nimport \"example.org/m/internal/backend/ref\"\n",
	}, []string{"got import of internal/backend/ref"}},
	{"arrows", "only cpu knows simd", map[string]string{
		"internal/backend/cpu/a.go": "package cpu\nimport \"example.org/m/internal/simd\"\n",
		"internal/backend/ref/a.go": "package ref\nimport \"example.org/m/internal/simd\"\n",
	}, []string{"internal/backend/ref/a.go:2"}},
	{"arrows", "code imports what is for tests", map[string]string{
		"internal/infer/a.go":      "package infer\nimport \"example.org/m/internal/testkit\"\n",
		"internal/infer/a_test.go": "package infer\nimport \"example.org/m/internal/testkit\"\n",
	}, []string{"internal/infer/a.go:2: arrows: internal/infer: got import of internal/testkit"}},
	{"arrows", "a pure room's tests look out", map[string]string{
		"selector/a_test.go": "package selector\nimport (\n\"example.org/m/internal/testkit\"\n\"example.org/m/internal/op\"\n)\n",
	}, []string{"selector/a_test.go:4: arrows: selector: got import of internal/op"}},
	{"arrows", "a test imports the command", map[string]string{
		"internal/plan/a_test.go": "package plan\nimport \"example.org/m/cmd/stowage/npy\"\n",
	}, []string{"internal/plan/a_test.go:2"}},
	{"arrows", "a package without a row", map[string]string{
		"internal/attic/a.go": "package attic\n",
	}, []string{"internal/attic/a.go:1: arrows: internal/attic: got a package without a row"}},
	{"arrows", "arrows downwards", map[string]string{
		"a.go":                        "package m\nimport _ \"example.org/m/internal/exec\"\n",
		"a_test.go":                   "package m_test\nimport _ \"example.org/m\"\n",
		"cmd/stowage/a.go":            "package main\nimport _ \"example.org/m\"\nimport _ \"example.org/m/cmd/stowage/npy\"\n",
		"cmd/stowage/npy/a.go":        "package npy\nimport _ \"example.org/m/tensor\"\n",
		"internal/exec/a.go":          "package exec\nimport _ \"example.org/m/internal/plan\"\n",
		"internal/plan/a_test.go":     "package plan\nimport _ \"example.org/m/internal/onnx\"\n",
		"internal/backend/cpu/a.go":   "package cpu\nimport _ \"example.org/m/internal/backend\"\nimport _ \"fmt\"\n",
		"internal/onnxlike/ignore.md": "",
	}, nil},

	{"outside", "a module that is no guest", map[string]string{
		"internal/op/a.go": "package op\nimport \"github.com/x/y\"\n",
	}, []string{"internal/op/a.go:2: outside: internal/op: got import of github.com/x/y, want a module in the table of guests"}},
	{"outside", "a guest in the wrong room", map[string]string{
		"internal/op/a.go": "package op\nimport \"google.golang.org/protobuf/encoding/protowire\"\n",
	}, []string{"got import of google.golang.org/protobuf/encoding/protowire, want it in [internal/onnx"}},
	{"outside", "a guest in its room", map[string]string{
		"internal/onnx/a.go": "package onnx\nimport \"google.golang.org/protobuf/encoding/protowire\"\nimport \"encoding/json\"\n",
	}, nil},

	{"reasons", "a module without a reason", map[string]string{
		"go.mod":       mod + "require github.com/x/y v1.0.0\n\nrequire (\n\tgithub.com/x/z v1.0.0\n\tgithub.com/x/w v0.1.0 // indirect\n)\n",
		"RATIONALE.md": "## Why github.com/x/z?\n",
	}, []string{"go.mod:2: reasons: github.com/x/y: got no mention in RATIONALE.md"}},
	{"reasons", "modules below the root count", map[string]string{
		"tools/go.mod": "module example.org/m/tools\nrequire (\n\tgithub.com/x/y v1.0.0\n\texample.org/m v0.0.0\n)\n",
	}, []string{"tools/go.mod:3: reasons: github.com/x/y"}},

	{"file-length", "a file too long", map[string]string{
		"tensor/a.go": "package tensor\n" + lines(500, "var _ = 0"),
	}, []string{"tensor/a.go:500: file-length: got 501 lines, want at most 500"}},
	{"file-length", "tables, raw text and generated files", map[string]string{
		"tensor/a.go": "package tensor\nvar _ = []int{\n" + lines(600, "0,") + "}\n",
		"tensor/b.go": "package tensor\nvar _ = `\n" + lines(600, "x") + "`\n",
		"tensor/c.go": "// Code generated by x. DO NOT EDIT.\n\npackage tensor\n" + lines(600, "var _ = 0"),
	}, nil},
	{"file-length", "a table of one-line functions", map[string]string{
		"tensor/a.go": "package tensor\nvar _ = []func(){\n" + lines(600, "func() {},") + "}\n",
	}, nil},
	{"file-length", "longer functions make a table code", map[string]string{
		"tensor/a.go": "package tensor\nvar _ = []func(){\n" + lines(300, "func() {\n},") + "}\n",
	}, []string{"got 603 lines"}},

	{"function-length", "functions too long", map[string]string{
		"tensor/a.go": "package tensor\n// F is long.\nfunc F() {\n" + lines(59, "_ = 0") + "}\n" +
			"func (t *T[E]) g() {\n" + lines(60, "_ = 0") + "}\nvar _ = func() {\n" + lines(70, "_ = 0") + "}\n",
	}, []string{
		"tensor/a.go:3: function-length: F: got 61 lines, want at most 60",
		"tensor/a.go:64: function-length: T.g: got 62 lines",
		"tensor/a.go:126: function-length: func literal: got 72 lines",
	}},
	{"function-length", "a table in a function", map[string]string{
		"tensor/a.go": "package tensor\nfunc f() {\n_ = map[int]int{\n" + lines(90, "// row") + "}\n" + lines(57, "_ = 0") + "}\n",
	}, nil},

	{"function-share", "one of ten functions over 40", map[string]string{
		"tensor/a.go": "package tensor\n" + lines(9, "func _() {}") + "func f() {\n" + lines(40, "_ = 0") + "}\n",
	}, []string{"tensor/a.go:11: function-share: f: got 42 lines (1 of 10 functions are over 40)"}},
	{"function-share", "one of twenty functions over 40", map[string]string{
		"tensor/a.go": "package tensor\n" + lines(19, "func _() {}") + "func f() {\n" + lines(40, "_ = 0") + "}\n",
	}, nil},

	{"line-width", "a line too wide", map[string]string{
		"tensor/a.go": "package tensor\n\n// " + strings.Repeat("é", 118) + "\nvar _ = 0\n",
	}, []string{"tensor/a.go:3: line-width: got 121 characters, want at most 120"}},
	{"line-width", "a wide tag", map[string]string{
		"tensor/a.go": "package tensor\ntype t struct {\na int `" + strings.Repeat("x", 200) + "`\n}\n",
	}, nil},
	{"line-width", "a wide table", map[string]string{
		"tensor/a.go": "package tensor\nvar _ = []string{\n\"" + strings.Repeat("x", 200) + "\",\n}\n// " + strings.Repeat("é", 117) + "\n",
	}, nil},

	{"package-comment", "no comment, two, and another name's", map[string]string{
		"arena/a.go": "package arena\n", "arena/b.go": "package arena\n",
		"place/a.go": "// Package place is.\npackage place\n", "place/b.go": "// Package place is.\npackage place\n",
		"tensor/a.go":      "// Package tensors is.\npackage tensor\n",
		"cmd/stowage/a.go": "package main\n",
	}, []string{
		"arena/a.go:1: package-comment: arena: got 0 package comments, want 1",
		"cmd/stowage/a.go:1: package-comment: main: got 0",
		"place/a.go:1: package-comment: place: got 2",
		`tensor/a.go:1: package-comment: tensor: got "Package tensors is.", want "Package tensor " first`,
	}},
	{"package-comment", "one each", map[string]string{
		"arena/a.go": "// Package arena is.\npackage arena\n", "arena/b.go": "package arena\n",
		"arena/a_test.go": "package arena_test\n", "arena/b_test.go": "package arena\n",
		"bench/a_test.go":  "// Package bench measures.\npackage bench\n",
		"cmd/stowage/a.go": "// Stowage runs models.\npackage main\n",
	}, nil},

	{"doc-comment", "exported and bare", map[string]string{
		"tensor/a.go": "package tensor\nfunc F() {}\ntype T int\nfunc (T) M() {}\nfunc (u) N() {}\nconst C = 1\nvar v, V = 1, 2\n" +
			"// Makes things.\nfunc G() {}\n// Gs makes.\nfunc Gss() {}\n",
	}, []string{
		"tensor/a.go:2: doc-comment: F: got no doc comment, want one",
		"tensor/a.go:3: doc-comment: T",
		"tensor/a.go:4: doc-comment: M",
		"tensor/a.go:6: doc-comment: C",
		"tensor/a.go:7: doc-comment: V",
		`tensor/a.go:9: doc-comment: G: got "Makes things."`,
		`tensor/a.go:11: doc-comment: Gss: got "Gs makes."`,
	}},
	{"doc-comment", "commented, private, test or command", map[string]string{
		"tensor/a.go": "package tensor\n// F is.\nfunc F() {}\n// A T is.\ntype T int\n// All.\nconst (\nA = 1\nB = 2\n)\n" +
			"func (*T) Error() string { return x }\nconst (\nD = 3 // D is.\n// E is.\nE = 4\n)\n// G, H are.\nvar G, H int\nfunc f() {}\n",
		"tensor/a_test.go": "package tensor\nfunc TestF() {}\n",
		"cmd/stowage/a.go": "package main\nfunc F() {}\n",
	}, nil},

	{"comment-words", "unfinished, tracked, bannered", map[string]string{
		"tensor/a.go": "package tensor\n\n// TO" + "DO: later\n\n/* one\nFIX" + "ME */\n\n// see issue #12\n\n// ======== types\n",
		"Makefile":    "# XX" + "X\n",
	}, []string{
		`Makefile:1: comment-words: got "XX` + `X", want the work done`,
		`tensor/a.go:3: comment-words: got "TO` + `DO"`,
		`tensor/a.go:6: comment-words: got "FIX` + `ME"`,
		`tensor/a.go:8: comment-words: got "issue #12", want a comment that stands without a tracker`,
		`tensor/a.go:10: comment-words: got "// ========", want no banner`,
	}},
	{"comment-words", "words in code and in documents", map[string]string{
		"tensor/a.go": "package tensor\n\n// an issue: three --- dashes, mastodons\nvar _ = \"TO" + "DO\"\n",
		"README.md":   "---------\n",
	}, nil},

	{"init", "an init function", map[string]string{
		"tensor/a.go": "package tensor\nfunc init() {}\nfunc (t T) init() {}\n",
	}, []string{"tensor/a.go:2: init: init: got an init function"}},

	{"cgo", "cgo", map[string]string{
		"tensor/a.go": "package tensor\nimport \"C\"\n",
	}, []string{`tensor/a.go:2: cgo: got import "C", want no cgo`}},

	{"panic", "panics on the error path", map[string]string{
		"tensor/a.go": "package tensor\nfunc f() {\npanic(err)\npanic(\"tensor: bad\")\npanic(fmt.Sprintf(\"bug: %d\", 1))\n}\n" +
			"var g = func() { panic(x + \"BUG: \") }\n",
	}, []string{"tensor/a.go:3: panic: f: got a panic", "tensor/a.go:4", "tensor/a.go:5", "tensor/a.go:7"}},
	{"panic", "impossible states and tests", map[string]string{
		"tensor/a.go":           "package tensor\nfunc f() {\npanic(\"BUG: a\")\npanic(\"BUG: \" + x + \"y\")\npanic(fmt.Sprintf(\"BUG: %d\", 1))\n}\n",
		"tensor/a_test.go":      "package tensor\nfunc f() { panic(1) }\n",
		"internal/testkit/a.go": "package testkit\nfunc f() { panic(1) }\n",
	}, nil},

	{"links", "a link to nothing", map[string]string{
		"docs/a.md": "[a](b.md) and [c](../README.md#top), [d](https://x.org/y), [e](#here)\n", "README.md": "",
	}, []string{"docs/a.md:1: links: b.md: got a link to docs/b.md, which is not there"}},

	{"links", "code is no link", map[string]string{
		"README.md": "`f[0](x)`\n```go\nf[0](x)\n```\n[a](Makefile)\n", "Makefile": "",
	}, nil},

	{"commands", "what a reader would type in vain", map[string]string{
		"README.md": "```sh\nmake chekc\ngo run ./cmd/stowge demo\nstowage runn m.onnx\ngo run ./cmd/stowage dmeo\n```\n",
		"Makefile":  "check:\n", "cmd/stowage/run.go": "package main\n",
	}, []string{
		`README.md:2: commands: got "make chekc", want a target of the Makefile`,
		`README.md:3: commands: got "go run ./cmd/stowge demo", want a folder`,
		`README.md:4: commands: got "stowage runn m.onnx", want a verb`,
		`README.md:5: commands: got "go run ./cmd/stowage dmeo", want a verb`,
	}},
	{"commands", "what works", map[string]string{
		"README.md": "```sh\nmake check   # all of it\ngo run ./cmd/stowage run m.onnx\ngo test ./...\ngo build ./cmd/stowage\n" +
			"stowage run m.onnx\n```\n```text\nmake nothing\n```\n",
		"Makefile": "check: fmt\n", "cmd/stowage/run.go": "package main\n",
	}, nil},
}

func TestRulesFindWhatIsWrong(t *testing.T) {
	for _, c := range examples {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			fsys := fstest.MapFS{"go.mod": {Data: []byte(mod)}}
			for name, text := range c.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			tree, err := Load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == c.rule })
			got := Run(tree, Rules[i], nil, nil)
			if len(got) != len(c.want) {
				t.Fatalf("got %d findings, want %d:\n%v", len(got), len(c.want), got)
			}
			for i, f := range got {
				if !strings.HasPrefix(f.String(), c.want[i]) && !strings.Contains(f.String(), ": "+c.want[i]) {
					t.Errorf("finding %d: got %q, want it to say %q", i, f, c.want[i])
				}
			}
		})
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	for _, r := range Rules {
		bad := func(e example) bool { return e.rule == r.Name && len(e.want) > 0 }
		if !slices.ContainsFunc(examples, bad) {
			t.Errorf("rule %s: got no bad example, want one", r.Name)
		}
	}
}

func TestExceptionsCoverOnePlace(t *testing.T) {
	tree, err := Load(fstest.MapFS{
		"go.mod":      {Data: []byte(mod)},
		"tensor/a.go": {Data: []byte("package tensor\nfunc Must() { panic(1) }\nfunc f() { panic(2) }\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, 2)
	got := Run(tree, Rule{"panic", checkPanic}, []Exception{
		{"panic", "tensor/a.go", "Must", "says so"}, {"panic", "tensor/b.go", "Must", "says so"},
	}, used)
	if len(got) != 1 || got[0].Line != 3 || !used[0] || used[1] {
		t.Errorf("got %v and used %v, want line 3 alone and used [true false]", got, used)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no module line":    {"go.mod": {Data: []byte("go 1.26\n")}},
		"a file of no Go":   {"go.mod": {Data: []byte(mod)}, "a.go": {Data: []byte("pakcage a\n")}},
		"no go.mod at all":  {"a.go": {Data: []byte("package a\n")}},
		"a nested file bad": {"go.mod": {Data: []byte(mod)}, "x/a.go": {Data: []byte("package a\nfunc {")}},
	} {
		if _, err := Load(files); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}
