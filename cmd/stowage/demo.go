package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/cmd/stowage/demodata"
	"github.com/stowage-ml/stowage/tensor"
)

// demoVerb runs a built-in model on a built-in picture.
type demoVerb struct {
	Out string `default:"stowage-demo" placeholder:"DIR" help:"Folder for the results: pictures, the plan, the model."`
}

// The files that demo writes beside the outputs.
const (
	demoModel   = "demo.onnx"
	demoPicture = "demo.png"
	demoPlan    = "plan.txt"
)

// Run shows the whole way of a model: load, plan, run, results.
func (v *demoVerb) Run(e *env) error { return v.show(e, demodata.Model, demodata.Picture) }

// show runs a model whose one input looks like a picture.
func (v *demoVerb) show(e *env, model, png []byte) error {
	start := time.Now()
	m, err := stowage.LoadBytes(model)
	if err != nil {
		return err
	}
	defer m.Close()
	loaded := time.Since(start)
	in, fixed, err := demoInput(e, m, png)
	if err != nil {
		return err
	}
	start = time.Now()
	s, err := m.Open(&stowage.Options{Fix: fixed})
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := s.Plan(nil)
	if err != nil {
		return err
	}
	planned := time.Since(start)
	start = time.Now()
	out, err := s.Run(e.ctx, in)
	if err != nil {
		return failed(err)
	}
	ran := time.Since(start)

	nodes := 0
	for _, o := range m.Ops() {
		nodes += o.Count
	}
	for _, info := range m.Inputs() {
		e.printf("model    %d nodes, input %s %s\n", nodes, info.Name, describe(info))
		e.printf("picture  %v\n", in[info.Name])
	}
	for _, d := range p.Devices {
		e.printf("plan     %d steps on %s; arena %s, least possible %s, without reuse %s\n",
			len(p.Steps), d.Name, bytesText(d.ArenaBytes), bytesText(d.LowerBound), bytesText(d.MaterializedBytes))
	}
	e.printf("time     load %.1f ms, plan %.1f ms, run %.1f ms\n", ms(loaded), ms(planned), ms(ran))
	if err := v.keep(e, map[string][]byte{demoModel: model, demoPicture: png, demoPlan: []byte(p.String())}); err != nil {
		return failed(err)
	}
	if err := v.keepOutputs(e, m, out); err != nil {
		return failed(err)
	}
	e.printf("try      stowage run %s --input %s --out %s --format png\n",
		filepath.Join(v.Out, demoModel), filepath.Join(v.Out, demoPicture), v.Out)
	return nil
}

// demoInput makes the model's input of the picture, and gives the free dims the picture's extents.
func demoInput(e *env, m *stowage.Model, png []byte) (map[string]*tensor.Tensor, dims, error) {
	w := new(feedFlags).feeder(e, m.Inputs(), nil)
	if len(w.infos) != 1 {
		return nil, nil, fmt.Errorf("demo: model: got %d inputs, want 1", len(w.infos))
	}
	info := w.infos[0]
	t, err := w.picture(info, png)
	if err != nil {
		return nil, nil, fmt.Errorf("demo: input %q: %w", info.Name, err)
	}
	w.dims.learn(info, t)
	return map[string]*tensor.Tensor{info.Name: t}, w.dims, nil
}

// keep writes files to the folder, in order of name.
func (v *demoVerb) keep(e *env, files map[string][]byte) error {
	if err := os.MkdirAll(v.Out, 0o777); err != nil {
		return err
	}
	for _, name := range []string{demoModel, demoPicture, demoPlan} {
		path := filepath.Join(v.Out, name)
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			return err
		}
		e.printf("wrote    %s\n", path)
	}
	return nil
}

// keepOutputs writes every output, as a picture where it looks like one.
func (v *demoVerb) keepOutputs(e *env, m *stowage.Model, out map[string]*tensor.Tensor) error {
	files := fileNames{"demo": true}
	for _, info := range m.Outputs() {
		path, note, err := keep(v.Out, files.of(info.Name), info.Name, out[info.Name], "png")
		if err != nil {
			return err
		}
		e.printf("wrote    %s: output %s %v%s\n", path, info.Name, out[info.Name], note)
	}
	return nil
}
