package testkit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-ml/stowage/tensor"
)

// Graph is a graph under construction. Nodes are written in the order in which they are added;
// nothing is checked, so that wrong models can be made too.
type Graph struct {
	Name, Doc string

	prefix  string
	fresh   int
	nodes   []*message
	inputs  []*message
	outputs []*message
	infos   []*message
	inits   []*initializer
	sparse  []*message
}

// NewGraph starts a subgraph: the value of a Body attribute. The names that it makes up start
// with its own name, so that they differ from those of the graph around it.
func NewGraph(name string) *Graph { return &Graph{Name: name, prefix: name + "/"} }

// Input declares a graph input and returns its name; dims as for TensorType.
func (g *Graph) Input(name string, dt tensor.DType, dims ...any) string {
	return g.InputOf(name, TensorType(dt, dims...))
}

// InputOf declares a graph input of any type; the zero Type declares none.
func (g *Graph) InputOf(name string, t Type) string {
	g.inputs = append(g.inputs, valueInfo(name, t))
	return name
}

// Output declares a graph output; dims as for TensorType.
func (g *Graph) Output(name string, dt tensor.DType, dims ...any) {
	g.OutputOf(name, TensorType(dt, dims...))
}

// OutputOf declares a graph output of any type; the zero Type declares none.
func (g *Graph) OutputOf(name string, t Type) {
	g.outputs = append(g.outputs, valueInfo(name, t))
}

// Info declares the type of a value inside the graph; dims as for TensorType.
func (g *Graph) Info(name string, dt tensor.DType, dims ...any) {
	g.infos = append(g.infos, valueInfo(name, TensorType(dt, dims...)))
}

// Init adds an initialiser and returns its name.
func (g *Graph) Init(name string, t *tensor.Tensor) string { return g.InitAs(name, t, Raw) }

// InitAs is Init with a choice of the field that holds the elements.
func (g *Graph) InitAs(name string, t *tensor.Tensor, how Storage) string {
	g.inits = append(g.inits, newInitializer(name, t, how))
	return name
}

// InitLazy adds an initialiser whose bytes fill writes each time the model is written: exactly
// as many as the type and shape need.
func (g *Graph) InitLazy(name string, dt tensor.DType, shape tensor.Shape, fill func(io.Writer) error) string {
	n, ok := shape.Elements()
	size, sok := dt.ByteSize(n)
	if !ok || !sok || dt == tensor.String {
		panic(fmt.Sprintf("testkit: initialiser %q: %v%v: not a valid type for raw bytes", name, dt, shape))
	}
	in := &initializer{head: tensorHead(name, dt, shape), size: size, fill: fill}
	in.data = func(m *message) { m.lazy(9, size, fill) }
	g.inits = append(g.inits, in)
	return name
}

// InitBytes adds an initialiser with any raw_data, which need not fit the shape.
func (g *Graph) InitBytes(name string, dt tensor.DType, shape tensor.Shape, raw []byte) string {
	in := &initializer{head: tensorHead(name, dt, shape)}
	in.data = func(m *message) { m.bytes(9, raw) }
	g.inits = append(g.inits, in)
	return name
}

// InitExternal adds an initialiser that says of itself to lie in another file, with any
// key-value pairs ("location", "offset", "length", "checksum").
func (g *Graph) InitExternal(name string, dt tensor.DType, shape tensor.Shape, kv ...[2]string) string {
	in := &initializer{head: tensorHead(name, dt, shape)}
	in.data = func(m *message) {
		for _, p := range kv {
			m.pair(13, p[0], p[1])
		}
		m.int(14, 1)
	}
	g.inits = append(g.inits, in)
	return name
}

// InitSparse adds a sparse initialiser and returns its name.
func (g *Graph) InitSparse(name string, s SparseTensor) string {
	g.sparse = append(g.sparse, s.encode(name))
	return name
}

// Node adds a node and returns the name of its first output, which is made up unless Outs gives
// one. An empty input name leaves an optional input out.
func (g *Graph) Node(op string, in []string, parts ...Part) string {
	return g.Nodes(op, in, 1, parts...)[0]
}

// Nodes is Node for n outputs, and returns all their names.
func (g *Graph) Nodes(op string, in []string, n int, parts ...Part) []string {
	nd := &node{op: op, in: in}
	for _, p := range parts {
		p(nd)
	}
	if nd.out == nil {
		nd.out = make([]string, n)
		for i := range nd.out {
			nd.out[i] = g.NewName(op)
		}
	}
	g.nodes = append(g.nodes, nd.encode())
	return nd.out
}

// Const adds a Constant node that holds t and returns its output's name.
func (g *Graph) Const(t *tensor.Tensor, parts ...Part) string {
	return g.Node("Constant", nil, append(parts, Tensor("value", t))...)
}

// NewName makes up a name that the graph has not made up before, with stem in it.
func (g *Graph) NewName(stem string) string {
	g.fresh++
	return fmt.Sprintf("%s%s_%d", g.prefix, stem, g.fresh)
}

func (g *Graph) encode(ext *external) *message {
	m := &message{}
	appendAll := func(field protowire.Number, subs []*message) {
		for _, s := range subs {
			m.msg(field, s)
		}
	}
	appendAll(1, g.nodes)
	m.strNZ(2, g.Name)
	for _, in := range g.inits {
		m.msg(5, in.encode(ext))
	}
	m.strNZ(10, g.Doc)
	appendAll(11, g.inputs)
	appendAll(12, g.outputs)
	appendAll(13, g.infos)
	appendAll(15, g.sparse)
	return m
}

// Function is a model-local function under construction: nodes as in a graph, and inputs, outputs
// and attributes by name only.
type Function struct {
	Graph
	Domain, Overload string
	// Attrs names the attributes that a caller must give.
	In, Out, Attrs []string

	opsets   []*message
	defaults node
}

// NewFunction starts a function that nodes of the domain call by name.
func NewFunction(domain, name string, in, out []string) *Function {
	return &Function{Graph: Graph{Name: name, prefix: name + "/"}, Domain: domain, In: in, Out: out}
}

// Opset says which version of a domain's operators the function's body uses.
func (f *Function) Opset(domain string, version int64) {
	f.opsets = append(f.opsets, opsetProto(domain, version))
}

// Default gives the function an attribute that has a value when the caller gives none.
func (f *Function) Default(attribute Part) { attribute(&f.defaults) }

func (f *Function) encode() *message {
	m := &message{}
	m.str(1, f.Name)
	for _, s := range f.In {
		m.str(4, s)
	}
	for _, s := range f.Out {
		m.str(5, s)
	}
	for _, s := range f.Attrs {
		m.str(6, s)
	}
	for _, n := range f.nodes {
		m.msg(7, n)
	}
	m.strNZ(8, f.Doc)
	for _, o := range f.opsets {
		m.msg(9, o)
	}
	m.strNZ(10, f.Domain)
	for _, a := range f.defaults.attrs {
		m.msg(11, a)
	}
	for _, v := range f.infos {
		m.msg(12, v)
	}
	m.strNZ(13, f.Overload)
	return m
}

// Model is a model under construction; its main graph is embedded.
type Model struct {
	Graph
	// IR is the version of the file format.
	IR                                int64
	Producer, ProducerVersion, Domain string
	Version                           int64
	// ModelDoc is the model's doc string; the graph has one of its own.
	ModelDoc string
	// External, when set, is the name of the file, beside the model, that holds the main graph's
	// initialisers of at least ExternalMin bytes.
	External    string
	ExternalMin int64

	opsets []*message
	meta   [][2]string
	funcs  []*Function
}

// NewModel starts a model that uses the given version of the standard operators.
func NewModel(opset int64) *Model {
	m := &Model{IR: 8, Producer: "stowage-testkit", ExternalMin: 1024}
	m.Name = "main"
	m.Opset("", opset)
	return m
}

// Opset adds a domain's operator set.
func (m *Model) Opset(domain string, version int64) {
	m.opsets = append(m.opsets, opsetProto(domain, version))
}

// Meta adds a metadata entry.
func (m *Model) Meta(key, value string) { m.meta = append(m.meta, [2]string{key, value}) }

// Function adds a model-local function.
func (m *Model) Function(f *Function) { m.funcs = append(m.funcs, f) }

func opsetProto(domain string, version int64) *message {
	m := &message{}
	m.str(1, domain)
	m.int(2, version)
	return m
}

func (m *Model) encode() (*message, *external) {
	var ext *external
	if m.External != "" {
		ext = &external{file: m.External, min: m.ExternalMin}
	}
	p := &message{}
	p.intNZ(1, m.IR)
	p.strNZ(2, m.Producer)
	p.strNZ(3, m.ProducerVersion)
	p.strNZ(4, m.Domain)
	p.intNZ(5, m.Version)
	p.strNZ(6, m.ModelDoc)
	p.msg(7, m.Graph.encode(ext))
	for _, o := range m.opsets {
		p.msg(8, o)
	}
	for _, kv := range m.meta {
		p.pair(14, kv[0], kv[1])
	}
	for _, f := range m.funcs {
		p.msg(25, f.encode())
	}
	return p, ext
}

// WriteTo writes the model file, without its external data.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	p, _ := m.encode()
	return p.writeTo(w)
}

// WriteExternal writes the file of external data; nothing when External is not set.
func (m *Model) WriteExternal(w io.Writer) (int64, error) {
	_, ext := m.encode()
	if ext == nil {
		return 0, nil
	}
	return ext.writeTo(w)
}

// Bytes returns the model file. It panics when a lazy initialiser fails.
func (m *Model) Bytes() []byte {
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Save writes the model to path and its external data, if any, beside it.
func (m *Model) Save(path string) error {
	p, ext := m.encode()
	if err := saveFile(path, p.writeTo); err != nil {
		return err
	}
	if ext == nil {
		return nil
	}
	return saveFile(filepath.Join(filepath.Dir(path), ext.file), ext.writeTo)
}

func saveFile(path string, write func(io.Writer) (int64, error)) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := write(w); err != nil {
		return fmt.Errorf("testkit: %s: %w", path, err)
	}
	return w.Flush()
}
