package onnx

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkModels opens and imports files as a session does.
func BenchmarkModels(b *testing.B) {
	for _, name := range []string{"whisper_tiny_decoder_q8", "silero_v5", "light_densenet121", "ppocr_det"} {
		b.Run(name, func(b *testing.B) {
			file := filepath.Join(testdata(b), "models", name, "model.onnx")
			b.ReportAllocs()
			for b.Loop() {
				f, err := Open(file)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Import(); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChain reads a chain of n nodes: time must grow no faster than n.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{3000, 30000} {
		var nodes []pb
		for i := range n {
			nodes = append(nodes, node("Identity", fmt.Sprint("n", i), fmt.Sprint("v", i), fmt.Sprint("v", i+1),
				intAttr("axis", 1)))
		}
		file := model(graphOf(in("v0"), cat(nodes...)))
		m, err := Decode(file)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("decode/", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Decode(file); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("import/", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Import(m, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
