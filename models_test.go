package stowage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// realModel is a shared model with what it is fed, and the extents that its free dims then have.
type realModel struct {
	name, file string
	in         feeds
	dims       map[string]int64
}

// realModels returns the shared models, each with its first set of inputs; it skips the test when
// there are none.
func realModels(tb testing.TB) []realModel {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Data(tb), "models", "*", "model.onnx"))
	if err != nil || len(files) == 0 {
		tb.Skipf("no models: %v", err)
	}
	var out []realModel
	for _, file := range files {
		m := realModel{name: filepath.Base(filepath.Dir(file)), file: file, in: feeds{}, dims: map[string]int64{}}
		model, err := stowage.Load(file)
		if err != nil {
			tb.Fatal(err)
		}
		sets, err := filepath.Glob(filepath.Join(filepath.Dir(file), "test_data_set_0", "input_*.pb"))
		if err != nil || len(sets) != len(model.Inputs()) {
			tb.Skipf("%s: got %d files of inputs (%v), want %d", m.name, len(sets), err, len(model.Inputs()))
		}
		for i, info := range model.Inputs() {
			m.feed(tb, info, i)
		}
		if err := model.Close(); err != nil {
			tb.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// feed reads what input i is fed.
func (m *realModel) feed(tb testing.TB, info stowage.Info, i int) {
	tb.Helper()
	dir := filepath.Join(filepath.Dir(m.file), "test_data_set_0")
	b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("input_%d.pb", i)))
	if err != nil {
		tb.Skipf("no input: %v", err)
	}
	name, t, err := stowage.ReadTensor(b)
	if err != nil {
		tb.Fatal(err)
	}
	if name == "" {
		name = info.Name
	}
	m.in[name] = t
	for k, d := range info.Dims {
		if d.Size < 0 && k < len(t.Shape()) {
			m.dims[d.Name] = t.Shape()[k]
		}
	}
}

// What a bound run allocates: nothing, whatever the model.
func TestBoundRunsOfRealModelsAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("without assembly the real models take a minute")
	}
	if raceDetector {
		t.Skip("the race detector makes pools forget what they hold")
	}
	for _, m := range realModels(t) {
		t.Run(m.name, func(t *testing.T) {
			model, err := stowage.Load(m.file)
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			s, err := model.Open(&stowage.Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			b, err := s.Bind(m.in, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			run := func() {
				if err := b.Run(ctx); err != nil {
					t.Fatal(err)
				}
			}
			run()
			// A collection empties pools: what follows one does not count.
			least := testing.AllocsPerRun(1, run)
			for tries := 0; least != 0 && tries < 5; tries++ {
				least = min(least, testing.AllocsPerRun(1, run))
			}
			if least != 0 {
				t.Errorf("got %v allocations per bound run, want 0", least)
			}
		})
	}
}

// BenchmarkOpen plans each model for the shapes of its inputs, and with "/first" runs it once too.
func BenchmarkOpen(b *testing.B) {
	for _, m := range realModels(b) {
		b.Run(m.name, func(b *testing.B) { m.open(b, false) })
		b.Run(m.name+"/first", func(b *testing.B) { m.open(b, true) })
	}
}

func (m *realModel) open(b *testing.B, run bool) {
	b.ReportAllocs()
	for b.Loop() {
		model, err := stowage.Load(m.file)
		if err != nil {
			b.Fatal(err)
		}
		s, err := model.Open(&stowage.Options{Fix: m.dims, Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		if run {
			if _, err := s.Run(context.Background(), map[string]*tensor.Tensor(m.in)); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if err := model.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
