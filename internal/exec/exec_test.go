package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// results keeps what a run places, on the heap.
type results map[int]backend.View

func (r results) Place(i int, dt tensor.DType, s tensor.Shape) (backend.View, error) {
	v, err := heap(dt, s)
	r[i] = v
	return v, err
}

func newUnit(t *testing.T, text string, b backend.Backend) *plan.Unit {
	t.Helper()
	g, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return plan.NewUnit(g, b, plan.Limits{})
}

const doubled = `graph "g" {
	in x: float32[n]
	a = Relu@13(x)
	b = Neg@13(a)
	y = Sub@13(a, b) as "last"
	out y
}`

func TestSlabsAreReusedAndGrowOnlyWhenTheyMust(t *testing.T) {
	u, l := newUnit(t, doubled, ref.Backend{}), NewLane()
	defer l.Close()
	if err := l.Reserve(200); err != nil || l.Bytes() != 200 {
		t.Fatalf("got %d bytes, %v, want 200", l.Bytes(), err)
	}
	for _, c := range []struct {
		n     int
		bytes int64
	}{{4, 200}, {100, 100*4 + 448}, {4, 100*4 + 448}} {
		data := make([]float32, c.n)
		data[c.n-1] = 3
		out := results{}
		if err := l.Run(context.Background(), u, []backend.View{backend.ViewOf(tensor.Of(data...))}, out); err != nil {
			t.Fatal(err)
		}
		v := out[0]
		if got := tensor.Cast[float32](v.Data); got[c.n-1] != 6 || l.Bytes() != c.bytes {
			t.Errorf("%d elements: got %v with %d bytes, want 6 with %d", c.n, got[c.n-1], l.Bytes(), c.bytes)
		}
	}
}

// broken is the reference backend with one operator whose kernel fails or panics.
type broken struct {
	ref.Backend
	op     string
	kernel backend.Kernel
}

func (b broken) Candidates(o *backend.Op) ([]backend.Candidate, error) {
	if o.Node.Op == b.op {
		return []backend.Candidate{{Name: "broken", Source: "go", Kernel: b.kernel}}, nil
	}
	return b.Backend.Candidates(o)
}

func TestFailingKernelsFailTheRunAlone(t *testing.T) {
	sad := errors.New("sad")
	for _, c := range []struct {
		name   string
		kernel backend.Kernel
		want   string
	}{
		{"error", func(*backend.Call) error { return sad }, `exec: node Sub "last": sad`},
		{"panic", func(c *backend.Call) error { c.Out[7].Data[0] = 1; return nil }, `BUG: exec: panic at node Sub "last"`},
	} {
		u, l := newUnit(t, doubled, broken{op: "Sub", kernel: c.kernel}), NewLane()
		x := []backend.View{backend.ViewOf(tensor.Of[float32](1))}
		for range 2 {
			err := l.Run(context.Background(), u, x, results{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
			}
		}
		if err := l.Run(context.Background(), newUnit(t, doubled, ref.Backend{}), x, results{}); err != nil {
			t.Errorf("%s: the lane is of no use after it: %v", c.name, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCancelStopsBetweenSteps(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	u := newUnit(t, doubled, broken{op: "Neg", kernel: func(*backend.Call) error { cancel(); return nil }})
	l := NewLane()
	defer l.Close()
	err := l.Run(ctx, u, []backend.View{backend.ViewOf(tensor.Of[float32](1))}, results{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(fmt.Sprint(err), "stopped before step 3 of 3") {
		t.Errorf("got error %v", err)
	}
}

func TestProgressSaysEachStep(t *testing.T) {
	u, l := newUnit(t, doubled, ref.Backend{}), NewLane()
	defer l.Close()
	var seen []int
	l.Progress = func(step, steps int) { seen = append(seen, step, steps) }
	x := []backend.View{backend.ViewOf(tensor.Of[float32](1))}
	if err := l.Run(context.Background(), u, x, results{}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(seen); got != "[0 3 1 3 2 3]" {
		t.Errorf("got %s", got)
	}
}

func TestScanSlicesAndArranges(t *testing.T) {
	x := backend.ViewOf(tensor.Must(tensor.Shape{2, 3}, []int16{1, 2, 3, 4, 5, 6}))
	s, err := newSlices(x, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var o scanOutput
	for i := range s.count {
		v := s.at(i)
		if err := o.add(&v); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(tensor.Cast[int16](o.data)); got != "[3 6 2 5 1 4]" {
		t.Errorf("last column first: got %s", got)
	}
	shape, data, err := arrange(&o, -1, 1)
	if err != nil || !shape.Equal(x.Shape) || fmt.Sprint(tensor.Cast[int16](data)) != "[1 2 3 4 5 6]" {
		t.Errorf("arranged back: got %v %v, %v", shape, tensor.Cast[int16](data), err)
	}
	if _, err := newSlices(x, 2, 0); err == nil {
		t.Error("axis 2 of a matrix: got no error")
	}
	if _, _, err := arrange(&o, 3, 0); err == nil {
		t.Error("output axis 3 of a matrix: got no error")
	}
	odd := backend.ViewOf(tensor.Of[int16](1))
	if err := o.add(&odd); err == nil {
		t.Error("an element of another shape: got no error")
	}
}
