package cost

import (
	"math"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// matmul is a product of an m×k and a k×n matrix.
func matmul(m, k, n int64) *backend.Op {
	return &backend.Op{
		Node: &graph.Node{Op: "MatMul", Version: 13, Inputs: []graph.ValueID{0, 1}, Outputs: []graph.ValueID{2}},
		In:   []backend.Arg{float32s(m, k), float32s(k, n)},
		Out:  []backend.Arg{float32s(m, n)},
	}
}

func float32s(shape ...int64) backend.Arg { return backend.Arg{DType: tensor.Float32, Shape: shape} }

// flat is rates that make sums easy: 10 operations and 4 bytes per ns, a launch of 100 ns.
func flat() *Rates {
	return &Rates{Threads: 2, Peak: Rate{10, 20}, Stream: []Band{{1000, Rate{4, 8}}}, Launch: 100, Share: 50, Reorder: 2,
		Scalar: usualScalar}
}

func TestRooflineIsTheLargerOfArithmeticAndMemory(t *testing.T) {
	half := backend.Candidate{Flops: 0.5, Stream: 0.5}
	for _, c := range []struct {
		name    string
		w       op.Work
		c       backend.Candidate
		threads int
		want    float64
	}{
		{"arithmetic", op.Work{FLOPs: 5000, Bytes: 40}, half, 1, 100 + 1000},
		{"memory", op.Work{FLOPs: 10, Bytes: 4000}, half, 1, 100 + 2000},
		{"extra counts", op.Work{Bytes: 4000}, backend.Candidate{Stream: 1, Extra: backend.Extra{Bytes: 4000}}, 1, 2100},
		{"shared among two", op.Work{FLOPs: 5000}, half, 2, 100 + 500 + 50},
		{"too little to share", op.Work{FLOPs: 50}, half, 2, 100 + 10},
		{"streams only", op.Work{FLOPs: 2000}, backend.Candidate{Stream: 1}, 1, 100 + 1000},
		{"computes only", op.Work{Bytes: 400}, backend.Candidate{Flops: 1}, 1, 100 + 100},
		{"no work", op.Work{}, half, 2, 100},
		{"negative work", op.Work{FLOPs: -5, Bytes: -5}, half, 1, 100},
	} {
		o := matmul(1, 1, 1)
		o.Threads = c.threads
		if got := flat().Roofline(o, c.w, &c.c); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestConstantsAreFarAway(t *testing.T) {
	r := flat()
	r.Stream = []Band{{1 << 10, Rate{40, 80}}, {1 << 22, Rate{10, 20}}}
	o, c := matmul(1, 16, 16), backend.Candidate{Stream: 1, Flops: 1}
	near := r.Roofline(o, op.Work{Bytes: 1024}, &c)
	o.In[1].Const = zeros(16, 8)
	if got, want := r.Roofline(o, op.Work{Bytes: 1024}, &c), near+512.0/10-512.0/40; math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v ns, want %v: half of the bytes at the rate of what is far away", got, want)
	}
}

func TestUnknownSharesAreSlowAndNothingIsFree(t *testing.T) {
	m := &Model{Rates: Typical(simd.AVX2, 1)}
	o := matmul(64, 64, 64)
	fast, _ := m.Kernel(o, work(o), &backend.Candidate{Flops: 0.8, Stream: 0.8})
	slow, source := m.Kernel(o, work(o), &backend.Candidate{})
	if slow < 5*fast || source != Roofline {
		t.Errorf("got %d ns from %s for slow code, want far more than %d", slow, source, fast)
	}
	inf := math.Inf(1)
	for _, w := range []op.Work{{}, {FLOPs: math.NaN()}, {FLOPs: inf}, {Bytes: inf}, {FLOPs: -1, Bytes: -1}} {
		for _, c := range []backend.Candidate{{}, {Flops: 1, Stream: 1}, {Flops: math.NaN(), Stream: 1}, {Flops: 1e-300}} {
			m.Rates.Launch = 0
			if ns, _ := m.Kernel(o, w, &c); ns < 1 {
				t.Errorf("%+v, %+v: got %d ns, want at least 1", w, c, ns)
			}
		}
	}
}

func TestSlowGroupsTakeThePaceOfTheirConvolution(t *testing.T) {
	r := Typical(simd.AVX2, 1)
	w := op.Work{FLOPs: 1e6, Bytes: 1000}
	conv, plain := fused("a", "Conv", "Relu"), fused("a", "Neg", "Relu")
	alone := &backend.Op{Node: &graph.Node{Op: "Conv"}}
	c := &backend.Candidate{}
	if got, want := r.Roofline(conv, w, c), r.Roofline(alone, w, c); got != want {
		t.Errorf("got %v ns, want the convolution's %v", got, want)
	}
	if r.Roofline(plain, w, c) <= r.Roofline(conv, w, c) {
		t.Error("got a group without a convolution at a convolution's pace, want the usual one")
	}
}

func TestStreamIsBetweenItsBands(t *testing.T) {
	r := flat()
	r.Stream = []Band{{1 << 10, Rate{40, 80}}, {1 << 20, Rate{10, 20}}}
	for _, c := range []struct {
		bytes   float64
		threads int
		want    float64
	}{{0, 1, 40}, {1 << 10, 1, 40}, {1 << 15, 1, 25}, {1 << 15, 2, 50}, {1 << 20, 1, 10}, {1 << 30, 9, 20}} {
		if got := r.stream(c.bytes, c.threads); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v bytes, %d threads: got %v, want %v", c.bytes, c.threads, got, c.want)
		}
	}
}

func TestCopiesCostLatencyAndBytes(t *testing.T) {
	m := &Model{Rates: flat(), Links: map[[2]string]Link{{"cpu", "gpu0"}: {Latency: 1000, Rate: 4}}}
	for _, c := range []struct {
		from, to string
		bytes    int64
		want     int64
	}{{"cpu", "cpu", 1 << 40, 0}, {"cpu", "gpu0", 400, 1100}, {"cpu", "gpu0", 0, 1000}, {"gpu0", "cpu", 500, 30_100}} {
		if got := m.Transfer(c.from, c.to, c.bytes); got != c.want {
			t.Errorf("%s to %s, %d bytes: got %d ns, want %d", c.from, c.to, c.bytes, got, c.want)
		}
	}
	if got := m.Reorder(1000); got != 100+1000 {
		t.Errorf("reorder: got %d ns, want 1100", got)
	}
}

func TestDevicesHaveTheirOwnRates(t *testing.T) {
	fast := &Model{Device: "gpu0", Rates: flat()}
	m := &Model{Device: "cpu", Rates: Typical(simd.Generic, 1), Others: map[string]*Model{"gpu0": fast}}
	if m.On("gpu0") != fast || m.On("cpu") != m || m.On("gpu1") != m {
		t.Error("got another device's model, want the device's own, or the caller's")
	}
}

func TestTypicalRatesAreWhole(t *testing.T) {
	for _, l := range []simd.Level{simd.Generic, simd.AVX2, simd.AVX512, simd.NEON} {
		for _, threads := range []int{0, 1, 2, 64} {
			r := Typical(l, threads)
			if err := r.Check(); err != nil {
				t.Errorf("%v, %d threads: %v", l, threads, err)
			}
			if r.Peak.All < r.Peak.One {
				t.Errorf("%v, %d threads: got %+v, want no less from all than from one", l, threads, r.Peak)
			}
		}
	}
}
