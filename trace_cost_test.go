package stowage_test

import (
	"context"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
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
	_, _, run := boundModel(b, root, name, &stowage.Options{Threads: 1, Trace: r})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := run.Run(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
