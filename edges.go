package stowage

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
)

// edges finds, for values of a stage, the steps and the model's inputs that they come from, through
// nodes that have no step because their results are another value's bytes.
type edges struct {
	g     *graph.Graph
	slots []*plan.Slot
	// step is the step that makes each instance, −1 where there is none, and runs that of each node
	// that has one.
	step []int
	runs map[*graph.Node]int
	// node makes each value of the graph.
	node []*graph.Node
	// input is the index of each value among the graph's inputs, or −1.
	input []int
}

func newEdges(g *graph.Graph, st *plan.Stage, slots []*plan.Slot) *edges {
	n := len(g.Values)
	e := &edges{g: g, slots: slots, step: filled(max(n, st.Values)), input: filled(n), runs: map[*graph.Node]int{},
		node: make([]*graph.Node, n)}
	for i, v := range g.Inputs {
		e.input[v] = i
	}
	for _, x := range g.Nodes {
		for _, v := range x.Outputs {
			if v != graph.NoValue {
				e.node[v] = x
			}
		}
	}
	for i := range st.Steps {
		e.runs[st.Steps[i].Node] = i
		for _, v := range st.Steps[i].Out {
			if v != graph.NoValue {
				e.step[v] = i
			}
		}
	}
	return e
}

func filled(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

// of returns the graph's value that an instance holds.
func (e *edges) of(v graph.ValueID) graph.ValueID {
	if int(v) < len(e.g.Values) {
		return v
	}
	return e.slots[v].Of
}

// reads returns the steps and inputs that the operands of a step come from, each in order. A body's
// captures count as operands.
func (e *edges) reads(x *plan.Step) (steps, inputs []int) {
	w := walk{edges: e, seen: map[graph.ValueID]bool{}, steps: []int{}, inputs: []int{}}
	for _, v := range x.In {
		w.value(v)
	}
	for _, v := range x.Node.Reads() {
		if x.Control != nil {
			w.value(v)
		}
	}
	return w.done()
}

// from returns the steps that a value of the graph comes from.
func (e *edges) from(v graph.ValueID) []int {
	w := walk{edges: e, seen: map[graph.ValueID]bool{}, steps: []int{}}
	w.value(v)
	steps, _ := w.done()
	return steps
}

// walk goes from values to what makes them.
type walk struct {
	*edges
	seen          map[graph.ValueID]bool
	steps, inputs []int
}

func (w *walk) done() (steps, inputs []int) {
	slices.Sort(w.steps)
	slices.Sort(w.inputs)
	return slices.Compact(w.steps), slices.Compact(w.inputs)
}

func (w *walk) value(v graph.ValueID) {
	if v == graph.NoValue || w.seen[v] {
		return
	}
	w.seen[v] = true
	if k := w.step[v]; k >= 0 {
		w.steps = append(w.steps, k)
		return
	}
	of := w.of(v)
	x := w.node[of]
	if x == nil {
		if k := w.input[of]; k >= 0 {
			w.inputs = append(w.inputs, k)
		}
		return
	}
	if k, ok := w.runs[x]; ok {
		w.steps = append(w.steps, k)
		return
	}
	for _, u := range x.Inputs {
		w.value(u)
	}
}

// bufferPlans lists what the arena holds, by name.
func (s *Session) bufferPlans(st *plan.Stage, slots []*plan.Slot) []BufferPlan {
	out, devices := []BufferPlan{}, s.Devices()
	for _, b := range st.Buffers() {
		p := BufferPlan{Device: devices[b.Device], Offset: b.Offset, Bytes: b.Bytes, First: b.First, Last: b.Last}
		switch {
		case b.Value == graph.NoValue:
			p.Name = "scratch of " + st.Steps[b.First].Node.Label()
		case slots[b.Value] != nil:
			p.Name = s.unit.Graph.Values[slots[b.Value].Of].Name
		case int(b.Value) < len(s.unit.Graph.Values):
			p.Name = s.unit.Graph.Values[b.Value].Name
		}
		out = append(out, p)
	}
	return out
}
