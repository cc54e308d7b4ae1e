package stowage

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/fuse"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

var (
	randomCases = flag.Int("cases", 500, "number of models of TestRandomOperatorsEqualInterpreter")
	caseSeed    = flag.Uint64("caseseed", 1, "seed of the first of them")
	caseFamily  = flag.String("casefamily", "", "makes models of this family of operators alone")
)

// TestRandomOperatorsEqualInterpreter runs models of one operator that has fast kernels, and up to three
// more that may be fused with it, with random shapes, attributes, versions and operands: with every kernel
// set, without fusing and without the kernels that were chosen first, in poisoned memory, against the
// reference kernels node by node. To see one again: -run RandomOperators -cases 1 -caseseed N -v.
func TestRandomOperatorsEqualInterpreter(t *testing.T) {
	compared := 0
	for i := range *randomCases {
		c := newOpCase(*caseSeed + uint64(i))
		if testing.Verbose() && *randomCases == 1 {
			t.Log(c)
		}
		if c.check(t) {
			compared++
		}
	}
	t.Logf("%d of %d models compared", compared, *randomCases)
	if 3*compared < 2**randomCases {
		t.Errorf("got %d comparisons of %d models, want two thirds at least", compared, *randomCases)
	}
}

// opCase is a model under construction and what it is fed.
type opCase struct {
	seed    uint64
	r       *rand.Rand
	opset   int64
	nodes   []opNode
	inits   []opValue
	inputs  []opValue
	outputs []string
	// special says whether floats are now and then not finite, tiny or a negative zero.
	special bool
	// step bounds how far apart results of integer types may be: what is rounded to them may lie on a tie.
	step int
	want []*tensor.Tensor
	// peak is the largest finite number of all results on the way.
	peak float64
}

type opNode struct {
	op      string
	in, out []string
	parts   []testkit.Part
	text    string
}

type opValue struct {
	name string
	t    *tensor.Tensor
	free bool
}

// newOpCase draws a case. want is nil when the operator does not accept what was drawn.
func newOpCase(seed uint64) *opCase {
	c := &opCase{seed: seed, r: rand.New(rand.NewPCG(seed, 5)), opset: 7 + int64(seed%19)}
	if c.r.IntN(2) == 0 {
		c.opset = 24
	}
	c.special = c.r.IntN(4) == 0
	names := families()
	if *caseFamily != "" {
		names = []string{*caseFamily}
	}
	c.outputs = opFamilies[names[c.r.IntN(len(names))]](c)
	c.interpret()
	for range max(0, c.r.IntN(6)-2) {
		if c.want == nil || c.want[0] == nil || !c.extend() {
			break
		}
		c.interpret()
	}
	return c
}

// families lists the names of opFamilies, sorted.
func families() []string {
	var out []string
	for name := range opFamilies {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (c *opCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: opset %d, special %v", c.seed, c.opset, c.special)
	for _, v := range c.inputs {
		fmt.Fprintf(&b, "; %s fed %v free %v", v.name, v.t, v.free)
	}
	for _, v := range c.inits {
		fmt.Fprintf(&b, "; %s = %v", v.name, v.t)
		if v.t.Len() < 9 {
			fmt.Fprintf(&b, " %x%q", v.t.Bytes(), v.t.Strings())
		}
	}
	for _, n := range c.nodes {
		fmt.Fprintf(&b, "; %q = %s%q %s", n.out, n.op, n.in, n.text)
	}
	return b.String()
}

// model writes the model.
func (c *opCase) model() []byte {
	m := testkit.NewModel(c.opset)
	for _, v := range c.inputs {
		dims := make([]any, len(v.t.Shape()))
		for i, d := range v.t.Shape() {
			if dims[i] = d; v.free {
				dims[i] = fmt.Sprintf("%s_%d", v.name, i)
			}
		}
		m.Input(v.name, v.t.DType(), dims...)
	}
	for _, v := range c.inits {
		m.Init(v.name, v.t)
	}
	for _, n := range c.nodes {
		m.Node(n.op, n.in, append(slices.Clone(n.parts), testkit.Outs(n.out...))...)
	}
	for i, name := range c.outputs {
		if name == "" {
			continue
		}
		if c.want == nil || c.want[i] == nil {
			m.OutputOf(name, testkit.TensorType(tensor.Float32, testkit.AnyRank))
			continue
		}
		m.OutputOf(name, testkit.TensorType(c.want[i].DType(), testkit.AnyRank))
	}
	return m.Bytes()
}

// interpret sets want; nil when the model is refused.
func (c *opCase) interpret() {
	c.want = nil
	if len(c.outputs) == 0 {
		return
	}
	m, err := LoadBytes(c.model())
	if err != nil || len(m.unsupported) > 0 {
		return
	}
	defer m.Close()
	var in []*tensor.Tensor
	for _, v := range c.inputs {
		in = append(in, copyOf(v.t))
	}
	out, err := interpret(m, in)
	if err != nil {
		return
	}
	for i, x := range out {
		out[i] = copyOf(x)
	}
	for i, name := range c.outputs {
		if name == "" {
			out = slices.Insert(out, i, nil)
		}
	}
	c.want = out
	if out[0] != nil && out[0].DType().IsFloat() {
		for _, x := range numbers(out[0]) {
			if a := math.Abs(x); !math.IsInf(a, 0) && a > c.peak {
				c.peak = a
			}
		}
	}
}

// opWay is a way to open the model.
type opWay struct {
	what string
	opts Options
}

// check runs the case every way; false when the reference refuses it.
func (c *opCase) check(t *testing.T) bool {
	t.Helper()
	if len(c.outputs) == 0 {
		return false
	}
	m, err := LoadBytes(c.model())
	if err != nil || len(m.unsupported) > 0 {
		return false
	}
	defer m.Close()
	ways := []opWay{{"reference", Options{Kernels: reference}}, {"no fusing", Options{NoFuse: []string{fuse.All}}}}
	for _, l := range simd.Levels() {
		ways = append(ways, opWay{l.String(), Options{Kernels: l.String(), Threads: 1 + c.r.IntN(2)}})
	}
	if c.r.IntN(2) == 0 {
		off := slices.DeleteFunc(FuseRules(), func(string) bool { return c.r.IntN(2) == 0 })
		ways = append(ways, opWay{fmt.Sprintf("without rules %q", off), Options{NoFuse: off}})
	}
	for _, w := range ways {
		c.bound(&w.opts)
		kernels := c.run(t, m, w)
		for c.want != nil && len(kernels) > 0 && w.opts.Kernels != reference && c.r.IntN(2) == 0 {
			k := kernels[c.r.IntN(len(kernels))]
			if slices.Contains(w.opts.NoKernel, k) {
				break
			}
			w.opts.NoKernel = append(slices.Clip(w.opts.NoKernel), k)
			w.what += " without " + k
			kernels = c.run(t, m, w)
		}
	}
	return c.want != nil
}

// bound gives free extents a bound, or leaves them free.
func (c *opCase) bound(o *Options) {
	if c.r.IntN(2) == 0 {
		return
	}
	o.Max = map[string]int64{}
	for _, v := range c.inputs {
		for i, d := range v.t.Shape() {
			if v.free {
				o.Max[fmt.Sprintf("%s_%d", v.name, i)] = d
			}
		}
	}
}

// run runs the model one way, and returns the names of the kernels that may be switched off.
func (c *opCase) run(t *testing.T, m *Model, w opWay) []string {
	t.Helper()
	s, err := m.Open(&w.opts)
	if err != nil {
		if c.want != nil || strings.Contains(err.Error(), "BUG") {
			t.Errorf("%s: open: %v\n%v", w.what, err, c)
		}
		return nil
	}
	defer s.Close()
	lane := <-s.lanes
	lane.Poison = true
	s.lanes <- lane
	feeds, dims := map[string]*tensor.Tensor{}, map[string]int64{}
	for _, v := range c.inputs {
		feeds[v.name] = v.t
		for i, d := range v.t.Shape() {
			if v.free {
				dims[fmt.Sprintf("%s_%d", v.name, i)] = d
			}
		}
	}
	got, err := s.Run(context.Background(), feeds)
	if err != nil {
		if c.want != nil || strings.Contains(err.Error(), "BUG") {
			t.Errorf("%s: run: %v\n%v", w.what, err, c)
		}
		return nil
	}
	if c.want == nil {
		return nil
	}
	p, err := s.Plan(dims)
	var kernels []string
	if err == nil {
		for _, x := range p.Steps {
			switch {
			case slices.Contains(kernels, x.Kernel) || x.Kernel == "":
			case slices.Contains(KernelNames(), x.Kernel):
				kernels = append(kernels, x.Kernel)
			case x.Kernel[0] >= 'a' && x.Kernel != "reorder" && x.Kernel != "blocks":
				// The reference kernels have operators' names.
				t.Errorf("%v: got kernel %q, want one of KernelNames", c, x.Kernel)
			}
		}
	}
	for i, name := range c.outputs {
		if name == "" {
			continue
		}
		if what := c.wrong(got[name], c.want[i]); what != "" {
			t.Errorf("%s (%d threads): kernels %q: output %d: %s\n%v", w.what, w.opts.Threads, kernels, i, what, c)
		}
	}
	return kernels
}

// wrong says how a result differs from what is wanted by more than roundings.
func (c *opCase) wrong(got, want *tensor.Tensor) string {
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		return fmt.Sprintf("got %v, want %v", got, want)
	}
	if want.DType() == tensor.String || !want.DType().IsFloat() && c.step == 0 {
		if !conform.Same(got, want) {
			return fmt.Sprintf("got %v, want %v", firstOff(got, want), want)
		}
		return ""
	}
	g, w, eps := numbers(got), numbers(want), 2e-5
	if want.DType() == tensor.Float16 || want.DType() == tensor.BFloat16 {
		eps = 2e-2
	}
	if !want.DType().IsFloat() {
		for i := range w {
			if math.Abs(g[i]-w[i]) > float64(c.step) {
				return fmt.Sprintf("element %d: got %v, want %v", i, g[i], w[i])
			}
		}
		return ""
	}
	for i, a := range g {
		b := w[i]
		if a == b || a != a && b != b || !math.IsInf(b, 0) && math.Abs(a-b) <= eps*c.peak+10*eps*math.Abs(b)+c.slack() {
			continue
		}
		return fmt.Sprintf("element %d of %v: got %g, want %g, largest %g", i, want, a, b, c.peak)
	}
	return ""
}

// slack is the absolute bound on sums that may cancel out.
func (c *opCase) slack() float64 { return 1e-5 + float64(c.step) }

func firstOff(got, want *tensor.Tensor) string {
	g, w := got.Bytes(), want.Bytes()
	for i := range w {
		if g[i] != w[i] {
			return fmt.Sprintf("byte %d: %d for %d", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%q for %q", got.Strings(), want.Strings())
}

// numbers returns a tensor's elements.
func numbers(t *tensor.Tensor) []float64 {
	out := make([]float64, t.Len())
	for i := range out {
		switch b := t.Bytes(); t.DType() {
		case tensor.Float32:
			out[i] = float64(tensor.Cast[float32](b)[i])
		case tensor.Float64:
			out[i] = tensor.Cast[float64](b)[i]
		case tensor.Float16:
			out[i] = float64(tensor.Cast[tensor.Half](b)[i].Float32())
		case tensor.BFloat16:
			out[i] = float64(tensor.Cast[tensor.Brain](b)[i].Float32())
		case tensor.Int64:
			out[i] = float64(tensor.Cast[int64](b)[i])
		case tensor.Int32:
			out[i] = float64(tensor.Cast[int32](b)[i])
		case tensor.Int8:
			out[i] = float64(int8(b[i]))
		default:
			out[i] = float64(b[i])
		}
	}
	return out
}
