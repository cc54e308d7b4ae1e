package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository, seen from this package's folder, where tests run.
const root = "../.."

func TestRepositoryKeepsTheRules(t *testing.T) {
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(Exceptions))
	for _, r := range Rules {
		t.Run(r.Name, func(t *testing.T) {
			for _, f := range Run(tree, r, Exceptions, used) {
				t.Error(f)
			}
		})
	}
	for i, e := range Exceptions {
		if !used[i] {
			t.Errorf("exceptions.go: %s %s %s: got nothing to except, want the line removed", e.Rule, e.Path, e.Name)
		}
		if e.Reason == "" {
			t.Errorf("exceptions.go: %s %s %s: got no reason, want one", e.Rule, e.Path, e.Name)
		}
	}
}

// TestDocumentsCompile builds every Go block of the documents as a program of this module.
func TestDocumentsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: ", err)
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tree.Texts {
		for _, b := range Blocks(f.Lines) {
			if !strings.HasSuffix(f.Path, ".md") || b.Lang != "go" {
				continue
			}
			where := fmt.Sprintf("%s:%d", f.Path, b.Line)
			t.Run(where, func(t *testing.T) {
				if out, err := build(t, goTool, strings.Join(b.Lines, "\n")); err != nil {
					t.Errorf("%s: got a block that does not compile, want a program: %v\n%s", where, err, out)
				}
			})
		}
	}
}

// build compiles a program inside the module, without a file in it.
func build(t *testing.T, goTool, src string) (string, error) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	inside, err := filepath.Abs(filepath.Join(root, "internal/lint/block/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{inside: file}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(goTool, "build", "-overlay", list, "-o", filepath.Join(dir, "block"), "./internal/lint/block")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestBuildRefusesWhatDoesNotCompile(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil || testing.Short() {
		t.Skip("builds programs: ", err)
	}
	out, err := build(t, goTool, "package main\n\nfunc main() { missing() }\n")
	if err == nil || !strings.Contains(out, "undefined: missing") {
		t.Errorf("got %v and %q, want an error that says undefined: missing", err, out)
	}
}
