package stowage_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stowage-ml/stowage"
)

func TestModelsComeFromFileSystemsToo(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("cmd", "stowage", "demodata", "demo.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"models/demo.onnx": {Data: data}, "models/bad.onnx": {Data: []byte("no model")}}
	m, err := stowage.LoadFS(fsys, "models/demo.onnx")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if len(m.Inputs()) != 1 || m.Inputs()[0].Name != "picture" {
		t.Errorf("got inputs %v, want the picture", m.Inputs())
	}
	for _, name := range []string{"models/bad.onnx", "models/none.onnx"} {
		if _, err := stowage.LoadFS(fsys, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one that names %s", err, name)
		}
	}
}

func TestEveryFuseRuleCanBeNamed(t *testing.T) {
	m, err := stowage.Load(filepath.Join("cmd", "stowage", "demodata", "demo.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rules := stowage.FuseRules()
	if !slices.Contains(rules, "anchor") || !slices.Contains(rules, "chain") {
		t.Errorf("got rules %q, want anchor and chain among them", rules)
	}
	for _, off := range append(rules, "all") {
		s, err := m.Open(&stowage.Options{NoFuse: []string{off}})
		if err != nil {
			t.Fatalf("%s: %v", off, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Open(&stowage.Options{NoFuse: []string{"zip"}}); err == nil {
		t.Error("a rule that is not there: got no error")
	}
}
