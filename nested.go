package stowage

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// nested sums the arenas that are in use at once: a stage's, and while a control node runs those of
// its bodies. A run has one slab for each depth, of the size of the largest arena there.
type nested struct {
	arenas []int64
	// later counts the nodes that wait for data; unknown lists the bodies that cannot be planned yet.
	later   int
	unknown []string
}

// needs is what a stage and the bodies that it runs take.
type needs struct {
	// least is what no arrangement can be under, written all that steps write, without reuse.
	least, written int64
	// ns is the estimated time: of two branches the longer, of a loop one round.
	ns int64
	// bodies is the time of the bodies of each step, by its number.
	bodies map[int]int64
}

// total is what the slabs of all depths take.
func (w *nested) total() int64 {
	var n int64
	for _, a := range w.arenas {
		n += a
	}
	return n
}

// missing says what is not counted.
func (w *nested) missing() []string {
	out := []string{}
	if w.later > 0 {
		out = append(out, fmt.Sprintf("%d nodes whose shapes depend on data", w.later))
	}
	return append(out, w.unknown...)
}

// stage adds a stage of a unit, of whose entry the given values are known, with the bodies that it
// runs.
func (w *nested) stage(u *plan.Unit, st *plan.Stage, in declared, depth int) needs {
	if depth == len(w.arenas) {
		w.arenas = append(w.arenas, 0)
	}
	w.arenas[depth] = max(w.arenas[depth], st.Memory.Arena)
	w.later += st.Later()
	out := needs{least: st.Memory.LowerBound, written: st.Memory.Materialized, bodies: map[int]int64{}}
	var most int64
	for i := range st.Steps {
		x := &st.Steps[i]
		if x.Control == nil {
			out.ns += max(0, x.EstNs)
			continue
		}
		for k, body := range x.Control.Bodies {
			if x.Control.Taken < 0 || x.Control.Taken == k {
				b := w.body(u, st, in, x, body, depth+1)
				most, out.bodies[i] = max(most, b.least), max(out.bodies[i], b.ns)
				out.written += b.written
			}
		}
		out.ns += max(x.EstNs, out.bodies[i])
	}
	out.least += most
	return out
}

// body adds a body of a step.
func (w *nested) body(u *plan.Unit, st *plan.Stage, in declared, x *plan.Step, body *plan.Unit, depth int) needs {
	known := declared{}
	for _, c := range body.Graph.Captures {
		known[c.Inner] = typeIn(st, in, c.Outer)
	}
	entryTypes(x, body, func(v graph.ValueID) typed { return typeIn(st, in, v) }, known)
	for _, v := range body.Entry.Shapes {
		if known[v].shape == nil {
			w.unknown = append(w.unknown, fmt.Sprintf("a body of %s: the shape of %q is not known yet", x.Node.Label(),
				body.Graph.Values[v].Name))
			return needs{}
		}
	}
	s, err := body.Next(body.Entry, known)
	if err != nil {
		w.unknown = append(w.unknown, fmt.Sprintf("a body of %s: %v", x.Node.Label(), err))
		return needs{}
	}
	return w.stage(body, s, known, depth)
}

// typeIn returns what is known of a value while a stage runs.
func typeIn(st *plan.Stage, in declared, v graph.ValueID) typed {
	if v == graph.NoValue {
		return typed{}
	}
	if t, ok := in[v]; ok {
		return t
	}
	for i := range st.Slots {
		if s := &st.Slots[i]; s.Value == v {
			return typed{dtype: s.DType, shape: s.Shape, value: s.Const}
		}
	}
	return typed{}
}

// entryTypes adds what is known of a body's inputs before the first iteration: a Loop's count and
// condition, what is carried, and one slice of what is scanned.
func entryTypes(x *plan.Step, body *plan.Unit, of func(graph.ValueID) typed, known declared) {
	in, n := body.Graph.Inputs, x.Node
	switch n.Op {
	case "Loop":
		known[in[0]] = typed{dtype: tensor.Int64, shape: tensor.Shape{}}
		known[in[1]] = typed{dtype: tensor.Bool, shape: tensor.Shape{}}
		for j := 2; j < len(in); j++ {
			t := of(n.Input(j))
			known[in[j]] = typed{dtype: t.dtype, shape: t.shape}
		}
	case "Scan":
		scanned := int(n.Attrs.Int("num_scan_inputs", 0))
		axes := n.Attrs.Ints("scan_input_axes", make([]int64, max(scanned, 0)))
		for j := range in {
			t := of(n.Input(j))
			t.value = nil
			if k := j - (len(in) - scanned); k >= 0 && k < len(axes) && t.shape != nil {
				t.shape = without(t.shape, axes[k])
			}
			known[in[j]] = t
		}
	}
}

// without returns a shape without one of its axes; nil when it has no such axis.
func without(s tensor.Shape, axis int64) tensor.Shape {
	if axis < 0 {
		axis += int64(len(s))
	}
	if axis < 0 || axis >= int64(len(s)) {
		return nil
	}
	return append(s[:axis].Clone(), s[axis+1:]...)
}
