package place

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// shape says what random problems look like.
type shape struct {
	nodes, devices int
	// cap gives some devices a capacity.
	cap, relay bool
}

// random makes a problem. Every kind of thing that a problem may have comes up.
func random(rng *rand.Rand, s shape) *Problem {
	p := &Problem{Exit: rng.IntN(s.devices+1) - 1, Relay: s.relay}
	for d := range s.devices {
		p.Devices = append(p.Devices, fmt.Sprint("d", d))
	}
	for v := range s.nodes {
		n := Node{Name: fmt.Sprint("n", v)}
		for range s.devices {
			c := rng.Int64N(30)
			if rng.IntN(5) == 0 {
				c = Cannot
			}
			n.Cost = append(n.Cost, c)
			n.Bytes = append(n.Bytes, rng.Int64N(20))
		}
		n.Cost[rng.IntN(s.devices)] = rng.Int64N(30)
		p.Nodes = append(p.Nodes, n)
	}
	for v := range s.nodes {
		p.Tensors = append(p.Tensors, tensor(rng, v, s.nodes))
		if rng.IntN(6) == 0 {
			p.Tensors = append(p.Tensors, tensor(rng, v, s.nodes))
		}
		if rng.IntN(6) == 0 {
			t := tensor(rng, v, s.nodes)
			t.From, t.At = View, len(p.Tensors)-1
			p.Tensors = append(p.Tensors, t)
		}
	}
	for range rng.IntN(3) {
		t := tensor(rng, -1, s.nodes)
		t.At = rng.IntN(s.devices)
		p.Tensors = append(p.Tensors, t)
	}
	links(rng, p)
	if s.cap {
		capacities(rng, p)
	}
	return p
}

// tensor makes a tensor that later nodes read.
func tensor(rng *rand.Rand, from, nodes int) Tensor {
	t := Tensor{From: from, Bytes: rng.Int64N(20), Out: rng.IntN(4) == 0}
	for left := nodes - from - 1; left > 0 && rng.IntN(4) != 0; {
		near := left
		if rng.IntN(2) == 0 {
			near = min(left, 2)
		}
		t.To = append(t.To, from+1+rng.IntN(near))
	}
	return t
}

func links(rng *rand.Rand, p *Problem) {
	unlinked := p.Relay && rng.IntN(2) == 0
	for a := range p.Devices {
		latency, rate := make([]int64, len(p.Devices)), make([]float64, len(p.Devices))
		for b := range latency {
			latency[b] = rng.Int64N(12)
			rate[b] = float64(rng.IntN(8)) / 4
			if unlinked && a*b != 0 && a != b {
				latency[b] = NoLink
			}
		}
		p.Latency, p.PerByte = append(p.Latency, latency), append(p.PerByte, rate)
	}
}

func capacities(rng *rand.Rand, p *Problem) {
	for range p.Devices {
		c := Unlimited
		if rng.IntN(2) == 0 {
			c = rng.Int64N(int64(10*len(p.Nodes)) + 1)
		}
		p.Capacity = append(p.Capacity, c)
	}
}

// brute returns the least cost of all placements that fit, worked out from the problem's text; −1
// when none fits.
func brute(p *Problem) int64 {
	best := int64(-1)
	var try func(x []int)
	try = func(x []int) {
		cost := worth(p, x)
		switch {
		case cost < 0 || best >= 0 && cost >= best:
		case len(x) == len(p.Nodes):
			best = cost
		default:
			for d := range p.Devices {
				try(append(x, d))
			}
		}
	}
	try(make([]int, 0, len(p.Nodes)))
	return best
}

// worth returns the cost of the first nodes and of the copies between them, or −1 when they cannot
// be there.
func worth(p *Problem, x []int) int64 {
	sum := int64(0)
	used := make([]int64, len(p.Devices))
	for v, d := range x {
		if p.Nodes[v].Cost[d] == Cannot {
			return -1
		}
		sum += p.Nodes[v].Cost[d]
		if b := p.Nodes[v].Bytes; b != nil {
			used[d] += b[d]
		}
		if p.Capacity != nil && p.Capacity[d] >= 0 && used[d] > p.Capacity[d] {
			return -1
		}
	}
	wants := make([]uint, len(p.Tensors))
	for i := range p.Tensors {
		at := i
		for p.Tensors[at].From == View {
			at = p.Tensors[at].At
		}
		wants[at] |= wanted(p, x, i)
	}
	for i, t := range p.Tensors {
		switch {
		case t.From >= 0 && t.From < len(x):
			sum += tree(p, t.Bytes, 1<<x[t.From], wants[i], x[t.From])
		case t.From == Fixed:
			sum += tree(p, t.Bytes, 1<<t.At, wants[i], t.At)
		}
	}
	return sum
}

// wanted returns the devices that read one tensor, views of it aside.
func wanted(p *Problem, x []int, i int) uint {
	set := uint(0)
	for _, v := range p.Tensors[i].To {
		if v < len(x) {
			set |= 1 << x[v]
		}
	}
	if p.Tensors[i].Out && p.Exit >= 0 {
		set |= 1 << p.Exit
	}
	return set
}

// tree returns the least cost of copying to all who want a tensor: from home, or in any way.
func tree(p *Problem, bytes int64, have, want uint, home int) int64 {
	if want&^have == 0 {
		return 0
	}
	best := int64(-1)
	for a := range p.Devices {
		for b := range p.Devices {
			if have>>a&1 == 0 || have>>b&1 != 0 || p.Latency[a][b] == NoLink || !p.relays() && (a != home || want>>b&1 == 0) {
				continue
			}
			c := p.transfer(a, b, bytes) + tree(p, bytes, have|1<<b, want, home)
			if best < 0 || c < best {
				best = c
			}
		}
	}
	return best
}

// solve solves a problem and validates what comes.
func solve(t *testing.T, p *Problem, strategy string) *Solution {
	t.Helper()
	return solveWithin(t, p, strategy, 0)
}

// solveWithin is solve with a budget.
func solveWithin(t *testing.T, p *Problem, strategy string, budget int64) *Solution {
	t.Helper()
	s, err := Solve(context.Background(), p, Options{Strategy: strategy, Budget: budget})
	if err != nil {
		t.Fatalf("%s: %v\n%+v", strategy, err, p)
	}
	if err := Validate(p, s); err != nil {
		t.Fatalf("%s: %v\n%+v\n%+v", strategy, err, p, s)
	}
	return s
}
