package window

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// windowCase is how windows lie, for any operator that has some.
type windowCase struct {
	in, kernel tensor.Shape
	attrs      []graph.Attr
}

func windowCases() []windowCase {
	ints, str := twin.Ints, twin.Str
	return []windowCase{
		{tensor.Shape{1, 3, 7, 9}, tensor.Shape{3, 3}, nil},
		{tensor.Shape{2, 17, 14, 14}, tensor.Shape{3, 3}, []graph.Attr{ints("pads", 1, 1, 1, 1)}},
		{tensor.Shape{1, 24, 15, 16}, tensor.Shape{3, 3},
			[]graph.Attr{ints("pads", 1, 1, 1, 1), ints("strides", 2, 2)}},
		{tensor.Shape{1, 8, 31, 33}, tensor.Shape{5, 5}, []graph.Attr{ints("pads", 2, 2, 2, 2)}},
		{tensor.Shape{1, 33, 9, 40}, tensor.Shape{5, 3}, []graph.Attr{ints("pads", 0, 2, 3, 1), ints("strides", 1, 2)}},
		{tensor.Shape{1, 16, 20, 20}, tensor.Shape{3, 3},
			[]graph.Attr{ints("pads", 2, 2, 2, 2), ints("dilations", 2, 2)}},
		{tensor.Shape{1, 4, 20, 7}, tensor.Shape{2, 4}, []graph.Attr{ints("dilations", 5, 2), ints("pads", 4, 3, 4, 0)}},
		{tensor.Shape{3, 5, 50}, tensor.Shape{7}, []graph.Attr{ints("pads", 3, 3)}},
		{tensor.Shape{1, 40, 1, 1}, tensor.Shape{3, 3}, []graph.Attr{ints("pads", 1, 1, 1, 1)}},
		{tensor.Shape{1, 9, 5, 6}, tensor.Shape{5, 6}, nil},
		{tensor.Shape{1, 12, 13, 13}, tensor.Shape{3, 3}, []graph.Attr{str("auto_pad", "SAME_UPPER"), ints("strides", 2, 2)}},
		{tensor.Shape{1, 12, 13, 12}, tensor.Shape{2, 2}, []graph.Attr{str("auto_pad", "SAME_LOWER")}},
		{tensor.Shape{1, 1, 33, 50}, tensor.Shape{5, 5}, []graph.Attr{ints("pads", 2, 2, 2, 2)}},
		{tensor.Shape{2, 3, 9, 71}, tensor.Shape{3, 4},
			[]graph.Attr{ints("pads", 1, 3, 2, 2), ints("strides", 2, 1), ints("dilations", 1, 2)}},
		{tensor.Shape{1, 16, 60, 60}, tensor.Shape{3, 3}, []graph.Attr{ints("pads", 1, 1, 1, 1)}},
		{tensor.Shape{1, 40, 31, 33}, tensor.Shape{3, 3}, []graph.Attr{ints("pads", 1, 1, 1, 1)}},
	}
}

// randomCases returns cases with everything at random that fits.
func randomCases(seed uint64, n int) []windowCase {
	r := rand.New(rand.NewPCG(seed, 3))
	var out []windowCase
	for len(out) < n {
		rank := 1 + r.IntN(2)
		c := windowCase{in: tensor.Shape{1 + int64(r.IntN(2)), 1 + int64(r.IntN(40))}}
		var pads, ends, strides, dilations []int64
		for range rank {
			k, d := 1+int64(r.IntN(5)), 1+int64(r.IntN(3))
			reach := (k-1)*d + 1
			begin, end := r.Int64N(reach), r.Int64N(reach)
			in := max(1, reach-begin-end) + r.Int64N(20)
			c.in, c.kernel = append(c.in, in), append(c.kernel, k)
			pads, ends, strides, dilations = append(pads, begin), append(ends, end), append(strides, 1+int64(r.IntN(3))),
				append(dilations, d)
		}
		c.attrs = []graph.Attr{twin.Ints("pads", append(pads, ends...)...), twin.Ints("strides", strides...),
			twin.Ints("dilations", dilations...)}
		out = append(out, c)
	}
	return out
}

type family = func(l simd.Level, o *backend.Op) ([]backend.Candidate, error)

// compare checks a family's candidates on every level; there must be some.
func compare(t *testing.T, f family, c *twin.Case) {
	t.Helper()
	for _, l := range simd.Levels() {
		names := twin.Check(t, c, func(o *backend.Op) ([]backend.Candidate, error) { return f(l, o) })
		if len(names) == 0 {
			t.Fatalf("%v: %v: no candidates", c, l)
		}
	}
}

func TestDepthwise(t *testing.T) {
	for i, c := range append(windowCases(), randomCases(11, 40)...) {
		ch := c.in[1]
		attrs := append(slices.Clone(c.attrs), twin.Int("group", ch))
		in := []*tensor.Tensor{twin.Floats(1, c.in...), twin.Floats(2, append(tensor.Shape{ch, 1}, c.kernel...)...)}
		if i%3 > 0 {
			in = append(in, twin.Floats(3, ch))
		}
		fed := []int{0}
		if i%4 == 3 {
			fed = []int{0, 1, 2}
		}
		compare(t, Conv, &twin.Case{Node: twin.Node("Conv", 1, attrs...), In: in, Fed: fed, Rel: 1e-5, Abs: 1e-5})
	}
}

func TestPools(t *testing.T) {
	for i, c := range append(windowCases(), randomCases(12, 40)...) {
		attrs := append(slices.Clone(c.attrs), twin.Ints("kernel_shape", c.kernel...), twin.Int("ceil_mode", int64(i%2)))
		compare(t, MaxPool, &twin.Case{Node: twin.Node("MaxPool", 1, attrs...), Fed: []int{0},
			In: []*tensor.Tensor{twin.Odd(4, 10, c.in...)}})
		attrs = append(slices.Clone(attrs), twin.Int("count_include_pad", int64(i/2%2)))
		compare(t, AveragePool, &twin.Case{Node: twin.Node("AveragePool", 1, attrs...), Fed: []int{0},
			In: []*tensor.Tensor{twin.Floats(5, c.in...)}, Rel: 1e-6, Abs: 1e-7})
		compare(t, AveragePool, &twin.Case{Node: twin.Node("AveragePool", 1, attrs...), Fed: []int{0},
			In: []*tensor.Tensor{twin.Odd(5, 50, c.in...)}, Rel: 1e-6, Abs: 1e-7})
	}
}

// TestLargePools has windows that slide, among them some that are larger than the image.
func TestLargePools(t *testing.T) {
	for _, c := range []struct {
		in, kernel tensor.Shape
		attrs      []graph.Attr
	}{
		{tensor.Shape{1, 3, 30, 40}, tensor.Shape{11, 13}, []graph.Attr{twin.Ints("pads", 5, 6, 5, 6)}},
		{tensor.Shape{1, 17, 30, 40}, tensor.Shape{25, 7}, []graph.Attr{twin.Ints("strides", 2, 3), twin.Int("ceil_mode", 1)}},
		{tensor.Shape{2, 2, 60, 50}, tensor.Shape{11, 16}, []graph.Attr{twin.Ints("dilations", 3, 2)}},
		{tensor.Shape{1, 1, 20, 20}, tensor.Shape{30, 39},
			[]graph.Attr{twin.Ints("pads", 10, 19, 9, 20), twin.Int("count_include_pad", 1)}},
		{tensor.Shape{1, 9, 700}, tensor.Shape{128}, nil},
	} {
		attrs := append(slices.Clone(c.attrs), twin.Ints("kernel_shape", c.kernel...))
		compare(t, AveragePool, &twin.Case{Node: twin.Node("AveragePool", 1, slices.Clone(attrs)...), Fed: []int{0},
			In: []*tensor.Tensor{twin.Floats(5, c.in...)}, Rel: 1e-5, Abs: 1e-6})
		attrs = slices.DeleteFunc(attrs, func(a graph.Attr) bool { return a.Name == "count_include_pad" })
		compare(t, MaxPool, &twin.Case{Node: twin.Node("MaxPool", 1, attrs...), Fed: []int{0},
			In: []*tensor.Tensor{twin.Odd(4, 10, c.in...)}})
	}
}

func TestGlobalPools(t *testing.T) {
	for _, s := range []tensor.Shape{
		{1, 3, 7, 7}, {2, 17, 1, 1}, {1, 16, 112, 60}, {1, 5, 3, 2, 2}, {3, 33, 13}, {1, 8, 5000},
	} {
		for name, f := range map[string]family{"GlobalAveragePool": GlobalAveragePool, "GlobalMaxPool": GlobalMaxPool} {
			c := twin.Case{Node: twin.Node(name, 1), In: []*tensor.Tensor{twin.Floats(6, s...)}, Fed: []int{0}, Rel: 1e-5,
				Abs: 1e-6}
			compare(t, f, &c)
			c.In[0] = twin.Odd(7, 60, s...)
			compare(t, f, &c)
			if name == "GlobalMaxPool" {
				c.In[0] = twin.Odd(8, 3, s...)
				compare(t, f, &c)
			}
		}
	}
}
