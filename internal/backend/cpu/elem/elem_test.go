package elem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

type family = func(l simd.Level, o *backend.Op) ([]backend.Candidate, error)

// check compares a family's candidates with the reference on every level; there must be some. It
// tries every input that the output may overwrite as well.
func check(t *testing.T, f family, c *twin.Case) {
	t.Helper()
	checkOn(t, simd.Levels(), f, c)
}

func checkOn(t *testing.T, levels []simd.Level, f family, c *twin.Case) {
	t.Helper()
	for _, l := range levels {
		// Guard pages go when the subtest ends.
		t.Run(l.String(), func(t *testing.T) {
			offer := func(o *backend.Op) ([]backend.Candidate, error) { return f(l, o) }
			if names := twin.Check(t, c, offer); len(names) == 0 {
				t.Fatalf("%v: no candidates", c)
			}
			for _, k := range op.Lookup(c.Node.Domain, c.Node.Op).Overwrites(c.Node) {
				if k < len(c.In) && c.In[k] != nil {
					overwrite(t, c, k, offer)
				}
			}
		})
	}
}

// run makes a call of the first row-major candidate, with output 0 in the memory of input over
// unless that is negative; nil when they do not have the same size.
func run(t *testing.T, c *twin.Case, over int, offer func(o *backend.Op) ([]backend.Candidate, error)) [][]byte {
	t.Helper()
	o := opOf(t, c)
	cs, err := offer(o)
	if err != nil {
		t.Fatal(err)
	}
	k := slices.IndexFunc(cs, func(k backend.Candidate) bool { return k.RowMajor() })
	if k < 0 {
		t.Fatalf("%v: no kernel", c)
	}
	call := &backend.Call{Scratch: make([]byte, cs[k].Scratch)}
	for _, x := range c.In {
		var v backend.View
		if x != nil {
			v = backend.View{DType: x.DType(), Shape: x.Shape(), Data: slices.Clone(x.Bytes())}
		}
		call.In = append(call.In, v)
	}
	var out [][]byte
	for i := range o.Out {
		y, err := tensor.Zeros(o.Out[i].DType, o.Out[i].Shape)
		if err != nil {
			t.Fatal(err)
		}
		v := backend.ViewOf(y)
		if i == 0 && over >= 0 {
			if len(v.Data) != len(call.In[over].Data) {
				return nil
			}
			v.Data = call.In[over].Data
		}
		call.Out = append(call.Out, v)
		out = append(out, v.Data)
	}
	if err := cs[k].Kernel(call); err != nil {
		t.Fatal(err)
	}
	return out
}

// overwrite checks that a result in the memory of an input is the same.
func overwrite(t *testing.T, c *twin.Case, over int, offer func(o *backend.Op) ([]backend.Candidate, error)) {
	t.Helper()
	got := run(t, c, over, offer)
	if got == nil {
		return
	}
	want := run(t, c, -1, offer)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%v: output %d in the memory of input %d differs", c, i, over)
		}
	}
}

// opOf infers a case's operands.
func opOf(t testing.TB, c *twin.Case) *backend.Op {
	t.Helper()
	o, _ := twin.Prepare(t, c.Node, c.In, func(i int) bool { return !slices.Contains(c.Fed, i) })
	o.Threads = 1
	return o
}

func float(name string, v float32) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
}

// all lists the numbers below n: inputs that are not known before the run.
func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// at sets a node's version.
func at(version int, n *graph.Node) *graph.Node { n.Version = version; return n }

var shapes = []tensor.Shape{{}, {1}, {0}, {7}, {3, 5}, {2, 3, 4}, {1, 17, 33}, {2, 8, 5, 6}, {1, 20, 9, 7},
	{2, 0, 3}, {1025}}

func TestUnaryOperators(t *testing.T) {
	for _, name := range []string{"Neg", "Abs", "Sqrt", "Reciprocal", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Relu", "LeakyRelu",
		"Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Gelu", "Mish", "Swish", "ThresholdedRelu",
		"Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Clip", "Shrink"} {
		for i, s := range shapes {
			x := twin.Floats(uint64(i), s...)
			check(t, Chain, &twin.Case{Node: twin.Node(name, 1), In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 2e-6, Abs: 2e-7})
		}
	}
}

func TestUnaryOperatorsOnOddNumbers(t *testing.T) {
	for _, name := range []string{"Neg", "Abs", "Sqrt", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Relu", "LeakyRelu", "Elu", "HardSwish",
		"Softplus", "Floor", "Sign", "Clip"} {
		x := twin.Odd(3, 4, 3, 9, 11)
		// Blocks of channels are not tried: what they hold is finite.
		only := func(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
			cs, err := Chain(l, o)
			return cs[:1], err
		}
		check(t, only, &twin.Case{Node: twin.Node(name, 1), In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 2e-6, Abs: 2e-7})
	}
}

// broadcasts lists pairs of shapes.
var broadcasts = [][2]tensor.Shape{
	{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{3, 4}, {}}, {{3, 1}, {1, 4}}, {{2, 8, 5, 6}, {8, 1, 1}}, {{2, 8, 5, 6}, {1, 8, 1, 1}},
	{{1, 19, 5, 6}, {1, 19, 1, 1}}, {{2, 8, 5, 6}, {2, 8, 1, 1}}, {{2, 8, 5, 6}, {5, 6}}, {{2, 8, 5, 6}, {1, 1, 1, 6}},
	{{2, 3, 4, 5, 6}, {3, 1, 5, 1}}, {{1}, {1}}, {{4, 1, 3}, {2, 1}}, {{0, 3}, {1, 3}}, {{7, 1100}, {7, 1}}, {{9, 1300}, {1300}},
	{{6}, {5, 6}}, {{2, 1, 3}, {2, 5, 1}}, {{700, 4}, {4}}, {{3, 500, 4}, {500, 1}}, {{2, 300, 5}, {2, 1, 5}}, {{2, 900, 7}, {1, 900, 1}},
	{{2, 300, 5}, {2, 300, 1}}, {{100, 1, 3}, {1, 90, 3}},
}

func TestLargeOperandsAreShared(t *testing.T) {
	for name, shapes := range map[string][]tensor.Shape{
		"Relu": {{70001}, {3, 17, 2000}}, "Tanh": {{20001}, {2, 40, 130}, {3, 17, 300}},
	} {
		for _, s := range shapes {
			x := twin.Floats(1, s...)
			check(t, Chain, &twin.Case{Node: twin.Node(name, 1), In: []*tensor.Tensor{x}, Fed: []int{0}, Rel: 1e-6})
		}
	}
}

func TestBinaryOperatorsBroadcast(t *testing.T) {
	for k, name := range []string{"Sub", "Add", "Mul", "Div", "Min", "Max", "PRelu"} {
		for i, s := range broadcasts {
			if k > 0 && (i+k)%4 > 0 {
				// All operators take the same ways; the first tries all shapes.
				continue
			}
			for _, swap := range []bool{false, true} {
				a, b := s[0], s[1]
				if swap {
					a, b = b, a
				}
				if _, ok := spread(b, a); name == "PRelu" && !ok {
					continue
				}
				in := []*tensor.Tensor{twin.Floats(uint64(i), a...), twin.Floats(9, b...)}
				c := &twin.Case{Node: twin.Node(name, 1), In: in, Fed: []int{0, 1}, Rel: 1e-6}
				check(t, Chain, c)
				c.Fed = []int{0}
				check(t, Chain, c)
			}
		}
	}
}

func TestPowAndVariadicOperators(t *testing.T) {
	x, y, z := twin.Floats(1, 2, 9, 5), twin.Floats(2, 9, 1), twin.Floats(3, 1)
	for _, name := range []string{"Sum", "Mean", "Min", "Max"} {
		for n := 1; n <= 3; n++ {
			in := []*tensor.Tensor{x, y, z}[:n]
			check(t, Chain, &twin.Case{Node: twin.Node(name, 1), In: in, Fed: all(n), Rel: 1e-6, Abs: 1e-6})
		}
	}
	positive := tensor.Must(tensor.Shape{5}, []float32{0.5, 1, 2, 3.25, 7})
	for _, e := range []*tensor.Tensor{tensor.Scalar[float32](2), tensor.Scalar[float32](0.5), tensor.Scalar[int64](3),
		tensor.Scalar[float32](-1), tensor.Scalar[float32](1), tensor.Scalar[float32](1.7), tensor.Scalar[int32](5)} {
		check(t, Chain, &twin.Case{Node: twin.Node("Pow", 1), In: []*tensor.Tensor{positive, e}, Fed: []int{0}, Rel: 1e-6})
	}
	both := []*tensor.Tensor{positive, positive}
	check(t, Chain, &twin.Case{Node: twin.Node("Pow", 1), In: both, Fed: all(2), Rel: 1e-6})
	lo, hi := tensor.Scalar[float32](-0.25), tensor.Scalar[float32](0.5)
	for _, fed := range [][]int{{0}, {0, 1}, {0, 2}, {0, 1, 2}} {
		check(t, Chain, &twin.Case{Node: twin.Node("Clip", 1), In: []*tensor.Tensor{x, lo, hi}, Fed: fed})
		check(t, Chain, &twin.Case{Node: twin.Node("Clip", 1), In: []*tensor.Tensor{x, nil, hi}, Fed: fed})
		check(t, Chain, &twin.Case{Node: twin.Node("Clip", 1), In: []*tensor.Tensor{x, lo}, Fed: fed})
		check(t, Chain, &twin.Case{Node: twin.Node("Clip", 1), In: []*tensor.Tensor{x, hi, lo}, Fed: fed})
	}
}

func TestBatchNormalization(t *testing.T) {
	for _, s := range []tensor.Shape{{2, 5, 3, 4}, {1, 19, 40, 40}, {3, 7}, {2, 8, 1}} {
		c := s[1]
		in := []*tensor.Tensor{twin.Floats(1, s...), twin.Floats(2, c), twin.Floats(3, c), twin.Floats(4, c),
			tensor.Must(tensor.Shape{c}, slices.Repeat([]float32{0.5}, int(c)))}
		check(t, Chain, &twin.Case{Node: twin.Node("BatchNormalization", 1), In: in, Fed: []int{0}, Rel: 1e-5, Abs: 1e-5})
	}
}

func TestFusedChains(t *testing.T) {
	for i, text := range []string{
		"in x\nin r\na = Add@22(x, r)\ny = Relu@22(a)\nout y",
		"in x\nin r\na = Neg@22(x)\nb = Mul@22(a, r)\nc = Sub@22(r, b)\ny = Add@22(c, x)\nout y",
		"in x\nin r\na = Sigmoid@22(x)\nb = Mul@22(a, x)\ny = Mul@22(r, b)\nout y",
		"in x\nin r\na = Sub@22(x, r)\nb = Pow@15(a, r)\nc = Abs@22(a)\nd = Max@13(c, a, r)\ny = Tanh@22(d)\nout y",
	} {
		for k, s := range broadcasts {
			if i == 3 && k > 4 || i > 0 && (i+k)%3 > 0 {
				continue
			}
			in := []*tensor.Tensor{twin.Floats(uint64(k), s[0]...), twin.Floats(9, s[1]...)}
			c := &twin.Case{Node: twin.Fused(t, text), In: in, Fed: []int{0, 1}, Rel: 1e-5, Abs: 1e-6}
			check(t, Chain, c)
			overwriteAll(t, c)
		}
	}
}

// overwriteAll runs a group with its result in the memory of each input in turn.
func overwriteAll(t *testing.T, c *twin.Case) {
	t.Helper()
	for k := range c.In {
		for _, l := range simd.Levels() {
			overwrite(t, c, k, func(o *backend.Op) ([]backend.Candidate, error) { return Chain(l, o) })
		}
	}
}

func TestResultsDoNotDependOnWorkers(t *testing.T) {
	x := twin.Floats(1, 3, 70001)
	for _, name := range []string{"Exp", "Tanh", "Gelu"} {
		c := &twin.Case{Node: twin.Node(name, 1), In: []*tensor.Tensor{x}, Fed: []int{0}}
		var want []byte
		for threads := 1; threads <= 5; threads++ {
			o := opOf(t, c)
			o.Threads = threads
			cs, err := Chain(simd.Best(), o)
			if err != nil {
				t.Fatal(err)
			}
			y, _ := tensor.Zeros(tensor.Float32, x.Shape())
			call := &backend.Call{In: []backend.View{backend.ViewOf(x)}, Out: []backend.View{backend.ViewOf(y)},
				Scratch: make([]byte, cs[0].Scratch)}
			if err := cs[0].Kernel(call); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = y.Bytes()
			}
			if !slices.Equal(want, y.Bytes()) {
				t.Errorf("%s: %d threads: got other bits than one", name, threads)
			}
		}
	}
}

// random returns a shape of 1 to 4 dims, and one that broadcasts with it.
func random(r *rand.Rand) (a, b tensor.Shape) {
	for range 1 + r.IntN(4) {
		d := 1 + r.Int64N(9)
		e, f := d, d
		switch r.IntN(4) {
		case 0:
			e = 1
		case 1:
			f = 1
		}
		a, b = append(a, e), append(b, f)
	}
	return a, b[r.IntN(len(b)+1):]
}

func TestRandomBroadcasts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 40 {
		a, b := random(r)
		t.Run(fmt.Sprint(a, b), func(t *testing.T) {
			in := []*tensor.Tensor{twin.Floats(uint64(i), a...), twin.Floats(9, b...)}
			check(t, Chain, &twin.Case{Node: twin.Node("Sub", 1), In: in, Fed: []int{0, 1}})
		})
	}
}
