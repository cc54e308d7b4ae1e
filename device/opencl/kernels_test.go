package opencl

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// testCase is a node and its operands.
type testCase struct {
	node *graph.Node
	in   []*tensor.Tensor
	// constant says that the contents of inputs behind the first are known before.
	constant bool
	// place is an input whose memory the output overwrites, from 1; 0 for none.
	place int
}

// numbers is a tensor of normal numbers.
func numbers(seed uint64, shape ...int64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 9))
	data := make([]float32, product(shape))
	for i := range data {
		data[i] = float32(r.NormFloat64())
	}
	return tensor.Must(tensor.Shape(shape), data)
}

func ints(list ...int64) *tensor.Tensor { return tensor.Must(tensor.Shape{int64(len(list))}, list) }

// node makes a node with attributes of whole numbers, lists of such, floats and texts.
func node(name string, version int, attrs ...any) *graph.Node {
	n := &graph.Node{Op: name, Version: version}
	for i := 0; i < len(attrs); i += 2 {
		a := graph.Attr{Name: attrs[i].(string)}
		switch v := attrs[i+1].(type) {
		case int:
			a.Kind, a.Int = graph.AttrInt, int64(v)
		case []int64:
			a.Kind, a.Ints = graph.AttrInts, v
		case float64:
			a.Kind, a.Float = graph.AttrFloat, float32(v)
		case string:
			a.Kind, a.Str = graph.AttrString, v
		default:
			panic(fmt.Sprintf("BUG: attribute %v", v))
		}
		n.Attrs = append(n.Attrs, a)
	}
	return n
}

// want computes a case with the reference.
func want(t *testing.T, c *testCase) *tensor.Tensor {
	t.Helper()
	g := &graph.Graph{}
	n := *c.node
	n.Inputs, n.Outputs = nil, nil
	for i, x := range c.in {
		v := g.AddValue(graph.Value{Name: fmt.Sprint("x", i), Type: graph.Type{DType: x.DType()}})
		g.Inputs, n.Inputs = append(g.Inputs, v), append(n.Inputs, v)
	}
	y := g.AddValue(graph.Value{Name: "y"})
	n.Outputs, g.Outputs, g.Nodes = []graph.ValueID{y}, []graph.ValueID{y}, []*graph.Node{&n}
	c.node = &n
	out, err := conform.Interpreter{Backend: ref.Backend{}}.Run(g, c.in)
	if err != nil {
		t.Fatalf("%s: reference: %v", n.Op, err)
	}
	return out[0]
}

// runCase runs a case on a device, in poisoned memory with guards around every operand, and compares
// it with the reference.
func runCase(t *testing.T, d *Device, c testCase) {
	t.Helper()
	w := want(t, &c)
	o := &backend.Op{Node: c.node, Consts: &backend.Consts{}, Out: []backend.Arg{{DType: w.DType(), Shape: w.Shape()}}}
	for i, x := range c.in {
		a := backend.Arg{DType: x.DType(), Shape: x.Shape()}
		if i > 0 && c.constant {
			a.Const = x
		}
		o.In = append(o.In, a)
	}
	ks, err := d.Backend().Candidates(o)
	if err != nil || len(ks) != 1 {
		t.Fatalf("%s of %v: got %d kernels, %v, want 1", c.node.Op, o.In, len(ks), err)
	}
	f := newField(d, ks[0].Scratch)
	call := &backend.Call{}
	for _, x := range c.in {
		call.In = append(call.In, f.add(x, true))
	}
	if c.place > 0 {
		call.Out = []backend.View{call.In[c.place-1]}
	} else {
		call.Out = []backend.View{f.add(w, false)}
	}
	got := f.run(t, ks[0].Kernel, call)
	compare(t, fmt.Sprintf("%s of %v", c.node.Op, describe(c.in)), got, w)
}

func describe(ts []*tensor.Tensor) (out []string) {
	for _, x := range ts {
		out = append(out, fmt.Sprint(x.Shape()))
	}
	return out
}

// field is memory of a device with operands in it, and poison around them.
type field struct {
	d     *Device
	bytes []byte
	// given marks the bytes that no kernel may change.
	scratch, scratchAt int64
}

const poison, guard = 0xff, 96

func newField(d *Device, scratch int64) *field { return &field{d: d, scratch: scratch} }

func (f *field) pad() {
	f.bytes = append(f.bytes, bytes.Repeat([]byte{poison}, guard)...)
}

func (f *field) add(x *tensor.Tensor, contents bool) backend.View {
	f.pad()
	for len(f.bytes)%8 != 0 {
		f.bytes = append(f.bytes, poison)
	}
	v := backend.View{DType: x.DType(), Shape: x.Shape(), Offset: int64(len(f.bytes))}
	if contents {
		f.bytes = append(f.bytes, x.Bytes()...)
	} else {
		f.bytes = append(f.bytes, bytes.Repeat([]byte{poison}, len(x.Bytes()))...)
	}
	return v
}

// run calls a kernel, checks that it wrote nothing but its output and scratch memory, and returns the
// output's bytes.
func (f *field) run(t *testing.T, k backend.Kernel, c *backend.Call) []byte {
	t.Helper()
	f.pad()
	for len(f.bytes)%64 != 0 {
		f.bytes = append(f.bytes, poison)
	}
	before := len(f.bytes)
	all := append(f.bytes, bytes.Repeat([]byte{poison}, int(f.scratch)+guard)...)
	mem, err := f.d.Alloc(int64(len(all)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.In {
		c.In[i].Mem = mem
	}
	c.Out[0].Mem, c.ScratchMem, c.ScratchOffset = mem, mem, int64(before)
	got := make([]byte, len(all))
	if err := f.d.Upload(mem, 0, all); err != nil {
		t.Fatal(err)
	}
	if err := f.d.Run(k, c); err != nil {
		t.Fatal(err)
	}
	if err := f.d.Download(got, mem, 0); err != nil {
		t.Fatal(err)
	}
	if err := mem.Free(); err != nil {
		t.Fatal(err)
	}
	n, _ := c.Out[0].DType.ByteSize(product(c.Out[0].Shape))
	lo, hi := c.Out[0].Offset, c.Out[0].Offset+n
	if !bytes.Equal(got[:lo], all[:lo]) || !bytes.Equal(got[hi:before], all[hi:before]) ||
		!bytes.Equal(got[before+int(f.scratch):], all[before+int(f.scratch):]) {
		t.Fatal("got bytes written beside the output and the scratch memory")
	}
	return got[lo:hi]
}

// compare allows floats an error of some last places of the largest number.
func compare(t *testing.T, what string, got []byte, want *tensor.Tensor) {
	t.Helper()
	if want.DType() != tensor.Float32 {
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%s: got %v, want %v", what, got, want.Bytes())
		}
		return
	}
	g, w := tensor.Cast[float32](got), tensor.Cast[float32](want.Bytes())
	for i := range w {
		x, y := float64(g[i]), float64(w[i])
		switch {
		case math.IsNaN(y) && math.IsNaN(x), x == y:
		case math.IsNaN(x), math.IsNaN(y), math.IsInf(x, 0), math.IsInf(y, 0), math.Abs(x-y) > 2e-5*max(1, math.Abs(y)):
			t.Fatalf("%s: element %d: got %v, want %v", what, i, x, y)
		}
	}
}

// each runs cases with the kernels of both families.
func each(t *testing.T, cases []testCase) {
	for name, d := range families(t) {
		t.Run(name, func(t *testing.T) {
			for i := range cases {
				runCase(t, d, cases[i])
			}
		})
	}
}

// odd are numbers that are seldom thought of.
func odd() *tensor.Tensor {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	return tensor.Must(tensor.Shape{3, 4}, []float32{nan, inf, -inf, 0, float32(math.Copysign(0, -1)), 1e-42, -1e-42, 88, -88, 3e38,
		-3e38, 1})
}

func TestElementwiseOperators(t *testing.T) {
	cases := []testCase{
		{node: node("Relu", 13), in: []*tensor.Tensor{odd()}, place: 1},
		{node: node("Sigmoid", 13), in: []*tensor.Tensor{odd()}},
		{node: node("HardSwish", 14), in: []*tensor.Tensor{numbers(1, 9, 33)}},
		{node: node("LeakyRelu", 13, "alpha", 0.3), in: []*tensor.Tensor{odd()}},
		{node: node("Clip", 6, "min", -0.5, "max", 0.25), in: []*tensor.Tensor{odd()}},
		{node: node("Max", 13), in: []*tensor.Tensor{odd(), numbers(2, 4), numbers(3, 3, 1)}},
		{node: node("Min", 13), in: []*tensor.Tensor{numbers(2, 1, 4), odd()}},
		{node: node("Add", 13), in: []*tensor.Tensor{numbers(4, 2, 5, 40), numbers(5, 5, 1)}, place: 1},
		{node: node("Mul", 13), in: []*tensor.Tensor{numbers(4, 7, 1, 3), numbers(5, 2, 3)}},
		{node: node("Sub", 13), in: []*tensor.Tensor{numbers(4), numbers(5, 5000)}, place: 2},
		{node: node("Div", 13), in: []*tensor.Tensor{numbers(4, 2, 3, 4, 5, 17), numbers(5, 3, 1, 5, 1)}},
		{node: node("PRelu", 9), in: []*tensor.Tensor{numbers(4, 2, 3, 20), numbers(5, 3, 1)}},
		{node: node("Less", 13), in: []*tensor.Tensor{odd(), numbers(5, 4)}},
		{node: node("Pow", 13), in: []*tensor.Tensor{numbers(6, 19), tensor.Must(tensor.Shape{}, []float32{2})}, constant: true},
		{node: node("Neg", 13), in: []*tensor.Tensor{numbers(6, 0, 3)}},
	}
	if testing.Short() {
		cases = cases[:5]
	}
	each(t, cases)
}

func TestMovingOperators(t *testing.T) {
	x := numbers(1, 2, 3, 5, 7)
	each(t, []testCase{
		{node: node("Transpose", 13, "perm", []int64{0, 2, 3, 1}), in: []*tensor.Tensor{x}},
		{node: node("Transpose", 13), in: []*tensor.Tensor{ints(1, 2, 3)}},
		{node: node("Slice", 13), in: []*tensor.Tensor{x, ints(-1, 1), ints(-100, 100), ints(2, 3), ints(-2, 3)}, constant: true},
		{node: node("Concat", 13, "axis", -2), in: []*tensor.Tensor{x, numbers(2, 2, 3, 1, 7), numbers(2, 2, 3, 0, 7)}},
		{node: node("Expand", 13), in: []*tensor.Tensor{numbers(3, 3, 1), ints(2, 3, 33)}, constant: true},
		{node: node("Gather", 13, "axis", 1), in: []*tensor.Tensor{x, ints(2, -3, 0, 2)}, constant: true},
		{node: node("Pad", 13, "mode", "reflect"), in: []*tensor.Tensor{numbers(4, 3, 20), ints(1, 2, 2, 3)}, constant: true},
		{node: node("Pad", 13), in: []*tensor.Tensor{numbers(4, 3, 20), ints(1, -2, 2, 3)}, constant: true},
		{node: node("Reshape", 13), in: []*tensor.Tensor{x, ints(-1)}, constant: true},
	})
}

func TestProductsOfMatrices(t *testing.T) {
	cases := []testCase{
		{node: node("MatMul", 13), in: []*tensor.Tensor{numbers(1, 1, 1), numbers(2, 1, 1)}},
		{node: node("MatMul", 13), in: []*tensor.Tensor{numbers(1, 37, 65), numbers(2, 65, 71)}},
		{node: node("MatMul", 13), in: []*tensor.Tensor{numbers(1, 3, 2, 17, 9), numbers(2, 3, 2, 9, 33)}},
		{node: node("MatMul", 13), in: []*tensor.Tensor{numbers(1, 4, 5, 9), numbers(2, 9, 130)}, constant: true},
		{node: node("MatMul", 13), in: []*tensor.Tensor{numbers(1, 20, 9), numbers(2, 2, 9, 40)}},
		{node: node("Gemm", 13, "transA", 1, "alpha", 0.5), in: []*tensor.Tensor{numbers(1, 9, 66), numbers(2, 9, 40), numbers(3, 40)}},
		{node: node("Gemm", 13, "transB", 1, "beta", 2.0), in: []*tensor.Tensor{numbers(1, 7, 12), numbers(2, 35, 12), numbers(3, 7, 1)},
			constant: true},
	}
	if testing.Short() {
		cases = cases[1:2]
	}
	each(t, cases)
}

// randomConv is a convolution of random extents.
func randomConv(seed uint64, transposed bool) testCase {
	r := rand.New(rand.NewPCG(seed, 4))
	n := func(lo, hi int) int64 { return int64(lo + r.IntN(hi-lo+1)) }
	group, ins, outs := n(1, 3), n(1, 3), n(1, 4)
	if seed%3 == 0 {
		group, ins = 5, 1
	}
	k, s, p, d := n(1, 3), n(1, 2), n(0, 1), n(1, 2)
	name, w := "Conv", numbers(seed, group*outs, ins, k, k)
	if transposed {
		name, w = "ConvTranspose", numbers(seed, group*ins, outs, k, k)
	}
	nd := node(name, 11, "group", int(group), "strides", []int64{s, s}, "pads", []int64{p, p, p, p},
		"dilations", []int64{d, d})
	return testCase{node: nd, in: []*tensor.Tensor{numbers(seed+1, n(1, 2), group*ins, n(6, 20), n(6, 40)), w,
		numbers(seed+2, group*outs)}, constant: seed%2 == 0}
}

func TestConvolutions(t *testing.T) {
	cases := []testCase{
		{node: node("Conv", 11), in: []*tensor.Tensor{numbers(1, 2, 19, 6, 7), numbers(2, 33, 19, 1, 1)}},
		{node: node("Conv", 11, "pads", []int64{1, 2}), in: []*tensor.Tensor{numbers(1, 1, 3, 50), numbers(2, 4, 3, 5)}},
	}
	more := uint64(6)
	if testing.Short() {
		more = 1
	}
	for seed := range more {
		cases = append(cases, randomConv(seed, false))
		if seed%2 == 0 {
			cases = append(cases, randomConv(seed, true))
		}
	}
	each(t, cases)
}

func TestReducingOperators(t *testing.T) {
	x := numbers(1, 2, 3, 11, 18)
	rows := tensor.Must(tensor.Shape{2, 4}, []float32{1, float32(math.NaN()), 2, 3, 1000, -1000, 999, 0})
	each(t, []testCase{
		{node: node("MaxPool", 12, "kernel_shape", []int64{3, 2}, "strides", []int64{2, 1}, "pads", []int64{1, 0, 1, 1}),
			in: []*tensor.Tensor{x}},
		{node: node("AveragePool", 11, "kernel_shape", []int64{3, 3}, "strides", []int64{2, 2}, "pads", []int64{1, 1, 1, 1},
			"ceil_mode", 1, "count_include_pad", 1), in: []*tensor.Tensor{x}},
		{node: node("AveragePool", 11, "kernel_shape", []int64{2}, "auto_pad", "SAME_UPPER"), in: []*tensor.Tensor{numbers(2, 1, 2, 9)}},
		{node: node("GlobalAveragePool", 1), in: []*tensor.Tensor{x}},
		{node: node("ReduceMax", 11, "axes", []int64{1, -1}, "keepdims", 0), in: []*tensor.Tensor{x}},
		{node: node("ReduceMean", 11, "axes", []int64{2}), in: []*tensor.Tensor{x}},
		{node: node("ReduceL2", 11), in: []*tensor.Tensor{x}},
		{node: node("Softmax", 13, "axis", 1), in: []*tensor.Tensor{x}, place: 1},
		{node: node("Softmax", 11, "axis", 2), in: []*tensor.Tensor{x}},
		{node: node("LogSoftmax", 13), in: []*tensor.Tensor{rows}},
		{node: node("LayerNormalization", 17, "axis", 2), in: []*tensor.Tensor{x, numbers(2, 11, 18), numbers(3, 11, 18)}, place: 1},
		{node: node("InstanceNormalization", 6), in: []*tensor.Tensor{x, numbers(2, 3), numbers(3, 3)}},
	})
}

// fusedCase is a body of elementwise nodes behind an anchor, all reading further operands.
func fusedCase(anchor *graph.Node, chain []*graph.Node, in ...*tensor.Tensor) testCase {
	g := &graph.Graph{}
	for i, x := range in {
		g.Inputs = append(g.Inputs, g.AddValue(graph.Value{Name: fmt.Sprint("x", i), Type: graph.Type{DType: x.DType()}}))
	}
	next := 0
	take := func(n int) (out []graph.ValueID) {
		out, next = g.Inputs[next:next+n], next+n
		return out
	}
	var last graph.ValueID
	for i, n := range append([]*graph.Node{anchor}, chain...) {
		m := *n
		switch {
		case i == 0:
			m.Inputs = take(min(2, op.Lookup("", n.Op).In.Max))
		case op.Lookup("", n.Op).In.Max == 1:
			m.Inputs = []graph.ValueID{last}
		default:
			m.Inputs = append([]graph.ValueID{last}, take(1)...)
		}
		last = g.AddValue(graph.Value{Name: fmt.Sprint("v", i), Type: graph.Type{DType: tensor.Float32}})
		m.Outputs = []graph.ValueID{last}
		g.Nodes = append(g.Nodes, &m)
	}
	g.Outputs = []graph.ValueID{last}
	n := &graph.Node{Domain: op.Domain, Op: op.Fused, Version: 1,
		Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: g}}}
	return testCase{node: n, in: in}
}

func TestFusedGroups(t *testing.T) {
	add, mul, relu := node("Add", 13), node("Mul", 13), node("Relu", 13)
	x, w := numbers(1, 2, 4, 9, 20), numbers(2, 10, 4, 3, 3)
	each(t, []testCase{
		fusedCase(node("Conv", 11), []*graph.Node{add, relu, mul}, x, w, numbers(3, 2, 10, 7, 18), numbers(4, 10, 1, 1)),
		fusedCase(node("Conv", 11, "group", 4), []*graph.Node{mul, add}, x, numbers(2, 4, 1, 2, 2), numbers(3, 2, 4, 8, 19), numbers(4, 1)),
		fusedCase(node("Conv", 11), []*graph.Node{add, relu}, numbers(1, 2, 3, 40), numbers(2, 4, 3, 1), numbers(3, 2, 4, 40)),
		fusedCase(node("MatMul", 13), []*graph.Node{add, node("Tanh", 13)}, numbers(1, 2, 5, 8), numbers(2, 8, 40), numbers(3, 40)),
		fusedCase(node("Sub", 13), []*graph.Node{mul, node("Exp", 13), add}, numbers(1, 3, 33), numbers(2, 33), numbers(3, 1), numbers(4, 3, 33)),
		fusedCase(node("Softmax", 13), []*graph.Node{mul, relu}, numbers(1, 3, 33), numbers(2, 33)),
	})
}

func TestResize(t *testing.T) {
	x := numbers(1, 1, 2, 5, 9)
	var cases []testCase
	for _, mode := range []string{"nearest", "linear"} {
		for _, coordinates := range []string{"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"} {
			n := node("Resize", 13, "mode", mode, "coordinate_transformation_mode", coordinates)
			cases = append(cases, testCase{node: n, in: []*tensor.Tensor{x, tensor.Must(tensor.Shape{0}, []float32{}),
				tensor.Must(tensor.Shape{4}, []float32{1, 1, 2.3, 0.6})}, constant: true})
		}
	}
	each(t, cases)
}
