// Package stowage runs ONNX models inside Go programs, without cgo. Load reads a model, Open
// plans it (which kernel runs each operation, which byte of one arena holds each tensor), and
// Run executes the plan. Sizes are in bytes, extents in elements, times in nanoseconds unless a
// name says otherwise.
package stowage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/onnx"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Model is a loaded model: immutable, and safe for concurrent use. Its weights stay in the
// mapped file, so its sessions must be closed before it.
type Model struct {
	file        *onnx.File
	imported    *onnx.Imported
	graph       *graph.Graph
	inputs      []Info
	outputs     []Info
	unsupported []Unsupported
	warnings    []string

	// open counts the sessions that are open; −1 once the model is closed.
	mu   sync.Mutex
	open int

	// consts holds what kernels make of the weights, for all sessions.
	consts backend.Consts

	simplify   sync.Once
	simplified *graph.Graph
	simplErr   error

	printing sync.Once
	print    string
}

// Load maps a model file. External data is read from the file's own folder. A model with
// operators that are not supported loads, so that it can be looked at; Open refuses it.
func Load(path string) (*Model, error) {
	f, err := onnx.Open(path)
	if err != nil {
		return nil, named(path, err)
	}
	m, err := load(f)
	return m, named(path, err)
}

// named puts the name of a file before an error that does not have it.
func named(path string, err error) error {
	if _, has := errors.AsType[*fs.PathError](err); err == nil || has {
		return err
	}
	return fmt.Errorf("stowage: %q: %w", path, err)
}

// LoadBytes reads a model from memory, which must not change while the model is in use.
// External data is refused: there is no folder to read it from.
func LoadBytes(data []byte) (*Model, error) {
	f, err := onnx.FromBytes(data)
	if err != nil {
		return nil, err
	}
	return load(f)
}

// LoadFS reads a model, and any external data beside it, from a file system, into memory: where
// there is a file to map, Load takes less.
func LoadFS(fsys fs.FS, name string) (*Model, error) {
	f, err := onnx.OpenFS(fsys, name)
	if err != nil {
		return nil, named(name, err)
	}
	m, err := load(f)
	return m, named(name, err)
}

func load(f *onnx.File) (*Model, error) {
	imp, err := f.Import()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	m := &Model{file: f, imported: imp, graph: imp.Graph, warnings: imp.Warnings}
	m.consts.Used = func(of *tensor.Tensor) { f.TrimPart(of.Bytes()) }
	if err := m.examine(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return m, nil
}

// Close releases the mapped file. It fails, and releases nothing, while a session is open.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.open > 0:
		return fmt.Errorf("stowage: close: got a model with %d open sessions, want them closed first", m.open)
	case m.open < 0:
		return nil
	}
	m.open = -1
	return errors.Join(m.consts.Release(), m.file.Close())
}

// take counts a session that is opened, give one that is closed.
func (m *Model) take() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open < 0 {
		return errors.New("stowage: open: the model is closed")
	}
	m.open++
	return nil
}

func (m *Model) give() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
}

// examine infers what can be told without shapes, and lists what cannot run.
func (m *Model) examine() error {
	m.nameFreeDims()
	checks := newChecker(oracle())
	for _, u := range m.imported.Untyped {
		checks.add(Unsupported{Op: "value", Node: u.Value, Reason: u.Reason})
	}
	for _, u := range m.imported.Unsupported {
		checks.add(Unsupported(u))
	}
	checks.walk(m.graph)
	inf := infer.New(m.graph)
	inf.Declared = true
	inf.Warn = func(s string) { m.warnings = append(m.warnings, s) }
	inf.Visit = checks.visit
	for _, v := range m.graph.Inputs {
		inf.Set(v, op.Fact{DType: m.graph.Values[v].DType, Shape: m.graph.Values[v].Shape})
	}
	for _, n := range m.graph.Nodes {
		err := inf.Node(n)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			checks.node(n, err.Error())
		case err != nil && len(checks.list) == 0:
			return err
		}
	}
	m.unsupported = checks.list
	for _, v := range m.graph.Inputs {
		m.inputs = append(m.inputs, infoOf(m.graph.Values[v].Name, inf.Fact(v)))
	}
	for _, v := range m.graph.Outputs {
		m.outputs = append(m.outputs, infoOf(m.graph.Values[v].Name, inf.Fact(v)))
	}
	return nil
}

// nameFreeDims gives the free dims of inputs that the file leaves without a name one of their
// own, such as "x.0", so that they can be bounded. A declared extent of 0 counts as free: that is
// what exporters write for an extent they do not know.
func (m *Model) nameFreeDims() {
	for _, v := range m.graph.Inputs {
		val := &m.graph.Values[v]
		for i, d := range val.Shape {
			if d.IsUnknown() || d.Is(0) {
				val.Shape[i] = graph.Sym(fmt.Sprintf("%s.%d", val.Name, i))
			}
		}
	}
}

// Info describes an input or an output.
type Info struct {
	Name  string
	DType tensor.DType
	// Dims is nil when not even the rank is known.
	Dims []Dim
}

// Dim is one extent: a number, or free.
type Dim struct {
	// Size is the extent, or −1 when it is free.
	Size int64 `json:"size"`
	// Name is the free dim's name or expression; "" when nothing is known of it.
	Name string `json:"name,omitempty"`
}

// String returns the number, the name, or "?".
func (d Dim) String() string {
	switch {
	case d.Size >= 0:
		return fmt.Sprint(d.Size)
	case d.Name != "":
		return d.Name
	}
	return "?"
}

// String returns the type and dims, such as "float32[batch,3,224,224]".
func (i Info) String() string {
	if i.Dims == nil {
		return i.DType.String() + "[...]"
	}
	s := i.DType.String() + "["
	for k, d := range i.Dims {
		if k > 0 {
			s += ","
		}
		s += d.String()
	}
	return s + "]"
}

func infoOf(name string, f *op.Fact) Info {
	in := Info{Name: name, DType: f.DType}
	if f.Shape.Unranked() {
		return in
	}
	in.Dims = make([]Dim, len(f.Shape))
	for i, d := range f.Shape {
		n, ok := d.Int()
		switch {
		case ok:
			in.Dims[i] = Dim{Size: n}
		case d.IsUnknown():
			in.Dims[i] = Dim{Size: -1}
		default:
			in.Dims[i] = Dim{Size: -1, Name: d.String()}
		}
	}
	return in
}

// Inputs describes what Run must be fed, in the model's order; initialisers are not listed.
func (m *Model) Inputs() []Info { return slices.Clone(m.inputs) }

// Outputs describes what Run returns, in the model's order.
func (m *Model) Outputs() []Info { return slices.Clone(m.outputs) }

// FreeDims returns the names of the inputs' free dims, sorted: what Options.Fix and Options.Max
// may name.
func (m *Model) FreeDims() []string {
	names := map[string]bool{}
	for _, in := range m.inputs {
		for _, d := range in.Dims {
			if d.Size < 0 {
				names[d.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

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
func (m *Model) Meta() Meta { return Meta(m.imported.Meta) }

// OpCount is how often an operator occurs, subgraphs included.
type OpCount struct {
	Op    string `json:"op"`
	Count int    `json:"count"`
}

// Ops counts the operators, in order of name; those outside the standard domain are written
// "domain.Op".
func (m *Model) Ops() []OpCount {
	count := map[string]int{}
	countOps(m.graph, count)
	var out []OpCount
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out = append(out, OpCount{Op: name, Count: count[name]})
	}
	return out
}

func countOps(g *graph.Graph, count map[string]int) {
	for _, n := range g.Nodes {
		name := n.Op
		if n.Domain != "" {
			name = n.Domain + "." + n.Op
		}
		count[name]++
		for _, b := range n.Bodies() {
			countOps(b, count)
		}
	}
}

// Unsupported lists every node that cannot run; Open fails unless it is empty.
func (m *Model) Unsupported() []Unsupported { return slices.Clone(m.unsupported) }

// Warnings lists what was odd in the file but does not stop it from running.
func (m *Model) Warnings() []string { return slices.Clone(m.warnings) }

// WeightBytes is the size of the constants that the file holds, unpacked.
func (m *Model) WeightBytes() int64 { return m.imported.WeightBytes }

// ReadTensor decodes one tensor from a file in ONNX's TensorProto format. The tensor may share
// memory with data.
func ReadTensor(data []byte) (name string, t *tensor.Tensor, err error) {
	return onnx.DecodeTensor(data)
}

// WriteTensor encodes a tensor in ONNX's TensorProto format.
func WriteTensor(name string, t *tensor.Tensor) []byte { return onnx.EncodeTensor(name, t) }
