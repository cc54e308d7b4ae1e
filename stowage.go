// Package stowage runs ONNX models inside Go programs, without cgo. Load reads a model, Open
// plans it (which kernel runs each operation, which byte of one arena holds each tensor), and
// Run executes the plan. Sizes are in bytes, extents in elements, times in nanoseconds unless a
// name says otherwise.
package stowage

import (
	"context"
	"errors"
	"io/fs"

	"github.com/stowage-ml/stowage/tensor"
)

var errTODO = errors.New("stowage: not built yet")

// Model is a loaded model: immutable, and safe for concurrent use. Its weights stay in the
// mapped file, so it must not be closed before its sessions.
type Model struct{}

// Load maps a model file. External data is read from the file's own folder.
func Load(path string) (*Model, error) { return nil, errTODO }

// LoadBytes reads a model from memory, which must not change while the model is in use.
// External data is refused: there is no folder to read it from.
func LoadBytes(data []byte) (*Model, error) { return nil, errTODO }

// LoadFS reads a model, and any external data beside it, from a file system.
func LoadFS(fsys fs.FS, name string) (*Model, error) { return nil, errTODO }

// Close releases the mapped file.
func (m *Model) Close() error { return nil }

// Info describes an input or an output.
type Info struct {
	Name  string       `json:"name"`
	DType tensor.DType `json:"-"`
	Dims  []Dim        `json:"dims"`
}

// Dim is one extent: a number, or free.
type Dim struct {
	// Size is the extent, or −1 when it is free.
	Size int64 `json:"size"`
	// Name is the free dim's name or expression; "" when the file gives it none.
	Name string `json:"name,omitempty"`
}

// Inputs describes what Run must be fed, in the model's order; initialisers are not listed.
func (m *Model) Inputs() []Info { return nil }

// Outputs describes what Run returns, in the model's order.
func (m *Model) Outputs() []Info { return nil }

// Meta is what a file says of itself.
type Meta struct {
	Graph           string            `json:"graph"`
	Producer        string            `json:"producer"`
	ProducerVersion string            `json:"producer_version"`
	Domain          string            `json:"domain"`
	Version         int64             `json:"version"`
	Doc             string            `json:"doc,omitempty"`
	IR              int64             `json:"ir"`
	Opsets          map[string]int64  `json:"opsets"`
	Custom          map[string]string `json:"custom,omitempty"`
}

// Meta returns what the file says of itself.
func (m *Model) Meta() Meta { return Meta{} }

// OpCount is how often an operator occurs, subgraphs included.
type OpCount struct {
	Op    string `json:"op"`
	Count int    `json:"count"`
}

// Ops counts the operators, in order of name.
func (m *Model) Ops() []OpCount { return nil }

// Unsupported is a node that no backend can run.
type Unsupported struct {
	Op     string `json:"op"`
	Domain string `json:"domain,omitempty"`
	Opset  int    `json:"opset"`
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// Unsupported lists every node that cannot run; Open fails unless it is empty.
func (m *Model) Unsupported() []Unsupported { return nil }

// Warnings lists what was odd in the file but does not stop it from running.
func (m *Model) Warnings() []string { return nil }

// WeightBytes is the size of the constants that the file holds, unpacked.
func (m *Model) WeightBytes() int64 { return 0 }

// Options says how a session is opened. The zero value, and nil, are good for every model.
type Options struct {
	// Fix gives free dims, by name, their one value.
	Fix map[string]int64
	// Max gives free dims, by name, an upper bound. When every free dim is fixed or bounded, the
	// arena is sized at Open and never grows; a run above a bound is an error.
	Max map[string]int64
	// Concurrency is the number of runs that may execute at the same time, each with an arena
	// of its own; further callers wait their turn. 0 means 1.
	Concurrency int
	// Progress, when set, is called between steps, from the goroutine that runs them.
	Progress func(step, steps int)
}

// Session is a model ready to run. It is safe for concurrent use.
type Session struct{}

// Open plans the model and reserves its memory.
func (m *Model) Open(opts *Options) (*Session, error) { return nil, errTODO }

// Close frees the session's memory; it waits for runs in flight.
func (s *Session) Close() error { return nil }

// Run executes the model. Every input must be fed; the outputs are new tensors that belong to
// the caller. ctx is looked at between steps.
func (s *Session) Run(ctx context.Context, in map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	return nil, errTODO
}

// Binding is a run whose inputs and outputs are fixed memory: each Run reads the input tensors
// as they are then, overwrites the output tensors, and allocates nothing.
type Binding struct{}

// Bind checks inputs and outputs once. Outputs that are left out are allocated here, and found
// through Binding.Output.
func (s *Session) Bind(in, out map[string]*tensor.Tensor) (*Binding, error) { return nil, errTODO }

// Run executes the bound model.
func (b *Binding) Run(ctx context.Context) error { return errTODO }

// Output returns a bound output, or nil when there is none of that name.
func (b *Binding) Output(name string) *tensor.Tensor { return nil }

// Plan returns the plan for the given values of the free dims; dims left out are at their
// bound (Options.Max), or 1.
func (s *Session) Plan(dims map[string]int64) (*Plan, error) { return nil, errTODO }

// Plan is what will be done, step by step, and where every byte lies. String gives it as text;
// encoding/json gives the command line's JSON.
type Plan struct {
	Devices []DevicePlan `json:"devices"`
	Steps   []Step       `json:"steps"`
	Digest  string       `json:"digest"`
}

// String lays the plan out for a person to read.
func (p *Plan) String() string { return "" }

// DevicePlan is the memory of one device.
type DevicePlan struct {
	Name string `json:"name"`
	// ArenaBytes is what is reserved, LowerBound the least that any arrangement needs, and
	// MaterializedBytes the sum of all tensors without reuse.
	ArenaBytes        int64 `json:"arena_bytes"`
	LowerBound        int64 `json:"lower_bound"`
	MaterializedBytes int64 `json:"materialized_bytes"`
	WeightBytes       int64 `json:"weight_bytes"`
}

// Step is one kernel launch.
type Step struct {
	Op     string `json:"op"`
	Name   string `json:"name"`
	Device string `json:"device"`
	Kernel string `json:"kernel"`
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// ReadTensor decodes an ONNX TensorProto, the content of a .pb file. The tensor's memory is its
// own or b's, which must not change while the tensor is in use.
func ReadTensor(b []byte) (name string, t *tensor.Tensor, err error) { return "", nil, errTODO }

// WriteTensor encodes t as an ONNX TensorProto, the content of a .pb file.
func WriteTensor(name string, t *tensor.Tensor) []byte { return nil }
