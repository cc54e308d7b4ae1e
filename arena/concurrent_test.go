package arena

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// randomConcurrent makes operations on a few queues, with events between them, and buffers.
func randomConcurrent(rng *rand.Rand, ops, buffers int) (*Concurrent, *Problem) {
	c := &Concurrent{After: make([][]int, ops), Uses: make([][]int, buffers)}
	queues := 1 + rng.IntN(3)
	last := make([]int, queues)
	for q := range last {
		last[q] = -1
	}
	for i := range ops {
		q := rng.IntN(queues)
		if last[q] >= 0 {
			c.After[i] = append(c.After[i], last[q])
		}
		if i > 0 && rng.IntN(3) == 0 {
			c.After[i] = append(c.After[i], rng.IntN(i))
		}
		last[q] = i
	}
	p := &Problem{Align: 1}
	for b := range buffers {
		from := rng.IntN(ops)
		c.Uses[b] = append(c.Uses[b], from)
		for range rng.IntN(3) {
			c.Uses[b] = append(c.Uses[b], min(ops-1, from+rng.IntN(4)))
		}
		if rng.IntN(10) == 0 {
			c.Keep = append(c.Keep, b)
		}
		p.Buffers = append(p.Buffers, Buffer{Size: 1 + rng.Int64N(40)})
	}
	return c, p
}

// TestPartialOrderLivesMeetWhenBuffersMay compares the lives of every pair with the order itself.
func TestPartialOrderLivesMeetWhenBuffersMay(t *testing.T) {
	apart, sequential := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c, p := randomConcurrent(rng, 2+rng.IntN(14), 1+rng.IntN(12))
		if err := c.Apply(p); err != nil {
			t.Fatal(err)
		}
		o := newReach(c)
		for i := range p.Buffers {
			for j := range i {
				meet := false
				for now := int64(0); now < 400; now++ {
					meet = meet || p.Buffers[i].liveAt(now) && p.Buffers[j].liveAt(now)
				}
				may := !o.ended(i, j) && !o.ended(j, i)
				if meet != may {
					t.Fatalf("seed %d: buffers %d and %d: lives meet: got %t, want %t", seed, i, j, meet, may)
				}
				if !may {
					apart++
				}
			}
		}
		plan := solve(t, p, Auto)
		if err := ValidateConcurrent(c, p, plan); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if plan.Proven {
			sequential++
		}
	}
	if apart < 1000 || sequential < 200 {
		t.Errorf("%d pairs never meet and %d plans are proven: too few for the test to mean much", apart, sequential)
	}
}

func TestOneQueueIsATime(t *testing.T) {
	c := &Concurrent{After: [][]int{nil, {0}, {1}}, Uses: [][]int{{0, 1}, {1, 2}, {2}}}
	p := &Problem{Align: 1, Buffers: []Buffer{{Size: 100}, {Size: 80}, {Size: 60}}}
	if err := c.Apply(p); err != nil {
		t.Fatal(err)
	}
	if plan := solve(t, p, Auto); plan.Arena != 180 || !plan.Proven {
		t.Errorf("got %d B, proven %t, want 180 B, proven", plan.Arena, plan.Proven)
	}
}

func TestTwoQueuesShareNothingThatMayRunTogether(t *testing.T) {
	// Operations 0 and 1 are on queues of their own, and 2 waits for both.
	c := &Concurrent{After: [][]int{nil, nil, {0, 1}}, Uses: [][]int{{0}, {1}, {2}}}
	p := &Problem{Align: 1, Buffers: []Buffer{{Name: "a", Size: 10}, {Name: "b", Size: 10}, {Name: "c", Size: 20}}}
	if err := c.Apply(p); err != nil {
		t.Fatal(err)
	}
	plan := solve(t, p, Auto)
	if plan.Arena != 20 {
		t.Errorf("got %d B, want 20 B", plan.Arena)
	}
	plan.Offsets[1] = plan.Offsets[0]
	if err := ValidateConcurrent(c, p, plan); !errors.Is(err, ErrInvalid) {
		t.Errorf("two that may run together at one place: got %v", err)
	}
}

func TestWrongPartialOrders(t *testing.T) {
	for name, c := range map[string]struct {
		c    Concurrent
		want error
	}{
		"cycle":                 {Concurrent{After: [][]int{{1}, {0}}}, ErrOrder},
		"itself":                {Concurrent{After: [][]int{{0}}}, ErrOrder},
		"after nothing":         {Concurrent{After: [][]int{{7}}}, ErrIndex},
		"used by nothing":       {Concurrent{After: [][]int{nil}, Uses: [][]int{{-1}}}, ErrIndex},
		"keeps what is nowhere": {Concurrent{Keep: []int{0}}, ErrIndex},
	} {
		if _, err := c.c.Lifetimes(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	c := &Concurrent{After: [][]int{nil}, Uses: [][]int{{0}}}
	if err := c.Apply(&Problem{}); !errors.Is(err, ErrIndex) {
		t.Errorf("uses of a buffer that is not there: got %v", err)
	}
}

func BenchmarkPartialOrder(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	c, p := randomConcurrent(rng, 2000, 2000)
	for b.Loop() {
		if err := c.Apply(p); err != nil {
			b.Fatal(err)
		}
		if _, err := Solve(context.Background(), p, Options{Strategy: Portfolio}); err != nil {
			b.Fatal(err)
		}
	}
}
