// Package twin compares the kernels that a backend offers for a node with the reference backend's:
// their results within a bound, in every layout that they ask for, with and without helpers, on
// memory whose neighbours cannot be touched.
package twin

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// Case is a node and its operands. Nil inputs are absent.
type Case struct {
	Node *graph.Node
	In   []*tensor.Tensor
	// Fed lists the inputs whose contents the kernel's maker does not know.
	Fed []int
	// Rel and Abs bound how far a result may be from the reference's: Abs + Rel·|reference|.
	Rel, Abs float64
}

// Node makes a node of the standard domain, of the newest version, with that many outputs.
func Node(name string, outputs int, attrs ...graph.Attr) *graph.Node {
	slices.SortFunc(attrs, func(a, b graph.Attr) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	n := &graph.Node{Op: name, Version: 24, Attrs: attrs, Outputs: make([]graph.ValueID, outputs)}
	for i := range n.Outputs {
		n.Outputs[i] = graph.ValueID(1000 + i)
	}
	return n
}

// Ints makes an attribute.
func Ints(name string, v ...int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

// Int makes an attribute.
func Int(name string, v int64) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

// Str makes an attribute.
func Str(name, v string) graph.Attr {
	return graph.Attr{Name: name, Kind: graph.AttrString, Str: v}
}

// Check runs every candidate that offer has for the case and compares. It returns the candidates'
// names.
func Check(t testing.TB, c *Case, offer func(o *backend.Op) ([]backend.Candidate, error)) []string {
	t.Helper()
	o, want, err := c.reference()
	if err != nil {
		t.Fatalf("%v: reference: %v", c, err)
	}
	team := backend.NewTeam(2)
	defer team.Close()
	var names []string
	for _, tm := range []*backend.Team{nil, team} {
		o.Threads = tm.Size()
		o.Consts = &backend.Consts{}
		ks, err := offer(o)
		if err != nil {
			t.Fatalf("%v: candidates: %v", c, err)
		}
		for i := range ks {
			names = append(names, ks[i].Name)
			c.check(t, o, &ks[i], want, tm)
		}
	}
	return names
}

// String shows the node and its inputs' shapes.
func (c *Case) String() string {
	s := c.Node.Op
	for _, a := range c.Node.Attrs {
		s += fmt.Sprintf(" %s=%v%v%q", a.Name, a.Ints, a.Int, a.Str)
	}
	for _, x := range c.In {
		if x != nil {
			s += fmt.Sprintf(" %v%v", x.DType(), x.Shape())
		}
	}
	return s
}

// reference infers the operands and computes the results with the reference backend.
func (c *Case) reference() (*backend.Op, []*tensor.Tensor, error) {
	o, call, err := prepare(c.Node, c.In, func(i int) bool { return !slices.Contains(c.Fed, i) })
	if err != nil {
		return nil, nil, err
	}
	ks, err := ref.Backend{}.Candidates(o)
	if err != nil || len(ks) == 0 {
		return nil, nil, fmt.Errorf("%d kernels: %w", len(ks), err)
	}
	call.Scratch = make([]byte, ks[0].Scratch)
	if err := ks[0].Kernel(call); err != nil {
		return nil, nil, err
	}
	want := make([]*tensor.Tensor, len(o.Out))
	for i := range want {
		if want[i], err = call.Out[i].Tensor(); err != nil {
			return nil, nil, err
		}
	}
	return o, want, nil
}

// check runs one candidate twice, on memory that ends at, and on memory that starts after, what
// must not be touched.
func (c *Case) check(t testing.TB, o *backend.Op, k *backend.Candidate, want []*tensor.Tensor, team *backend.Team) {
	t.Helper()
	for _, behind := range []bool{false, true} {
		what := fmt.Sprintf("%s (%s), %d workers", k.Name, k.Source, team.Size())
		call := &backend.Call{Team: team, Scratch: guarded(t, int(k.Scratch+63)/64*64, false)[:k.Scratch]}
		rubbish(call.Scratch)
		for i, x := range c.In {
			var v backend.View
			if x != nil {
				v = backend.View{DType: x.DType(), Shape: x.Shape(), Data: c.laid(t, x, layoutOf(k.In, i), behind)}
			}
			call.In = append(call.In, v)
		}
		for i := range o.Out {
			a := &o.Out[i]
			b := guarded(t, int(layoutOf(k.Out, i).Bytes(a.DType, a.Shape)), behind)
			rubbish(b)
			call.Out = append(call.Out, backend.View{DType: a.DType, Shape: a.Shape, Data: b})
		}
		if err := k.Kernel(call); err != nil {
			t.Fatalf("%v: %s: %v", c, what, err)
		}
		for i := range want {
			if err := c.compare(call.Out[i].Data, want[i], layoutOf(k.Out, i)); err != nil {
				t.Fatalf("%v: %s: output %d (%v): %v", c, what, i, layoutOf(k.Out, i), err)
			}
		}
		if n := testing.AllocsPerRun(3, func() { err := k.Kernel(call); _ = err }); team.Size() == 1 && n > 0 {
			t.Fatalf("%v: %s: got %v allocations, want none", c, what, n)
		}
	}
}

func layoutOf(ls []backend.Layout, i int) backend.Layout {
	if ls == nil {
		return backend.RowMajor
	}
	return ls[i]
}

func rubbish(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// laid returns the contents of a tensor in a layout; what stands for no channel is large.
func (c *Case) laid(t testing.TB, x *tensor.Tensor, l backend.Layout, behind bool) []byte {
	b := guarded(t, int(l.Bytes(x.DType(), x.Shape())), behind)
	if l == backend.RowMajor {
		copy(b, x.Bytes())
		return b
	}
	size := x.DType().Bits() / 8
	if x.DType() == tensor.Float32 {
		fs := tensor.Cast[float32](b)
		for i := range fs {
			fs[i] = -math.MaxFloat32 / 2
		}
	}
	eachPlace(x.Shape(), int(l), func(plain, packed int) {
		copy(b[packed*size:][:size], x.Bytes()[plain*size:])
	}, func(int) {})
	return b
}

// eachPlace calls f for each element, with its number in both layouts, and pad for each place that
// stands for none.
func eachPlace(s tensor.Shape, b int, f func(plain, packed int), pad func(packed int)) {
	area := 1
	for _, d := range s[2:] {
		area *= int(d)
	}
	channels := int(s[1])
	blocks := (channels + b - 1) / b
	for n := range int(s[0]) {
		for ch := range blocks * b {
			for p := range area {
				packed := ((n*blocks+ch/b)*area+p)*b + ch%b
				if ch < channels {
					f((n*channels+ch)*area+p, packed)
				} else {
					pad(packed)
				}
			}
		}
	}
}

func (c *Case) compare(got []byte, want *tensor.Tensor, l backend.Layout) error {
	size := want.DType().Bits() / 8
	plain := got
	if l != backend.RowMajor {
		plain = make([]byte, len(want.Bytes()))
		bad := -1
		eachPlace(want.Shape(), int(l), func(at, packed int) {
			copy(plain[at*size:][:size], got[packed*size:])
		}, func(packed int) {
			if want.DType() == tensor.Float32 && !finite(tensor.Cast[float32](got)[packed]) {
				bad = packed
			}
		})
		if bad >= 0 {
			return fmt.Errorf("element %d, which stands for no channel: got %v, want a finite number", bad,
				tensor.Cast[float32](got)[bad])
		}
	}
	if want.DType() != tensor.Float32 {
		if i := firstDifference(plain, want.Bytes()); i >= 0 {
			return fmt.Errorf("byte %d: got %d, want %d", i, plain[i], want.Bytes()[i])
		}
		return nil
	}
	ws := tensor.Cast[float32](want.Bytes())
	for i, v := range tensor.Cast[float32](plain) {
		if !c.near(float64(v), float64(ws[i])) {
			return fmt.Errorf("element %d: got %v, want %v", i, v, ws[i])
		}
	}
	return nil
}

func firstDifference(a, b []byte) int {
	for i := range b {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func finite(v float32) bool { return v-v == 0 }

func (c *Case) near(got, want float64) bool {
	switch {
	case math.IsNaN(want):
		return math.IsNaN(got)
	case got == want:
		return true
	case math.IsInf(want, 0):
		return false
	}
	return math.Abs(got-want) <= c.Abs+c.Rel*math.Abs(want)
}
