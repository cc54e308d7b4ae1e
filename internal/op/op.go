// Package op is the one place that says what each operator means, short of computing it: how
// many inputs and outputs it has, the types and shapes of its outputs, how much work it is, and
// how its outputs may share memory with its inputs. It knows nothing of kernels, devices or
// files. Work is in floating-point operations and bytes; extents are in elements.
package op

import (
	"fmt"
	"sync/atomic"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// MaxValue is the largest number of elements whose contents inference follows.
const MaxValue = 256

// Arity is the least and the greatest number of inputs or outputs; Max −1 means any number.
type Arity struct{ Min, Max int }

// Row is what is known of one operator.
type Row struct {
	// Domain is empty for the standard operators.
	Domain, Op string
	In, Out    Arity
	// Infer sets the outputs' facts from the inputs' facts and the attributes. A fact that it
	// leaves alone stays unknown. It fails only when the node can never be right, or, wrapping
	// errors.ErrUnsupported, when it is right but nothing can run it.
	Infer func(*Ctx) error
	// Work estimates the work; nil means one operation for each output element.
	Work func(*Ctx) Work
	// Contents lists the inputs whose contents (not only shapes) decide an output's shape.
	Contents []int
	// View says that the first output is the first input's bytes under another shape.
	View bool
	// Joins says that the output is the inputs one behind the other along the attribute axis, and
	// Parts that the outputs are the input cut up along it.
	Joins, Parts bool
	// InPlace lists the inputs that the first output may overwrite when both have the same
	// number of bytes: each element is read no later than the one at the same index is written.
	InPlace []int
	// InPlaceOf stands in InPlace's place where the node's attributes decide; see Overwrites.
	InPlaceOf func(*graph.Node) []int
	// Elementwise says that each element of the one output depends on the elements at the same
	// index of the inputs, after broadcasting.
	Elementwise bool
	// Dynamic says that an output's shape is known only when the kernel has run.
	Dynamic bool
	// Random says that two runs may differ, so that the node is never folded away.
	Random bool
	// Control says that the executor runs the node's bodies; no backend has a kernel for it.
	Control bool
}

// Work is what a node costs, whatever runs it.
type Work struct {
	// FLOPs counts floating-point operations, a multiply-add as two.
	FLOPs float64
	// Bytes counts what is read and written once each.
	Bytes float64
}

// Fact is what is known of a value.
type Fact struct {
	// DType is tensor.Undefined when unknown, or when an optional input is left out.
	DType tensor.DType
	// Shape is nil when not even the rank is known.
	Shape graph.Shape
	// Const is the contents, when they are fixed.
	Const *tensor.Tensor
	// Value is the contents of an integer tensor of at most MaxValue elements, in row-major
	// order, when they follow from the shapes; nil when they do not. Const, when it is set, counts
	// first: read both through Dims and Ints.
	Value []graph.Dim
}

// FactOf returns the fact of a constant.
func FactOf(t *tensor.Tensor) Fact {
	return Fact{DType: t.DType(), Shape: graph.Of(t.Shape()...), Const: t}
}

// Dims returns the contents of an integer (or boolean: 0 and 1) tensor, as far as they are
// known: each element is a number, an expression, or unknown. ok is false when nothing is known
// or there are more than MaxValue elements.
func (f *Fact) Dims() (dims []graph.Dim, ok bool) {
	if f.Const == nil {
		return f.Value, f.Value != nil
	}
	ns, ok := ints(f.Const)
	if !ok {
		return nil, false
	}
	dims = make([]graph.Dim, len(ns))
	for i, n := range ns {
		dims[i] = graph.Known(n)
	}
	return dims, true
}

// Ints returns the contents of an integer (or boolean: 0 and 1) tensor when all are known and
// there are at most MaxValue elements.
func (f *Fact) Ints() (ns []int64, ok bool) {
	if f.Const != nil {
		return ints(f.Const)
	}
	if f.Value == nil {
		return nil, false
	}
	ns = make([]int64, len(f.Value))
	for i, d := range f.Value {
		if ns[i], ok = d.Int(); !ok {
			return nil, false
		}
	}
	return ns, true
}

func ints(t *tensor.Tensor) ([]int64, bool) {
	if t.Len() > MaxValue {
		return nil, false
	}
	switch t.DType() {
	case tensor.Int64:
		return widen[int64](t), true
	case tensor.Int32:
		return widen[int32](t), true
	case tensor.Int16:
		return widen[int16](t), true
	case tensor.Int8:
		return widen[int8](t), true
	case tensor.Uint8, tensor.Bool:
		return widen[uint8](t), true
	case tensor.Uint16:
		return widen[uint16](t), true
	case tensor.Uint32:
		return widen[uint32](t), true
	case tensor.Uint64:
		return widen[uint64](t), true
	}
	return nil, false
}

func widen[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](t *tensor.Tensor) []int64 {
	src := tensor.Cast[T](t.Bytes())
	out := make([]int64, len(src))
	for i, v := range src {
		out[i] = int64(v)
	}
	return out
}

// Ctx is one node under inference. Facts of the same index as the node's inputs and outputs.
type Ctx struct {
	Node *graph.Node
	In   []Fact
	Out  []Fact
	// Body infers a subgraph whose inputs have the given facts and returns its outputs' facts;
	// the captured values' facts are supplied by the caller of Infer. Nil in tests without
	// subgraphs.
	Body func(g *graph.Graph, in []Fact) ([]Fact, error)
}

// Has reports whether input i is present.
func (c *Ctx) Has(i int) bool { return c.Node.Input(i) != graph.NoValue }

// Arg returns the fact of input i; the zero Fact when it is absent.
func (c *Ctx) Arg(i int) *Fact {
	if i < len(c.In) {
		return &c.In[i]
	}
	return &Fact{}
}

// Set gives output i its type and shape, if the node has that output.
func (c *Ctx) Set(i int, dt tensor.DType, s graph.Shape) {
	if i < len(c.Out) {
		c.Out[i].DType, c.Out[i].Shape = dt, s
	}
}

// Errf makes an error about the node's operands; the caller of Infer adds which node it is.
func (c *Ctx) Errf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Overwrites lists the inputs of a node that its first output may overwrite, as InPlace says.
func (r *Row) Overwrites(n *graph.Node) []int {
	if r.InPlaceOf != nil {
		return r.InPlaceOf(n)
	}
	return r.InPlace
}

// Lookup returns the row of an operator, or nil when it is not known.
func Lookup(domain, name string) *Row {
	if domain == Domain && name == Fused {
		r := fused.Load()
		if r == nil {
			r = fusedRow()
			fused.Store(r)
		}
		return r
	}
	return table[key{canonical(domain), name}]
}

// fused is the row of Fused, once it has been asked for.
var fused atomic.Pointer[Row]

type key struct{ domain, op string }

// canonical maps the two spellings of the standard domain to one.
func canonical(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

var table = index()

// index joins the families' rows; each family is a list in a file of its own.
func index() map[key]*Row {
	t := map[key]*Row{}
	for _, rows := range families {
		for i := range rows {
			r := &rows[i]
			k := key{r.Domain, r.Op}
			if t[k] != nil {
				panic("BUG: op: two rows for " + r.Op)
			}
			t[k] = r
		}
	}
	return t
}
