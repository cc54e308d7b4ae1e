package engine

import (
	"context"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/tensor"
)

// StowageEngine runs a model with Stowage.
type StowageEngine struct {
	model   *stowage.Model
	session *stowage.Session
	bound   *stowage.Binding
	outputs []string
}

func openStowage(s *Spec, in []*tensor.Tensor, threads int) (*StowageEngine, error) {
	m, err := stowage.Load(s.Model)
	if err != nil {
		return nil, err
	}
	e := &StowageEngine{model: m, outputs: s.Outputs}
	if err := e.open(s, in, threads); err != nil {
		_ = m.Close() // The first error says more.
		return nil, err
	}
	return e, nil
}

func (e *StowageEngine) open(s *Spec, in []*tensor.Tensor, threads int) error {
	var err error
	if e.session, err = e.model.Open(&stowage.Options{Threads: threads}); err != nil {
		return err
	}
	feeds := map[string]*tensor.Tensor{}
	for i, t := range in {
		feeds[s.Inputs[i].Name] = t
	}
	e.bound, err = e.session.Bind(feeds, nil)
	return err
}

// Run implements Engine.
func (e *StowageEngine) Run() error { return e.bound.Run(context.Background()) }

// Output implements Engine.
func (e *StowageEngine) Output(i int) []float32 {
	t := e.bound.Output(e.outputs[i])
	if t == nil {
		return nil
	}
	switch t.DType() {
	case tensor.Float32:
		return tensor.Cast[float32](t.Bytes())
	case tensor.Float64:
		return widen(tensor.Cast[float64](t.Bytes()))
	case tensor.Int64:
		return widen(tensor.Cast[int64](t.Bytes()))
	case tensor.Int32:
		return widen(tensor.Cast[int32](t.Bytes()))
	}
	return nil
}

func widen[T float64 | int32 | int64](in []T) []float32 {
	out := make([]float32, len(in))
	for i, v := range in {
		out[i] = float32(v)
	}
	return out
}

// ArenaBytes returns what the session reserves for tensors.
func (e *StowageEngine) ArenaBytes() int64 { return e.session.Memory().ArenaBytes }

// Close implements Engine.
func (e *StowageEngine) Close() error {
	if err := e.session.Close(); err != nil {
		return err
	}
	return e.model.Close()
}
