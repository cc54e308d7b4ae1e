package exec

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
	"github.com/stowage-ml/stowage/trace"
)

// Outputs supplies memory for a unit's outputs.
type Outputs interface {
	// Place returns memory for output i, whose shape is now known. The shape stays valid only
	// during the call.
	Place(i int, dt tensor.DType, s tensor.Shape) (backend.View, error)
}

// frame is one execution of a unit: where each of its values is.
type frame struct {
	lane  *Lane
	unit  *plan.Unit
	views []backend.View
	// output is, for each value, the index of the unit's output whose memory it is to have, or
	// −1: for values that are placed while a step runs.
	output []int
	// ready holds the outputs that the stage has been given memory for.
	ready []backend.View
	outs  Outputs
	step  *plan.Step
	slab  []byte
	// away is the memory of the other devices, and calls what their kernels are called with.
	away  []backend.Memory
	calls []backend.Call
	call  backend.Call
	// branch places the outputs of an If's body, when the frame runs one.
	branch branchOutputs
	// whats describes the steps of the stage, execution is its number, and planning is when its plan was
	// asked for, when the lane is traced.
	whats     []trace.What
	execution int64
	planning  time.Duration
}

func newFrame(l *Lane, u *plan.Unit) *frame {
	n := len(u.Graph.Values)
	f := &frame{lane: l, unit: u, views: make([]backend.View, n), output: make([]int, n),
		ready: make([]backend.View, len(u.Graph.Outputs))}
	f.call.Place, f.call.Team = f.place, l.Team
	return f
}

// Run executes a unit. in holds the graph's inputs in order. The lane must not be in use.
func (l *Lane) Run(ctx context.Context, u *plan.Unit, in []backend.View, outs Outputs) (err error) {
	f := l.frame(u)
	l.main = f
	l.startUse()
	since := l.trace.begin()
	defer func() {
		if p := recover(); p != nil {
			err = f.crashed(p)
		}
		l.depth = 0
		l.release(f)
		l.endUse(err)
		l.trace.end(since, err)
	}()
	l.branches = 0
	for i, v := range u.Graph.Inputs {
		f.views[v] = in[i]
	}
	if err := f.run(ctx, outs, l.Progress); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return nil
}

// crashed turns a kernel's panic into an error: one bad request must not end the process.
func (f *frame) crashed(p any) error {
	where := ""
	if f.step != nil {
		where = " at node " + f.step.Node.Label()
	}
	return fmt.Errorf("BUG: exec: panic%s: %v (%s)", where, p, origin())
}

// origin names the line that panicked.
func origin() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, s := range lines {
		if strings.HasPrefix(s, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+3])
		}
	}
	return "unknown line"
}

// run executes the unit's stages one after the other. The inputs' and captures' views are set.
func (f *frame) run(ctx context.Context, outs Outputs, progress func(step, steps int)) error {
	f.outs = outs
	depth := f.lane.depth
	choose := f.lane.Frontier != nil && len(f.unit.Arms()) > 1
	for b := f.unit.Entry; b != nil; {
		f.planning = f.lane.trace.now()
		var s *plan.Stage
		var err error
		if choose {
			s, err = f.chosen(ctx, b, progress)
		} else if s, err = f.unit.Next(b, f); err == nil {
			err = f.stage(ctx, s, progress)
		}
		if err != nil {
			return err
		}
		b = s.Next
	}
	f.lane.depth = depth
	return nil
}

// chosen runs the stage from a branch on that the frontier chooses now.
func (f *frame) chosen(ctx context.Context, b *plan.Branch, progress func(step, steps int)) (*plan.Stage, error) {
	l := f.lane
	w, err := f.unit.Ways(b, f)
	if err != nil {
		return nil, err
	}
	s, at, err := l.Frontier.take(l, w)
	if err != nil {
		return nil, err
	}
	l.grown = false
	settled := false
	defer func() {
		if !settled { // it panics
			l.Frontier.settle(at, ErrNoArm, false)
		}
	}()
	err = f.stage(ctx, s, progress)
	settled = true
	l.Frontier.settle(at, err, l.grown)
	return s, err
}

// Type implements plan.Available.
func (f *frame) Type(v graph.ValueID) (tensor.DType, tensor.Shape) {
	return f.views[v].DType, f.views[v].Shape
}

// Contents implements plan.Available.
func (f *frame) Contents(v graph.ValueID) (*tensor.Tensor, error) { return f.views[v].Tensor() }

func (f *frame) stage(ctx context.Context, s *plan.Stage, progress func(step, steps int)) error {
	f.look(s)
	slab, err := f.lane.push(s.Memory.Arena, s.Memory.LowerBound)
	if err != nil {
		return err
	}
	f.slab = slab
	if f.away, err = f.lane.pushAway(s.Away); err != nil {
		return inStage(err, s)
	}
	if n := s.Values - len(f.views); n > 0 {
		f.views = append(f.views, make([]backend.View, n)...)
	}
	clear(f.ready)
	if s.Spread() {
		if err := f.lane.Resident.take(ctx, s, f.lane.Devices, f.lane.trace); err != nil {
			return inStage(err, s)
		}
		defer f.lane.Resident.give(s, f.lane.Devices)
	}
	for i := range s.Slots {
		if err := f.bind(&s.Slots[i]); err != nil {
			return err
		}
	}
	if err := f.paced(ctx, s, progress); err != nil {
		return err
	}
	for _, c := range s.Copies {
		v := &f.views[c.Value]
		dst, err := f.outs.Place(c.Output, v.DType, v.Shape)
		if err != nil {
			return err
		}
		f.copyOut(&dst, v, c.Value)
	}
	return nil
}

// paced runs the steps of a stage, with all workers or alone, whatever is faster. Stages within
// follow the outermost.
func (f *frame) paced(ctx context.Context, s *plan.Stage, progress func(step, steps int)) error {
	l := f.lane
	if l.timing || l.Team.Size() == 1 || l.Around != nil {
		return f.steps(ctx, s, progress)
	}
	defer func() { l.timing, l.alone = false, false }()
	p := l.pace(s)
	alone, start := p.start(), time.Now()
	l.timing, l.alone = true, alone
	if err := f.steps(ctx, s, progress); err != nil {
		return err
	}
	p.end(alone, time.Since(start))
	return nil
}

// steps runs the steps of a stage: one after the other, or those of each device by themselves.
func (f *frame) steps(ctx context.Context, s *plan.Stage, progress func(step, steps int)) error {
	if s.Spread() && !f.lane.Poison && f.lane.Around == nil {
		return f.together(ctx, s, progress)
	}
	if f == f.lane.main {
		f.lane.use(0).enter()
		defer f.lane.use(0).leave()
	}
	for i := range s.Steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before step %d of %d: %w", i+1, len(s.Steps), err)
		}
		if progress != nil {
			progress(i, len(s.Steps))
		}
		f.step = &s.Steps[i]
		if err := f.do(ctx, s, i); err != nil {
			return fmt.Errorf("node %s: %w", f.step.Node.Label(), err)
		}
		if f.lane.Poison {
			s.Dead(i, f.poison)
		}
	}
	return nil
}

// poison fills a range of a device's arena.
func (f *frame) poison(device int, offset, bytes int64) {
	if device == 0 {
		poison(f.slab[offset : offset+bytes])
	} else if data := f.away[device-1].Host(); data != nil {
		poison(data[offset : offset+bytes])
	}
}

// bind sets the view of one slot.
func (f *frame) bind(s *plan.Slot) error {
	v := backend.View{DType: s.DType, Shape: s.Shape}
	if s.Device != 0 {
		f.bindAway(s, v)
		return nil
	}
	switch s.Where {
	case plan.InArena:
		v.Data = f.slab[s.Offset : s.Offset+s.Span : s.Offset+s.Span]
	case plan.InConst:
		v = backend.ViewOf(s.Const)
	case plan.InValue:
		v.Data, v.Strs = part(f.views[s.Base].Data, s), f.views[s.Base].Strs
	case plan.InOutput:
		o := &f.ready[s.Output]
		if o.Shape == nil {
			placed, err := f.outs.Place(s.Output, s.DType, s.OutShape)
			if err != nil {
				return err
			}
			*o = placed
			o.Shape = s.OutShape
		}
		v.Data, v.Strs = part(o.Data, s), o.Strs
	case plan.Placed:
		f.output[s.Value] = s.Output
		if s.Shape != nil {
			n, _ := s.Shape.Elements()
			v.Strs = make([]string, n)
		}
	}
	f.views[s.Value] = v
	return nil
}

// part returns the bytes of a slot within those of its base; strings have none.
func part(data []byte, s *plan.Slot) []byte {
	if s.Span == 0 {
		return nil
	}
	return data[s.Offset : s.Offset+s.Span : s.Offset+s.Span]
}

// aloneNs is the estimated time below which a step is not shared: to wake a helper would cost its
// caller about as much.
const aloneNs = 5_000

// launch runs the current step.
func (f *frame) launch(ctx context.Context, s *plan.Step) error {
	if s.DeviceIndex != 0 {
		return f.launchAway(s)
	}
	c := &f.call
	c.In, c.Out = c.In[:0], c.Out[:0]
	for _, v := range s.In {
		c.In = append(c.In, f.view(v))
	}
	for _, v := range s.Out {
		c.Out = append(c.Out, f.view(v))
	}
	if c.Team = f.lane.Team; f.lane.alone || s.EstNs >= 0 && s.EstNs/max(s.Rows, 1) < aloneNs {
		c.Team = nil
	}
	if s.Control != nil {
		if around := f.lane.Around; around != nil {
			return around(s, c, func() error { return f.control(ctx, s) })
		}
		return f.control(ctx, s)
	}
	c.Scratch = f.slab[s.ScratchOffset : s.ScratchOffset+s.ScratchBytes : s.ScratchOffset+s.ScratchBytes]
	if s.Rows == 0 {
		return f.kernel()
	}
	for r := range s.Rows {
		for i, v := range s.In {
			c.In[i] = rowOf(f.view(v), &s.RowIn[i], r)
		}
		for i, v := range s.Out {
			c.Out[i] = rowOf(f.view(v), &s.RowOut[i], r)
		}
		if err := f.kernel(); err != nil {
			return err
		}
	}
	return nil
}

// kernel runs the current step's kernel on the operands of the call.
func (f *frame) kernel() error {
	s, c := f.step, &f.call
	if around := f.lane.Around; around != nil {
		return around(s, c, func() error { return s.Kernel(c) })
	}
	return s.Kernel(c)
}

// rowOf returns row r of an operand, or all of one that every row is given whole.
func rowOf(v backend.View, row *plan.Row, r int64) backend.View {
	if row.Shape == nil {
		return v
	}
	at := r * row.Pitch
	return backend.View{DType: v.DType, Shape: row.Shape, Data: v.Data[at : at+row.Bytes : at+row.Bytes]}
}

func (f *frame) view(v graph.ValueID) backend.View {
	if v == graph.NoValue {
		return backend.View{}
	}
	return f.views[v]
}

// place gives an output of the current step its memory.
func (f *frame) place(i int, shape tensor.Shape) error {
	v, err := f.placeValue(f.step.Node.Outputs[i], f.call.Out[i].DType, shape)
	if err != nil {
		return err
	}
	f.call.Out[i] = v
	return nil
}

// placeValue gives a value whose shape has become known its memory: the unit's output, or the
// heap.
func (f *frame) placeValue(id graph.ValueID, dt tensor.DType, shape tensor.Shape) (backend.View, error) {
	if id == graph.NoValue {
		t, err := tensor.Zeros(dt, shape)
		if err != nil {
			return backend.View{}, err
		}
		return backend.ViewOf(t), nil
	}
	var v backend.View
	var err error
	if k := f.output[id]; k >= 0 {
		v, err = f.outs.Place(k, dt, shape)
	} else {
		v, err = heap(dt, shape)
	}
	if err != nil {
		return v, err
	}
	f.views[id] = v
	return v, nil
}

// heap returns zeroed memory for a tensor, with a shape of its own.
func heap(dt tensor.DType, shape tensor.Shape) (backend.View, error) {
	t, err := tensor.Zeros(dt, shape)
	if err != nil {
		return backend.View{}, err
	}
	return backend.ViewOf(t), nil
}
