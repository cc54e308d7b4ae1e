//go:build cgo

package engine

import (
	"errors"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/stowage-ml/stowage/tensor"
)

var start = sync.OnceValue(func() error {
	path, err := Library()
	if err != nil {
		return err
	}
	ort.SetSharedLibraryPath(path)
	return ort.InitializeEnvironment()
})

type ortEngine struct {
	session *ort.DynamicAdvancedSession
	in, out []ort.Value
}

func openORT(s *Spec, in []*tensor.Tensor, set Setup) (*ortEngine, error) {
	if err := start(); err != nil {
		return nil, err
	}
	opts, err := options(set)
	if err != nil {
		return nil, err
	}
	defer opts.Destroy()
	names := make([]string, len(s.Inputs))
	e := &ortEngine{out: make([]ort.Value, len(s.Outputs))}
	for i, t := range in {
		names[i] = s.Inputs[i].Name
		v, err := value(t)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", names[i], err)
		}
		e.in = append(e.in, v)
	}
	if e.session, err = ort.NewDynamicAdvancedSession(s.Model, names, s.Outputs, opts); err != nil {
		return nil, err
	}
	return e, nil
}

// OpenVerbose opens a session whose standard error tells of its arena.
func OpenVerbose(s *Spec) (Engine, error) {
	in, err := s.read()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(start(), ort.SetEnvironmentLogLevel(ort.LoggingLevelInfo)); err != nil {
		return nil, err
	}
	return openORT(s, in, Setup{Threads: 1, Verbose: true})
}

func options(set Setup) (*ort.SessionOptions, error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		o.SetIntraOpNumThreads(set.Threads),
		o.SetInterOpNumThreads(1),
		o.AddSessionConfigEntry("session.force_spinning_stop", "1"),
	)
	if set.Verbose {
		err = errors.Join(err, o.SetLogSeverityLevel(ort.LoggingLevelInfo),
			o.AddSessionConfigEntry("session.use_device_allocator_for_initializers", "1"))
	}
	if err != nil {
		return nil, errors.Join(err, o.Destroy())
	}
	return o, nil
}

// Run implements Engine. The first run allocates the outputs, later ones write into them.
func (e *ortEngine) Run() error { return e.session.Run(e.in, e.out) }

// Output implements Engine.
func (e *ortEngine) Output(i int) []float32 {
	switch t := e.out[i].(type) {
	case *ort.Tensor[float32]:
		return t.GetData()
	case *ort.Tensor[float64]:
		return widen(t.GetData())
	case *ort.Tensor[int64]:
		return widen(t.GetData())
	case *ort.Tensor[int32]:
		return widen(t.GetData())
	}
	return nil
}

// Close implements Engine.
func (e *ortEngine) Close() error {
	var errs []error
	for _, v := range append(e.in, e.out...) {
		if v != nil {
			errs = append(errs, v.Destroy())
		}
	}
	return errors.Join(append(errs, e.session.Destroy())...)
}

// value returns the tensor over the same memory.
func value(t *tensor.Tensor) (ort.Value, error) {
	switch t.DType() {
	case tensor.Float32:
		return typed[float32](t)
	case tensor.Float64:
		return typed[float64](t)
	case tensor.Int64:
		return typed[int64](t)
	case tensor.Int32:
		return typed[int32](t)
	case tensor.Int8:
		return typed[int8](t)
	case tensor.Uint8:
		return typed[uint8](t)
	case tensor.Bool:
		return typed[bool](t)
	}
	return nil, fmt.Errorf("got %v, want a type that the benchmark can feed", t.DType())
}

func typed[T ort.TensorData](t *tensor.Tensor) (ort.Value, error) {
	data := cast[T](t.Bytes())
	if len(t.Shape()) == 0 {
		return ort.NewScalar(data[0])
	}
	return ort.NewTensor(ort.Shape(t.Shape()), data)
}
