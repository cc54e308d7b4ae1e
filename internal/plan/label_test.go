package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// priced is a kernel of a made-up backend, written "name ns layouts", where layouts has a letter for
// each operand, inputs then outputs: r for row-major, b for blocks of 4.
type priced string

// market offers priced kernels by node name, and the reference backend's for the rest, which take
// 100 ns. A change of layout takes as many nanoseconds as the tensor has elements.
type market struct {
	ref.Backend
	kernels map[string][]priced
}

func (m market) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	list := m.kernels[o.Node.Name]
	if list == nil {
		return m.Backend.Candidates(o)
	}
	var out []backend.Candidate
	for _, p := range list {
		var c backend.Candidate
		var letters string
		var ns float64
		if _, err := fmt.Sscan(string(p), &c.Name, &ns, &letters); err != nil {
			return nil, err
		}
		c.Extra.Flops = ns
		for _, l := range letters[:len(o.In)] {
			c.In = append(c.In, map[rune]backend.Layout{'b': 4, 'r': 0}[l])
		}
		for _, l := range letters[len(o.In):] {
			c.Out = append(c.Out, map[rune]backend.Layout{'b': 4, 'r': 0}[l])
		}
		out = append(out, c)
	}
	return out, nil
}

func (market) Reorder(_ tensor.DType, s tensor.Shape, from, to backend.Layout, _ int) (backend.Candidate, bool) {
	n, _ := s.Elements()
	return backend.Candidate{Name: from.String() + " to " + to.String(), Extra: backend.Extra{Flops: float64(n)}}, true
}

// Transfer implements Coster: there is one device.
func (market) Transfer(_, _ string, _ int64) int64 { return 0 }

// Kernel implements Coster.
func (market) Kernel(_ *backend.Op, _ op.Work, c *backend.Candidate) (ns int64, source string) {
	if c.Extra.Flops == 0 {
		return 100, "market"
	}
	return int64(c.Extra.Flops), "market"
}

// layoutCase is a graph, what its nodes' kernels cost, and the plan that it gets.
type layoutCase struct {
	name, nodes string
	kernels     map[string][]priced
	want        string
	cost, bound int64
}

// TestLayoutsFollowCosts plans graphs on an image of 8 channels and 3 × 3 pixels: 72 elements.
func TestLayoutsFollowCosts(t *testing.T) {
	image := tensor.Must(tensor.Shape{1, 8, 3, 3}, make([]float32, 72))
	both := []priced{"plain 1000 rr", "fast 100 bb"}
	for _, c := range []layoutCase{
		{"a chain is in blocks between two reorders", `
			a = Relu@13(x) as "1"
			b = Relu@13(a) as "2"
			out b`,
			map[string][]priced{"1": both, "2": both},
			"x>blocked 4; fast; fast; b>row-major", 344, 344},
		{"one fast kernel is not worth two reorders", `
			a = Relu@13(x) as "1"
			out a`,
			map[string][]priced{"1": {"plain 200 rr", "fast 100 bb"}},
			"plain (avoids a reorder of \"x\", or fast, blocked 4 +44)", 200, 200},
		{"a first layer reads rows", `
			a = Relu@13(x) as "1"
			b = Relu@13(a) as "2"
			out b`,
			map[string][]priced{"1": {"plain 1000 rr", "first 100 rb"}, "2": both},
			"first; fast; b>row-major", 272, 272},
		{"a kernel of either kind is taken for its layouts", `
			a = Relu@13(x) as "1"
			b = Relu@13(a) as "2"
			out b`,
			map[string][]priced{"1": {"plain 1000 rr", "fast 100 bb", "first 150 rb"},
				"2": {"plain 1000 rr", "fast 100 bb", "last 150 br"}},
			"first (avoids a reorder of \"x\", or fast, blocked 4 +22); last (avoids a reorder of \"b\", or fast, blocked 4 +22)",
			300, 200},
		{"what is read in rows twice is reordered once", `
			a = Relu@13(x) as "1"
			b = Relu@13(a) as "2"
			c = Neg@13(a)
			d = Abs@13(a)
			out b
			out c
			out d`,
			map[string][]priced{"1": both, "2": both},
			"x>blocked 4; fast; fast; b>row-major; a>row-major; Neg; Abs", 616, 616},
		{"outputs of one pixel are the same in blocks", `
			a = Relu@13(x) as "1"
			p = GlobalAveragePool@13(a) as "2"
			f = Flatten@13(p)
			y = Neg@13(f)
			out y`,
			map[string][]priced{"1": both, "2": {"plain 1000 rr", "pool 100 bb"}},
			"x>blocked 4; fast; pool; Neg", 372, 372},
		{"views that keep the channels stay in blocks, others do not", `
			const keep = int64[3] [1, 8, 9]
			const flat = int64[1] [72]
			a = Relu@13(x) as "1"
			v = Reshape@13(a, keep)
			b = Relu@13(v) as "2"
			w = Reshape@13(b, flat)
			y = Neg@13(w)
			out y`,
			map[string][]priced{"1": both, "2": both},
			"x>blocked 4; fast; fast; b>row-major; Neg", 444, 444},
		{"whole blocks are concatenated where they are", `
			a = Relu@13(x) as "1"
			b = Relu@13(x) as "2"
			c = Concat@13(a, b; axis=1)
			d = Relu@13(c) as "3"
			out d`,
			map[string][]priced{"1": both, "2": both, "3": both},
			"x>blocked 4; fast; fast; fast; d>row-major", 516, 516},
		{"on an inner axis they are copied in blocks", `
			a = Relu@13(x) as "1"
			b = Relu@13(x) as "2"
			c = Concat@13(a, b; axis=-1)
			d = Relu@13(c) as "3"
			out d`,
			map[string][]priced{"1": both, "2": both, "3": both},
			"x>blocked 4; fast; fast; blocks; fast; d>row-major", 616, 616},
		{"parts of blocks are concatenated in rows", `
			const s = int64[2] [6, 2]
			a = Relu@13(x) as "1"
			l, m = Split@13(a, s; axis=1)
			b = Concat@13(m, l; axis=1)
			d = Relu@13(b) as "2"
			out d`,
			map[string][]priced{"1": both, "2": both},
			"x>blocked 4; fast; a>row-major; Concat; b>blocked 4; fast; d>row-major", 588, 488},
		{"constants stay in rows", "const k = float32[1,8,3,3] [" + strings.Repeat("1, ", 71) + "1]" + `
			a = Add@13(x, k) as "1"
			out a`,
			map[string][]priced{"1": {"plain 1000 rrr", "first 500 brr", "fast 100 bbb"}},
			"x>blocked 4; first", 572, 572},
		{"a constant of one pixel is the same in blocks", `
			const k = float32[1,8,1,1] [1, 2, 3, 4, 5, 6, 7, 8]
			a = Add@13(x, k) as "1"
			out a`,
			map[string][]priced{"1": {"plain 1000 rrr", "fast 100 bbb"}},
			"x>blocked 4; fast; a>row-major", 244, 244},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := graph.Parse("graph \"g\" {\nin x: float32[1,8,3,3]\n" + c.nodes + "\n}")
			if err != nil {
				t.Fatal(err)
			}
			m := market{kernels: c.kernels}
			u := NewUnit(g, m, Limits{Cost: m})
			s, err := u.Next(u.Entry, feeds{g.Inputs[0]: image})
			if err != nil {
				t.Fatal(err)
			}
			got, cost := told(u, s)
			if got != c.want || cost != c.cost || s.Cost.BoundNs != c.bound {
				t.Errorf("got  %s, %d ns, at least %d\nwant %s, %d ns, at least %d", got, cost, s.Cost.BoundNs,
					c.want, c.cost, c.bound)
			}
		})
	}
}

// told lists a stage's kernels and reorders, and sums their times.
func told(u *Unit, s *Stage) (steps string, ns int64) {
	var list []string
	for i := range s.Steps {
		x := &s.Steps[i]
		text := x.Name
		switch {
		case x.Reorder:
			text = u.Graph.Values[x.Node.Inputs[0]].Name + ">" + strings.Split(x.Name, " to ")[1]
		case strings.HasPrefix(x.Reason, "avoids"):
			text += fmt.Sprintf(" (%s, or %s %+d)", x.Reason, x.RunnerUp, x.MarginNs)
		}
		list = append(list, text)
		ns += x.EstNs
	}
	return strings.Join(list, "; "), ns
}

// hungry is a backend with a kernel that needs no scratch memory and takes 60 ns, and one that
// needs a MiB and takes as long as its operand has elements.
type hungry struct{ market }

func (hungry) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	n, _ := o.In[0].Shape.Elements()
	return []backend.Candidate{{Name: "lean", Extra: backend.Extra{Flops: 60}},
		{Name: "hungry", Scratch: 1 << 20, Extra: backend.Extra{Flops: float64(n)}}}, nil
}

func TestSmallerShapesKeepTheArenaOfTheBound(t *testing.T) {
	for _, c := range []struct {
		bound bool
		want  string
	}{{false, "hungry; hungry"}, {true, "lean; lean"}} {
		g, err := graph.Parse(`graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			y = Neg@13(a)
			out y
		}`)
		if err != nil {
			t.Fatal(err)
		}
		u := NewUnit(g, hungry{}, Limits{Cost: hungry{}})
		if c.bound {
			if _, err := u.Bound(feeds{g.Inputs[0]: tensor.Of(make([]float32, 100)...)}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := u.Next(u.Entry, feeds{g.Inputs[0]: four})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := told(u, s); got != c.want {
			t.Errorf("bound %t: got %s, want %s", c.bound, got, c.want)
		}
	}
}
