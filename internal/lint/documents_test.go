package lint

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/testkit"
)

var update = flag.Bool("update", false, "write what runs into the documents")

// documents returns the Markdown files of the repository.
func documents(t *testing.T) []Text {
	t.Helper()
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(tree.Texts, func(f Text) bool { return !strings.HasSuffix(f.Path, ".md") })
}

// goTool returns the go command; tests that build programs are skipped without it.
func goTool(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	return tool
}

// models returns the folder of real models; tests that need it are skipped without it.
func models(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(testkit.Data(t), "models")
	if _, err := os.Stat(filepath.Join(dir, "mnist")); err != nil {
		t.Skip("no real models in the test data: ", err)
	}
	return dir
}

// build compiles a package of the module and returns the program. With src, the package's only
// file is src, which is not in the module's folder.
func build(t *testing.T, pkg, src string) (program string, err error) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "program.exe")
	args := []string{"build", "-o", program}
	if src != "" {
		args = append(args, "-overlay", overlay(t, dir, filepath.Join(root, pkg, "main.go"), src))
	}
	cmd := exec.Command(goTool(t), append(args, "./"+pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// overlay writes src and a list that makes the go command see it at the path inside.
func overlay(t *testing.T, dir, inside, src string) string {
	t.Helper()
	inside, err := filepath.Abs(inside)
	if err != nil {
		t.Fatal(err)
	}
	file, list := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{inside: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{file: src, list: string(text)} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestBuildRefusesWhatDoesNotCompile(t *testing.T) {
	_, err := build(t, "internal/lint/block", "package main\n\nfunc main() { missing() }\n")
	if err == nil || !strings.Contains(err.Error(), "undefined: missing") {
		t.Errorf("got %v, want an error that says undefined: missing", err)
	}
}

// TestDocumentsHoldProgramsThatRun builds every go block of the documents inside this module. A
// text block right behind one is what it prints in the folder of the mnist model.
func TestDocumentsHoldProgramsThatRun(t *testing.T) {
	for _, f := range documents(t) {
		blocks := Blocks(f.Lines)
		for i, b := range blocks {
			if b.Lang != "go" {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", f.Path, b.Line), func(t *testing.T) {
				program, err := build(t, "internal/lint/block", strings.Join(b.Lines, "\n"))
				if err != nil {
					t.Fatalf("got a block that does not compile, want a program: %v", err)
				}
				if i+1 == len(blocks) || blocks[i+1].Lang != "text" || blocks[i+1].Line > b.Line+len(b.Lines)+5 {
					return
				}
				dir := filepath.Join(models(t), "mnist")
				shown(t)
				compare(t, f, blocks[i+1], printed(execute(t, dir, program)))
			})
		}
	}
}

// TestDocumentsShowWhatTheCommandPrints runs every "$ stowage …" of the documents' console blocks
// in the folder of models. Where the document has a line "…", it shows only the beginning.
func TestDocumentsShowWhatTheCommandPrints(t *testing.T) {
	dir := models(t)
	program := shown(t)
	for _, f := range documents(t) {
		for _, b := range Blocks(f.Lines) {
			if b.Lang != "console" {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", f.Path, b.Line), func(t *testing.T) {
				var got []string
				for i, l := range b.Lines {
					command, ok := strings.CutPrefix(l, "$ stowage ")
					if !ok {
						continue
					}
					out := printed(execute(t, dir, program, strings.Fields(command)...))
					got = append(append(got, l), elide(out, b.Lines[i+1:])...)
				}
				compare(t, f, b, got)
			})
		}
	}
}

// shown returns the command. The test is skipped where kernels are others than those with which the
// documents were written: they round sums otherwise, and plans name them.
func shown(t *testing.T) (program string) {
	t.Helper()
	program, err := build(t, "cmd/stowage", "")
	if err != nil {
		t.Fatal(err)
	}
	if out := execute(t, t.TempDir(), program, "devices"); !strings.Contains(out, "  avx512  ") {
		t.Skip("the documents show what a machine with AVX-512 prints")
	}
	return program
}

// elide leaves out of a command's output what the document leaves out: all from the line where
// it has "…".
func elide(out, shown []string) []string {
	for i, l := range shown {
		switch {
		case strings.HasPrefix(l, "$ "):
			return out
		case l == "…" && i < len(out):
			return append(out[:i:i], l)
		}
	}
	return out
}

// execute runs a program and returns what it prints, which must not be a failure.
func execute(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: got %v, want status 0:\n%s", args, err, out)
	}
	return string(out)
}

func printed(out string) []string { return strings.Split(strings.TrimRight(out, "\n"), "\n") }

// compare holds a block against what it should be, or, with -update, makes it so.
func compare(t *testing.T, f Text, b Block, want []string) {
	t.Helper()
	for i := range want {
		want[i] = strings.TrimRight(want[i], " ")
	}
	if slices.Equal(b.Lines, want) {
		return
	}
	if !*update {
		t.Fatalf("%s:%d: got\n%s\nwant (rewrite it with -update)\n%s", f.Path, b.Line,
			strings.Join(b.Lines, "\n"), strings.Join(want, "\n"))
	}
	name := filepath.Join(root, f.Path)
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block := func(lines []string) string {
		return "```" + b.Lang + "\n" + strings.Join(append(slices.Clone(lines), "```"), "\n")
	}
	before, after, ok := strings.Cut(string(src), block(b.Lines))
	if !ok {
		t.Fatalf("%s:%d: the block changed while it was checked", f.Path, b.Line)
	}
	if err := os.WriteFile(name, []byte(before+block(want)+after), 0o666); err != nil {
		t.Fatal(err)
	}
}
