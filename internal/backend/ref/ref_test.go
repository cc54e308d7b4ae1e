package ref

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// node makes a node of the standard domain with one output; runNode gives it its operands.
func node(name string, attrs ...graph.Attr) *graph.Node {
	slices.SortFunc(attrs, func(a, b graph.Attr) int { return strings.Compare(a.Name, b.Name) })
	return &graph.Node{Op: name, Version: 24, Attrs: attrs, Outputs: []graph.ValueID{0}}
}

// at sets the version of the operator set that the node belongs to.
func at(version int, n *graph.Node) *graph.Node { n.Version = version; return n }

// outs gives the node that many outputs.
func outs(count int, n *graph.Node) *graph.Node {
	n.Outputs = make([]graph.ValueID, count)
	for i := range n.Outputs {
		n.Outputs[i] = graph.ValueID(1000 + i)
	}
	return n
}

func attrInt(name string, v int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func attrInts(name string, v ...int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func attrFloat(name string, v float32) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
}

func attrFloats(name string, v ...float32) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrFloats, Floats: v}
}

func attrStr(name, v string) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrString, Str: v}
}

func attrStrs(name string, v ...string) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrStrings, Strs: v}
}

func attrTensor(name string, v *tensor.Tensor) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrTensor, Tensor: v}
}

// ten makes a tensor of the given shape.
func ten[T tensor.Element](shape tensor.Shape, data ...T) *tensor.Tensor {
	return tensor.Must(shape, data)
}

// sh shortens the writing of a shape.
func sh(dims ...int64) tensor.Shape { return append(tensor.Shape{}, dims...) }

// attempt runs one node, with nil for inputs that it leaves out, and checks on the way what
// every row and kernel must keep: inference from shapes alone does not contradict the result,
// calls can be repeated on memory that holds rubbish, a kernel allocates nothing, inputs stay
// as they were, and an output may overwrite the inputs that its row lists.
func attempt(t testing.TB, n *graph.Node, in ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	t.Helper()
	n.Inputs = n.Inputs[:0]
	for i, x := range in {
		if x == nil {
			n.Inputs = append(n.Inputs, graph.NoValue)
		} else {
			n.Inputs = append(n.Inputs, graph.ValueID(i))
		}
	}
	row := op.Lookup(n.Domain, n.Op)
	if row == nil {
		t.Fatalf("%s: no row", n.Op)
	}
	known, err := infer(n, row, in, true)
	if err != nil {
		return nil, err
	}
	loose, err := infer(n, row, in, false)
	if err != nil {
		return nil, err
	}
	kernel, scratch, err := prepare(t, n, in, known, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	out, err := call(n, row, kernel, scratch, in, known)
	if err != nil {
		return nil, err
	}
	checkFacts(t, n, "with contents", known, out)
	checkFacts(t, n, "with shapes alone", loose, out)
	checkRepeat(t, n, row, in, known, out)
	checkInPlace(t, n, row, kernel, scratch, in, out)
	return out, nil
}

// runNode is attempt of what must succeed.
func runNode(t testing.TB, n *graph.Node, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	out, err := attempt(t, n, in...)
	if err != nil {
		t.Fatalf("%s: %v", n.Op, err)
	}
	return out
}

func infer(n *graph.Node, row *op.Row, in []*tensor.Tensor, contents bool) ([]op.Fact, error) {
	c := op.Ctx{Node: n, In: make([]op.Fact, len(in)), Out: make([]op.Fact, len(n.Outputs))}
	for i, x := range in {
		if x == nil {
			continue
		}
		c.In[i] = op.FactOf(x)
		if !contents && !slices.Contains(row.Contents, i) {
			c.In[i].Const = nil
		}
	}
	err := row.Infer(&c)
	return c.Out, err
}

func prepare(t testing.TB, n *graph.Node, in []*tensor.Tensor, out []op.Fact, contents func(i int) bool) (
	backend.Kernel, []byte, error) {
	t.Helper()
	o := backend.Op{Node: n, In: make([]backend.Arg, len(in)), Out: make([]backend.Arg, len(out))}
	types := make([]tensor.DType, len(in))
	for i, x := range in {
		if x == nil {
			continue
		}
		o.In[i] = backend.Arg{DType: x.DType(), Shape: x.Shape()}
		types[i] = x.DType()
		if contents(i) {
			o.In[i].Const = x
		}
	}
	for i := range out {
		o.Out[i].DType = out[i].DType
		if s, ok := out[i].Shape.Concrete(); ok {
			o.Out[i].Shape = s
		}
	}
	if err := (Backend{}).Supports(n, types, nil); err != nil {
		return nil, nil, err
	}
	cands, err := Backend{}.Candidates(&o)
	if err != nil {
		return nil, nil, err
	}
	if len(cands) != 1 {
		t.Fatalf("%s: got %d candidates, want 1", n.Op, len(cands))
	}
	return cands[0].Kernel, rubbish(cands[0].Scratch), nil
}

// rubbish returns aligned memory that holds no zeros.
func rubbish(n int64) []byte {
	b := slices.Repeat([]uint64{0xa5a5a5a5a5a5a5a5}, int(n+7)/8)
	t, err := tensor.New(sh(int64(len(b))), b)
	if err != nil {
		panic(err)
	}
	return t.Bytes()[:n:n]
}

func newCall(row *op.Row, scratch []byte, in []*tensor.Tensor, out []op.Fact) (*backend.Call, error) {
	c := &backend.Call{Scratch: scratch, In: make([]backend.View, len(in)), Out: make([]backend.View, len(out))}
	c.Place = c.Alloc
	for i, x := range in {
		if x != nil {
			c.In[i] = backend.ViewOf(x)
		}
	}
	for i := range out {
		c.Out[i].DType = out[i].DType
		s, ok := out[i].Shape.Concrete()
		if !ok {
			if row.Dynamic {
				continue
			}
			return nil, fmt.Errorf("output %d: got shape %v, want a known one", i, out[i].Shape)
		}
		if err := c.Alloc(i, s); err != nil {
			return nil, err
		}
		copy(c.Out[i].Data, rubbish(int64(len(c.Out[i].Data))))
		for j := range c.Out[i].Strs {
			c.Out[i].Strs[j] = "rubbish"
		}
	}
	return c, nil
}

func call(n *graph.Node, row *op.Row, k backend.Kernel, scratch []byte, in []*tensor.Tensor, facts []op.Fact) (
	[]*tensor.Tensor, error) {
	c, err := newCall(row, scratch, in, facts)
	if err != nil {
		return nil, err
	}
	if err := k(c); err != nil {
		return nil, err
	}
	out := make([]*tensor.Tensor, len(c.Out))
	for i := range out {
		if n.Outputs[i] == graph.NoValue {
			continue
		}
		if out[i], err = c.Out[i].Tensor(); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return out, nil
}

func checkFacts(t testing.TB, n *graph.Node, when string, facts []op.Fact, out []*tensor.Tensor) {
	t.Helper()
	for i, f := range facts {
		if out[i] == nil {
			continue
		}
		fits := f.DType == out[i].DType() && (f.Shape.Unranked() || len(f.Shape) == len(out[i].Shape()))
		for d := range f.Shape {
			if k, ok := f.Shape[d].Int(); fits && ok {
				fits = k == out[i].Shape()[d]
			}
		}
		if !fits {
			t.Errorf("%s: output %d inferred %s: got %v%v, want %v", n.Op, i, when, f.DType, f.Shape, out[i])
		}
		got := op.FactOf(out[i])
		want, ok := got.Dims()
		for j, d := range f.Value {
			if k, known := d.Int(); known && (!ok || len(want) != len(f.Value) || !want[j].Is(k)) {
				t.Errorf("%s: output %d contents inferred %s: got %v, want %v", n.Op, i, when, f.Value, want)
				break
			}
		}
	}
}

func checkRepeat(t testing.TB, n *graph.Node, row *op.Row, in []*tensor.Tensor, facts []op.Fact,
	want []*tensor.Tensor) {
	t.Helper()
	if row.Random {
		return
	}
	before := make([][]byte, len(in))
	for i, x := range in {
		if x != nil {
			before[i] = bytes.Clone(x.Bytes())
		}
	}
	kernel, scratch, err := prepare(t, n, in, facts, func(int) bool { return false })
	if err != nil {
		t.Errorf("%s: prepared without contents: %v", n.Op, err)
		return
	}
	for range 2 {
		out, err := call(n, row, kernel, scratch, in, facts)
		if err != nil {
			t.Errorf("%s: called again: %v", n.Op, err)
			return
		}
		for i := range out {
			if out[i] != nil && !identical(out[i], want[i]) {
				t.Errorf("%s: output %d differs when called again without constants", n.Op, i)
			}
		}
	}
	for i, x := range in {
		if x != nil && !bytes.Equal(before[i], x.Bytes()) {
			t.Errorf("%s: input %d changed", n.Op, i)
		}
	}
	checkAllocs(t, n, row, in, facts)
}

// checkAllocs looks at a kernel that knows, of all contents, those that decide shapes.
func checkAllocs(t testing.TB, n *graph.Node, row *op.Row, in []*tensor.Tensor, facts []op.Fact) {
	t.Helper()
	k, scratch, err := prepare(t, n, in, facts, func(i int) bool { return slices.Contains(row.Contents, i) })
	if err != nil {
		t.Fatalf("%s: %v", n.Op, err)
	}
	c, err := newCall(row, scratch, in, facts)
	if err != nil {
		t.Fatalf("%s: %v", n.Op, err)
	}
	for _, o := range c.Out {
		if row.Dynamic || o.DType == tensor.String {
			return
		}
	}
	allocs := math.Inf(1)
	for range 3 {
		allocs = min(allocs, testing.AllocsPerRun(1, func() { _ = k(c) }))
	}
	if allocs > 0 {
		t.Errorf("%s: a call allocates %v times, want 0", n.Op, allocs)
	}
}

func checkInPlace(t testing.TB, n *graph.Node, row *op.Row, k backend.Kernel, scratch []byte, in,
	want []*tensor.Tensor) {
	t.Helper()
	for _, i := range row.InPlace {
		if i >= len(in) || in[i] == nil || want[0] == nil || in[i].DType() == tensor.String ||
			len(in[i].Bytes()) != len(want[0].Bytes()) {
			continue
		}
		facts := make([]op.Fact, len(want))
		for j := range want {
			facts[j] = op.FactOf(want[j])
		}
		c, err := newCall(row, scratch, in, facts)
		if err != nil {
			t.Fatalf("%s: %v", n.Op, err)
		}
		shared := rubbish(int64(len(in[i].Bytes())))
		copy(shared, in[i].Bytes())
		c.Out[0].Data = shared
		for j := range in {
			if in[j] == in[i] {
				c.In[j].Data = shared
			}
		}
		if err := k(c); err != nil {
			t.Errorf("%s: over input %d: %v", n.Op, i, err)
		} else if !bytes.Equal(shared, want[0].Bytes()) {
			t.Errorf("%s: differs when it overwrites input %d", n.Op, i)
		}
	}
}

// identical compares type, shape and every bit.
func identical(a, b *tensor.Tensor) bool {
	return a.DType() == b.DType() && a.Shape().Equal(b.Shape()) && bytes.Equal(a.Bytes(), b.Bytes()) &&
		slices.Equal(a.Strings(), b.Strings())
}

// same fails the test unless got is want: floating-point numbers within rel of each other and
// NaN where NaN is wanted, all else exactly.
func same(t testing.TB, got, want *tensor.Tensor, rel float64) {
	t.Helper()
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		t.Errorf("got %v %s, want %v", got, show(got), want)
		return
	}
	if !floats.has(got.DType()) {
		if !identical(got, want) {
			t.Errorf("got %s, want %s", show(got), show(want))
		}
		return
	}
	for i := range got.Len() {
		g, w := floatAt(got.DType(), got.Bytes(), i), floatAt(want.DType(), want.Bytes(), i)
		if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= rel*max(1, math.Abs(w)) {
			continue
		}
		t.Errorf("element %d: got %v, want %v (all: %s)", i, g, w, show(got))
		return
	}
}

// show prints a tensor's contents.
func show(x *tensor.Tensor) string {
	switch x.DType() {
	case tensor.String:
		return fmt.Sprintf("%q", x.Strings())
	case tensor.Float32:
		return fmt.Sprint(tensor.Cast[float32](x.Bytes()))
	case tensor.Float64:
		return fmt.Sprint(tensor.Cast[float64](x.Bytes()))
	}
	f := op.FactOf(x)
	if ns, ok := f.Ints(); ok {
		return fmt.Sprint(ns)
	}
	return fmt.Sprintf("%x", x.Bytes())
}

func TestIdentityKeepsEveryType(t *testing.T) {
	for _, x := range []*tensor.Tensor{
		tensor.Of(1.5, 2), tensor.Of("a", ""), tensor.Scalar(int8(3)), ten[float32](sh(0, 3)), tensor.Of(true),
	} {
		got := runNode(t, node("Identity"), x)
		same(t, got[0], x, 0)
	}
}

func TestSupportsNamesWhatIsMissing(t *testing.T) {
	b := Backend{}
	if err := b.Supports(node("NoSuchOp"), nil, nil); err == nil || !strings.Contains(err.Error(), "no kernel") {
		t.Errorf("unknown operator: got %v", err)
	}
	err := b.Supports(node("Shape"), []tensor.DType{tensor.Undefined}, nil)
	if err != nil {
		t.Errorf("a left-out input: got %v", err)
	}
}
