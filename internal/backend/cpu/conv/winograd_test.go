package conv

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// closeTo compares within the error of transforms, which is relative to the largest sum: that of the
// test's operands is above 100, whatever limits the outputs have.
func closeTo(t *testing.T, what any, got, want []float32) {
	t.Helper()
	most := 100.0
	for _, v := range want {
		if !math.IsInf(float64(v), 0) {
			most = max(most, math.Abs(float64(v)))
		}
	}
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if g != w && !(math.IsNaN(g) && math.IsNaN(w)) && !(math.Abs(g-w) <= 2e-5*most) {
			t.Fatalf("%v: element %d: got %v, want %v; the largest is %v", what, i, g, w, most)
		}
	}
}

// winogradOf returns the kernel by transforms for a problem, whether or not it pays.
func winogradOf(l simd.Level, c *problem, o *backend.Op, at operands, f *finish, m channelMap) (
	k backend.Candidate, ok bool) {
	s, ok := shapeOf(c.node(), &o.In[at.x], &o.In[at.w], &o.Out[0])
	if !ok {
		return k, false
	}
	p := newPlan(l, s, true, true, c.threads)
	p.bind(o, at, f, m)
	w, _ := newWinograd(p, c.threads)
	if w == nil {
		return k, false
	}
	return w.candidate(o), true
}

func randomWinograd(r *rand.Rand) *problem {
	return &problem{x: tensor.Shape{1 + r.Int64N(2), 16 * (1 + r.Int64N(3)), 2 + r.Int64N(20), 2 + r.Int64N(40)},
		w: tensor.Shape{1 + r.Int64N(70), 0, 3, 3}, strides: []int64{1, 1}, dilations: []int64{1, 1},
		pads: []int64{r.Int64N(3), r.Int64N(3), 1 + r.Int64N(3), 1 + r.Int64N(3)}, group: 1, bias: r.IntN(2) == 0,
		constant: true, threads: 1 + r.IntN(3)}
}

func TestRandomWinograd(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for n := range 32 {
		c := randomWinograd(r)
		c.w[1] = c.x[1]
		o, in, ok := c.operands(r)
		if !ok {
			t.Fatalf("%v: no window fits", c)
		}
		f, at := [2]finish{unbounded, unbounded}, operands{0, 1, -1}
		if c.bias {
			at.bias = 2
		}
		body := &graph.Graph{}
		if n%2 == 0 {
			o, in = fuse(t, c, o, in, tails[n/2%len(tails)], r)
			body = o.Node.Attrs.Graph("body")
		}
		m := channelsOf(o, body, at)
		want := reference(t, o, in)
		team := backend.NewTeam(c.threads)
		for _, l := range simd.Levels() {
			if n%2 == 0 {
				f, _ = finishes(l, o, body, m.next-1)
			}
			k, ok := winogradOf(l, c, o, at, &f[1], m)
			if !ok {
				t.Fatalf("%v: %v: got no kernel", l, c)
			}
			closeTo(t, c, perform(t, o, &k, in, team), want)
		}
		team.Close()
	}
}

// TestWinogradKeepsToNaNAndInf has inputs of which one is no number, or so large that transforms
// would lose the others: only outputs whose windows have it may show it.
func TestWinogradKeepsToNaNAndInf(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e30} {
		c := &problem{x: tensor.Shape{1, 32, 12, 12}, w: tensor.Shape{32, 32, 3, 3}, strides: []int64{1, 1},
			dilations: []int64{1, 1}, pads: []int64{1, 1, 1, 1}, group: 1, constant: true, threads: 1}
		for _, where := range []int{0, 1} {
			o, in, _ := c.operands(r)
			tensor.Cast[float32](in[where].Bytes())[700] = float32(bad)
			for _, l := range simd.Levels() {
				k, ok := winogradOf(l, c, o, operands{0, 1, -1}, &unbounded, channelMap{})
				cs, err := Conv(l, o)
				if !ok || err != nil {
					t.Fatalf("%v: got no kernel, %v", l, err)
				}
				want := perform(t, o, &cs[len(cs)-1], in, nil)
				got := perform(t, o, &k, in, nil)
				for i := range want {
					g, w := float64(got[i]), float64(want[i])
					if g != w && !(math.IsNaN(g) && math.IsNaN(w)) && !(math.Abs(g-w) <= 1e-5*math.Abs(w)) {
						t.Fatalf("%v: %v in operand %d: element %d: got %v, want %v", l, bad, where, i, g, w)
					}
				}
			}
		}
	}
}

// TestWinogradIsOfferedWhereItPays looks at the candidates' names.
func TestWinogradIsOfferedWhereItPays(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for _, v := range []struct {
		x, w    tensor.Shape
		strides []int64
		want    bool
	}{
		{tensor.Shape{1, 64, 56, 56}, tensor.Shape{64, 64, 3, 3}, []int64{1, 1}, true},
		{tensor.Shape{1, 64, 56, 56}, tensor.Shape{64, 64, 3, 3}, []int64{2, 2}, false},
		{tensor.Shape{1, 512, 7, 7}, tensor.Shape{512, 512, 3, 3}, []int64{1, 1}, false},
		{tensor.Shape{1, 3, 56, 56}, tensor.Shape{8, 3, 3, 3}, []int64{1, 1}, false},
	} {
		c := &problem{x: v.x, w: v.w, strides: v.strides, dilations: []int64{1, 1}, pads: []int64{1, 1, 1, 1}, group: 1,
			constant: true, threads: 1}
		o, _, _ := c.operands(r)
		for _, l := range simd.Levels()[1:] {
			cs, err := Conv(l, o)
			got := slices.ContainsFunc(cs, func(k backend.Candidate) bool { return k.Name == "conv-winograd" })
			// Whether it pays is known of AVX2 and AVX-512 alone.
			want := v.want && (l == simd.AVX2 || l == simd.AVX512)
			if err != nil || got != want {
				t.Errorf("%v: %v: got %v and %v, want %v", l, c, got, err, want)
			}
		}
	}
}
