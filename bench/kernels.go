package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/stowage-ml/stowage/bench/peak"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// kernelResult is the rates of one operator, Stowage's first.
type kernelResult struct {
	Name   string     `json:"name"`
	CPU    [2]float64 `json:"cpu_ms"`
	GFlops [2]float64 `json:"gflops"`
	// Peak is the share of the measured peak rate.
	Peak  [2]float64 `json:"peak"`
	Ratio float64    `json:"ratio"`
	Error string     `json:"error,omitempty"`
}

// kernelCase is a model of one node and the multiply-adds that it takes.
type kernelCase struct {
	name string
	flop float64
	make func(rng *rand.Rand) network
}

func matMul(name string, m, k, n int64, constant bool) kernelCase {
	return kernelCase{name, 2 * float64(m) * float64(k) * float64(n), func(rng *rand.Rand) network {
		g := testkit.NewModel(17)
		a, b := normal(rng, m, k), normal(rng, k, n)
		in := []*tensor.Tensor{a}
		x, w := g.Input("a", tensor.Float32, m, k), ""
		if constant {
			w = g.Init("b", b)
		} else {
			w = g.Input("b", tensor.Float32, k, n)
			in = append(in, b)
		}
		g.Output(g.Node("MatMul", []string{x, w}), tensor.Float32, m, n)
		return network{name: name, file: name, make: func() *testkit.Model { return g }, inputs: in}
	}}
}

// spatial is a convolution of a square picture with padding that keeps its size, before strides.
type spatial struct{ in, out, group, kernel, stride, size int64 }

func conv(name string, s spatial) kernelCase {
	size := (s.size + s.stride - 1) / s.stride
	flop := 2 * float64(s.in/s.group*s.out*s.kernel*s.kernel) * float64(size*size)
	return kernelCase{name, flop, func(rng *rand.Rand) network {
		g := testkit.NewModel(17)
		x := g.Input("x", tensor.Float32, int64(1), s.in, s.size, s.size)
		w := g.Init("w", normal(rng, s.out, s.in/s.group, s.kernel, s.kernel))
		b := g.Init("b", normal(rng, s.out))
		pad := s.kernel / 2
		y := g.Node("Conv", []string{x, w, b}, testkit.Ints("kernel_shape", s.kernel, s.kernel),
			testkit.Ints("strides", s.stride, s.stride), testkit.Ints("pads", pad, pad, pad, pad), testkit.Int("group", s.group))
		g.Output(y, tensor.Float32, int64(1), s.out, size, size)
		return network{name: name, file: name, make: func() *testkit.Model { return g },
			inputs: []*tensor.Tensor{normal(rng, 1, s.in, s.size, s.size)}}
	}}
}

func kernelCases() []kernelCase {
	return []kernelCase{
		matMul("matmul_1024x1024x1024", 1024, 1024, 1024, false),
		matMul("matmul_1024x1024x1024_const", 1024, 1024, 1024, true),
		matMul("matmul_128x384x1536_const", 128, 384, 1536, true),
		matMul("matmul_128x1536x384_const", 128, 1536, 384, true),
		matMul("matmul_16x384x384_const", 16, 384, 384, true),
		matMul("matmul_1x1024x1024_const", 1, 1024, 1024, true),
		conv("conv3x3_64_64_56", spatial{64, 64, 1, 3, 1, 56}),
		conv("conv3x3_256_256_14", spatial{256, 256, 1, 3, 1, 14}),
		conv("conv3x3s2_128_128_56", spatial{128, 128, 1, 3, 2, 56}),
		conv("conv1x1_256_1024_14", spatial{256, 1024, 1, 1, 1, 14}),
		conv("conv1x1_64_256_56", spatial{64, 256, 1, 1, 1, 56}),
		conv("conv7x7s2_3_64_224", spatial{3, 64, 1, 7, 2, 224}),
		conv("conv3x3s2_3_32_224", spatial{3, 32, 1, 3, 2, 224}),
		conv("conv5x5_32_64_28", spatial{32, 64, 1, 5, 1, 28}),
		conv("depthwise3x3_96_112", spatial{96, 96, 96, 3, 1, 112}),
		conv("depthwise3x3s2_144_56", spatial{144, 144, 144, 3, 2, 56}),
	}
}

func compareKernels(c *config) (report, error) {
	r := report{}
	dir, err := os.MkdirTemp("", "stowage-kernels")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	top := peak.GFlops()
	fmt.Fprintf(c.progress, "measured peak of one thread: %.1f GFLOP/s\n", top)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range kernelCases() {
		if !c.wants(k.name) {
			continue
		}
		res := kernelResult{Name: k.name}
		if err := res.measure(c, k, rng, filepath.Join(dir, k.name), top); err != nil {
			res.Error = err.Error()
		}
		fmt.Fprintf(c.progress, "%-28s %8.1f GFLOP/s  ort %8.1f  ratio %.2f %s\n", k.name, res.GFlops[0], res.GFlops[1],
			res.Ratio, res.Error)
		r.Kernels = append(r.Kernels, res)
	}
	return r, nil
}

func (r *kernelResult) measure(c *config, k kernelCase, rng *rand.Rand, dir string, top float64) error {
	n := k.make(rng)
	s, err := n.save(dir)
	if err != nil {
		return err
	}
	t, p, err := timed(s, 1, c.runs, c.budget)
	if err != nil {
		return err
	}
	if d := p.farthest(len(s.Outputs)); d > 1e-3 {
		err = fmt.Errorf("outputs differ by %g of the largest", d)
	}
	for i := range t {
		r.CPU[i] = typical(t[i].cpu)
		r.GFlops[i] = k.flop / (r.CPU[i] * 1e6)
		r.Peak[i] = r.GFlops[i] / top
	}
	r.Ratio = quotient(r.CPU[0], r.CPU[1])
	if e := p.close(); err == nil {
		err = e
	}
	return err
}
