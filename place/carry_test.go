package place

import (
	"math"
	"slices"
	"testing"
)

const (
	cpu = 0
	gpu = 1
)

// crossing prices copies between two different devices alike.
func crossing(latency, perByte int64) func(from, to int, bytes int64) int64 {
	return func(from, to int, bytes int64) int64 {
		if from == to {
			return 0
		}
		if perByte != 0 && bytes > math.MaxInt64/perByte {
			return math.MaxInt64
		}
		return add(latency, perByte*bytes)
	}
}

func on(cpuCost, gpuCost int64) []Option { return []Option{{cpu, cpuCost}, {gpu, gpuCost}} }

func alwaysBytes(n int64) func(int) int64 { return func(int) int64 { return n } }

// device returns what was decided for a node, or −1.
func device(c *Carry, node int) int {
	if d, ok := c.Committed(node); ok {
		return d
	}
	return -1
}

func TestCarryExtendsAndGoesBack(t *testing.T) {
	c := NewCarry(crossing(1000, 0))
	if !c.Empty() {
		t.Error("got rows, want none yet")
	}
	c.Push(0, on(800, 100), []Resident{{cpu, 4}}, nil)
	if !c.Open(0) || c.Empty() {
		t.Error("got no open row, want one")
	}
	c.Push(1, on(800, 100), nil, []Feed{{0, []int64{4}}})
	if c.Open(0) || !c.Open(1) {
		t.Errorf("got open %v and %v, want only the reader", c.Open(0), c.Open(1))
	}
	// Arriving on the gpu takes 1200 and leaving it 1000; staying takes 1600.
	commits := c.Finish(cpu, alwaysBytes(4))
	if want := []Commit{{1, cpu}, {0, cpu}}; !slices.Equal(commits, want) {
		t.Errorf("got %v, want %v", commits, want)
	}
}

func TestCarryExitTurnsTheWinner(t *testing.T) {
	for exit, want := range map[int]int{cpu: cpu, NoExit: gpu} {
		c := NewCarry(crossing(1000, 0))
		c.Push(0, on(1050, 100), nil, nil)
		c.Finish(exit, alwaysBytes(4))
		if got := device(c, 0); got != want {
			t.Errorf("exit %d: got device %d, want %d", exit, got, want)
		}
	}
}

func TestCarryClosesTowardAReader(t *testing.T) {
	c := NewCarry(crossing(10, 1))
	c.Push(0, on(300, 100), nil, nil)
	if got, want := c.CloseToward(0, cpu, []int64{1024}), []Commit{{0, cpu}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.CloseToward(0, gpu, []int64{1024}); got != nil {
		t.Errorf("got %v, want nothing: it is decided", got)
	}
	if got := c.CloseToward(7, gpu, []int64{1024}); got != nil {
		t.Errorf("got %v, want nothing: there is no row", got)
	}
	if device(c, 0) != cpu {
		t.Errorf("got device %d, want %d", device(c, 0), cpu)
	}
}

func TestCarryPricesEveryEdge(t *testing.T) {
	c := NewCarry(crossing(1000, 0))
	c.Push(0, on(0, 1500), nil, nil)
	// One crossing would be worth the 1500 that the gpu saves; two are not.
	c.Push(1, on(1500, 0), nil, []Feed{{0, []int64{4, 4}}})
	c.Finish(NoExit, nil)
	if device(c, 0) != cpu || device(c, 1) != cpu {
		t.Errorf("got devices %d and %d, want the first-listed of those alike", device(c, 0), device(c, 1))
	}
	c = NewCarry(crossing(1000, 0))
	c.Push(0, on(0, 1500), nil, nil)
	c.Push(1, on(1500, 0), nil, []Feed{{0, []int64{4}}})
	c.Finish(NoExit, nil)
	if device(c, 0) != cpu || device(c, 1) != gpu {
		t.Errorf("got devices %d and %d, want one crossing", device(c, 0), device(c, 1))
	}
}

func TestCarryTiesGoToTheFirstListed(t *testing.T) {
	for _, order := range [][]Option{{{cpu, 5}, {gpu, 5}}, {{gpu, 5}, {cpu, 5}}} {
		c := NewCarry(crossing(0, 0))
		c.Push(0, order, nil, nil)
		c.Push(1, order, nil, []Feed{{0, []int64{1}}})
		c.Finish(cpu, alwaysBytes(1))
		if want := order[0].Device; device(c, 0) != want || device(c, 1) != want {
			t.Errorf("%v: got devices %d and %d, want %d", order, device(c, 0), device(c, 1), want)
		}
	}
}

func TestCarryFlattensAliases(t *testing.T) {
	c := NewCarry(crossing(0, 0))
	c.Push(0, []Option{{cpu, 0}}, nil, nil)
	c.Alias(1, 0)
	c.Alias(2, 1)
	for node, want := range []int{0, 0, 0, 3} {
		if got := c.Resolve(node); got != want {
			t.Errorf("node %d: got %d, want %d", node, got, want)
		}
	}
	if !c.Open(c.Resolve(2)) {
		t.Error("got no open row behind the view, want one")
	}
}

func TestCarrySaturates(t *testing.T) {
	const most = math.MaxInt64
	c := NewCarry(crossing(most, most))
	c.Push(0, on(most, most), []Resident{{cpu, most}, {gpu, most}}, nil)
	c.Push(1, []Option{{cpu, most}}, nil, []Feed{{0, []int64{most}}})
	if got := c.Finish(gpu, alwaysBytes(most)); len(got) != 2 {
		t.Errorf("got %v, want both nodes decided", got)
	}
}

func TestCarryOnlyTheFirstReaderExtends(t *testing.T) {
	c := NewCarry(crossing(10, 1))
	c.Push(0, on(5, 1), nil, nil)
	c.Push(1, on(100, 1), nil, []Feed{{0, []int64{1 << 20}}})
	if c.Open(0) {
		t.Error("got an open row, want one that is taken")
	}
	c.Push(2, []Option{{cpu, 10}}, nil, nil)
	c.Finish(cpu, alwaysBytes(4))
	if device(c, 0) != gpu || device(c, 1) != gpu || device(c, 2) != cpu {
		t.Errorf("got devices %d %d %d, want gpu gpu cpu", device(c, 0), device(c, 1), device(c, 2))
	}
}

func TestCarryLeavesOutWhatItDoesNotKnow(t *testing.T) {
	c := NewCarry(crossing(10, 1))
	c.Push(0, nil, nil, nil)
	c.Push(1, on(3, 2), nil, []Feed{{0, []int64{8}}, {99, []int64{8}}})
	if got, want := c.Finish(NoExit, nil), []Commit{{1, gpu}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: a row without devices cannot be decided", got, want)
	}
	if got := c.CloseToward(0, cpu, nil); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestCarryRowsCanBePushedAfterOthersAreDecided(t *testing.T) {
	c := NewCarry(crossing(10, 1))
	c.Push(0, on(5, 1), nil, nil)
	c.CloseToward(0, cpu, []int64{100})
	d, _ := c.Committed(0)
	c.Push(1, on(50, 1), []Resident{{d, 100}}, nil)
	c.Push(2, on(50, 1), nil, []Feed{{1, []int64{1}}})
	if got, want := c.Finish(cpu, alwaysBytes(1)), []Commit{{2, gpu}, {1, cpu}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCarryGoesBackAlongLongChains(t *testing.T) {
	const n = 50_000
	c := NewCarry(crossing(10, 1))
	c.Push(0, on(5, 1), nil, nil)
	for v := 1; v < n; v++ {
		c.Push(v, on(5, 1), nil, []Feed{{v - 1, []int64{4}}})
	}
	if got := c.Finish(cpu, alwaysBytes(4)); len(got) != n || device(c, 0) != gpu {
		t.Errorf("got %d decisions, the first %d, want %d, on the gpu", len(got), device(c, 0), n)
	}
}
