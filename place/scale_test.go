package place

import (
	"context"
	"testing"
)

func TestLargeGraphsTakeSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("solves graphs of many thousand nodes")
	}
	star := newGraph(4)
	x := star.node(100_000, 100_000)
	for range 5000 {
		star.node(100_000, 1000, x)
	}
	for _, c := range []struct {
		name string
		p    *Problem
	}{
		{"chain", chain(50_000, 4)}, {"decoder", decoder(10_000, 2)}, {"residual", residual(10_000, 4)}, {"star", star.done()},
	} {
		from := cpuTime()
		s, err := Solve(context.Background(), c.p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Validate(c.p, s); err != nil {
			t.Fatal(err)
		}
		took := cpuTime() - from
		t.Logf("%s: %v, by %s, proven %v", c.name, took, s.Method, s.Proven)
		if took.Seconds() > 20 || !s.Proven {
			t.Errorf("%s: got %v, proven %v, want seconds, and a proof", c.name, took, s.Proven)
		}
	}
}
