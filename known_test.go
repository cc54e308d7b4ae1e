package stowage

import (
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage/internal/fuse"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/testkit"
)

// What is inferred of what has changed is what is inferred of everything, after every rule of every model.
func TestKnowledgeThatGrowsIsKnowledge(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Data(t), "models", "*", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	grown := 0
	for _, file := range files {
		check := func(g *graph.Graph, known map[graph.ValueID]op.Fact, old fuse.Facts) (fuse.Facts, error) {
			facts, err := inferGraph(g, known, old)
			if err != nil || old == nil {
				return facts, err
			}
			grown++
			all, err := inferGraph(g, known, nil)
			if err != nil {
				return nil, err
			}
			for v := range g.Values {
				if g.Values[v].Name == "" {
					continue
				}
				if a, b := facts.Fact(graph.ValueID(v)), all.Fact(graph.ValueID(v)); !sameFact(a, b) {
					t.Errorf("%s: value %q: got %v, want %v", file, g.Values[v].Name, a, b)
				}
			}
			return facts, nil
		}
		m, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.simple()
		if err != nil {
			t.Fatal(err)
		}
		o := fuse.Options{Infer: check}
		for _, v := range g.Inputs {
			o.In = append(o.In, op.Fact{DType: g.Values[v].DType, Shape: g.Values[v].Shape})
		}
		if _, err := fuse.Fuse(g, o); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(files) > 0 && grown == 0 {
		t.Error("nothing was inferred a second time")
	}
}
