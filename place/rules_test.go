package place

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// two is a problem of a host and a device that are alike in both directions, with inputs and outputs
// on the host.
func two(latency int64, rate float64, nodes ...Node) *Problem {
	p := &Problem{
		Devices: []string{"cpu", "gpu"}, Nodes: nodes,
		Latency: [][]int64{{0, latency}, {latency, 0}}, PerByte: [][]float64{{0, rate}, {rate, 0}},
	}
	for i := range p.Nodes {
		p.Nodes[i].Name = string(rune('a' + i))
	}
	return p
}

func costs(ns ...int64) Node { return Node{Cost: ns} }

// made is a tensor that a node makes.
func made(from int, bytes int64, to ...int) Tensor { return Tensor{From: from, Bytes: bytes, To: to} }

// given is a tensor on the host.
func given(bytes int64, to ...int) Tensor { return Tensor{From: Fixed, Bytes: bytes, To: to} }

// left is an output.
func left(from int, bytes int64) Tensor { return Tensor{From: from, Bytes: bytes, Out: true} }

func fanOut() *Problem {
	p := two(10, 1, costs(5, 1), costs(100, 1), costs(10, Cannot))
	p.Tensors = []Tensor{made(0, 1<<20, 1, 2), left(1, 4), left(2, 4)}
	return p
}

func diamond() *Problem {
	p := two(0, 1, costs(5, 10), costs(5, 2), costs(4, 12), costs(13, 8))
	p.Tensors = []Tensor{given(14, 0, 0), made(0, 20, 1, 2, 3), made(1, 17, 2, 3), made(2, 1), left(3, 1)}
	return p
}

func threeNodes() *Problem {
	p := two(0, 1, costs(1, 3), costs(11, 6), costs(12, 1))
	p.Tensors = []Tensor{given(2, 0, 0, 1), made(0, 15, 1, 2), made(1, 1, 2), left(2, 1)}
	return p
}

func TestCounterExamplesOfSimpleStrategies(t *testing.T) {
	for _, c := range []struct {
		name        string
		p           *Problem
		best, carry int64
	}{
		{"fan-out", fanOut(), 115, 1048612},
		{"diamond", diamond(), 27, 60},
		{"three nodes", threeNodes(), 13, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s := solve(t, c.p, Auto); s.Cost != c.best || !s.Proven || s.Strategy != Exact {
				t.Errorf("got %d ns by %s, proven %v, want %d ns by exact, proven", s.Cost, s.Strategy, s.Proven, c.best)
			}
			if s := solve(t, c.p, CarryForward); s.Cost != c.carry {
				t.Errorf("carry: got %d ns, want %d ns", s.Cost, c.carry)
			}
		})
	}
}

func TestAutoIsNeverWorseThanAnyStrategyOrDevice(t *testing.T) {
	for seed := range seeds(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := random(rng, shape{nodes: 1 + rng.IntN(24), devices: 1 + rng.IntN(5)})
		s := solveWithin(t, p, Auto, 1<<16)
		if len(s.Tried) != len(Strategies())-1 {
			t.Fatalf("seed %d: got %d strategies tried, want %d", seed, len(s.Tried), len(Strategies())-1)
		}
		for _, r := range s.Tried {
			if alone := solveWithin(t, p, r.Name, 1<<16); alone.Cost != r.Cost || r.Cost < s.Cost || alone.Bound > s.Cost {
				t.Fatalf("seed %d: %s: got %d ns alone and %d ns of %d ns in auto, bound %d ns", seed, r.Name, alone.Cost, r.Cost,
					s.Cost, alone.Bound)
			}
		}
		for d := range p.Devices {
			if c := worth(p, slices.Repeat([]int{d}, len(p.Nodes))); c >= 0 && c < s.Cost {
				t.Fatalf("seed %d: got %d ns, want at most %d ns, all on %d", seed, s.Cost, c, d)
			}
		}
	}
}

func TestCutEqualsElimination(t *testing.T) {
	for seed := range seeds(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 11))
		m := mustModel(t, random(rng, shape{nodes: 1 + rng.IntN(60), devices: 2}))
		x := lowest(m.dom)
		if !m.cut(m.dom, x, 0, 1) {
			t.Fatalf("seed %d: got no cut", seed)
		}
		if by := eliminated(t, m); m.total(x) != m.total(by) {
			t.Fatalf("seed %d: got %d ns by a cut, want %d ns as by elimination", seed, m.total(x), m.total(by))
		}
	}
}

func mustModel(t testing.TB, p *Problem) *model {
	t.Helper()
	m, err := newModel(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// eliminated solves a model by elimination, whatever the work.
func eliminated(t testing.TB, m *model) []int {
	t.Helper()
	x := lowest(m.dom)
	g := m.netOf(m.order, m.dom, x)
	order, work := g.order(1 << 26)
	if work > 1<<26 {
		t.Skip("too wide to eliminate")
	}
	cost, value := g.eliminate(order)
	g.apply(value, x)
	if total := m.total(x); total != cost {
		t.Fatalf("got a placement of %d ns, want %d ns", total, cost)
	}
	return x
}

func TestReductionKeepsABestPlacement(t *testing.T) {
	removed := 0
	for seed := range seeds(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 13))
		m := mustModel(t, random(rng, shape{nodes: 1 + rng.IntN(14), devices: 2 + rng.IntN(3), relay: seed%4 == 0}))
		want := m.total(eliminated(t, m))
		before := slices.Clone(m.dom)
		m.reduce(m.dom)
		for v := range before {
			if before[v] != m.dom[v] {
				removed++
			}
		}
		if got := m.total(eliminated(t, m)); got != want {
			t.Fatalf("seed %d: got %d ns, want %d ns as without", seed, got, want)
		}
	}
	if removed == 0 {
		t.Error("got no device removed, want some")
	}
}

// wide makes a problem too wide for small budgets: every node reads several of those before.
func wide(rng *rand.Rand, nodes, devices, reach int) *Problem {
	p := random(rng, shape{nodes: nodes, devices: devices})
	p.Tensors = nil
	to := make([][]int, nodes)
	for v := range nodes {
		for range 3 {
			if u := v - 1 - rng.IntN(reach); u >= 0 {
				to[u] = append(to[u], v)
			}
		}
	}
	for v := range nodes {
		p.Tensors = append(p.Tensors, Tensor{From: v, Bytes: rng.Int64N(20), To: to[v], Out: len(to[v]) == 0})
	}
	return p
}

func TestSearchComesNearTheOptimum(t *testing.T) {
	worst, gap := 1.0, 1.0
	for seed := range seeds(t, 16) {
		rng := rand.New(rand.NewPCG(seed, 17))
		p := wide(rng, 60, 3+int(seed%2), 5)
		best := solve(t, p, Exact)
		if !best.Proven {
			t.Fatalf("seed %d: got no proof, want one: the problem is to be within the budget", seed)
		}
		m := mustModel(t, p)
		g := m.netOf(m.order, m.dom, lowest(m.dom))
		bound := g.bound(g.rank(), maxSweeps)
		s := &solver{ctx: t.Context(), m: m, opts: Options{Budget: 1 << 21}}
		x := s.search(m, m.dom, bound)
		worst = max(worst, float64(m.total(x))/float64(best.Cost))
		if bound > best.Cost {
			t.Fatalf("seed %d: got a bound of %d ns, want at most %d ns", seed, bound, best.Cost)
		}
		gap = max(gap, float64(best.Cost)/float64(bound))
	}
	t.Logf("search: %.4f of the optimum at worst; bound: the optimum is %.4f of it at worst", worst, gap)
	if worst > 1.01 {
		t.Errorf("got %.4f of the optimum, want at most 1.01", worst)
	}
}

func TestTensorIsCopiedOncePerDevice(t *testing.T) {
	p := two(10, 1, costs(5, Cannot), costs(Cannot, 1), costs(Cannot, 1), costs(Cannot, 1), costs(5, Cannot))
	p.Devices = append(p.Devices, "far")
	for i := range p.Nodes {
		p.Nodes[i].Cost = append(p.Nodes[i].Cost, Cannot)
	}
	p.Nodes[0].Cost = []int64{Cannot, Cannot, 3}
	p.Latency = [][]int64{{0, 10, 10}, {10, 0, 10}, {10, 10, 0}}
	p.PerByte = [][]float64{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}
	p.Tensors = []Tensor{made(0, 8, 1, 2, 3, 4, 1)}
	s := solve(t, p, Auto)
	if len(s.Copies) != 2 {
		t.Errorf("got copies %v, want 2: one for three readers on one device, one for the host", s.Copies)
	}
}

func TestShortSegmentMovesRatherThanPingPong(t *testing.T) {
	for _, c := range []struct {
		latency int64
		copies  int
	}{{1, 2}, {1000, 0}} {
		var nodes []Node
		var tensors []Tensor
		for i := range 10 {
			n := costs(100, 10)
			if i == 5 {
				n = costs(10, Cannot)
			}
			nodes = append(nodes, n)
			if i > 0 {
				tensors = append(tensors, made(i-1, 4, i))
			}
		}
		p := two(c.latency, 0, nodes...)
		p.Tensors, p.Exit = tensors, NoExit
		s := solve(t, p, Auto)
		if len(s.Copies) != c.copies {
			t.Errorf("latency %d ns: got %d copies, want %d", c.latency, len(s.Copies), c.copies)
		}
	}
}

func TestPlacementIsByTimeAndNotBySize(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 19))
		var nodes []Node
		var tensors []Tensor
		for i := range 7 {
			fast, slow := 1+rng.Int64N(10), 20+rng.Int64N(60)
			n := costs(fast, slow)
			if i%2 == 1 {
				n = costs(slow, fast)
			}
			nodes = append(nodes, n)
			if i > 0 {
				tensors = append(tensors, made(i-1, rng.Int64N(50), i))
			}
		}
		p := two(2, 1, nodes...)
		p.Tensors = tensors
		if s, want := solve(t, p, Auto), brute(p); s.Cost != want {
			t.Errorf("seed %d: got %d ns, want %d ns", seed, s.Cost, want)
		}
	}
}

func TestShapeArithmeticStaysOnTheHost(t *testing.T) {
	// x is on the device; its shape is known on the host without a copy, and the reshape is a view.
	p := two(10000, 0.1, costs(Cannot, 50), costs(20, 4000), costs(20, 4000), costs(20, 4000), costs(Cannot, 50))
	p.Tensors = []Tensor{
		{Name: "x", From: 0, Bytes: 1 << 20},
		{Name: "shape", From: Fixed, Bytes: 32, To: []int{1}},
		made(1, 8, 2), made(2, 16, 3), {From: 3, Bytes: 16},
		{From: View, At: 0, To: []int{4}},
	}
	s := solve(t, p, Auto)
	if want := []int{0, 0, 0}; !slices.Equal(s.Device[1:4], want) || len(s.Copies) != 0 {
		t.Errorf("got %v with copies %v, want the host and none", s.Device[1:4], s.Copies)
	}
}

func TestManyJobsAreNeverSlowerOnSeveralDevices(t *testing.T) {
	p := two(500, 1)
	for i := range 100 {
		p.Nodes = append(p.Nodes, Node{Name: fmt.Sprint(i), Cost: []int64{1000, 100}})
		p.Tensors = append(p.Tensors, given(10, i), left(i, 10))
	}
	s := solve(t, p, Auto)
	for d := range p.Devices {
		if alone := worth(p, slices.Repeat([]int{d}, 100)); s.Cost > alone {
			t.Errorf("got %d ns, want at most %d ns, all on %s", s.Cost, alone, p.Devices[d])
		}
	}
}

func TestViewsAreCopiedWithWhatTheyAreViewsOf(t *testing.T) {
	p := two(10, 1, costs(Cannot, 1), costs(1, Cannot), costs(1, Cannot))
	p.Tensors = []Tensor{
		made(0, 100), {Name: "v", From: View, At: 0, To: []int{1}}, {Name: "w", From: View, At: 1, To: []int{2}, Out: true},
	}
	s := solve(t, p, Auto)
	if want := []Copy{{0, 1, 0, 100, 110}}; !slices.Equal(s.Copies, want) || s.Cost != 113 {
		t.Errorf("got %v, %d ns, want %v, 113 ns", s.Copies, s.Cost, want)
	}
}

func TestCopiesGoThroughTheHostWhereThatIsTheWay(t *testing.T) {
	p := &Problem{
		Devices: []string{"host", "a", "b"}, Exit: NoExit,
		Nodes:   []Node{costs(-1, 1, -1), costs(-1, -1, 1), costs(1, -1, -1)},
		Tensors: []Tensor{made(0, 5, 1, 2)},
		Latency: [][]int64{{0, 10, 20}, {30, 0, NoLink}, {40, NoLink, 0}},
		PerByte: [][]float64{{0, 1, 1}, {1, 0, 0}, {1, 0, 0}},
	}
	s := solve(t, p, Auto)
	if want := []Copy{{0, 1, 0, 5, 35}, {0, 0, 2, 5, 25}}; !slices.Equal(s.Copies, want) || s.Cost != 63 {
		t.Errorf("got %v, %d ns, want %v, 63 ns: the host's copy serves both", s.Copies, s.Cost, want)
	}
}

func TestSaturatedCostsAreNoPanicAndNoOverflow(t *testing.T) {
	for _, devices := range []int{2, 3} {
		for _, relay := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(5, 5))
			p := random(rng, shape{nodes: 12, devices: devices, relay: relay})
			for v := range p.Nodes {
				for d := range p.Nodes[v].Cost {
					if p.Nodes[v].Cost[d] != Cannot && (v+d)%2 == 0 {
						p.Nodes[v].Cost[d] = 1<<63 - 1
					}
				}
			}
			for i := range p.Tensors {
				p.Tensors[i].Bytes = 1<<63 - 1
			}
			for _, strategy := range Strategies() {
				solve(t, p, strategy)
			}
		}
	}
}

func TestStrategiesAreListedBestFirst(t *testing.T) {
	if got, want := strings.Join(Strategies(), " "), "auto exact carry greedy priority single"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheSameProblemGivesTheSameSolution(t *testing.T) {
	for _, p := range []*Problem{decoder(200, 4), dense(120, 3, 30), limited(decoder(120, 3), 0.5)} {
		a, b := solveWithin(t, p, Auto, 1<<16), solveWithin(t, p, Auto, 1<<16)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("got two solutions:\n%+v\n%+v", a, b)
		}
	}
}

func TestOrderOfDevicesAndNodesDoesNotChangeTheCost(t *testing.T) {
	for seed := range seeds(t, 100) {
		p := random(rand.New(rand.NewPCG(seed, 47)), shape{nodes: 12, devices: 3})
		want := solve(t, p, Exact).Cost
		turn := func(i int) int { return (i + 1) % 3 }
		q := &Problem{Devices: p.Devices, Exit: NoExit, Nodes: slices.Clone(p.Nodes), Tensors: slices.Clone(p.Tensors)}
		if p.Exit >= 0 {
			q.Exit = turn(p.Exit)
		}
		for v := range q.Nodes {
			q.Nodes[v].Cost = make([]int64, 3)
			for d := range 3 {
				q.Nodes[v].Cost[turn(d)] = p.Nodes[v].Cost[d]
			}
		}
		for i := range q.Tensors {
			if q.Tensors[i].From == Fixed {
				q.Tensors[i].At = turn(p.Tensors[i].At)
			}
		}
		q.Latency, q.PerByte = make([][]int64, 3), make([][]float64, 3)
		for a := range 3 {
			q.Latency[turn(a)], q.PerByte[turn(a)] = make([]int64, 3), make([]float64, 3)
			for b := range 3 {
				q.Latency[turn(a)][turn(b)], q.PerByte[turn(a)][turn(b)] = p.Latency[a][b], p.PerByte[a][b]
			}
		}
		if got := solve(t, q, Exact).Cost; got != want {
			t.Fatalf("seed %d: got %d ns, want %d ns as with the devices in another order", seed, got, want)
		}
	}
}

// TestCyclesAreNamed looks for the nodes of a cycle that starts behind another node, in the direction of the data.
func TestCyclesAreNamed(t *testing.T) {
	p := &Problem{Devices: []string{"cpu"}, Latency: [][]int64{{0}}, PerByte: [][]float64{{0}}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		p.Nodes = append(p.Nodes, Node{Name: name, Cost: []int64{1}})
	}
	for _, e := range [][2]int{{0, 3}, {3, 1}, {1, 2}, {2, 3}, {2, 4}} {
		p.Tensors = append(p.Tensors, Tensor{From: e[0], To: []int{e[1]}, Bytes: 1})
	}
	_, err := Solve(context.Background(), p, Options{})
	want := `place: nodes[1] ("b"): got a node that waits for itself: "b" → "c" → "d" → "b"`
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
