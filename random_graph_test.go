package stowage

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

var (
	randomGraphs = flag.Int("graphs", 600, "number of graphs of TestRandomGraphsEqualInterpreter")
	randomSeed   = flag.Uint64("graphseed", 1, "seed of the first of them")
)

// TestRandomGraphsEqualInterpreter runs random graphs (views, in-place results, data-dependent
// shapes, branches and loops in each other, values read and returned several times) as planned, in
// poisoned memory, and node by node in fresh memory. Every bit must agree. To see one graph
// again: -run RandomGraphs -graphs 1 -graphseed N -v.
func TestRandomGraphsEqualInterpreter(t *testing.T) {
	compareRandomGraphs(t, func(uint64) backend.Backend { return ref.Backend{} })
}

// TestRandomGraphsInBlocksEqualInterpreter does the same with kernels that read and write blocked
// layouts, in random combinations at random costs, beside those that do not.
func TestRandomGraphsInBlocksEqualInterpreter(t *testing.T) {
	compareRandomGraphs(t, func(seed uint64) backend.Backend {
		return conform.Blocks{Backend: ref.Backend{}, Block: backend.Layout(1 + seed%3), Seed: seed}
	})
}

// rounding lists the rules that change the order of roundings.
var rounding = []string{"affine", "weights", "norm", "gelu"}

// compareRandomGraphs runs the graphs with the kernels that are given for each.
func compareRandomGraphs(t *testing.T, kernels func(seed uint64) backend.Backend) {
	plain := kernelSet
	defer func() { kernelSet = plain }()
	compared := 0
	for i := range *randomGraphs {
		seed := *randomSeed + uint64(i)
		kernelSet = func(string, []string) (backend.Backend, error) { return kernels(seed), nil }
		b := newRandomModel(seed)
		if testing.Verbose() && *randomGraphs == 1 {
			t.Log(b.log.String())
		}
		compared += b.compare(t, seed)
	}
	t.Logf("%d of %d graphs compared", compared, *randomGraphs)
	if 2*compared < *randomGraphs {
		t.Errorf("got %d comparisons of %d graphs, want at least half", compared, *randomGraphs)
	}
}

// anyValue is a value that nodes may read. When free is set, only the rank of shape counts: the
// extents vary from run to run, and values of the same class have the same.
type anyValue struct {
	name  string
	dt    tensor.DType
	shape []int64
	free  bool
	class int
}

// fits reports whether two values have the same type and, whatever it is, the same shape.
func (v anyValue) fits(o anyValue) bool {
	if v.dt != o.dt || v.free != o.free {
		return false
	}
	if v.free {
		return v.class == o.class
	}
	return slices.Equal(v.shape, o.shape)
}

// randomModel is a model under construction and what it is to be fed.
type randomModel struct {
	r       *rand.Rand
	model   *testkit.Model
	inputs  []anyValue
	outputs []anyValue
	// bounds holds the largest extents that feeds give the free dims that have a name in the file.
	bounds  map[string]int64
	classes int
	bodies  int
	log     strings.Builder
}

// randomScope is a graph of the model: nodes read its values and those of the graphs around it.
type randomScope struct {
	*randomModel
	g     *testkit.Graph
	vals  []anyValue
	depth int
}

var inputTypes = []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float32, tensor.Float32, tensor.Int64,
	tensor.Int64, tensor.Bool, tensor.Float64, tensor.Float16, tensor.Int32, tensor.BFloat16, tensor.Uint8, tensor.String}

func newRandomModel(seed uint64) *randomModel {
	m := &randomModel{r: rand.New(rand.NewPCG(seed, 7)), model: testkit.NewModel(24),
		bounds: map[string]int64{}}
	s := &randomScope{randomModel: m, g: &m.model.Graph}
	for range 1 + m.r.IntN(4) {
		s.input(inputTypes[m.r.IntN(len(inputTypes))], m.r.IntN(4), m.r.IntN(3) == 0)
	}
	s.input(tensor.Float32, 1+m.r.IntN(3), m.r.IntN(3) == 0)
	s.input(tensor.Float32, 3+m.r.IntN(2), m.r.IntN(4) == 0)
	s.input(tensor.Bool, 0, false)
	s.grow(3 + m.r.IntN(30))
	for range 1 + m.r.IntN(4) {
		v := s.any()
		if slices.ContainsFunc(m.outputs, func(o anyValue) bool { return o.name == v.name }) {
			continue
		}
		m.outputs = append(m.outputs, v)
		m.model.OutputOf(v.name, testkit.TensorType(v.dt, testkit.AnyRank))
	}
	return m
}

func (s *randomScope) input(dt tensor.DType, rank int, free bool) {
	v := anyValue{name: fmt.Sprintf("in%d", len(s.inputs)), dt: dt, shape: s.shape(rank), free: free && rank > 0}
	dims := make([]any, rank)
	for i, d := range v.shape {
		dims[i] = d
		if v.free || s.r.IntN(3) == 0 {
			dims[i] = fmt.Sprintf("%s_d%d", v.name, i)
			if s.bounds[dims[i].(string)] = 5; !v.free {
				s.bounds[dims[i].(string)] = d
			}
		}
	}
	v.class = s.newClass()
	s.g.Input(v.name, dt, dims...)
	s.inputs, s.vals = append(s.inputs, v), append(s.vals, v)
}

func (m *randomModel) newClass() int {
	m.classes++
	return m.classes
}

// shape draws extents; now and then one is 0.
func (m *randomModel) shape(rank int) []int64 {
	s := make([]int64, rank)
	for i := range s {
		s[i] = []int64{1, 1, 2, 2, 3, 3, 4, 5, 1, 2, 3, 4, 0}[m.r.IntN(13)]
	}
	return s
}

// grow adds up to n nodes.
func (s *randomScope) grow(n int) {
	for range n {
		before := len(s.vals)
		for try := 0; try < 3 && len(s.vals) == before; try++ {
			s.addNode()
		}
	}
}

// any returns a value to read, a recent one by preference.
func (s *randomScope) any() anyValue {
	if n := len(s.vals); n > 4 && s.r.IntN(5) < 3 {
		return s.vals[n-1-s.r.IntN(4)]
	}
	return s.vals[s.r.IntN(len(s.vals))]
}

// find returns a value that ok accepts.
func (s *randomScope) find(ok func(anyValue) bool) (anyValue, bool) {
	for range 12 {
		if v := s.any(); ok(v) {
			return v, true
		}
	}
	return anyValue{}, false
}

func isFloat(v anyValue) bool  { return v.dt.IsFloat() }
func isNumber(v anyValue) bool { return v.dt.IsFloat() || v.dt.IsInt() }
func ranked(v anyValue) bool   { return len(v.shape) > 0 }
func static(v anyValue) bool   { return !v.free }
func full(v anyValue) bool     { return !v.free && !slices.Contains(v.shape, 0) }

// all joins conditions.
func all(conds ...func(anyValue) bool) func(anyValue) bool {
	return func(v anyValue) bool {
		for _, c := range conds {
			if !c(v) {
				return false
			}
		}
		return true
	}
}

// node adds a node whose first output is v, with a name that it makes up.
func (s *randomScope) node(op string, in []string, v anyValue, parts ...testkit.Part) {
	s.nodes(op, in, []anyValue{v}, parts...)
}

func (s *randomScope) nodes(op string, in []string, outs []anyValue, parts ...testkit.Part) {
	names := s.g.Nodes(op, in, len(outs), parts...)
	for i, v := range outs {
		if n, ok := tensor.Shape(v.shape).Elements(); !ok || n > 1<<12 {
			return
		}
		v.name = names[i]
		s.vals = append(s.vals, v)
		fmt.Fprintf(&s.log, "%*s%s = %s%v %v%v free %v\n", 2*s.depth, "", v.name, op, in, v.dt, v.shape, v.free)
	}
}

// like returns the value of a new node with the type and shape of v.
func like(v anyValue, dt tensor.DType) anyValue {
	v.dt = dt
	return v
}

// fresh returns a value of a shape that is known, or of a class of its own.
func (s *randomScope) fresh(dt tensor.DType, shape []int64, free bool) anyValue {
	return anyValue{dt: dt, shape: shape, free: free, class: s.newClass()}
}

// ints adds a constant list.
func (s *randomScope) ints(n ...int64) string {
	if s.r.IntN(2) == 0 {
		return s.g.Const(tensor.Of(n...))
	}
	return s.g.Init(s.g.NewName("list"), tensor.Of(n...))
}

// constant adds a constant of a type and shape.
func (s *randomScope) constant(dt tensor.DType, shape []int64) anyValue {
	t := s.tensor(dt, shape)
	v := s.fresh(dt, shape, false)
	if v.name = s.g.NewName("const"); s.r.IntN(2) == 0 || dt == tensor.String {
		s.g.Init(v.name, t)
	} else {
		v.name = s.g.Const(t)
	}
	s.vals = append(s.vals, v)
	return v
}

// partner returns an operand that broadcasts to v's shape: v itself, one of the same shape, or a
// constant with extents of 1 or fewer dimensions.
func (s *randomScope) partner(v anyValue) anyValue {
	if p, ok := s.find(v.fits); ok && s.r.IntN(3) > 0 {
		return p
	}
	if v.free {
		return s.constant(v.dt, []int64{1}[:s.r.IntN(2)])
	}
	shape := slices.Clone(v.shape)
	for i := range shape {
		if s.r.IntN(3) == 0 {
			shape[i] = 1
		}
	}
	return s.constant(v.dt, shape[s.r.IntN(len(shape)+1):])
}

// tensor draws contents: small numbers that arithmetic keeps exact and finite, mostly.
func (m *randomModel) tensor(dt tensor.DType, shape []int64) *tensor.Tensor {
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		panic(err)
	}
	for i := range t.Len() {
		n := m.r.IntN(7) - 3
		f := float32(n) / 2
		switch dt {
		case tensor.Float32:
			tensor.Cast[float32](t.Bytes())[i] = f
		case tensor.Float64:
			tensor.Cast[float64](t.Bytes())[i] = float64(f)
		case tensor.Float16:
			tensor.Cast[tensor.Half](t.Bytes())[i] = tensor.HalfOf(f)
		case tensor.BFloat16:
			tensor.Cast[tensor.Brain](t.Bytes())[i] = tensor.BrainOf(f)
		case tensor.Int64:
			tensor.Cast[int64](t.Bytes())[i] = int64(n)
		case tensor.Int32:
			tensor.Cast[int32](t.Bytes())[i] = int32(n)
		case tensor.String:
			t.Strings()[i] = string(rune('a' + n + 3))
		default:
			t.Bytes()[i] = byte((n + 3) % 2)
		}
	}
	return t
}

// feeds draws inputs; free extents differ from call to call.
func (m *randomModel) feeds() []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(m.inputs))
	for i, v := range m.inputs {
		shape := v.shape
		if v.free {
			shape = m.shape(len(shape))
		}
		out[i] = m.tensor(v.dt, shape)
	}
	return out
}

// compare runs the model several times in one session; 1 when it could be compared.
func (m *randomModel) compare(t *testing.T, seed uint64) int {
	t.Helper()
	model, err := LoadBytes(m.model.Bytes())
	if err != nil {
		t.Errorf("seed %d: load: %v", seed, err)
		return 0
	}
	defer model.Close()
	opts := &Options{Plans: m.r.IntN(3), NoFuse: rounding}
	if m.r.IntN(2) == 0 {
		opts.Max = m.bounds
	}
	if m.r.IntN(4) == 0 {
		opts.Outputs = []string{m.outputs[m.r.IntN(len(m.outputs))].name}
	}
	s, err := model.Open(opts)
	if err != nil {
		t.Errorf("seed %d: open: %v", seed, err)
		return 0
	}
	defer s.Close()
	lane := <-s.lanes
	lane.Poison = true
	s.lanes <- lane
	done := 0
	for run := range 3 {
		if m.same(t, fmt.Sprintf("seed %d: run %d", seed, run), model, s) {
			done = 1
		}
	}
	return done
}

// same runs the model once, bound and unbound; false when the interpreter cannot run it.
func (m *randomModel) same(t *testing.T, where string, model *Model, s *Session) bool {
	t.Helper()
	in := m.feeds()
	kept, named := make([]*tensor.Tensor, len(in)), map[string]*tensor.Tensor{}
	for i, x := range in {
		kept[i] = copyOf(x)
		named[m.inputs[i].name] = x
	}
	want, wantErr := interpret(model, kept)
	got, err := s.Run(context.Background(), named)
	switch {
	case err != nil && strings.Contains(err.Error(), "BUG:"):
		t.Errorf("%s: %v", where, err)
	case wantErr != nil:
		return false
	case err != nil:
		t.Errorf("%s: got error %v, want none", where, err)
		return true
	}
	if wantErr != nil {
		return false
	}
	bound, err := s.Bind(named, nil)
	if err == nil {
		err = bound.Run(context.Background())
	}
	if err != nil {
		t.Errorf("%s: bound: %v", where, err)
		return true
	}
	for i, o := range model.outputs {
		if g := got[o.Name]; g != nil && !(conform.Same(g, want[i]) && conform.Same(bound.Output(o.Name), want[i])) {
			t.Errorf("%s: output %q: got %v %v, bound %v, want %v %v", where, o.Name, g, contents(g),
				contents(bound.Output(o.Name)), want[i], contents(want[i]))
		}
	}
	for i, x := range in {
		if !conform.Same(x, kept[i]) {
			t.Errorf("%s: input %d: got changed by the run", where, i)
		}
	}
	for _, o := range got { // whoever owns an output may write to it: the next run must not see that
		for i := range o.Bytes() {
			o.Bytes()[i] = 0x55
		}
	}
	return true
}

func contents(t *tensor.Tensor) string { return fmt.Sprintf("%x%q", t.Bytes(), t.Strings()) }

func copyOf(t *tensor.Tensor) *tensor.Tensor {
	c, err := tensor.Zeros(t.DType(), t.Shape())
	if err != nil {
		panic(err)
	}
	copy(c.Bytes(), t.Bytes())
	copy(c.Strings(), t.Strings())
	return c
}

// interpret runs the interpreter; what panics there is an error.
func interpret(m *Model, in []*tensor.Tensor) (out []*tensor.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return conform.Interpreter{Backend: ref.Backend{}}.Run(m.graph, in)
}
