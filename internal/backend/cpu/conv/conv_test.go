package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// problem is a convolution with every list of attributes spelled out.
type problem struct {
	x, w                     tensor.Shape
	strides, dilations, pads []int64
	auto                     string
	group                    int64
	bias, constant           bool
	threads                  int
}

func (c *problem) String() string {
	return fmt.Sprintf("x%v w%v s%v d%v p%v %s g%d bias=%v const=%v threads=%d", c.x, c.w, c.strides, c.dilations, c.pads,
		c.auto, c.group, c.bias, c.constant, c.threads)
}

func (c *problem) node() *graph.Node {
	ints := func(name string, v []int64) graph.Attr { return graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v} }
	n := &graph.Node{Op: "Conv", Version: 22, Outputs: []graph.ValueID{0}, Attrs: graph.Attrs{
		ints("dilations", c.dilations), {Name: "group", Kind: graph.AttrInt, Int: c.group}, ints("strides", c.strides)}}
	if c.auto != "" {
		n.Attrs = append(n.Attrs, graph.Attr{Name: "auto_pad", Kind: graph.AttrString, Str: c.auto})
	} else {
		n.Attrs = append(n.Attrs, ints("pads", c.pads))
	}
	slices.SortFunc(n.Attrs, func(a, b graph.Attr) int { return strings.Compare(a.Name, b.Name) })
	return n
}

// values draws n small whole numbers, so that sums do not depend on their order.
func values(r *rand.Rand, n int64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(9) - 4)
	}
	return v
}

func draw(r *rand.Rand, s tensor.Shape) *tensor.Tensor {
	n, _ := s.Elements()
	t, err := tensor.New(s, values(r, n))
	if err != nil {
		panic(err)
	}
	return t
}

// operands draws the operator and its inputs; ok is false when no window fits.
func (c *problem) operands(r *rand.Rand) (o *backend.Op, in []*tensor.Tensor, ok bool) {
	n := c.node()
	axes, err := op.Windows(n.Attrs, graph.Of(c.x[2:]...), graph.Of(c.w[2:]...))
	if err != nil {
		return nil, nil, false
	}
	in = []*tensor.Tensor{draw(r, c.x), draw(r, c.w)}
	if c.bias {
		in = append(in, draw(r, tensor.Shape{c.w[0]}))
	}
	y := tensor.Shape{c.x[0], c.w[0]}
	for i := range axes {
		d, _ := axes[i].Out.Int()
		y = append(y, d)
	}
	o = &backend.Op{Node: n, Out: []backend.Arg{{DType: tensor.Float32, Shape: y}}, Threads: c.threads,
		Consts: &backend.Consts{}}
	for i, t := range in {
		a := backend.Arg{DType: tensor.Float32, Shape: t.Shape()}
		if c.constant && i > 0 {
			a.Const = t
		}
		o.In = append(o.In, a)
	}
	return o, in, true
}

// reference computes the output with the oracle.
func reference(t *testing.T, o *backend.Op, in []*tensor.Tensor) []float32 {
	t.Helper()
	cs, err := ref.Backend{}.Candidates(o)
	if err != nil || len(cs) == 0 {
		t.Fatalf("reference: got %d kernels, %v", len(cs), err)
	}
	return perform(t, o, &cs[0], in, nil)
}

// block lays elements of a row-major tensor out in blocks; what stands for no channel is junk.
func block(v []float32, s tensor.Shape, b int) []float32 {
	n, c, size := int(s[0]), int(s[1]), 1
	for _, d := range s[2:] {
		size *= int(d)
	}
	cb := (c + b - 1) / b
	out := make([]float32, n*cb*size*b)
	for i := range out {
		lane, at := i%b, i/b
		ch := at/size%cb*b + lane
		if out[i] = 1e30; ch < c {
			out[i] = v[(at/size/cb*c+ch)*size+at%size]
		}
	}
	return out
}

// unblock is the way back; it checks that what stands for no channel is finite.
func unblock(t *testing.T, v []float32, s tensor.Shape, b int) []float32 {
	n, _ := s.Elements()
	out := make([]float32, n)
	c, size := int(s[1]), int(n)/int(s[0]*s[1])
	cb := (c + b - 1) / b
	for i := range v {
		lane, at := i%b, i/b
		ch := at/size%cb*b + lane
		if ch < c {
			out[(at/size/cb*c+ch)*size+at%size] = v[i]
		} else if math.IsNaN(float64(v[i])) || math.IsInf(float64(v[i]), 0) {
			t.Fatalf("element %d, of no channel: got %v, want a finite value", i, v[i])
		}
	}
	return out
}

const sentinel = 12345

// callOf lays a candidate's operands out; y and scratch are the memory of its output and scratch with
// their fences.
func callOf(o *backend.Op, k *backend.Candidate, in []*tensor.Tensor, team *backend.Team) (
	c *backend.Call, y, scratch []float32) {
	c = &backend.Call{Team: team}
	for i, x := range in {
		v := backend.ViewOf(x)
		if i < len(k.In) && k.In[i] > 0 {
			v.Data = bytesOf(block(tensor.Cast[float32](v.Data), v.Shape, int(k.In[i])))
		}
		c.In = append(c.In, v)
	}
	shape := o.Out[0].Shape
	n := int(layoutOf(k).Bytes(tensor.Float32, shape) / 4)
	y, scratch = fenced(n), fenced(int(k.Scratch/4))
	c.Out = []backend.View{{DType: tensor.Float32, Shape: shape, Data: bytesOf(y[16 : 16+n])}}
	c.Scratch = bytesOf(scratch[16 : 16+k.Scratch/4])
	return c, y, scratch
}

// layoutOf is the layout of the output.
func layoutOf(k *backend.Candidate) backend.Layout {
	if k.Out == nil {
		return backend.RowMajor
	}
	return k.Out[0]
}

// perform runs a kernel and returns its output in row-major order. Every operand has sentinels
// around it.
func perform(t *testing.T, o *backend.Op, k *backend.Candidate, in []*tensor.Tensor, team *backend.Team) []float32 {
	t.Helper()
	c, y, scratch := callOf(o, k, in, team)
	if err := k.Kernel(c); err != nil {
		t.Fatal(err)
	}
	for _, f := range [][]float32{y, scratch} {
		for i := range 16 {
			if f[i] != sentinel || f[len(f)-1-i] != sentinel {
				t.Fatalf("%s: wrote outside of its memory", k.Name)
			}
		}
	}
	y = y[16 : len(y)-16]
	for _, j := range k.Over {
		inPlace(t, o, k, in, team, j, y)
	}
	if l := layoutOf(k); l != backend.RowMajor {
		return unblock(t, y, o.Out[0].Shape, int(l))
	}
	return y
}

// inPlace runs a kernel with its output over an input, and compares it with what it was elsewhere.
func inPlace(t *testing.T, o *backend.Op, k *backend.Candidate, in []*tensor.Tensor, team *backend.Team, over int,
	want []float32) {
	t.Helper()
	c, _, _ := callOf(o, k, in, team)
	c.In[over].Data = slices.Clone(c.In[over].Data)
	c.Out[0].Data = c.In[over].Data
	if err := k.Kernel(c); err != nil {
		t.Fatal(err)
	}
	for i, got := range tensor.Cast[float32](c.Out[0].Data) {
		if math.Float32bits(got) != math.Float32bits(want[i]) {
			t.Fatalf("%s over input %d: element %d: got %v, want %v", k.Name, over, i, got, want[i])
		}
	}
}

// fenced returns n elements of NaN between 16 sentinels at both ends.
func fenced(n int) []float32 {
	v := make([]float32, n+32)
	for i := range v {
		v[i] = float32(math.NaN())
		if i < 16 || i >= n+16 {
			v[i] = sentinel
		}
	}
	return v
}

func bytesOf(v []float32) []byte {
	t, err := tensor.New(tensor.Shape{int64(len(v))}, v)
	if err != nil {
		panic(err)
	}
	return t.Bytes()
}

// compare runs every candidate of every level and returns how many there were.
func compare(t *testing.T, c *problem, r *rand.Rand) (kernels int) {
	t.Helper()
	o, in, ok := c.operands(r)
	if !ok {
		return 0
	}
	want := reference(t, o, in)
	team := backend.NewTeam(c.threads)
	defer team.Close()
	for _, l := range simd.Levels() {
		cs, err := Conv(l, o)
		if err != nil {
			t.Fatalf("%v: %v: %v", l, c, err)
		}
		kernels += len(cs)
		for i := range cs {
			// The second call finds the weights packed.
			for n := 0; n < 1 || n < 2 && i == 0; n++ {
				got := perform(t, o, &cs[i], in, team)
				if cs[i].Name == "conv-winograd" {
					closeTo(t, c, got, want)
					continue
				}
				for j := range want {
					if got[j] != want[j] {
						t.Fatalf("%v %s: %v: element %d: got %v, want %v", l, cs[i].Name, c, j, got[j], want[j])
					}
				}
			}
		}
	}
	return kernels
}

func few(r *rand.Rand, n int, most int64) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = 1 + r.Int64N(most)
	}
	return v
}

// randomProblem draws a convolution; its windows may not fit.
func randomProblem(r *rand.Rand) *problem {
	rank := []int{1, 2, 2, 2, 3}[r.IntN(5)]
	group := []int64{1, 1, 1, 2, 3}[r.IntN(5)]
	ins, outs := 1+r.Int64N(40), 1+r.Int64N(40)
	if r.IntN(4) == 0 {
		ins, outs = 16*(1+r.Int64N(3)), 16*(1+r.Int64N(6))
	}
	c := &problem{x: append(tensor.Shape{1 + r.Int64N(2), ins * group}, few(r, rank, 20)...),
		w: append(tensor.Shape{outs * group, ins}, few(r, rank, 4)...), strides: few(r, rank, 3), dilations: few(r, rank, 3),
		group: group, bias: r.IntN(2) == 0, constant: r.IntN(3) > 0, threads: 1 + r.IntN(3)}
	for range 2 * rank {
		c.pads = append(c.pads, r.Int64N(4))
	}
	if r.IntN(4) == 0 {
		c.auto = []string{"SAME_UPPER", "SAME_LOWER", "VALID"}[r.IntN(3)]
	}
	return c
}

// TestRandomConvolutions compares all kernels with the reference over random operands.
func TestRandomConvolutions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	kernels := 0
	for range 150 {
		kernels += compare(t, randomProblem(r), r)
	}
	if kernels < 300 {
		t.Errorf("got %d kernels, want more than 300", kernels)
	}
}

// TestKnownConvolutions has the kinds of convolution that networks are made of.
func TestKnownConvolutions(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range []problem{
		{x: tensor.Shape{1, 64, 30, 30}, w: tensor.Shape{64, 64, 3, 3}, pads: []int64{1, 1, 1, 1}},
		{x: tensor.Shape{1, 256, 14, 14}, w: tensor.Shape{80, 256, 1, 1}},
		{x: tensor.Shape{2, 128, 7, 7}, w: tensor.Shape{56, 128, 3, 3}, pads: []int64{1, 1, 1, 1}},
		{x: tensor.Shape{1, 3, 57, 57}, w: tensor.Shape{64, 3, 7, 7}, pads: []int64{3, 3, 3, 3}, strides: []int64{2, 2}},
		{x: tensor.Shape{1, 64, 20, 20}, w: tensor.Shape{32, 64, 3, 3}, pads: []int64{5, 5, 5, 5}, dilations: []int64{5, 5}},
		{x: tensor.Shape{1, 272, 14, 14}, w: tensor.Shape{272, 68, 1, 1}, group: 4},
		{x: tensor.Shape{1, 64, 28, 28}, w: tensor.Shape{128, 32, 3, 3}, group: 2, pads: []int64{1, 1, 1, 1}},
		{x: tensor.Shape{1, 256, 70, 1}, w: tensor.Shape{96, 256, 5, 1}},
		{x: tensor.Shape{1, 1, 28, 28}, w: tensor.Shape{8, 1, 5, 5}, auto: "SAME_UPPER"},
		{x: tensor.Shape{1, 96, 12, 4}, w: tensor.Shape{96, 96, 3, 1}},
		{x: tensor.Shape{1, 96, 12, 2}, w: tensor.Shape{96, 96, 1, 3}, pads: []int64{0, 1, 0, 1}},
		{x: tensor.Shape{3, 384, 1, 1}, w: tensor.Shape{96, 384, 1, 1}},
		{x: tensor.Shape{1, 40, 900}, w: tensor.Shape{64, 40, 3}, pads: []int64{1, 1}, strides: []int64{2}},
	} {
		rank := len(c.x) - 2
		for _, list := range []*[]int64{&c.strides, &c.dilations} {
			if *list == nil {
				*list = slices.Repeat([]int64{1}, rank)
			}
		}
		if c.pads == nil {
			c.pads = make([]int64, 2*rank)
		}
		c.group, c.bias, c.constant, c.threads = max(c.group, 1), true, true, 2
		if compare(t, &c, r) == 0 {
			t.Errorf("%v: got no kernel, want some", &c)
		}
	}
}
