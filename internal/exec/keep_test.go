package exec

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
	"github.com/stowage-ml/stowage/trace"
)

// TestLanesDoNotKeepPlansThatWereDropped runs ever new shapes with a team and a trace, of which a lane
// remembers something.
func TestLanesDoNotKeepPlansThatWereDropped(t *testing.T) {
	g, err := graph.Parse(doubled)
	if err != nil {
		t.Fatal(err)
	}
	u, l := plan.NewUnit(g, ref.Backend{}, plan.Limits{Keep: 1}), NewLane()
	defer l.Close()
	l.Team = backend.NewTeam(2)
	l.TraceTo(trace.New(16))
	const shapes = 20
	var stages []weak.Pointer[plan.Stage]
	for n := range shapes {
		f := newFrame(l, u)
		in := backend.ViewOf(tensor.Of(make([]float32, n+1)...))
		if err := l.Run(context.Background(), u, []backend.View{in}, results{}); err != nil {
			t.Fatal(err)
		}
		f.views[u.Graph.Inputs[0]] = in
		s, err := u.Next(u.Entry, f)
		if err != nil {
			t.Fatal(err)
		}
		stages = append(stages, weak.Make(s))
	}
	runtime.GC()
	runtime.GC()
	left := 0
	for _, p := range stages {
		if p.Value() != nil {
			left++
		}
	}
	if left > 2 {
		t.Errorf("got %d of %d plans in memory, want those that are kept", left, shapes)
	}
	runtime.KeepAlive(l)
}
