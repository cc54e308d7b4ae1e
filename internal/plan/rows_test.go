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

// dearCopies makes concatenations and splits cost more than anything else.
type dearCopies struct{ copyNs int64 }

// Transfer implements Coster: there is one device.
func (dearCopies) Transfer(_, _ string, _ int64) int64 { return 0 }

func (d dearCopies) Kernel(o *backend.Op, _ op.Work, _ *backend.Candidate) (ns int64, source string) {
	if o.Node.Op == "Concat" || o.Node.Op == "Split" {
		return d.copyNs, "test"
	}
	return 10, "test"
}

func TestPartsLieInTheRowsOfTheWhole(t *testing.T) {
	for _, c := range []struct {
		name, nodes string
		copyNs      int64
		want        string
	}{
		{"producers run by rows", `
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=1)
			y = ReduceSum@13(c; keepdims=0)
			out y`, 1e6,
			"Relu*2; Neg*2; ReduceSum; a@0+12/24 b@12+12/24 c@0+48"},
		{"launches that cost more than the copy are not made", `
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=1)
			y = ReduceSum@13(c; keepdims=0)
			out y`, 500,
			"Relu; Neg; Concat; ReduceSum; a@64+24 b@128+24 c@0+48"},
		{"so do other readers, and concatenations in concatenations", `
			a = Relu@13(x)
			b = Neg@13(a)
			c = Concat@13(a, b; axis=-1)
			d = Exp@13(c)
			e = Concat@13(c, d; axis=1)
			y = ReduceSum@13(e; keepdims=0)
			out y`, 1e6,
			"Relu*2; Neg*2; Exp*2; ReduceSum; a@0+12/48 b@12+12/48 c@0+24/48 d@24+24/48 e@0+96"},
		{"readers of parts of a split", `
			a = Relu@13(x)
			l, r = Split@13(a, parts; axis=1)
			m = Neg@13(l)
			n = Exp@13(r)
			s = ReduceSum@13(m; keepdims=0)
			t = ReduceSum@13(n; keepdims=0)
			y = Add@13(s, t)
			out y`, 1e6,
			"Relu; Neg*2; Exp*2; ReduceSum; ReduceSum; Add; a@0+24 l@0+4/12 r@4+8/12 m@128+8 n@64+16 s@0+4 t@128+4"},
		{"a reader that needs all rows at once prevents it", `
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=1)
			s = ReduceSum@13(a; keepdims=0)
			t = ReduceSum@13(c; keepdims=0)
			y = Add@13(s, t)
			out y`, 1e6,
			"Relu; Neg; Concat; ReduceSum; ReduceSum; Add; a@64+24 b@128+24 c@0+48 s@128+4 t@64+4"},
		{"an output does, too", `
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=1)
			y = ReduceSum@13(c; keepdims=0)
			out y
			out a`, 1e6,
			"Relu; Neg; Concat; ReduceSum; b@64+24 c@0+48"},
	} {
		g, err := graph.Parse("graph \"g\" {\nin x: float32[2,3]\nconst parts = int64[2] [1, 2]\n" + c.nodes + "\n}")
		if err != nil {
			t.Fatal(err)
		}
		u := NewUnit(g, ref.Backend{}, Limits{Cost: dearCopies{c.copyNs}})
		s, err := u.Next(u.Entry, feeds{g.Inputs[0]: tensor.Must(tensor.Shape{2, 3}, make([]float32, 6))})
		if err != nil {
			t.Fatal(err)
		}
		var steps, slots []string
		for i := range s.Steps {
			text := s.Steps[i].Name
			if n := s.Steps[i].Rows; n > 0 {
				text += fmt.Sprintf("*%d", n)
			}
			steps = append(steps, text)
		}
		for i := range s.Slots {
			if sl := &s.Slots[i]; sl.Where == InArena {
				text := fmt.Sprintf("%s@%d+%d", g.Values[sl.Of].Name, sl.Offset, sl.Bytes)
				if sl.Pitch > 0 {
					text = fmt.Sprintf("%s@%d+%d/%d", g.Values[sl.Of].Name, sl.Offset, sl.Bytes/sl.Shape[0], sl.Pitch)
				}
				slots = append(slots, text)
			}
		}
		if got := strings.Join(steps, "; ") + "; " + strings.Join(slots, " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
