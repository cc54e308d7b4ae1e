package stowage_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
	"github.com/stowage-ml/stowage/trace"
)

// BenchmarkBoundRuns times bound runs on one thread, without a recorder and with one that is full.
func BenchmarkBoundRuns(b *testing.B) {
	root := testkit.Data(b)
	for _, name := range []string{"mnist", "light_squeezenet"} {
		b.Run(name, func(b *testing.B) { bound(b, root, name, nil) })
		b.Run(name+"/traced", func(b *testing.B) { bound(b, root, name, trace.New(1000)) })
	}
}

func bound(b *testing.B, root, name string, r *trace.Recorder) {
	model, err := stowage.Load(filepath.Join(root, "models", name, "model.onnx"))
	if err != nil {
		b.Skipf("no model: %v", err)
	}
	defer model.Close()
	s, err := model.Open(&stowage.Options{Threads: 1, Trace: r})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	in := feeds{}
	for _, p := range model.Inputs() {
		shape := tensor.Shape{}
		for _, d := range p.Dims {
			shape = append(shape, d.Size)
		}
		if in[p.Name], err = tensor.Zeros(p.DType, shape); err != nil {
			b.Fatal(err)
		}
	}
	run, err := s.Bind(in, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := run.Run(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
