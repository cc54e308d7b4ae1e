package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// The versions of the standard operator set that nodes may be written for.
const (
	MinOpset = 7
	MaxOpset = 26
)

// importBytes is the memory that Import may use for the graph whatever the size of the file;
// beyond it, sizeFactor bytes for each byte of the file.
const importBytes = 256 << 20

// Imported is a graph and what else the file says.
type Imported struct {
	Graph *graph.Graph
	Meta  Meta
	// Warnings lists what is odd in the file but does not stop it from running.
	Warnings []string
	// Unsupported lists the nodes that cannot run, in the graph's order, subgraphs included.
	Unsupported []Unsupported
	// Untyped lists the values whose declared type is not a dense tensor of a known element
	// type; in the graph their DType is tensor.Undefined.
	Untyped []Untyped
	// WeightBytes is the size of the constants that the file holds, unpacked.
	WeightBytes int64
}

// Meta is what a file says of itself.
type Meta struct {
	Graph           string
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Doc             string
	IR              int64
	// Opsets has the standard domain under "".
	Opsets map[string]int64
	Custom map[string]string
}

// Unsupported is a node that cannot run, whatever the backend.
type Unsupported struct {
	Op     string
	Domain string
	Opset  int
	Node   string
	Reason string
}

// Untyped is a value whose type is not supported.
type Untyped struct{ Value, Reason string }

// importer is what the graphs of one model share.
type importer struct {
	m       *Model
	src     Source
	out     *Imported
	fns     map[fnKey]*function
	tensors map[any]*tensor.Tensor
	free    map[*Graph][]string
	dims    map[string]graph.Dim
	// calls counts what inlining names; odd holds the warnings.
	calls int
	odd   map[string]bool
	// left is what remains of limit, the memory that the graph may take.
	left, limit int64
}

// Import turns a model into a graph: it resolves names, through subgraphs to any depth, sorts
// the nodes, inlines the model's functions, and makes initialisers and Constant nodes values
// that are constant. An input that is also an initialiser is a constant, whatever the version
// of the file. Contents in other files are looked for in src, which may be nil.
//
// Operators that are not known stay in the graph and are listed in Unsupported. What contradicts
// itself without being wrong to run, such as a declared shape that a constant does not have, is
// a warning. Import takes time and memory in proportion to the graph.
func Import(m *Model, src Source) (*Imported, error) {
	return importWithin(m, src, importBytes+sizeFactor*m.Size)
}

// importWithin is Import in the given amount of memory.
func importWithin(m *Model, src Source, limit int64) (*Imported, error) {
	im := &importer{
		m: m, src: src, out: &Imported{},
		fns:     make(map[fnKey]*function, len(m.Functions)),
		tensors: map[any]*tensor.Tensor{},
		free:    map[*Graph][]string{},
		dims:    map[string]graph.Dim{},
		odd:     map[string]bool{},
		left:    limit,
		limit:   limit,
	}
	im.meta()
	if err := im.functions(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	g, err := im.graph(m.Graph, nil, &call{opsets: im.out.Meta.Opsets})
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	im.out.Graph = g
	return im.out, nil
}

func (im *importer) meta() {
	m := im.m
	im.out.Meta = Meta{
		Graph: m.Graph.Name, Producer: m.Producer, ProducerVersion: m.ProducerVersion, Domain: m.Domain,
		Version: m.Version, Doc: m.Doc, IR: m.IR, Opsets: im.opsets(m.Opsets, "the model"),
	}
	if len(m.Props) > 0 {
		im.out.Meta.Custom = make(map[string]string, len(m.Props))
	}
	for _, p := range m.Props {
		im.out.Meta.Custom[p.Key] = p.Value
	}
	if m.Training {
		im.warn("training information is left out")
	}
}

// opsets returns the imports of a model or a function by domain; the greatest version of a
// domain counts. A file without any is of the time when there was one version.
func (im *importer) opsets(list []Opset, where string) map[string]int64 {
	out := make(map[string]int64, max(1, len(list)))
	for _, o := range list {
		d := canonical(o.Domain)
		if v, ok := out[d]; ok && v != o.Version {
			im.warn("%s imports two versions of domain %.120q: %d and %d", where, d, v, o.Version)
			o.Version = max(v, o.Version)
		}
		out[d] = o.Version
	}
	if len(list) == 0 && im.m.IR < 3 {
		out[""] = 1
	}
	return out
}

// canonical maps the two spellings of the standard domain to one.
func canonical(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

// warn adds a warning, once; of very many the last are left out.
func (im *importer) warn(format string, args ...any) {
	const maxWarnings = 100
	if len(im.odd) > maxWarnings {
		return
	}
	s := fmt.Sprintf(format, args...)
	if im.odd[s] {
		return
	}
	im.odd[s] = true
	if len(im.odd) > maxWarnings {
		s = "more warnings are left out"
	}
	im.out.Warnings = append(im.out.Warnings, s)
}

// spend takes memory out of what the model is worth.
func (im *importer) spend(bytes int64) error {
	if bytes > im.left {
		return fmt.Errorf("the graph needs more than %d bytes of memory, functions expanded, for a file of %d bytes",
			im.limit, im.m.Size)
	}
	im.left -= bytes
	return nil
}

// tensor converts an initialiser or an attribute, once however often it is used.
func (im *importer) tensor(p *TensorProto) (*tensor.Tensor, error) {
	if t := im.tensors[p]; t != nil {
		return t, nil
	}
	t, err := p.Tensor(im.src)
	if err != nil {
		return nil, err
	}
	im.weigh(t)
	im.tensors[p] = t
	return t, nil
}

// weigh counts a constant that the file holds.
func (im *importer) weigh(t *tensor.Tensor) {
	im.out.WeightBytes += int64(len(t.Bytes()))
	for _, s := range t.Strings() {
		im.out.WeightBytes += int64(len(s))
	}
}

// support notes why a node cannot run, if it cannot.
func (im *importer) support(n *graph.Node, imported bool) {
	reason := ""
	switch {
	case !imported:
		reason = fmt.Sprintf("domain %.120q is not imported", n.Domain)
	case n.Domain == "" && (n.Version < MinOpset || n.Version > MaxOpset):
		reason = fmt.Sprintf("got opset %d, want %d to %d", n.Version, MinOpset, MaxOpset)
	case op.Lookup(n.Domain, n.Op) == nil:
		reason = "unknown operator"
	default:
		return
	}
	im.unsupported(n, reason)
}

func (im *importer) unsupported(n *graph.Node, reason string) {
	im.out.Unsupported = append(im.out.Unsupported,
		Unsupported{Op: n.Op, Domain: n.Domain, Opset: n.Version, Node: n.Name, Reason: reason})
}

// arity checks the number of operands of a node against its operator's row.
func arity(n *graph.Node) error {
	row := op.Lookup(n.Domain, n.Op)
	if row == nil || n.Domain == "" && (n.Version < MinOpset || n.Version > MaxOpset) {
		return nil
	}
	return row.CheckArity(n)
}

// dim returns a declared extent; a negative number says nothing.
func (im *importer) dim(d DimProto) graph.Dim {
	switch {
	case d.HasValue && d.Value >= 0:
		return graph.Known(d.Value)
	case d.HasValue || d.Param == "":
		return graph.Unknown()
	}
	g, ok := im.dims[d.Param]
	if !ok {
		g = graph.Sym(d.Param)
		im.dims[d.Param] = g
	}
	return g
}

// typ returns a declared type, or an undefined one and the reason why it is not supported.
func (im *importer) typ(p *TypeProto) (t graph.Type, reason string, err error) {
	switch p.Kind {
	case NoType:
		return t, "", nil
	case TensorType:
	default:
		return t, "got a " + p.Kind.String() + ", want a tensor", nil
	}
	if len(p.Dims) > tensor.MaxRank {
		return t, "", fmt.Errorf("got rank %d, want at most %d", len(p.Dims), tensor.MaxRank)
	}
	if p.HasShape {
		if err := im.spend(int64(16 * len(p.Dims))); err != nil {
			return t, "", err
		}
		t.Shape = make(graph.Shape, len(p.Dims))
		for i, d := range p.Dims {
			t.Shape[i] = im.dim(d)
		}
	}
	switch dt := tensor.DType(p.Elem); {
	case p.Elem == 0:
	case p.Elem < 0 || p.Elem > math.MaxUint8 || !dt.Valid():
		reason = fmt.Sprintf("got element type %d, want one of 1 to %d", p.Elem, tensor.Int2)
	default:
		t.DType = dt
	}
	return t, reason, nil
}

// clash reports whether two types cannot both be true.
func clash(a, b graph.Type) bool {
	if a.DType != b.DType && a.DType != tensor.Undefined && b.DType != tensor.Undefined {
		return true
	}
	if a.Shape.Unranked() || b.Shape.Unranked() {
		return false
	}
	return !slices.EqualFunc(a.Shape, b.Shape, func(x, y graph.Dim) bool {
		n, ok := x.Int()
		m, mok := y.Int()
		return !ok || !mok || n == m
	})
}
