package arena

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// randomDAG makes a DAG of n nodes; deep ones read what was made shortly before.
func randomDAG(rng *rand.Rand, n int, deep bool) *DAG {
	d := &DAG{}
	for range rng.IntN(3) {
		d.Values = append(d.Values, Value{Size: rng.Int64N(20), Keep: rng.IntN(4) == 0})
	}
	for i := range n {
		node := Node{Name: fmt.Sprint("n", i)}
		for range rng.IntN(3) {
			if k := len(d.Values); k > 0 {
				near := k
				if deep {
					near = min(k, 4)
				}
				node.Reads = append(node.Reads, k-1-rng.IntN(near))
			}
		}
		if i > 0 && rng.IntN(8) == 0 {
			node.After = append(node.After, rng.IntN(i))
		}
		if rng.IntN(4) == 0 {
			node.Scratch = rng.Int64N(20)
		}
		for range rng.IntN(3) {
			v := Value{Size: rng.Int64N(30), Keep: rng.IntN(8) == 0}
			if len(node.Reads) > 0 {
				from := node.Reads[rng.IntN(len(node.Reads))]
				switch rng.IntN(4) {
				case 0:
					v.Of, v.Size = &from, d.Values[from].Size
				case 1:
					v.Over, v.Size = []int{from}, d.Values[from].Size
				}
			}
			node.Makes = append(node.Makes, len(d.Values))
			d.Values = append(d.Values, v)
		}
		d.Nodes = append(d.Nodes, node)
	}
	return d
}

// peakOf is the most that is live at once in the problem that an order gives.
func peakOf(t testing.TB, d *DAG, order []int) int64 {
	t.Helper()
	p, err := d.Problem(order)
	if err != nil {
		t.Fatal(err)
	}
	p.Align = 1
	m, err := newModel(p)
	if err != nil {
		t.Fatal(err)
	}
	return m.peak(&m.pools[0]).Bytes
}

// everyOrder returns the least peak of all orders.
func everyOrder(d *DAG) int64 {
	best := int64(math.MaxInt64)
	maker := make(map[int]int)
	for n := range d.Nodes {
		for _, v := range d.Nodes[n].Makes {
			maker[v] = n
		}
	}
	var list []int
	used := make([]bool, len(d.Nodes))
	var search func()
	search = func() {
		if len(list) == len(d.Nodes) {
			v := orderVerifier{d: d}
			if peak, err := v.peak(list); err == nil {
				best = min(best, peak)
			}
			return
		}
	next:
		for n := range d.Nodes {
			if used[n] {
				continue
			}
			for _, b := range d.Nodes[n].After {
				if !used[b] {
					continue next
				}
			}
			for _, v := range d.Nodes[n].Reads {
				if m, ok := maker[v]; ok && !used[m] {
					continue next
				}
			}
			used[n] = true
			list = append(list, n)
			search()
			list = list[:len(list)-1]
			used[n] = false
		}
	}
	search()
	return best
}

func schedule(t testing.TB, d *DAG, budget int64) *Order {
	t.Helper()
	o, err := Schedule(context.Background(), d, budget)
	if err != nil {
		t.Fatal(err)
	}
	if err := ValidateOrder(d, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestScheduleIsTheBestOfAllOrders(t *testing.T) {
	better := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 40))
		n := 2 + rng.IntN(6)
		if seed%100 == 0 {
			n = 9
		}
		d := randomDAG(rng, n, seed%2 == 0)
		o := schedule(t, d, 0)
		if want := everyOrder(d); o.Peak != want || !o.Proven || o.Stopped {
			t.Fatalf("seed %d: got %+v, want a proven peak of %d B\n%+v", seed, o, want, d)
		}
		if got := peakOf(t, d, o.Nodes); got != o.Peak {
			t.Fatalf("seed %d: got a peak of %d B, the problem's is %d B\n%+v", seed, o.Peak, got, d)
		}
		if o.Peak < o.Given {
			better++
		}
	}
	if better < 300 {
		t.Errorf("got %d orders better than the given one, want at least 300 for the test to mean something", better)
	}
}

func TestScheduleIsNeverWorseAndDeterministic(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 41))
		d := randomDAG(rng, 20+rng.IntN(150), seed%4 != 0)
		var before int64 = math.MaxInt64
		for _, budget := range []int64{1, 1000, 30000} {
			o := schedule(t, d, budget)
			if o.Tried > budget || o.Stopped && o.Proven {
				t.Fatalf("seed %d: got %+v, want at most %d moves", seed, o, budget)
			}
			if again := schedule(t, d, budget); !reflect.DeepEqual(o, again) {
				t.Fatalf("seed %d: got two orders of one DAG", seed)
			}
			if got := peakOf(t, d, o.Nodes); got != o.Peak {
				t.Fatalf("seed %d: got a peak of %d B, the problem's is %d B", seed, o.Peak, got)
			}
			if o.Peak == o.Given && !slices.IsSorted(o.Nodes) {
				t.Fatalf("seed %d: got another order than the given one, want a lower peak for it", seed)
			}
			if budget == 1 && o.Peak > before {
				t.Fatalf("seed %d: got %d B, want at most %d B", seed, o.Peak, before)
			}
			before = o.Peak
		}
	}
}

// forks makes stretches of parallel chains, one behind the other. Each chain has one hill, and
// leaves something behind; what they fork from is read again where they join. The least peak is
// that of the chains in the order of how far the hill is above what is left.
func forks(rng *rand.Rand, stretches, chains int) (d *DAG, least int64) {
	d = &DAG{Values: []Value{{Size: 1}}}
	op := func(size int64, reads ...int) int {
		d.Nodes = append(d.Nodes, Node{Reads: reads, Makes: []int{len(d.Values)}})
		d.Values = append(d.Values, Value{Size: size})
		return len(d.Values) - 1
	}
	root := op(1, 0)
	for range stretches {
		type chain struct{ hill, left int64 }
		var list []chain
		var ends []int
		for range chains {
			c := chain{left: 1 + rng.Int64N(100)}
			c.hill = c.left + 1 + rng.Int64N(100)
			list = append(list, c)
			ends = append(ends, op(c.left, op(c.hill-c.left, root)))
		}
		slices.SortFunc(list, func(a, b chain) int { return cmp.Compare(b.hill-b.left, a.hill-a.left) })
		sum := int64(0)
		for _, c := range list {
			least = max(least, 1+sum+c.hill)
			sum += c.left
		}
		root = op(1, append(ends, root)...)
		least = max(least, 1+sum+1)
	}
	return d, least
}

func TestScheduleFindsTheOptimumOfForks(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 42))
		d, least := forks(rng, 1+rng.IntN(5), 2+rng.IntN(40))
		if o := schedule(t, d, 0); o.Peak != least {
			t.Errorf("seed %d: got %d B for %d nodes, want %d B, given %d B", seed, o.Peak, len(d.Nodes), least, o.Given)
		}
	}
}

func TestScheduleCutsAtNodesThatAllPass(t *testing.T) {
	// Two diamonds in a row: nodes 0, 3 and 6 are passed by all.
	d := &DAG{Values: make([]Value, 7), Nodes: []Node{
		{Makes: []int{0}}, {Reads: []int{0}, Makes: []int{1}}, {Reads: []int{0}, Makes: []int{2}},
		{Reads: []int{1, 2}, Makes: []int{3}}, {Reads: []int{3}, Makes: []int{4}}, {Reads: []int{3}, Makes: []int{5}},
		{Reads: []int{4, 5}, Makes: []int{6}},
	}}
	m, err := d.check()
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int32
	for _, c := range m.cells() {
		got = append(got, [2]int32{c.lo, c.hi})
	}
	if want := [][2]int32{{0, 1}, {1, 4}, {4, 7}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestScheduleHeedsTheContext(t *testing.T) {
	d := randomDAG(rand.New(rand.NewPCG(1, 43)), 200, false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o, err := Schedule(ctx, d, 0); o != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want %v", o, err, context.Canceled)
	}
	o, err := Schedule(&endsAfter{Context: context.Background(), looks: 2}, d, 0)
	if err != nil || !o.Stopped || o.Tried > checkMoves {
		t.Fatalf("got %+v, %v, want it stopped at the second look", o, err)
	}
	if err := ValidateOrder(d, o); err != nil {
		t.Error(err)
	}
}

// endsAfter is a context that ends after so many looks at it.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestScheduleErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    DAG
		kind error
		say  string
	}{
		{"negative size", DAG{Values: []Value{{Size: -1, Name: "x"}}}, ErrSize, `buffer "x": size: got -1 B`},
		{"sizes overflow", DAG{Values: []Value{{Size: math.MaxInt64}, {Size: 1}}}, ErrSize, "63 bits"},
		{"negative scratch", DAG{Nodes: []Node{{Scratch: -1, Name: "op"}}}, ErrSize, `node "op": scratch: got -1 B`},
		{"reads nothing", DAG{Nodes: []Node{{Reads: []int{0}}}}, ErrIndex, `node "#0": got value 0, want one of 0`},
		{"made twice", DAG{Values: make([]Value, 1), Nodes: []Node{{Makes: []int{0}}, {Makes: []int{0}}}}, ErrOrder,
			`is made by node "#0" and node "#1"`},
		{"reads what comes", DAG{Values: make([]Value, 1), Nodes: []Node{{Reads: []int{0}}, {Makes: []int{0}}}}, ErrOrder,
			`node "#0": reads "#0", which node "#1" makes`},
		{"after itself", DAG{Nodes: []Node{{After: []int{0}}}}, ErrOrder, "runs after node 0"},
		{"of itself", DAG{Values: []Value{{Of: new(0)}}}, ErrIndex, "of: got value 0"},
		{"over nothing", DAG{Values: []Value{{Over: []int{-1}}}}, ErrIndex, "over: got value -1"},
		{"of another size", DAG{Values: []Value{{Size: 1}, {Size: 2, Of: new(0)}}}, ErrAlias,
			`of "#0": got 2 B, want its size, 1 B`},
		{"over what is not read", DAG{Values: []Value{{}, {Over: []int{0}}}, Nodes: []Node{{Makes: []int{1}}}}, ErrAlias,
			"want the node that makes the one to read the other"},
	} {
		o, err := Schedule(context.Background(), &tt.d, 0)
		if o != nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: got %v, %v, want %v that says %q", tt.name, o, err, tt.kind, tt.say)
		}
		if p, again := tt.d.Problem(nil); p != nil || fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%s: problem: got %v, %v, want %v", tt.name, p, again, err)
		}
	}
	d := &DAG{Nodes: make([]Node, 2)}
	for _, order := range [][]int{nil, {0}, {0, 0}, {0, 2}, {-1, 0}} {
		if p, err := d.Problem(order); p != nil || !errors.Is(err, ErrOrder) {
			t.Errorf("%v: got %v, %v, want %v", order, p, err, ErrOrder)
		}
	}
}

func TestScheduleOfNothing(t *testing.T) {
	o := schedule(t, &DAG{Values: []Value{{Size: 5, Keep: true}, {Size: 7}}}, 0)
	if o.Peak != 5 || !o.Proven || len(o.Nodes) != 0 {
		t.Errorf("got %+v, want what is kept, 5 B", o)
	}
}

func TestValidateOrderFindsFaults(t *testing.T) {
	d := randomDAG(rand.New(rand.NewPCG(7, 44)), 12, true)
	for name, change := range map[string]func(o *Order){
		"no peak":         func(o *Order) { o.Peak-- },
		"given":           func(o *Order) { o.Given++ },
		"a node less":     func(o *Order) { o.Nodes = o.Nodes[1:] },
		"a node twice":    func(o *Order) { o.Nodes[0] = o.Nodes[1] },
		"backwards":       func(o *Order) { slices.Reverse(o.Nodes) },
		"bound above":     func(o *Order) { o.Bound = o.Peak + 1 },
		"proven no less":  func(o *Order) { o.Proven = !o.Proven },
		"no such node":    func(o *Order) { o.Nodes[3] = 99 },
		"a negative node": func(o *Order) { o.Nodes[3] = -1 },
	} {
		o := schedule(t, d, 0)
		o.Nodes = slices.Clone(o.Nodes)
		change(o)
		if err := ValidateOrder(d, o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", name, err, ErrInvalid)
		}
	}
}

// dag makes a DAG, good or bad, of any bytes.
func (r *byteReader) dag() *DAG {
	d := &DAG{}
	for range r.next() & 15 {
		v := Value{Size: r.next(), Keep: r.next()&7 == 0}
		switch r.next() & 7 {
		case 1:
			v.Of = new(r.index())
		case 2:
			v.Over = []int{r.index(), r.index()}
		case 3:
			v.Size <<= 56
		}
		d.Values = append(d.Values, v)
	}
	for range r.next() & 15 {
		n := Node{Reads: []int{r.index()}, Makes: []int{r.index()}}
		switch r.next() & 3 {
		case 1:
			n.Scratch = r.next()
		case 2:
			n.After = []int{r.index()}
		case 3:
			n.Reads, n.Makes = append(n.Reads, r.index()), nil
		}
		d.Nodes = append(d.Nodes, n)
	}
	return d
}

func FuzzSchedule(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 9, 1, 0, 9, 1, 2, 0, 0, 4, 1, 0, 3, 0, 1, 0, 0, 2, 1, 5, 1, 2, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := byteReader(data)
		d := r.dag()
		o, err := Schedule(context.Background(), d, 5000)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok || o != nil {
				t.Fatalf("got %v, %v, want an Error alone", o, err)
			}
			return
		}
		if err := ValidateOrder(d, o); err != nil {
			t.Fatalf("%v\n%+v", err, d)
		}
		if p, err := d.Problem(o.Nodes); err != nil {
			t.Fatal(err)
		} else if _, err := Solve(context.Background(), p, Options{Strategy: Seed}); err != nil && !errors.Is(err, ErrSize) {
			t.Fatal(err)
		}
	})
}

func BenchmarkSchedule(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 45))
	wide, _ := forks(rng, 4, 124)
	for _, tt := range []struct {
		name string
		d    *DAG
	}{
		{"deep/1000", randomDAG(rng, 1000, true)}, {"loose/1000", randomDAG(rng, 1000, false)}, {"forks/1000", wide},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var o *Order
			for b.Loop() {
				o = schedule(b, tt.d, 0)
			}
			b.ReportMetric(float64(o.Peak)/float64(o.Given), "peak/given")
			b.ReportMetric(float64(o.Peak)/float64(o.Bound), "peak/bound")
			b.ReportMetric(float64(o.Tried), "tried")
		})
	}
}
