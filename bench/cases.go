package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/bench/engine"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// cases returns the models to compare: the folders of --models, then the generated ones.
func cases(c *config) ([]*engine.Spec, error) {
	var out []*engine.Spec
	if c.models != "" {
		dirs, err := os.ReadDir(c.models)
		if err != nil {
			return nil, err
		}
		for _, d := range dirs {
			dir := filepath.Join(c.models, d.Name())
			model := filepath.Join(dir, "model.onnx")
			if _, err := os.Stat(model); err != nil || !c.wants(d.Name()) {
				continue
			}
			s, err := engine.Describe(d.Name(), model, filepath.Join(dir, "test_data_set_0"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", d.Name(), err)
			}
			out = append(out, s)
		}
	}
	made, err := generated(c, networks())
	return append(out, made...), err
}

// network is a generated model and the inputs of one case.
type network struct {
	name, file string
	make       func() *testkit.Model
	inputs     []*tensor.Tensor
}

// families returns networks of kinds that the shared models lack.
func families() []network {
	rng := rand.New(rand.NewPCG(6, 7))
	picture := func(size int64) []*tensor.Tensor { return []*tensor.Tensor{normal(rng, 1, 3, size, size)} }
	step := []*tensor.Tensor{tensor.Must(tensor.Shape{1, 1}, []int64{17})}
	for range 12 {
		step = append(step, normal(rng, 1, 8, 127, 64))
	}
	return []network{
		{"mobilenetv3", "mobilenetv3", mobileNetV3, picture(224)},
		{"efficientnet", "efficientnet", efficientNet, picture(224)},
		{"detector", "detector", detector, picture(320)},
		{"unet", "unet", uNet, picture(128)},
		{"resnet18_qdq", "resnet18_qdq", quantisedResNet, picture(224)},
		{"vit", "vit", visionTransformer, picture(224)},
		{"decoder_step", "decoder_step", decoderStep, step},
		{"speech_encoder", "speech_encoder", speechEncoder, []*tensor.Tensor{normal(rng, 1, 80, 400)}},
		{"encoder_dynamic_int8", "encoder_dynamic_int8", quantisedEncoder, []*tensor.Tensor{normal(rng, 1, 64, 384)}},
	}
}

func networks() []network {
	rng := rand.New(rand.NewPCG(1, 2))
	picture := normal(rng, 1, 3, 224, 224)
	out := []network{
		{"resnet50", "resnet50", func() *testkit.Model { return testkit.ResNet50(1) }, []*tensor.Tensor{picture}},
		{"mobilenetv2", "mobilenetv2", func() *testkit.Model { return testkit.MobileNetV2(1) }, []*tensor.Tensor{picture}},
	}
	for _, tokens := range []int64{16, 128, 512} {
		ids, mask := make([]int64, tokens), make([]int64, tokens)
		for i := range ids {
			ids[i], mask[i] = rng.Int64N(30000), 1
		}
		shape := tensor.Shape{1, tokens}
		out = append(out, network{fmt.Sprintf("minilm_%d", tokens), "minilm",
			func() *testkit.Model { return testkit.MiniLM(17, 1) },
			[]*tensor.Tensor{tensor.Must(shape, ids), tensor.Must(shape, mask),
				tensor.Must(shape, make([]int64, tokens))}})
	}
	return out
}

func normal(rng *rand.Rand, shape ...int64) *tensor.Tensor {
	n, _ := tensor.Shape(shape).Elements()
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	return tensor.Must(shape, data)
}

// generated writes the generated models to the cache folder, where they stay.
func generated(c *config, all []network) ([]*engine.Spec, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "stowage", "bench")
	var out []*engine.Spec
	for _, n := range all {
		if !c.wants(n.name) {
			continue
		}
		s, err := n.save(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// save writes the model, unless it is there already, and the inputs by the names of the model's.
func (n *network) save(dir string) (*engine.Spec, error) {
	data := filepath.Join(dir, n.name)
	if err := os.MkdirAll(data, 0o777); err != nil {
		return nil, err
	}
	model := filepath.Join(dir, n.file+".onnx")
	if _, err := os.Stat(model); err != nil {
		if err := n.make().Save(model); err != nil {
			return nil, err
		}
	}
	m, err := stowage.Load(model)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if len(m.Inputs()) != len(n.inputs) {
		return nil, fmt.Errorf("%s: got %d inputs, want %d", n.name, len(m.Inputs()), len(n.inputs))
	}
	for i, t := range n.inputs {
		file := filepath.Join(data, fmt.Sprintf("input_%d.pb", i))
		if err := os.WriteFile(file, stowage.WriteTensor(m.Inputs()[i].Name, t), 0o666); err != nil {
			return nil, err
		}
	}
	return engine.Describe(n.name, model, data)
}
