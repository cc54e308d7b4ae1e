package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
	"github.com/stowage-ml/stowage/trace"
)

// told lists events without their times, a line each, those inside others indented.
func told(t *testing.T, r *trace.Recorder) string {
	t.Helper()
	events, dropped := r.Kept()
	if dropped != 0 {
		t.Errorf("got %d events dropped, want none", dropped)
	}
	var b strings.Builder
	var ends []time.Duration
	for i := range events {
		e := &events[i]
		for len(ends) > 0 && ends[len(ends)-1] <= e.Start {
			ends = ends[:len(ends)-1]
		}
		fmt.Fprintf(&b, "%s%v", strings.Repeat("  ", len(ends)), e.Kind)
		if w := e.What; w != nil {
			fmt.Fprintf(&b, " %s %s by %q", w.Op, w.Name, w.Kernel)
		}
		if e.Kind == trace.Body {
			fmt.Fprintf(&b, " %d", e.Iteration)
		}
		if e.Err != "" {
			fmt.Fprintf(&b, ": %s", e.Err)
		}
		b.WriteByte('\n')
		if n := len(ends); n > 0 && e.Start+e.Took > ends[n-1] {
			t.Errorf("%v %v ends at %v, beyond %v, where what it is in ends", e.Kind, e.What, e.Start+e.Took, ends[n-1])
		}
		ends = append(ends, e.Start+e.Took)
	}
	return b.String()
}

func TestTraceListsStepsOfARun(t *testing.T) {
	u, l, r := newUnit(t, doubled, ref.Backend{}), NewLane(), trace.New(100)
	defer l.Close()
	l.TraceTo(r)
	x := []backend.View{backend.ViewOf(tensor.Of[float32](1))}
	for range 2 {
		if err := l.Run(context.Background(), u, x, results{}); err != nil {
			t.Fatal(err)
		}
	}
	const steps = "  step Relu  by \"Relu\"\n  step Neg  by \"Neg\"\n  step Sub last by \"Sub\"\n"
	if got, want := told(t, r), "run\n  plan\n"+steps+"run\n"+steps; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	events, _ := r.Kept()
	for i, e := range events {
		if e.Device != plan.Host || e.Lane != 0 || e.Run != int64(1+i/5) {
			t.Errorf("event %d: got device %q, lane %d, run %d", i, e.Device, e.Lane, e.Run)
		}
	}
}

const nestedBodies = `graph "g" {
	in n: int64[]
	in c: bool[]
	in x: float32[2]
	y = Loop@13(n, _, x; body=graph { in i  in d  in s
		capture c = c
		e = Identity@13(d)
		t = If@13(c; else_branch=graph { capture s = s  u = Abs@13(s)  out u },
			then_branch=graph { capture s = s  u = Neg@13(s)  out u })
		out e  out t })
	out y
}`

func TestTraceNestsBodies(t *testing.T) {
	u, l, r := newUnit(t, nestedBodies, ref.Backend{}), NewLane(), trace.New(100)
	defer l.Close()
	l.TraceTo(r)
	in := []backend.View{backend.ViewOf(tensor.Scalar[int64](2)), backend.ViewOf(tensor.Scalar(true)),
		backend.ViewOf(tensor.Of[float32](1, 2))}
	if err := l.Run(context.Background(), u, in, results{}); err != nil {
		t.Fatal(err)
	}
	const want = `run
  plan
  step Loop  by "Loop"
    body 0
      plan
      step If  by "If"
        body 0
          plan
          step Neg  by "Neg"
      copy Output e by ""
    body 1
      step If  by "If"
        body 0
          step Neg  by "Neg"
      copy Output e by ""
`
	if got := told(t, r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTraceKeepsWhatFailed(t *testing.T) {
	for _, c := range []struct {
		name   string
		kernel backend.Kernel
		want   string
	}{
		{"error", func(*backend.Call) error { return errors.New("sad") },
			"run: exec: node Sub \"last\": sad\n  plan\n  step Relu  by \"Relu\"\n  step Neg  by \"Neg\"\n" +
				"  step Sub last by \"broken\": sad\n"},
		{"panic", func(*backend.Call) error { panic("no") },
			"run: BUG: exec: panic at node Sub \"last\": no"},
	} {
		u, l, r := newUnit(t, doubled, broken{op: "Sub", kernel: c.kernel}), NewLane(), trace.New(100)
		l.TraceTo(r)
		x := []backend.View{backend.ViewOf(tensor.Of[float32](1))}
		if err := l.Run(context.Background(), u, x, results{}); err == nil {
			t.Errorf("%s: got no error", c.name)
		}
		if got := told(t, r); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLanesOfARecorderAreNumbered(t *testing.T) {
	r := trace.New(100)
	a, b := NewLane(), NewLane()
	a.TraceTo(r)
	b.TraceTo(r)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c := NewLane()
	defer c.Close()
	defer b.Close()
	c.TraceTo(r)
	u, x := newUnit(t, doubled, ref.Backend{}), []backend.View{backend.ViewOf(tensor.Of[float32](1))}
	for _, l := range []*Lane{b, c} {
		l.Waited(1)
		if err := l.Run(context.Background(), u, x, results{}); err != nil {
			t.Fatal(err)
		}
	}
	events, _ := r.Kept()
	lanes, queued := map[int64]int{}, 0
	for _, e := range events {
		lanes[e.Run] = e.Lane
		if e.Kind == trace.Queue {
			queued++
		}
	}
	if fmt.Sprint(lanes) != "map[1:1 2:0]" || queued != 2 {
		t.Errorf("got lanes %v by run and %d waits for one, want map[1:1 2:0] and 2", lanes, queued)
	}
}

func TestUseIsWhenAnyLaneIsServed(t *testing.T) {
	var u Use
	u.enter()
	u.enter()
	u.leave()
	time.Sleep(2 * time.Millisecond)
	if _, busy := u.Totals(); busy < 2*time.Millisecond {
		t.Errorf("got %v while one lane is served, want at least 2ms", busy)
	}
	u.leave()
	_, busy := u.Totals()
	time.Sleep(2 * time.Millisecond)
	if _, later := u.Totals(); later != busy {
		t.Errorf("got %v, then %v without work, want the same", busy, later)
	}
	u.ran()
	if runs, _ := u.Totals(); runs != 1 {
		t.Errorf("got %d runs, want 1", runs)
	}
}

func TestRunsCountWhenTheyEndWell(t *testing.T) {
	fail := true
	u := newUnit(t, doubled, broken{op: "Neg", kernel: func(c *backend.Call) error {
		if fail {
			return errors.New("sad")
		}
		copy(c.Out[0].Data, c.In[0].Data)
		return nil
	}})
	l := NewLane()
	defer l.Close()
	l.Uses = []*Use{{}}
	x := []backend.View{backend.ViewOf(tensor.Of[float32](1))}
	for range 3 {
		_ = l.Run(context.Background(), u, x, results{})
		fail = false
	}
	if runs, busy := l.Uses[0].Totals(); runs != 2 || busy <= 0 || l.Uses[0].working != 0 {
		t.Errorf("got %d runs, busy %v and %d lanes served, want 2 runs and none now", runs, busy, l.Uses[0].working)
	}
}
