package arena

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dataFiles lists the CSV files of the shared test data.
func dataFiles(t testing.TB) []string {
	t.Helper()
	root := os.Getenv("STOWAGE_TESTDATA")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	files, _ := filepath.Glob(filepath.Join(root, "arena", "*.csv"))
	traces, _ := filepath.Glob(filepath.Join(root, "arena", "traces", "*.csv"))
	if files = append(files, traces...); len(files) == 0 {
		t.Skip("no arena files under", root)
	}
	return files
}

// readFile reads a problem; traces are aligned as their names say, the others to one byte.
func readFile(t testing.TB, name string) *Problem {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p, err := ReadCSV(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p.Align = 1
	if strings.Contains(name, "align64") {
		p.Align = 64
	}
	return p
}

func TestSharedFiles(t *testing.T) {
	for _, name := range dataFiles(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := readFile(t, name)
			seed := solve(t, p, Seed)
			// The largest take seconds without a budget.
			opts := Options{}
			if len(p.Buffers) > 5000 {
				opts.Budget = int64(len(p.Buffers))
			}
			auto, err := Solve(context.Background(), p, opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(p, auto); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "traces") && !auto.Proven {
				t.Errorf("auto: got %d B, want the lower bound, %d B", auto.Arena, auto.LowerBound)
			}
			if auto.Arena > seed.Arena {
				t.Errorf("auto: got %d B, want at most the seed's %d B", auto.Arena, seed.Arena)
			}
			t.Logf("seed %.4f auto %.4f %s nodes %d", float64(seed.Arena)/float64(seed.LowerBound),
				float64(auto.Arena)/float64(auto.LowerBound), auto.Pools[0].Rule, auto.Nodes)
		})
	}
}
