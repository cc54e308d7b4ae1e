package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

type family = func(l simd.Level, o *backend.Op) ([]backend.Candidate, error)

// noise returns a tensor of random numbers between −1 and 1.
func noise(seed uint64, shape ...int64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, 7))
	t, err := tensor.Zeros(tensor.Float32, shape)
	if err != nil {
		panic(err)
	}
	for i, v := 0, tensor.Cast[float32](t.Bytes()); i < len(v); i++ {
		v[i] = r.Float32()*2 - 1
	}
	return t
}

// oracle returns the reference's first output.
func oracle(t testing.TB, n *graph.Node, in []*tensor.Tensor) []byte {
	t.Helper()
	o, call := twin.Prepare(t, n, in, func(int) bool { return true })
	cs, err := ref.Backend{}.Candidates(o)
	if err != nil || len(cs) == 0 {
		t.Fatalf("%s: got %d reference kernels, error %v", n.Op, len(cs), err)
	}
	call.Scratch = make([]byte, cs[0].Scratch)
	if err := cs[0].Kernel(call); err != nil {
		t.Fatal(err)
	}
	return call.Out[0].Data
}

// check compares every kernel of every level with the reference, with operands known beforehand
// and not, with one worker and with two, on memory that held something else before. bound is what
// results may differ by.
func check(t *testing.T, f family, n *graph.Node, in []*tensor.Tensor, bound float64) {
	t.Helper()
	if testing.Short() && in[0].Len()*in[1].Len() > 1<<22 {
		return
	}
	want := tensor.Cast[float32](oracle(t, n, in))
	for _, l := range simd.Levels() {
		for _, fixed := range []bool{false, true} {
			for threads := 1; threads <= 2; threads++ {
				o, call := twin.Prepare(t, n, in, func(i int) bool { return fixed && i > 0 })
				o.Threads = threads
				cs, err := f(l, o)
				if err != nil || len(cs) == 0 {
					t.Fatalf("%s: got %d kernels, error %v", n.Op, len(cs), err)
				}
				for _, c := range cs {
					what := fmt.Sprintf("%s %s %s%v constant=%v threads=%d", c.Name, c.Source, n.Op, shapes(in), fixed,
						threads)
					try(t, what, &c, call, threads, want, bound)
				}
			}
		}
	}
}

func shapes(in []*tensor.Tensor) (out []tensor.Shape) {
	for _, x := range in {
		if x != nil {
			out = append(out, x.Shape())
		}
	}
	return out
}

// teams are those of so many workers.
var teams = [...]*backend.Team{nil, backend.NewTeam(1), backend.NewTeam(2)}

func try(t *testing.T, what string, c *backend.Candidate, call *backend.Call, threads int, want []float32,
	bound float64) {
	t.Helper()
	nan := math.Float32bits(float32(math.NaN()))
	for i, v := 0, tensor.Cast[uint32](call.Out[0].Data); i < len(v); i++ {
		v[i] = nan
	}
	call.Team = teams[threads]
	call.Scratch = make([]byte, c.Scratch)
	for i, v := 0, tensor.Cast[uint32](call.Scratch); i < len(v); i++ {
		v[i] = nan
	}
	for range 2 {
		if err := c.Kernel(call); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	got := tensor.Cast[float32](call.Out[0].Data)
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if !(math.Abs(g-w) <= bound) && g != w && !(math.IsNaN(g) && math.IsNaN(w)) {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, g, w)
		}
	}
	if threads == 1 {
		if n := testing.AllocsPerRun(3, func() { _ = c.Kernel(call) }); n > 0 {
			t.Fatalf("%s: got %v allocations a call, want none", what, n)
		}
	}
}

func node(name string, attrs ...graph.Attr) *graph.Node {
	return &graph.Node{Op: name, Version: 24, Attrs: attrs, Outputs: []graph.ValueID{100}}
}

func TestMatMulEqualsReference(t *testing.T) {
	for i, s := range [][2]tensor.Shape{
		{{3, 5}, {5, 7}}, {{1, 1}, {1, 1}}, {{5}, {5, 3}}, {{4, 5}, {5}}, {{5}, {5}}, {{300, 70}, {70, 90}},
		{{2, 3, 4}, {4, 5}}, {{2, 3, 4}, {2, 4, 5}}, {{2, 1, 3, 4}, {3, 4, 5}}, {{3, 4}, {2, 2, 4, 5}},
		{{1, 300}, {300, 517}}, {{2, 64}, {64, 300}}, {{3, 1030}, {1030, 33}}, {{4, 600}, {600, 64}}, {{150, 1100}, {1100, 40}},
		{{50, 600}, {600, 530}}, {{0, 3}, {3, 4}}, {{3, 0}, {0, 4}}, {{3, 4}, {4, 0}}, {{0, 3, 4}, {4, 5}},
		{{2, 0, 3}, {2, 3, 4}}, {{3, 2, 50, 64}, {3, 2, 64, 50}}, {{64, 40}, {40, 1}}, {{7, 5}, {3, 5, 1}},
	} {
		k := s[0][len(s[0])-1]
		in := []*tensor.Tensor{noise(uint64(i), s[0]...), noise(99, s[1]...)}
		check(t, MatMul, node("MatMul"), in, float64(k+2)*0x1p-22)
	}
}

func TestGemmEqualsReference(t *testing.T) {
	num := func(name string, v float32) graph.Attr {
		return graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
	}
	cs := []tensor.Shape{nil, {}, {1}, {9}, {1, 9}, {7, 1}, {7, 9}, {1, 1}}
	for trans := range 4 {
		for i, c := range cs {
			for variant := range 4 {
				as := []graph.Attr{num("alpha", 1), num("beta", 1), {Name: "transA", Kind: graph.AttrInt, Int: int64(trans & 1)},
					{Name: "transB", Kind: graph.AttrInt, Int: int64(trans >> 1)}}
				as[0].Float -= 0.25 * float32(variant&1)
				as[1].Float -= 0.5 * float32(variant>>1)
				a, b := tensor.Shape{7, 5}, tensor.Shape{5, 9}
				if trans&1 != 0 {
					a = tensor.Shape{5, 7}
				}
				if trans&2 != 0 {
					b = tensor.Shape{9, 5}
				}
				in := []*tensor.Tensor{noise(1, a...), noise(2, b...)}
				if c != nil {
					in = append(in, noise(uint64(i)+3, c...))
				}
				check(t, Gemm, node("Gemm", as...), in, 1e-5)
			}
		}
		big := []graph.Attr{{Name: "transA", Kind: graph.AttrInt, Int: int64(trans & 1)},
			{Name: "transB", Kind: graph.AttrInt, Int: int64(trans >> 1)}}
		for _, s := range [][3]int64{{300, 700, 330}, {1, 700, 330}, {4, 70, 33}, {90, 70, 1}, {5, 7, 1}, {2, 33, 290},
			{3, 0, 4}, {0, 3, 4}, {4, 3, 0}} {
			a, b := tensor.Shape{s[0], s[1]}, tensor.Shape{s[1], s[2]}
			if trans&1 != 0 {
				a[0], a[1] = a[1], a[0]
			}
			if trans&2 != 0 {
				b[0], b[1] = b[1], b[0]
			}
			in := []*tensor.Tensor{noise(1, a...), noise(2, b...), noise(3, s[2])}
			check(t, Gemm, node("Gemm", big...), in, float64(s[1]+2)*0x1p-21)
		}
	}
}

func TestSpecialNumbersSpreadAsInTheReference(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, m := range []int64{1, 5, 50} {
		a, b := noise(1, m, 40), noise(2, 40, 70)
		x, y := tensor.Cast[float32](a.Bytes()), tensor.Cast[float32](b.Bytes())
		x[3], x[7], y[11], y[70*7+5], y[70*9+60] = inf, 1e-42, float32(math.NaN()), -inf, 1e-40
		check(t, MatMul, node("MatMul"), []*tensor.Tensor{a, b}, 1e-5)
	}
}
