package exec

import (
	"testing"
	"time"
)

// paced runs a stage whose times are given for both ways, and counts the runs of each.
func paced(p *pace, runs int, shared, alone time.Duration) (n [2]int) {
	for range runs {
		if p.start() {
			p.end(true, alone)
			n[1]++
		} else {
			p.end(false, shared)
			n[0]++
		}
	}
	return n
}

func TestPaceFollowsTheFasterWay(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		shared, alone time.Duration
		want          bool
	}{
		"sharing pays":         {6 * ms, 10 * ms, false},
		"sharing costs":        {12 * ms, 10 * ms, true},
		"no difference":        {10 * ms, 10 * ms, false},
		"too little":           {1000 * ms / 100, 990 * ms / 100, false},
		"long runs are shared": {50 * ms, 10 * ms, false},
	} {
		var p pace
		if n := paced(&p, 1, c.shared, c.alone); n[1] != 0 {
			t.Errorf("%s: the first run was alone", name)
		}
		n := paced(&p, 2*tries, c.shared, c.alone)
		if p.least[0] <= longest && n[1] != tries {
			t.Errorf("%s: got %d tries alone, want %d", name, n[1], tries)
		}
		if n := paced(&p, 100, c.shared, c.alone); p.alone != c.want || n[1] != map[bool]int{true: 100}[c.want] {
			t.Errorf("%s: got %d of 100 runs alone", name, n[1])
		}
	}
}

func TestPaceTriesAgain(t *testing.T) {
	const ms = time.Millisecond
	var p pace
	paced(&p, 100, 12*ms, 10*ms)
	if !p.alone {
		t.Fatal("the faster way was not chosen")
	}
	n := paced(&p, chosen+2*tries, 6*ms, 10*ms)
	if p.alone {
		t.Error("what has become faster was not chosen")
	}
	if n[0] < tries {
		t.Errorf("got %d runs with all workers", n[0])
	}
}
