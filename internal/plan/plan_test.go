package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// feeds are values of known shapes; those that have contents say so.
type feeds map[graph.ValueID]*tensor.Tensor

func (f feeds) Type(v graph.ValueID) (tensor.DType, tensor.Shape) { return f[v].DType(), f[v].Shape() }

func (f feeds) Contents(v graph.ValueID) (*tensor.Tensor, error) { return f[v], nil }

// unit reads a graph and gives its inputs, in order, the given values.
func unit(t *testing.T, text string, lim Limits, in ...*tensor.Tensor) (*Unit, feeds) {
	t.Helper()
	g, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f := feeds{}
	for i, v := range g.Inputs {
		f[v] = in[i]
	}
	return NewUnit(g, ref.Backend{}, lim), f
}

// dump writes a stage in a form to compare.
func dump(u *Unit, s *Stage) string {
	var b strings.Builder
	name := func(v graph.ValueID) string { return u.Graph.Values[v].Name }
	for i := range s.Steps {
		x := &s.Steps[i]
		fmt.Fprintf(&b, "%s", x.Name)
		if x.InPlace >= 0 {
			fmt.Fprintf(&b, " over %d", x.InPlace)
		}
		b.WriteString("; ")
	}
	for i := range s.Slots {
		sl := &s.Slots[i]
		fmt.Fprintf(&b, "%s=%s", name(sl.Value), sl.Where)
		switch sl.Where {
		case InArena:
			fmt.Fprintf(&b, "@%d+%d", sl.Offset, sl.Bytes)
		case InValue:
			fmt.Fprintf(&b, ":%s", name(sl.Base))
		case InOutput:
			fmt.Fprintf(&b, ":%d", sl.Output)
		}
		b.WriteString(" ")
	}
	for _, c := range s.Copies {
		fmt.Fprintf(&b, "copy %s>%d ", name(c.Value), c.Output)
	}
	fmt.Fprintf(&b, "| %d", s.Memory.Arena)
	if s.Next != nil {
		fmt.Fprintf(&b, ", %d later", s.Later())
	}
	return b.String()
}

var four = tensor.Of[float32](1, 2, 3, 4)

func TestStagesGiveEveryValueItsPlace(t *testing.T) {
	for _, c := range []struct {
		name, text string
		in         []*tensor.Tensor
		want       string
	}{
		{"a chain is in place, and the last step writes the output", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Neg@13(a)
			y = Abs@13(b)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg over 0; Abs; a=arena@0+16 b=arena@0+16 y=output:0 | 16"},
		{"an input that is read later is not overwritten", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Neg@13(a)
			y = Add@13(a, b)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Add; a=arena@0+16 b=arena@64+16 y=output:0 | 80"},
		{"what a step reads twice is not overwritten", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Mul@13(a, a)
			y = Abs@13(b)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Mul; Abs; a=arena@0+16 b=arena@64+16 y=output:0 | 80"},
		{"a view keeps its base alive", `graph "g" {
			in x: float32[n]
			const s = int64[2] [2, 2]
			a = Relu@13(x)
			v = Reshape@13(a, s)
			b = Neg@13(a)
			c = Add@13(v, v)
			d = ReduceSum@13(b; keepdims=0)
			y = Add@13(c, d)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Add; ReduceSum; Add; " +
			"a=arena@0+16 s=constant v=arena@0+16 b=arena@64+16 c=arena@128+16 d=arena@0+4 y=output:0 | 144"},
		{"a view of an input that is an output is copied", `graph "g" {
			in x: float32[n]
			const s = int64[2] [2, 2]
			y = Reshape@13(x, s)
			out y
		}`, []*tensor.Tensor{four}, "s=constant y=view:x copy y>0 | 0"},
		{"a view that is an output moves its base there", `graph "g" {
			in x: float32[n]
			const s = int64[2] [2, 2]
			a = Relu@13(x)
			y = Reshape@13(a, s)
			out y
		}`, []*tensor.Tensor{four}, "Relu; a=output:0 s=constant y=output:0 | 0"},
		{"what is concatenated is written where it belongs", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=0)
			d = Abs@13(c)
			y = ReduceSum@13(d; keepdims=0)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Abs over 0; ReduceSum; " +
			"a=arena@0+16 b=arena@16+16 c=arena@0+32 d=arena@0+32 y=output:0 | 32"},
		{"a concatenation of concatenations is one buffer, here the caller's", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=0)
			d = Abs@13(c)
			y = Concat@13(c, d; axis=-1)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Abs; a=output:0 b=output:0 c=output:0 d=output:0 y=output:0 | 0"},
		{"a value is copied into its second concatenation, and an input into any", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			b = Neg@13(x)
			c = Concat@13(a, b; axis=0)
			d = Concat@13(b, a; axis=0)
			e = Concat@13(x, x; axis=0)
			f = Add@13(c, d)
			y = Add@13(f, e)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Concat; Add over 0; Concat; Add; a=arena@0+16 b=arena@16+16 c=arena@0+32 " +
			"d=arena@64+32 e=arena@64+32 f=arena@0+32 y=output:0 | 96"},
		{"what takes more memory than its result comes when its turn lowers the peak", `graph "g" {
			in x: float32[n]
			const wide = int64[2] [64, 4]
			a = Expand@13(x, wide)
			b = Expand@13(x, wide)
			c = ReduceSum@13(a; keepdims=0)
			d = ReduceSum@13(b; keepdims=0)
			y = Add@13(c, d)
			out y
		}`, []*tensor.Tensor{four}, "Expand; ReduceSum; Expand; ReduceSum; Add; wide=constant a=arena@0+1024 " +
			"b=arena@0+1024 c=arena@1024+4 d=arena@1088+4 y=output:0 | 1092"},
		{"an inner axis is copied", `graph "g" {
			in x: float32[n]
			const s = int64[2] [2, 2]
			v = Reshape@13(x, s)
			a = Relu@13(v)
			b = Neg@13(v)
			y = Concat@13(a, b; axis=1)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Concat; " +
			"s=constant v=view:x a=arena@0+16 b=arena@64+16 y=output:0 | 80"},
		{"parts stay in the whole, and do not overwrite it", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			l, r = Split@13(a; axis=0)
			m = Neg@13(l)
			y = Add@13(m, r)
			out y
		}`, []*tensor.Tensor{four}, "Relu; Neg; Add; a=arena@0+16 l=arena@0+8 r=arena@8+8 m=arena@64+8 y=output:0 | 72"},
		{"parts of an input are views of it", `graph "g" {
			in x: float32[n]
			l, r = Split@13(x; axis=0)
			y = Add@13(l, r)
			out y
			out r
		}`, []*tensor.Tensor{four}, "Add; l=view:x r=view:x y=output:0 copy r>1 | 0"},
		{"shape arithmetic leaves no step", `graph "g" {
			in x: float32[n]
			const two = int64[1] [2]
			s = Shape@13(x)
			h = Div@13(s, two)
			t = Concat@13(h, two; axis=0)
			y = Reshape@13(x, t)
			z = Relu@13(y)
			out z
		}`, []*tensor.Tensor{four}, "Relu; t=constant y=view:x z=output:0 | 0"},
		{"what nothing reads is not computed", `graph "g" {
			in x: float32[n]
			a = Neg@13(x)
			y = Relu@13(x)
			out y
		}`, []*tensor.Tensor{four}, "Relu; y=output:0 | 0"},
		{"a shape that depends on data ends the stage", `graph "g" {
			in x: float32[n]
			a = Relu@13(x)
			i = NonZero@13(a)
			b = Neg@13(a)
			y = Gather@13(b, i)
			out y
		}`, []*tensor.Tensor{four}, "Relu; NonZero; Neg over 0; a=arena@0+16 i=heap b=arena@0+16 | 16, 1 later"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, f := unit(t, c.text, Limits{}, c.in...)
			s, err := u.Next(u.Entry, f)
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(u, s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

const relu = `graph "g" {
	in x: float32[n]
	a = Relu@13(x)
	b = Neg@13(a)
	y = Add@13(a, b)
	out y
}`

func TestPlansAreKeptByShapeAndDroppedByAge(t *testing.T) {
	u, f := unit(t, relu, Limits{Keep: 2}, four)
	x := u.Graph.Inputs[0]
	next := func(n int) *Stage {
		f[x] = tensor.Of(make([]float32, n)...)
		s, err := u.Next(u.Entry, f)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := next(1), next(2)
	if next(1) != one || next(2) != two {
		t.Error("a shape that was seen is planned again")
	}
	next(1)
	next(3)
	if next(1) != one {
		t.Error("the plan used last was dropped")
	}
	if next(2) == two {
		t.Error("got three plans kept, want 2")
	}
}

func TestSmallerShapesTakeTheOffsetsOfTheBound(t *testing.T) {
	u, f := unit(t, relu, Limits{}, tensor.Of(make([]float32, 100)...))
	large, err := u.Bound(f)
	if err != nil {
		t.Fatal(err)
	}
	f[u.Graph.Inputs[0]] = four
	small, err := u.Next(u.Entry, f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range small.Slots {
		if small.Slots[i].Offset != large.Slots[i].Offset {
			t.Errorf("%s: got offset %d, want %d", u.Graph.Values[small.Slots[i].Value].Name,
				small.Slots[i].Offset, large.Slots[i].Offset)
		}
	}
	if small.Memory.Arena != large.Memory.Arena {
		t.Errorf("got arena %d, want %d", small.Memory.Arena, large.Memory.Arena)
	}
}

func TestPlansOverTheLimitAreRefused(t *testing.T) {
	u, f := unit(t, relu, Limits{Bytes: 95}, four)
	_, err := u.Next(u.Entry, f)
	if err == nil || !strings.Contains(err.Error(), "needs 96 bytes (the arena alone 80), want at most 95") {
		t.Errorf("got error %v", err)
	}
}

func TestErrorsNameTheNode(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`graph "g" {
			in x: float32[n]
			y = NoSuch@13(x) as "here"
			out y
		}`, `node NoSuch "here"`},
		{`graph "g" {
			in x: float32[n]
			const s = int64[1] [3]
			y = Reshape@13(x, s) as "there"
			out y
		}`, `node Reshape "there"`},
	} {
		u, f := unit(t, c.text, Limits{}, four)
		if _, err := u.Next(u.Entry, f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q in it", err, c.want)
		}
	}
}
