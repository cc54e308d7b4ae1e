package arena

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestExplainListsThePeakLargestFirst(t *testing.T) {
	p := &Problem{Align: 64, External: []int{4}, Buffers: []Buffer{
		{Name: "a", Size: 100, Start: 0, End: 2, Fixed: new(int64(1024))},
		{Name: "b", Size: 1000, Start: 1, End: 3, Fixed: new(int64(0))},
		{Name: "c\nd", Size: 100, Start: 1, End: 4, Fixed: new(int64(1152))},
		{Name: "late", Size: 640, Start: 3, End: 5, Fixed: new(int64(0))},
		{Name: "mine", Size: 9999, Start: 0, End: 5},
	}}
	x, err := Explain(p, solve(t, p, Auto))
	if err != nil {
		t.Fatal(err)
	}
	const want = `arena 1252 B, lower bound 1252 B, proven least; 4 buffers, without reuse 11839 B
live at 1: 1252 B in 3 buffers
          1000 B  79.9 %  at 0              b
           100 B   8.0 %  at 1024           a
           100 B   8.0 %  at 1152           c·d
            52 B   4.2 %  padding
`
	if got := x.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExplainOfEveryReason(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Problem
		say  string
	}{
		{"nothing", Problem{}, "arena 0 B, lower bound 0 B, proven least; 0 buffers, without reuse 0 B\nlive at 0: 0 B in 0 buffers\n"},
		{"a pack", Problem{Align: 1, Packs: [][]int{{0, 1}}, Buffers: []Buffer{
			{Name: "a", Size: 3, Start: 0, End: 1}, {Name: "b", Size: 4, Start: 1, End: 2},
		}}, "in one piece: 7 B in 2 buffers\n             4 B  57.1 %  at 3              b\n"},
		{"a fixed one", Problem{Align: 1, Buffers: []Buffer{{Name: "a", Size: 3, End: 1, Fixed: new(int64(9))}}},
			"fixed: 12 B in 1 buffers\n             3 B  25.0 %  at 9              a\n             9 B  75.0 %  below it\n"},
		{"two pools", Problem{Align: 1, Buffers: []Buffer{
			{Name: "a", Size: 3, End: 1}, {Name: "b", Size: 3, End: 1, Pool: "x"}, {Name: "c", Size: 4, End: 1, Pool: "x"},
		}}, "pool \"\": arena 3 B, live at 0: 3 B in 1 buffers\n             3 B 100.0 %  at 0              a\n" +
			"pool \"x\": arena 7 B, live at 0: 7 B in 2 buffers\n"},
	} {
		x, err := Explain(&tt.p, solve(t, &tt.p, Auto))
		if err != nil || !strings.Contains(x.String(), tt.say) {
			t.Errorf("%s: got\n%v, %v, want it to say\n%s", tt.name, x, err, tt.say)
		}
	}
}

func TestExplainAddsUp(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 30))
		p := everything(2 + rng.IntN(20)).problem(rng)
		plan, err := Solve(context.Background(), p, Options{Strategy: Portfolio})
		if err != nil {
			t.Fatal(err)
		}
		x, err := Explain(p, plan)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, pool := range x.Pools {
			sum := pool.Padding
			for _, b := range pool.Live {
				sum += b.Size
			}
			if sum != pool.Bound || pool.Padding < 0 {
				t.Fatalf("seed %d: got %d B live and %d B of padding, want %d B in all", seed, sum-pool.Padding,
					pool.Padding, pool.Bound)
			}
		}
	}
}

func TestExplainRefusesAFalseCertificate(t *testing.T) {
	p := &Problem{Align: 1, Buffers: []Buffer{{Size: 3, End: 2}, {Size: 4, Start: 1, End: 3}, {Size: 5, Start: 2, End: 3}}}
	for name, change := range map[string]func(plan *Plan){
		"more bytes":   func(plan *Plan) { plan.Pools[0].Bound.Bytes = 10 },
		"another time": func(plan *Plan) { plan.Pools[0].Bound.Time = 0 },
		"one twice":    func(plan *Plan) { plan.Pools[0].Bound.Live = []int{2, 2} },
		"nobody":       func(plan *Plan) { plan.Pools[0].Bound.Live = []int{1, 7} },
		"no offsets":   func(plan *Plan) { plan.Offsets = nil },
	} {
		plan := solve(t, p, Auto)
		change(plan)
		if x, err := Explain(p, plan); x != nil || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, %v, want %v", name, x, err, ErrInvalid)
		}
	}
}
