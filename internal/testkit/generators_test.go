package testkit

import (
	"bytes"
	"math"
	"testing"

	"github.com/stowage-ml/stowage/tensor"
)

var tinyModels = map[string]func(seed uint64) *Model{
	"resnet": func(seed uint64) *Model {
		return ResNet{Blocks: []int{2, 1}, Width: 4, Classes: 5, Size: 16, Seed: seed}.Model()
	},
	"mobilenet": func(seed uint64) *Model {
		return MobileNet{Stages: []MobileStage{{1, 4, 1, 1}, {6, 8, 2, 2}}, Stem: 8, Head: 16, Classes: 5, Size: 16,
			Seed: seed}.Model()
	},
	"encoder13": func(seed uint64) *Model { return tinyEncoder(13, seed) },
	"encoder17": func(seed uint64) *Model { return tinyEncoder(17, seed) },
	"big":       func(seed uint64) *Model { return Big(40_000, seed) },
}

func tinyEncoder(opset int64, seed uint64) *Model {
	return Encoder{Layers: 2, Hidden: 8, Heads: 2, FFN: 16, Vocab: 11, MaxPositions: 9, Opset: opset, Seed: seed}.Model()
}

func TestGeneratedModelsDependOnTheSeedAlone(t *testing.T) {
	for name, build := range tinyModels {
		a, b, c := build(1).Bytes(), build(1).Bytes(), build(2).Bytes()
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the same seed gives two models", name)
		}
		if bytes.Equal(a, c) {
			t.Errorf("%s: two seeds give the same model", name)
		}
	}
}

func TestGeneratedGraphsAreInOrderAndNamedOnce(t *testing.T) {
	for name, build := range tinyModels {
		g := at(t, build(1).Bytes(), 7)
		known, nodes := map[string]bool{"": true}, map[string]bool{}
		define := func(b []byte) {
			if known[string(b)] {
				t.Errorf("%s: %q is defined twice", name, b)
			}
			known[string(b)] = true
		}
		for _, v := range all(t, g, 11) {
			define(at(t, v, 1))
		}
		for _, v := range all(t, g, 5) {
			define(at(t, v, 8))
		}
		for _, n := range all(t, g, 1) {
			for _, in := range all(t, n, 1) {
				if !known[string(in)] {
					t.Errorf("%s: %s reads %q before it is defined", name, at(t, n, 3), in)
				}
			}
			for _, out := range all(t, n, 2) {
				define(out)
			}
			if node := string(at(t, n, 3)); nodes[node] {
				t.Errorf("%s: two nodes are called %q", name, node)
			} else {
				nodes[node] = true
			}
		}
		for _, v := range all(t, g, 12) {
			if !known[string(at(t, v, 1))] {
				t.Errorf("%s: output %q is not defined", name, at(t, v, 1))
			}
		}
	}
}

// TestWeightCountsAreTheLiterature compares with the counts that the networks' authors and
// PyTorch's model pages give; running statistics are not weights.
func TestWeightCountsAreTheLiterature(t *testing.T) {
	tests := []struct {
		name       string
		m          *Model
		weights    int64
		statistics int64
	}{
		{"ResNet-50", ResNet50(1), 25_557_032, 2 * 26_560},
		{"MobileNetV2", MobileNetV2(1), 3_504_872, 2 * 17_056},
		// MiniLM-L6 has 22,713,216 weights, of which the pooler, which is not built, has 147,840.
		{"MiniLM-L6", MiniLM(13, 1), 22_713_216 - 147_840, 0},
	}
	for _, tt := range tests {
		var n int64
		for _, in := range tt.m.inits {
			n += in.size / 4
		}
		if n != tt.weights+tt.statistics {
			t.Errorf("%s: got %d weights, want %d + %d", tt.name, n, tt.weights, tt.statistics)
		}
	}
}

func TestWeightsAreFiniteAndScaled(t *testing.T) {
	for name, build := range tinyModels {
		for _, init := range all(t, at(t, build(3).Bytes(), 7), 5) {
			sum, vs := 0.0, tensor.Cast[float32](at(t, init, 9))
			for _, v := range vs {
				sum += float64(v) * float64(v)
			}
			if rms := math.Sqrt(sum / float64(len(vs))); !(rms < 2) {
				t.Errorf("%s: %s: root mean square %v, want below 2", name, at(t, init, 8), rms)
			}
		}
	}
}

func TestBigHasTheBytesItIsAskedFor(t *testing.T) {
	for _, total := range []int64{4096, 100_000, 1 << 20, 2_800_000_000} {
		m := Big(total, 1)
		var n int64
		for _, in := range m.inits {
			n += in.size
		}
		if d := bigWidth(total); n > total || n <= total-4*d {
			t.Errorf("got %d bytes of weights, want %d less a part of a column of %d", n, total, d)
		}
		if len(m.inits) < 4 || len(m.inits) != len(m.nodes) {
			t.Errorf("%d bytes: got %d weights and %d layers, want at least 4 of each", total, len(m.inits), len(m.nodes))
		}
	}
}

func TestExternalVariantHoldsTheSameWeights(t *testing.T) {
	in, ext := Big(100_000, 1), Big(100_000, 1)
	ext.External, ext.ExternalMin = "w.bin", 0
	var b bytes.Buffer
	if _, err := ext.WriteExternal(&b); err != nil {
		t.Fatal(err)
	}
	off := int64(0)
	for _, init := range all(t, at(t, in.Bytes(), 7), 5) {
		raw := at(t, init, 9)
		if got := b.Bytes()[off : off+int64(len(raw))]; !bytes.Equal(got, raw) {
			t.Errorf("%s: the contents at %d differ", at(t, init, 8), off)
		}
		off = (off + int64(len(raw)) + externalAlign - 1) / externalAlign * externalAlign
	}
}
