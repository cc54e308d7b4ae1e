package stowage

import (
	"context"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// FuzzLoad takes any bytes as a model as far as they carry it: loading, planning, and a run over
// zeros. Nothing may panic, and no more memory may be taken than the file declares.
func FuzzLoad(f *testing.F) {
	for _, m := range seedModels() {
		f.Add(m.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := LoadBytes(data)
		if err != nil {
			return
		}
		defer m.Close()
		s, err := m.Open(&Options{MaxBytes: 1 << 24})
		if err != nil {
			return
		}
		defer s.Close()
		dims := map[string]int64{}
		for i, name := range m.FreeDims() {
			dims[name] = int64(i%3) + 1
		}
		if p, err := s.Plan(dims); err == nil {
			_ = p.String()
		}
		feeds := map[string]*tensor.Tensor{}
		shapes, ok := s.shapes(dims)
		if !ok {
			return
		}
		for i, v := range s.unit.Graph.Inputs {
			n, ok := shapes[v].shape.Elements()
			if !ok || n > 1<<16 {
				return
			}
			z, err := tensor.Zeros(shapes[v].dtype, shapes[v].shape)
			if err != nil {
				return
			}
			feeds[s.inputs[i].name] = z
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := s.Run(ctx, feeds); err != nil && len(err.Error()) > 4 && err.Error()[:4] == "BUG:" {
			t.Fatal(err)
		}
	})
}

// seedModels are small models that reach most of the reader and the planner.
func seedModels() []*testkit.Model {
	chain := testkit.NewModel(17)
	chain.Input("x", tensor.Float32, "n", 4)
	w := chain.Init("w", tensor.Must(tensor.Shape{4, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8}))
	y := chain.Node("MatMul", []string{"x", w})
	shape := chain.Node("Shape", []string{y})
	flat := chain.Node("Reshape", []string{y, chain.Init("to", tensor.Of[int64](-1))})
	chain.Node("Expand", []string{chain.Node("Relu", []string{flat}), chain.Node("Size", []string{shape})},
		testkit.Outs("out"))
	chain.Output("out", tensor.Float32, "m")

	branch := testkit.NewModel(13)
	branch.Input("c", tensor.Bool)
	branch.Input("x", tensor.Float32, "n")
	then, els := testkit.NewGraph("then"), testkit.NewGraph("else")
	then.Node("Neg", []string{"x"}, testkit.Outs("t"))
	then.Output("t", tensor.Float32, "n")
	els.Node("Concat", []string{"x", "x"}, testkit.Int("axis", 0), testkit.Outs("e"))
	els.Output("e", tensor.Float32, "k")
	branch.Node("If", []string{"c"}, testkit.Body("then_branch", then), testkit.Body("else_branch", els),
		testkit.Outs("y"))
	branch.Node("NonZero", []string{"y"}, testkit.Outs("z"))
	branch.Output("z", tensor.Int64, 1, "found")

	loop := testkit.NewModel(21)
	loop.Input("v", tensor.Float32, 2)
	body := testkit.NewGraph("body")
	body.Input("i", tensor.Int64)
	body.Input("more", tensor.Bool)
	body.Input("a", tensor.Float32, 2)
	body.Node("Identity", []string{"more"}, testkit.Outs("again"))
	body.Node("Add", []string{"a", "v"}, testkit.Outs("b"))
	body.Output("again", tensor.Bool)
	body.Output("b", tensor.Float32, 2)
	loop.Node("Loop", []string{loop.Init("trips", tensor.Scalar[int64](3)), "", "v"}, testkit.Body("body", body),
		testkit.Outs("last"))
	loop.Output("last", tensor.Float32, 2)

	conv := testkit.NewModel(11)
	conv.Input("x", tensor.Float32, 1, 2, "h", "w")
	k := conv.Init("k", tensor.Must(tensor.Shape{3, 2, 3, 3}, make([]float32, 54)))
	c := conv.Node("Conv", []string{"x", k}, testkit.Ints("pads", 1, 1, 1, 1))
	p := conv.Node("MaxPool", []string{c}, testkit.Ints("kernel_shape", 2, 2), testkit.Ints("strides", 2, 2))
	conv.Node("GlobalAveragePool", []string{p}, testkit.Outs("y"))
	conv.Output("y", tensor.Float32, 1, 3, 1, 1)
	return []*testkit.Model{chain, branch, loop, conv}
}
