package move

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/conform/twin"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

type family = func(l simd.Level, o *backend.Op) ([]backend.Candidate, error)

// compare checks a family's candidates on every level, with elements of several sizes; there must be
// at least as many as least.
func compare(t *testing.T, f family, least int, n *graph.Node, shapes []tensor.Shape, lists ...*tensor.Tensor) {
	t.Helper()
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Uint8, tensor.Int64} {
		c := &twin.Case{Node: n}
		for i, s := range shapes {
			c.In, c.Fed = append(c.In, numbered(t, dt, s, i)), append(c.Fed, i)
		}
		c.In = append(c.In, lists...)
		for _, l := range simd.Levels() {
			names := twin.Check(t, c, func(o *backend.Op) ([]backend.Candidate, error) { return f(l, o) })
			if len(names) < 2*least {
				t.Fatalf("%v: %v: got %d candidates, want %d", c, l, len(names)/2, least)
			}
		}
	}
}

func numbered(t *testing.T, dt tensor.DType, s tensor.Shape, from int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Zeros(dt, s)
	if err != nil {
		t.Fatal(err)
	}
	if dt == tensor.Float32 {
		for i := range tensor.Cast[float32](x.Bytes()) {
			tensor.Cast[float32](x.Bytes())[i] = float32(i + from*1000)
		}
		return x
	}
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i*7 + i>>8 + from*31)
	}
	return x
}

func longs(v ...int64) *tensor.Tensor { return tensor.Must(tensor.Shape{int64(len(v))}, v) }

func TestTransposeOfEveryOrder(t *testing.T) {
	for _, s := range []tensor.Shape{{5}, {3, 70}, {2, 17, 5}, {2, 19, 3, 33}, {1, 40, 7, 6}, {2, 3, 4, 5, 6}, {0, 3, 2}} {
		orders(len(s), func(perm []int64) {
			least := 1
			if len(s) > 2 {
				least = 3
			}
			if len(s) > 2 && perm[1] != 1 {
				least = 2
			}
			if least > 1 && s[0] == 0 {
				least = 1
			}
			compare(t, Transpose, least, twin.Node("Transpose", 1, twin.Ints("perm", perm...)), []tensor.Shape{s})
		})
		compare(t, Transpose, 1, twin.Node("Transpose", 1), []tensor.Shape{s})
	}
}

// orders calls f for each order of n numbers, or for some of them when there are many.
func orders(n int, f func(perm []int64)) {
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range min(200, 1<<(2*n)) {
		perm := make([]int64, n)
		for i, p := range r.Perm(n) {
			perm[i] = int64(p)
		}
		if k := fmt.Sprint(perm); !seen[k] && len(seen) < 12 {
			seen[k] = true
			f(perm)
		}
	}
}

func TestConcat(t *testing.T) {
	for _, c := range []struct {
		axis   int64
		shapes []tensor.Shape
		least  int
	}{
		{1, []tensor.Shape{{1, 16, 5, 5}, {1, 32, 5, 5}}, 3}, {1, []tensor.Shape{{2, 7, 3, 4}, {2, 20, 3, 4}, {2, 3, 3, 4}}, 3},
		{1, []tensor.Shape{{1, 24, 9}, {1, 40, 9}, {1, 8, 9}}, 3}, {-1, []tensor.Shape{{3, 5}, {3, 1}, {3, 0}}, 1},
		{0, []tensor.Shape{{2, 3, 4}, {1, 3, 4}}, 3}, {3, []tensor.Shape{{1, 9, 4, 2}, {1, 9, 4, 7}}, 3},
	} {
		compare(t, Concat, c.least, twin.Node("Concat", 1, twin.Int("axis", c.axis)), c.shapes)
	}
}

// TestConcatOfConstants has an input that stays row-major.
func TestConcatOfConstants(t *testing.T) {
	c := twin.Case{Node: twin.Node("Concat", 1, twin.Int("axis", 1)), Fed: []int{0},
		In: []*tensor.Tensor{twin.Floats(1, 1, 20, 4, 4), twin.Floats(2, 1, 6, 4, 4)}}
	for _, l := range simd.Levels() {
		names := twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return Concat(l, o) })
		if len(names) < 6 {
			t.Fatalf("%v: got candidates %q, want three for each team", l, names)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		axis  int64
		shape tensor.Shape
		parts []int64
		least int
	}{
		{1, tensor.Shape{1, 48, 5, 4}, []int64{16, 32}, 3}, {1, tensor.Shape{2, 30, 3, 3}, []int64{7, 3, 20}, 3},
		{0, tensor.Shape{6, 5}, []int64{1, 5}, 1}, {2, tensor.Shape{1, 9, 8}, []int64{3, 5}, 3},
	} {
		n := twin.Node("Split", len(c.parts), twin.Int("axis", c.axis))
		compare(t, Split, c.least, n, []tensor.Shape{c.shape}, longs(c.parts...))
	}
}

func TestSlice(t *testing.T) {
	for _, c := range []struct {
		shape                     tensor.Shape
		starts, ends, axes, steps []int64
		least                     int
	}{
		{tensor.Shape{2, 40, 6, 7}, []int64{16}, []int64{32}, []int64{1}, []int64{1}, 4},
		{tensor.Shape{1, 40, 6, 7}, []int64{5, 1}, []int64{29, -1}, []int64{1, 3}, []int64{1, 2}, 4},
		{tensor.Shape{1, 12, 9}, []int64{-1}, []int64{-100}, []int64{2}, []int64{-2}, 4},
		{tensor.Shape{1, 12, 9}, []int64{0}, []int64{12}, []int64{1}, []int64{3}, 1},
		{tensor.Shape{7, 5}, []int64{3, 2}, []int64{100, 4}, []int64{0, 1}, []int64{1, 1}, 1},
		{tensor.Shape{7}, []int64{5}, []int64{2}, []int64{0}, []int64{1}, 1},
	} {
		compare(t, Slice, c.least, twin.Node("Slice", 1), []tensor.Shape{c.shape}, longs(c.starts...), longs(c.ends...),
			longs(c.axes...), longs(c.steps...))
	}
}

func TestPad(t *testing.T) {
	for _, mode := range []string{"constant", "edge", "reflect", "wrap"} {
		n := twin.Node("Pad", 1, twin.Str("mode", mode))
		compare(t, Pad, 3, n, []tensor.Shape{{1, 17, 5, 6}}, longs(0, 0, 1, 2, 0, 0, 0, 3))
		compare(t, Pad, 1, n, []tensor.Shape{{4, 7}}, longs(-1, 2, 1, -3))
		compare(t, Pad, 1, n, []tensor.Shape{{3, 5, 4}}, longs(1, 2, 1, 2, 1, 0))
	}
	n := twin.Node("Pad", 1)
	compare(t, Pad, 3, n, []tensor.Shape{{2, 9, 4, 4}}, longs(1, 3, 0, 0, 0, 5, 1, 1))
}

// TestPadWithValues fills with an input's element.
func TestPadWithValues(t *testing.T) {
	c := twin.Case{Node: twin.Node("Pad", 1), Fed: []int{0, 2}, In: []*tensor.Tensor{twin.Floats(1, 1, 5, 6, 7),
		longs(0, 0, 1, 0, 0, 0, 2, 3), tensor.Must(tensor.Shape{}, []float32{7.5})}}
	for _, l := range simd.Levels() {
		if twin.Check(t, &c, func(o *backend.Op) ([]backend.Candidate, error) { return Pad(l, o) }) == nil {
			t.Fatalf("%v: no candidates", l)
		}
	}
}

func TestExpandAndTile(t *testing.T) {
	for _, c := range []struct{ in, to tensor.Shape }{
		{tensor.Shape{1, 17, 1, 1}, tensor.Shape{2, 17, 4, 5}}, {tensor.Shape{3, 1}, tensor.Shape{2, 3, 4}},
		{tensor.Shape{}, tensor.Shape{3, 2}}, {tensor.Shape{1, 1, 6}, tensor.Shape{1, 20, 6}},
	} {
		compare(t, Expand, 1, twin.Node("Expand", 1), []tensor.Shape{c.in}, longs(c.to...))
	}
	compare(t, Tile, 1, twin.Node("Tile", 1), []tensor.Shape{{2, 3, 5}}, longs(2, 3, 2))
	compare(t, Tile, 2, twin.Node("Tile", 1), []tensor.Shape{{2, 9, 5}}, longs(1, 1, 3))
}

func TestDepthAndSpace(t *testing.T) {
	for _, mode := range []string{"DCR", "CRD"} {
		n := twin.Node("DepthToSpace", 1, twin.Str("mode", mode), twin.Int("blocksize", 2))
		compare(t, DepthToSpace, 1, n, []tensor.Shape{{2, 12, 3, 5}})
	}
	compare(t, SpaceToDepth, 1, twin.Node("SpaceToDepth", 1, twin.Int("blocksize", 3)), []tensor.Shape{{1, 2, 6, 9}})
}

func TestGather(t *testing.T) {
	for axis := range int64(3) {
		n := twin.Node("Gather", 1, twin.Int("axis", axis))
		compare(t, Gather, 1, n, []tensor.Shape{{4, 3, 6}}, longs(2, -1, 0, 1, -3))
		compare(t, Gather, 1, n, []tensor.Shape{{4, 3, 6}}, tensor.Must(tensor.Shape{}, []int32{1}))
	}
	compare(t, Gather, 1, twin.Node("Gather", 1), []tensor.Shape{{50, 3000}}, longs(7, 49, 7, 0, -50))
}

func TestGatherNamesTheIndex(t *testing.T) {
	o := &backend.Op{Node: twin.Node("Gather", 1), In: []backend.Arg{{DType: tensor.Float32, Shape: tensor.Shape{3}},
		{DType: tensor.Int64, Shape: tensor.Shape{2}}}, Out: []backend.Arg{{DType: tensor.Float32, Shape: tensor.Shape{2}}}}
	ks, err := Gather(simd.Generic, o)
	if err != nil || len(ks) != 1 {
		t.Fatal(ks, err)
	}
	out := twin.Floats(1, 2)
	c := &backend.Call{In: []backend.View{backend.ViewOf(twin.Floats(1, 3)), backend.ViewOf(longs(0, 3))},
		Out: []backend.View{backend.ViewOf(out)}}
	if err := ks[0].Kernel(c); err == nil || !strings.Contains(err.Error(), "element 1: got 3") {
		t.Errorf("index 3 of 3: got error %v, want one that names it", err)
	}
}
