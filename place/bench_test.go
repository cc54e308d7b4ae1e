package place

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// graph builds problems as deep networks pose them. Device 0 is the host, where inputs and outputs
// are; the others compute faster, each in its own way, and are reached over a link.
type graph struct {
	rng *rand.Rand
	p   *Problem
}

func newGraph(devices int) *graph {
	g := &graph{rand.New(rand.NewPCG(1, uint64(devices))), &Problem{}}
	for a := range devices {
		g.p.Devices = append(g.p.Devices, fmt.Sprint("d", a))
		latency, rate := make([]int64, devices), make([]float64, devices)
		for b := range devices {
			if a != b {
				latency[b], rate[b] = 8000+1000*int64(a+b), 0.08
			}
		}
		g.p.Latency, g.p.PerByte = append(g.p.Latency, latency), append(g.p.PerByte, rate)
	}
	return g
}

// node adds a node that reads the outputs of others and returns it. Some cannot run on some
// devices.
func (g *graph) node(work int64, bytes int64, reads ...int) int {
	v := len(g.p.Nodes)
	n := Node{Name: fmt.Sprint("n", v)}
	for d := range g.p.Devices {
		c := work
		if d > 0 {
			c = 6000 + int64(float64(work)*(0.05+0.3*g.rng.Float64()))
			if g.rng.IntN(20) == 0 {
				c = Cannot
			}
		}
		n.Cost = append(n.Cost, c)
	}
	g.p.Nodes = append(g.p.Nodes, n)
	for _, u := range reads {
		g.p.Tensors[u].To = append(g.p.Tensors[u].To, v)
	}
	g.p.Tensors = append(g.p.Tensors, Tensor{From: v, Bytes: bytes})
	return v
}

func (g *graph) done() *Problem {
	g.p.Tensors[len(g.p.Tensors)-1].Out = true
	g.p.Tensors = append(g.p.Tensors, Tensor{From: Fixed, Bytes: 600_000, To: []int{0}})
	return g.p
}

// residual is a network of convolutions with a connection around every three of them.
func residual(nodes, devices int) *Problem {
	g := newGraph(devices)
	x := g.node(100_000, 800_000)
	for len(g.p.Nodes) < nodes-4 {
		a := g.node(20_000+g.rng.Int64N(400_000), 200_000, x)
		b := g.node(20_000+g.rng.Int64N(400_000), 200_000, a)
		c := g.node(20_000+g.rng.Int64N(400_000), 800_000, b)
		x = g.node(30_000, 800_000, x, c)
	}
	return g.done()
}

// decoder is a stack of attention blocks with a mask and rotary tables that all of them read.
func decoder(nodes, devices int) *Problem {
	g := newGraph(devices)
	mask := g.node(5_000, 100_000)
	cos := g.node(5_000, 50_000)
	sin := g.node(5_000, 50_000)
	x := g.node(50_000, 400_000)
	work := func() int64 { return 10_000 + g.rng.Int64N(300_000) }
	for len(g.p.Nodes) < nodes-20 {
		norm := g.node(work()/8, 400_000, x)
		var heads [2]int
		for i := range heads {
			h := g.node(work(), 400_000, norm)
			a := g.node(work()/8, 400_000, h, cos)
			r := g.node(work()/16, 400_000, h)
			b := g.node(work()/8, 400_000, r, sin)
			heads[i] = g.node(work()/16, 400_000, a, b)
		}
		v := g.node(work(), 400_000, norm)
		score := g.node(work(), 900_000, heads[0], heads[1])
		soft := g.node(work()/4, 900_000, g.node(work()/8, 900_000, score, mask))
		mix := g.node(work(), 400_000, g.node(work(), 400_000, soft, v))
		x = g.node(work()/16, 400_000, x, mix)
		norm = g.node(work()/8, 400_000, x)
		gate := g.node(work(), 1_100_000, norm)
		up := g.node(work(), 1_100_000, norm)
		act := g.node(work()/8, 1_100_000, gate)
		x = g.node(work()/16, 400_000, x, g.node(work(), 400_000, g.node(work()/8, 1_100_000, act, up)))
	}
	return g.done()
}

// dense is a network where each node of a block reads all before it.
func dense(nodes, devices, block int) *Problem {
	g := newGraph(devices)
	reads := []int{g.node(100_000, 400_000)}
	for len(g.p.Nodes) < nodes {
		if len(reads) == block {
			reads = reads[block-1:]
		}
		reads = append(reads, g.node(20_000+g.rng.Int64N(200_000), 50_000, reads...))
	}
	return g.done()
}

func chain(nodes, devices int) *Problem {
	g := newGraph(devices)
	x := g.node(100_000, 100_000)
	for range nodes - 1 {
		x = g.node(10_000+g.rng.Int64N(100_000), 100_000, x)
	}
	return g.done()
}

var networks = []struct {
	name string
	p    func() *Problem
}{
	{"residual/700/4", func() *Problem { return residual(700, 4) }},
	{"decoder/1000/4", func() *Problem { return decoder(1000, 4) }},
	{"decoder/1000/2", func() *Problem { return decoder(1000, 2) }},
	{"dense/400/2", func() *Problem { return dense(400, 2, 50) }},
	{"dense/400/4", func() *Problem { return dense(400, 4, 50) }},
}

func BenchmarkNetwork(b *testing.B) {
	for _, c := range networks {
		for _, strategy := range Strategies() {
			b.Run(c.name+"/"+strategy, func(b *testing.B) { benchmark(b, c.p(), strategy) })
		}
	}
}

func BenchmarkCarry(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint("chain/", n), func(b *testing.B) { benchmark(b, chain(n, 2), CarryForward) })
	}
}

func BenchmarkMemory(b *testing.B) {
	for _, c := range networks[:3] {
		b.Run(c.name, func(b *testing.B) { benchmark(b, limited(c.p(), 0.5), Auto) })
	}
}

// limited gives every node 1 MB on each device, and devices other than the host a capacity that
// holds a share of them.
func limited(p *Problem, share float64) *Problem {
	for range p.Devices {
		p.Capacity = append(p.Capacity, int64(float64(len(p.Nodes))*1e6*share/float64(len(p.Devices)-1)))
	}
	p.Capacity[0] = Unlimited
	for v := range p.Nodes {
		for range p.Devices {
			p.Nodes[v].Bytes = append(p.Nodes[v].Bytes, 1e6)
		}
	}
	return p
}

func benchmark(b *testing.B, p *Problem, strategy string) {
	b.ReportAllocs()
	var s *Solution
	from := cpuTime()
	for b.Loop() {
		var err error
		if s, err = Solve(context.Background(), p, Options{Strategy: strategy}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime()-from).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(s.Cost)/float64(max(s.Bound, 1)), "cost/bound")
	b.ReportMetric(float64(s.Cost), "cost-ns")
}
