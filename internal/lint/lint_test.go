package lint

import (
	"os"
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
