package attention

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

func check(t *testing.T, f func(l simd.Level, o *backend.Op) ([]backend.Candidate, error), c *twin.Case) {
	t.Helper()
	c.Rel, c.Abs = 1e-5, 1e-5
	for _, l := range simd.Levels() {
		// Guard pages go when the subtest ends.
		t.Run(l.String(), func(t *testing.T) {
			names := twin.Check(t, c, func(o *backend.Op) ([]backend.Candidate, error) { return f(l, o) })
			if len(names) == 0 {
				t.Fatalf("%v: no candidates", c)
			}
		})
	}
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func float(name string, v float32) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
}

// truths is a boolean tensor with a pattern that leaves some rows without any true element.
func truths(shape ...int64) *tensor.Tensor {
	x, err := tensor.Zeros(tensor.Bool, shape)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i * i % 7 % 2)
	}
	clear(x.Bytes()[:min(40, len(x.Bytes()))])
	return x
}

// dims is the extents of an attention.
type dims struct{ batch, heads, kv, rows, keys, size, width, past int64 }

var sizes = []dims{
	{1, 1, 1, 1, 1, 1, 1, 0}, {2, 3, 3, 5, 7, 4, 6, 0}, {1, 4, 2, 1, 300, 16, 8, 0}, {1, 4, 1, 3, 9, 8, 8, 5},
	{1, 2, 2, 60, 60, 32, 32, 0},
	{2, 1, 1, 130, 600, 8, 16, 0}, {1, 6, 3, 20, 20, 5, 7, 260}, {1, 2, 2, 4, 6, 8, 8, 0}, {1, 1, 1, 7, 3, 2, 3, 4},
}

// operands makes the inputs of an Attention; flat ones have three dimensions.
func (d *dims) operands(flat bool) []*tensor.Tensor {
	if flat {
		return []*tensor.Tensor{twin.Floats(1, d.batch, d.rows, d.heads*d.size), twin.Floats(2, d.batch, d.keys,
			d.kv*d.size),
			twin.Floats(3, d.batch, d.keys, d.kv*d.width), nil}
	}
	return []*tensor.Tensor{twin.Floats(1, d.batch, d.heads, d.rows, d.size), twin.Floats(2, d.batch, d.kv,
		d.keys, d.size),
		twin.Floats(3, d.batch, d.kv, d.keys, d.width), nil}
}

func (d *dims) node(outputs int, attrs ...graph.Attr) *graph.Node {
	attrs = append(attrs, twin.Int("q_num_heads", d.heads), twin.Int("kv_num_heads", d.kv))
	return twin.Node("Attention", outputs, attrs...)
}

func TestAttention(t *testing.T) {
	for _, d := range sizes {
		total := d.keys + d.past
		for i, m := range []*tensor.Tensor{nil, twin.Floats(4, d.rows, total), twin.Floats(4, d.batch, 1, 1, total),
			twin.Floats(4, 1, d.heads, d.rows, total), twin.Floats(4, d.rows, 1), truths(d.rows, total),
			truths(d.batch, d.heads, d.rows, total), truths(d.rows, max(total-1, 1))} {
			for causal := range int64(2) {
				in := d.operands(i%2 == 1)
				in[3] = m
				outs := 1
				if d.past > 0 {
					in = append(in, twin.Floats(5, d.batch, d.kv, d.past, d.size), twin.Floats(6, d.batch, d.kv,
						d.past, d.width))
					outs = 3
				}
				attrs := []graph.Attr{twin.Int("is_causal", causal)}
				if i%3 == 1 {
					attrs = append(attrs, float("softcap", 0.7), float("scale", 0.9))
				}
				t.Run(fmt.Sprint(d, i, causal), func(t *testing.T) {
					check(t, Attention, &twin.Case{Node: d.node(outs, attrs...), In: in, Fed: all(7)})
				})
			}
		}
	}
}

func TestAttentionOfPaddedKeys(t *testing.T) {
	d := dims{3, 2, 1, 4, 9, 8, 5, 0}
	for causal := range int64(2) {
		in := append(d.operands(false), nil, nil, tensor.Of[int64](9, 4, 0))
		v := tensor.Cast[float32](in[2].Bytes())
		v[9*5*1+5*5] = float32(math.NaN())
		check(t, Attention, &twin.Case{Node: d.node(3, twin.Int("is_causal", causal)), In: in, Fed: all(7)})
	}
}

// TestUnseenValuesMayBeAnything has values that are not finite where no query looks, and where what counts is
// nothing beside others.
func TestUnseenValuesMayBeAnything(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, d := range []dims{{1, 2, 1, 20, 30, 8, 8, 0}, {2, 2, 2, 3, 600, 4, 17, 0}, {1, 3, 3, 9, 9, 8, 5, 7}} {
		for i, m := range []*tensor.Tensor{nil, truths(d.rows, d.keys+d.past), twin.Floats(4, d.rows, d.keys+d.past)} {
			in := append(d.operands(false), nil, nil)
			in[3] = m
			if d.past > 0 {
				in[4], in[5] = twin.Floats(5, d.batch, d.kv, d.past, d.size), twin.Floats(6, d.batch, d.kv,
					d.past, d.width)
			}
			v := tensor.Cast[float32](in[2].Bytes())
			v[len(v)-1], v[len(v)-3], v[3] = nan, inf, -inf
			if i == 2 {
				mask := tensor.Cast[float32](m.Bytes())
				mask[d.keys+d.past-1], mask[len(mask)-1], mask[d.past] = -inf, -1000, -inf
			}
			for causal := range int64(2) {
				check(t, Attention, &twin.Case{Node: d.node(1, twin.Int("is_causal", causal), float("softcap",
					float32(i))), In: in, Fed: all(6)})
			}
		}
	}
}

// bodies lists ways to spell attention out; Q, K, V, M and S stand for the shapes of the operands.
var bodies = []struct {
	text       string
	q, k, v, m tensor.Shape
	scale      bool
}{
	{"in q\nin k\nin v\ns = MatMul@13(q, k)\np = Softmax@13(s; axis=-1)\ny = MatMul@13(p, v)\nout y",
		tensor.Shape{5, 8}, tensor.Shape{8, 9}, tensor.Shape{9, 6}, nil, false},
	{"in q\nin k\nin v\nin c\ns = MatMul@13(q, k)\nt = Mul@14(c, s)\np = Softmax@13(t)\ny = MatMul@13(p, v)\nout y",
		tensor.Shape{2, 3, 70, 16}, tensor.Shape{2, 3, 16, 300}, tensor.Shape{2, 3, 300, 16}, nil, true},
	{"in q\nin k\nin v\nin c\nin m\nqt = Transpose@13(q; perm=[0, 2, 1, 3])\nkt = Transpose@13(k; perm=[0, 2, 3, 1])\n" +
		"vt = Transpose@13(v; perm=[0, 2, 1, 3])\ns = MatMul@13(qt, kt)\nt = Div@14(s, c)\nu = Add@14(t, m)\n" +
		"p = Softmax@11(u; axis=3)\nz = MatMul@13(p, vt)\ny = Transpose@13(z; perm=[0, 2, 1, 3])\nout y",
		tensor.Shape{2, 50, 3, 8}, tensor.Shape{2, 33, 3, 8}, tensor.Shape{2, 33, 3, 8}, tensor.Shape{2, 1, 1,
			33}, true},
	{"in q\nin k\nin v\nin m\ns = MatMul@13(q, k)\nu = Add@14(m, s)\np = Softmax@13(u)\ny = MatMul@13(p, v)\nout y",
		tensor.Shape{4, 2, 5, 8}, tensor.Shape{8, 9}, tensor.Shape{2, 9, 1}, tensor.Shape{5, 1}, false},
	{"in q\nin k\nin v\nkt = Transpose@13(k; perm=[0, 2, 1])\ns = MatMul@13(q, kt)\np = Softmax@13(s)\n" +
		"y = MatMul@13(p, v)\nout y",
		tensor.Shape{1, 2, 1}, tensor.Shape{7, 9, 1}, tensor.Shape{7, 9, 3}, nil, false},
}

func TestGroupsThatSpellAttentionOut(t *testing.T) {
	for _, b := range bodies {
		in := []*tensor.Tensor{twin.Floats(1, b.q...), twin.Floats(2, b.k...), twin.Floats(3, b.v...)}
		fed := []int{0, 1, 2}
		if b.scale {
			in = append(in, tensor.Scalar[float32](1.7))
		}
		if b.m != nil {
			fed = append(fed, len(in))
			in = append(in, twin.Floats(4, b.m...))
		}
		check(t, Fused, &twin.Case{Node: twin.Fused(t, b.text), In: in, Fed: fed})
	}
}

func TestOtherGroupsAreRefused(t *testing.T) {
	text := bodies[0].text
	for _, other := range []string{
		strings.Replace(text, "axis=-1", "axis=0", 1),
		strings.Replace(text, "s = MatMul@13(q, k)", "r = MatMul@13(q, k)\ns = Relu@14(r)", 1),
		strings.Replace(text, "y = MatMul@13(p, v)", "y = MatMul@13(v, p)", 1),
	} {
		n := twin.Fused(t, other)
		square := backend.Arg{DType: tensor.Float32, Shape: tensor.Shape{5, 5}}
		o := &backend.Op{Node: n, In: []backend.Arg{square, square, square}, Out: []backend.Arg{square}}
		cs, err := Fused(simd.Best(), o)
		if err != nil || len(cs) > 0 {
			t.Errorf("%s: got %d kernels and %v, want none", other, len(cs), err)
		}
	}
}
