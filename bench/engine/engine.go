// Package engine runs one model in one of two ways, with Stowage or with ONNX Runtime, behind one
// face, so that they can be timed alike. Both write into outputs that are allocated once.
package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/tensor"
)

// Spec is a model with what it is fed.
type Spec struct {
	Name, Model string
	// Inputs are the model's inputs in order, Outputs the names of what it computes.
	Inputs  []Input
	Outputs []string
}

// Input is a stored tensor that feeds an input, as a TensorProto.
type Input struct{ Name, File string }

// Engine is a model that is ready to run.
type Engine interface {
	// Run computes the outputs from the inputs.
	Run() error
	// Output returns the elements of output i after a run, widened or rounded to float32; nil for a
	// type that is not numeric.
	Output(i int) []float32
	Close() error
}

// Names of the engines.
const (
	Stowage = "stowage"
	ORT     = "onnxruntime"
)

// Open prepares a model for runs of the given number of threads.
func Open(name string, s *Spec, threads int) (Engine, error) {
	in, err := s.read()
	if err != nil {
		return nil, err
	}
	switch name {
	case Stowage:
		return openStowage(s, in, threads)
	case ORT:
		return openORT(s, in, Setup{Threads: threads})
	}
	return nil, fmt.Errorf("engine %q: want %s or %s", name, Stowage, ORT)
}

// Describe makes the spec of a model file and a folder that holds input_0.pb, input_1.pb, …
func Describe(name, model, data string) (*Spec, error) {
	m, err := stowage.Load(model)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	s := &Spec{Name: name, Model: model}
	known := map[string]bool{}
	for _, in := range m.Inputs() {
		known[in.Name] = true
	}
	files := map[string]string{}
	for i, in := range m.Inputs() {
		file := filepath.Join(data, fmt.Sprintf("input_%d.pb", i))
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		stored, _, err := stowage.ReadTensor(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !known[stored] {
			stored = in.Name
		}
		files[stored] = file
	}
	for _, in := range m.Inputs() {
		if files[in.Name] == "" {
			return nil, fmt.Errorf("%s: input %q: got no tensor", data, in.Name)
		}
		s.Inputs = append(s.Inputs, Input{Name: in.Name, File: files[in.Name]})
	}
	for _, out := range m.Outputs() {
		s.Outputs = append(s.Outputs, out.Name)
	}
	return s, nil
}

// Load reads a spec that was saved as JSON.
func Load(file string) (*Spec, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &Spec{}
	return s, json.Unmarshal(b, s)
}

// Save writes the spec as JSON.
func (s *Spec) Save(file string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o666)
}

func (s *Spec) read() ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(s.Inputs))
	for i, in := range s.Inputs {
		b, err := os.ReadFile(in.File)
		if err != nil {
			return nil, err
		}
		if _, out[i], err = stowage.ReadTensor(b); err != nil {
			return nil, fmt.Errorf("%s: %w", in.File, err)
		}
	}
	return out, nil
}
