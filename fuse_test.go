package stowage

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/fuse"
	"github.com/stowage-ml/stowage/internal/testkit"
)

// noScratch offers the reference kernels as if they needed no memory beside their operands, unless
// these are known, in which case the planner runs them.
type noScratch struct{ ref.Backend }

func (b noScratch) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	cs, err := b.Backend.Candidates(o)
	if slices.ContainsFunc(o.In, func(a backend.Arg) bool { return a.Present() && a.Const == nil }) {
		for i := range cs {
			cs[i].Scratch = 0
		}
	}
	return cs, err
}

// TestFusingNeedsNoMoreMemory plans every model of the test data, and a transformer, with no rule,
// with each rule alone and with all of them, as if kernels needed no scratch memory: the arena
// never grows.
func TestFusingNeedsNoMoreMemory(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Data(t), "models", "*", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	plain := kernelSet
	defer func() { kernelSet = plain }()
	kernelSet = func(string, []string) (backend.Backend, error) { return noScratch{}, nil }
	compared := 0
	for _, file := range files {
		m, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		compared += needsNoMore(t, filepath.Base(filepath.Dir(file)), m)
	}
	for _, opset := range []int64{13, 17} {
		enc := testkit.Encoder{Layers: 2, Hidden: 16, Heads: 2, FFN: 64, Vocab: 5, MaxPositions: 2000, Opset: opset}
		m, err := LoadBytes(enc.Model().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		compared += needsNoMore(t, "encoder", m)
	}
	if compared < len(files) {
		t.Errorf("got %d plans of %d models, want one for most, at two sizes", compared, len(files))
	}
}

// needsNoMore compares the arenas of one model, for sizes of the free dims that it can have, and
// closes it. It returns the number of sizes.
func needsNoMore(t *testing.T, name string, m *Model) (compared int) {
	t.Helper()
	for _, size := range []int64{64, 1000} {
		none, err := arenaOf(m, size, fuse.All)
		if err != nil {
			continue
		}
		compared++
		for _, rule := range append(fuse.Rules(), fuse.All) {
			off := slices.DeleteFunc(fuse.Rules(), func(r string) bool { return r == rule || rule == fuse.All })
			if got, err := arenaOf(m, size, off...); err != nil || got > none {
				t.Errorf("%s: %s: got an arena of %d bytes and error %v, want at most %d", name, rule, got, err, none)
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	return compared
}

// arenaOf returns the bytes of the arena of a model whose free dims all have one size.
func arenaOf(m *Model, size int64, off ...string) (int64, error) {
	fix := map[string]int64{}
	for _, d := range m.FreeDims() {
		fix[d] = size
	}
	s, err := m.Open(&Options{Fix: fix, NoFuse: off})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	p, err := s.Plan(nil)
	if err != nil {
		return 0, err
	}
	return p.Devices[0].ArenaBytes, nil
}
