package cost

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// measured returns a model that has one record, of times of 100 ns with one outlier.
func measured(o *backend.Op, c *backend.Candidate) *Model {
	var s Samples
	s.Add("cpu", o, work(o), c, 100, 102, 98, 1_000_000, 100)
	return &Model{Device: "cpu", Rates: flat(), Judge: s.judge()}
}

func TestMeasurementsOverrideTheRoofline(t *testing.T) {
	o, c := matmul(32, 32, 32), backend.Candidate{Name: "gemm", Source: "avx2", Flops: 0.5, Stream: 1}
	m := measured(o, &c)
	e := m.Estimate(o, work(o), &c)
	if want := (Estimate{Ns: 100, Source: Measured, Samples: 5, Spread: 2}); e != want {
		t.Fatalf("got %+v, want %+v", e, want)
	}
	if ns, source, ok := m.Measured(o, work(o), &c); ns != 100 || source != Measured || !ok {
		t.Errorf("measurements alone: got %d, %s, %v, want 100, %s", ns, source, ok, Measured)
	}
	roof := m.Rates.Roofline(o, work(o), &c)
	double := matmul(64, 32, 32)
	e = m.Estimate(double, work(double), &c)
	if want := atLeastOne(100 * m.Rates.Roofline(double, work(double), &c) / roof); e.Ns != want || e.Source != Scaled {
		t.Errorf("twice the size: got %+v, want %d ns, %s", e, want, Scaled)
	}
	far := matmul(1024, 1024, 1024)
	if _, source := m.Kernel(far, work(far), &c); source != Roofline {
		t.Errorf("far more work: got %s, want %s", source, Roofline)
	}
	if ns, _, ok := m.Measured(far, work(far), &c); ok {
		t.Errorf("far more work: got %d ns from measurements, want none", ns)
	}
}

func TestMeasurementsOfAnythingElseDoNotCount(t *testing.T) {
	o, c := matmul(32, 32, 32), backend.Candidate{Name: "gemm", Source: "avx2", Flops: 0.5}
	m := measured(o, &c)
	for _, x := range []struct {
		name   string
		change func(o *backend.Op, c *backend.Candidate, m *Model)
	}{
		{"kernel", func(_ *backend.Op, c *backend.Candidate, _ *Model) { c.Name = "gemv" }},
		{"source", func(_ *backend.Op, c *backend.Candidate, _ *Model) { c.Source = "avx512" }},
		{"revision", func(_ *backend.Op, c *backend.Candidate, _ *Model) { c.Revision++ }},
		{"layout", func(_ *backend.Op, c *backend.Candidate, _ *Model) { c.Out = []backend.Layout{8} }},
		{"threads", func(o *backend.Op, _ *backend.Candidate, _ *Model) { o.Threads = 2 }},
		{"operator", func(o *backend.Op, _ *backend.Candidate, _ *Model) { o.Node.Op = "Gemm" }},
		{"domain", func(o *backend.Op, _ *backend.Candidate, _ *Model) { o.Node.Domain = "x" }},
		{"version", func(o *backend.Op, _ *backend.Candidate, _ *Model) { o.Node.Version++ }},
		{"attribute", func(o *backend.Op, _ *backend.Candidate, _ *Model) {
			o.Node.Attrs = graph.Attrs{{Name: "transB", Kind: graph.AttrInt, Int: 1}}
		}},
		{"type", func(o *backend.Op, _ *backend.Candidate, _ *Model) { o.In[0].DType = tensor.Int32 }},
		{"constant", func(o *backend.Op, _ *backend.Candidate, _ *Model) { o.In[1].Const = zeros(32, 32) }},
		{"device", func(_ *backend.Op, _ *backend.Candidate, m *Model) { m.Device = "gpu0" }},
	} {
		o, c, m := matmul(32, 32, 32), c, *m
		x.change(o, &c, &m)
		if ns, source := m.Kernel(o, work(o), &c); source != Roofline {
			t.Errorf("another %s: got %d ns, %s, want %s", x.name, ns, source, Roofline)
		}
	}
}

func zeros(shape ...int64) *tensor.Tensor {
	t, err := tensor.Zeros(tensor.Float32, shape)
	if err != nil {
		panic(err)
	}
	return t
}

// fused is a group of one node per operator, in a chain, whose values have the given names.
func fused(prefix string, ops ...string) *backend.Op {
	g := &graph.Graph{Name: prefix}
	last := g.AddValue(graph.Value{Name: prefix + "in"})
	g.Inputs = []graph.ValueID{last}
	for i, name := range ops {
		out := g.AddValue(graph.Value{Name: fmt.Sprint(prefix, i)})
		g.Nodes = append(g.Nodes, &graph.Node{Op: name, Name: prefix, Inputs: []graph.ValueID{last},
			Outputs: []graph.ValueID{out}})
		last = out
	}
	g.Outputs = []graph.ValueID{last}
	return &backend.Op{In: []backend.Arg{float32s(8)}, Out: []backend.Arg{float32s(8)},
		Node: &graph.Node{Domain: "stowage", Op: "Fused", Inputs: []graph.ValueID{3}, Outputs: []graph.ValueID{4},
			Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: g}}}}
}

func TestKeysOfFusedGroupsFollowStructureNotNames(t *testing.T) {
	c := backend.Candidate{Name: "chain"}
	a := KeyOf("cpu", fused("a", "Relu", "Sigmoid"), &c)
	if b := KeyOf("cpu", fused("b", "Relu", "Sigmoid"), &c); a != b {
		t.Error("other names: got another key, want the same")
	}
	for _, ops := range [][]string{{"Sigmoid", "Relu"}, {"Relu"}, {"Relu", "Sigmoid", "Relu"}} {
		if b := KeyOf("cpu", fused("a", ops...), &c); a == b {
			t.Errorf("%v: got the key of Relu, Sigmoid, want another", ops)
		}
	}
}

func TestSmallConstantsAreInTheKeyWeightsAreNot(t *testing.T) {
	key := func(fill float32, n int64) Key {
		o := matmul(1, n, 1)
		w := zeros(n, 1)
		for i := range tensor.Cast[float32](w.Bytes()) {
			tensor.Cast[float32](w.Bytes())[i] = fill
		}
		o.In[1].Const = w
		return KeyOf("cpu", o, &backend.Candidate{})
	}
	if key(1, 4) == key(2, 4) {
		t.Error("small constants: got one key for two contents, want two")
	}
	if key(1, 400) != key(2, 400) {
		t.Error("weights: got two keys for two contents, want one")
	}
}

func TestRecordsKeepTheLatestAndResistOutliers(t *testing.T) {
	r := &Record{}
	for i := range 3 * MaxSamples {
		ns := int64(1000 + i%10)
		if i%3 == 0 {
			ns *= 500
		}
		r.add([]int64{ns})
	}
	if r.Count != 3*MaxSamples || len(r.Ns) != MaxSamples {
		t.Errorf("got %d of %d times, want %d of %d", len(r.Ns), r.Count, MaxSamples, 3*MaxSamples)
	}
	if ns, spread := r.Typical(); ns < 1000 || ns > 1010 || spread > 10 {
		t.Errorf("got %d ns and spread %d, want a third of outliers not to count", ns, spread)
	}
	if r.add(make([]int64, 100)); !slices.Equal(r.Ns, make([]int64, MaxSamples)) {
		t.Errorf("got %v, want the latest alone", r.Ns)
	}
}

func TestScaledAnswersDoNotDependOnTheOrderOfSamples(t *testing.T) {
	c := backend.Candidate{Name: "gemm", Flops: 0.5}
	shapes := []int64{16, 64}
	ask := matmul(32, 32, 32)
	var want int64
	for trial := range 8 {
		var s Samples
		for _, n := range shapes {
			// Both are one doubling of each extent away.
			o := matmul(n, 32, 32)
			s.Add("cpu", o, work(o), &c, 10*n)
		}
		slices.Reverse(shapes)
		m := &Model{Device: "cpu", Rates: flat(), Judge: s.judge()}
		got, _ := m.Kernel(ask, work(ask), &c)
		if trial > 0 && got != want {
			t.Fatalf("trial %d: got %d ns, want %d as before", trial, got, want)
		}
		want = got
	}
}

// judge returns what the samples alone say.
func (s *Samples) judge() *Judge {
	j := newJudge()
	for k, r := range s.records {
		j.put(k, r)
	}
	j.seal()
	return j
}
