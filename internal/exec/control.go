package exec

import (
	"context"
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// control runs a control node.
func (f *frame) control(ctx context.Context, s *plan.Step) error {
	switch s.Node.Op {
	case "If":
		return f.runIf(ctx, s)
	case "Loop":
		return f.runLoop(ctx, s)
	case "Scan":
		return f.runScan(ctx, s)
	}
	panic("BUG: exec: control operator " + s.Node.Op)
}

// child returns a frame for a body with its captures set.
func (f *frame) child(u *plan.Unit) *frame {
	c := f.lane.frame(u)
	for _, k := range u.Graph.Captures {
		c.views[k.Inner] = f.views[k.Outer]
	}
	return c
}

// settle returns the memory of an output of the current control node: what the plan gave it,
// which must have this shape, or new memory now that the shape is known.
func (f *frame) settle(i int, dt tensor.DType, shape tensor.Shape) (backend.View, error) {
	id := f.step.Node.Outputs[i]
	if id == graph.NoValue {
		return heap(dt, shape)
	}
	v := f.views[id]
	if v.DType != dt {
		return v, fmt.Errorf("output %d: got %v from the body, want %v", i, dt, v.DType)
	}
	if v.Shape == nil {
		return f.placeValue(id, dt, shape)
	}
	if !v.Shape.Equal(shape) {
		return v, fmt.Errorf("output %d: got shape %v from the body, want %v", i, shape, v.Shape)
	}
	return v, nil
}

// branchOutputs gives the outputs of an If's body the memory of the node's own outputs.
type branchOutputs struct {
	f    *frame
	step *plan.Step
}

func (o *branchOutputs) Place(i int, dt tensor.DType, s tensor.Shape) (backend.View, error) {
	o.f.step = o.step
	return o.f.settle(i, dt, s)
}

func (f *frame) runIf(ctx context.Context, s *plan.Step) error {
	k := s.Control.Taken
	if k < 0 {
		cond := f.views[s.Node.Inputs[0]]
		if len(cond.Data) != 1 {
			return fmt.Errorf("condition: got %v%v, want one bool", cond.DType, cond.Shape)
		}
		k = 0
		if cond.Data[0] != 0 {
			k = 1
		}
	}
	c := f.child(s.Control.Bodies[k])
	defer f.lane.release(c)
	c.branch = branchOutputs{f, s}
	return f.body(ctx, c, &c.branch, 0)
}

// loopState holds what one iteration of a Loop or Scan passes to the next, and what the
// iterations append to.
type loopState struct {
	// carried is the current values; next receives those of the iteration that is running. The
	// memory of both is used in turn.
	carried, next []backend.View
	// free is memory that next may use again.
	free []backend.View
	// item is one iteration's part of each scan output; scans collects them.
	item  []backend.View
	scans []scanOutput
	cond  backend.View
	// first is the index of the body's first carried output: 1 after a Loop's condition.
	first int
}

func newLoopState(carried []backend.View, scans, first int) *loopState {
	n := len(carried)
	return &loopState{carried: carried, next: make([]backend.View, n), free: make([]backend.View, n),
		item: make([]backend.View, scans), scans: make([]scanOutput, scans), first: first}
}

// Place implements Outputs for the body.
func (l *loopState) Place(i int, dt tensor.DType, s tensor.Shape) (backend.View, error) {
	var v backend.View
	var err error
	switch j := i - l.first; {
	case j < 0:
		l.cond, err = heap(dt, s)
		return l.cond, err
	case j < len(l.next):
		if v, err = reuse(l.free[j], dt, s); err != nil {
			return v, err
		}
		l.next[j] = v
	default:
		j -= len(l.next)
		if v, err = reuse(l.item[j], dt, s); err != nil {
			return v, err
		}
		l.item[j] = v
	}
	return v, nil
}

// reuse returns old when it has the wanted type and shape, else new memory.
func reuse(old backend.View, dt tensor.DType, s tensor.Shape) (backend.View, error) {
	if old.Shape != nil && old.DType == dt && old.Shape.Equal(s) {
		return old, nil
	}
	return heap(dt, s)
}

// turn makes the values of the finished iteration current. owned says whether the values they
// replace were made by an earlier iteration, so that their memory may be written again.
func (l *loopState) turn(owned bool) error {
	for j := range l.next {
		if owned {
			l.free[j] = l.carried[j]
		}
		l.carried[j], l.next[j] = l.next[j], backend.View{}
	}
	for j := range l.item {
		if err := l.scans[j].add(&l.item[j]); err != nil {
			return fmt.Errorf("scan output %d: %w", j, err)
		}
	}
	return nil
}

// scanOutput is the values that iterations have appended so far.
type scanOutput struct {
	dtype tensor.DType
	shape tensor.Shape
	data  []byte
	strs  []string
	n     int64
}

func (o *scanOutput) add(v *backend.View) error {
	if o.n == 0 {
		o.dtype, o.shape = v.DType, v.Shape.Clone()
	} else if !o.shape.Equal(v.Shape) {
		return fmt.Errorf("iteration %d: got shape %v, want %v as before", o.n, v.Shape, o.shape)
	}
	o.data = append(o.data, v.Data...)
	o.strs = append(o.strs, v.Strs...)
	o.n++
	return nil
}

// finish writes the loop's results to the node's outputs. scanShape gives the shape of one
// element of scan output j when there was no iteration to tell it.
func (f *frame) finish(s *plan.Step, l *loopState, axes, dirs []int64) error {
	for j := range l.carried {
		v := &l.carried[j]
		if err := f.deliver(s, j, v.DType, v.Shape, v.Data, v.Strs); err != nil {
			return err
		}
	}
	for j := range l.scans {
		o := &l.scans[j]
		i := len(l.carried) + j
		if i >= len(s.Node.Outputs) || s.Node.Outputs[i] == graph.NoValue {
			continue
		}
		if o.n == 0 {
			f.emptyScan(s, i, o)
		}
		shape := append(tensor.Shape{o.n}, o.shape...)
		data := o.data
		if j < len(axes) && (axes[j] != 0 || dirs[j] != 0) {
			var err error
			if shape, data, err = arrange(o, axes[j], dirs[j]); err != nil {
				return fmt.Errorf("scan output %d: %w", j, err)
			}
		}
		if err := f.deliver(s, i, o.dtype, shape, data, o.strs); err != nil {
			return err
		}
	}
	return nil
}

// emptyScan gives a scan output without iterations the type that the plan or the body tells;
// extents that are not known are 0.
func (f *frame) emptyScan(s *plan.Step, i int, o *scanOutput) {
	v := f.views[s.Node.Outputs[i]]
	o.dtype = v.DType
	if v.Shape != nil {
		o.shape = v.Shape[1:].Clone()
		return
	}
	body := s.Control.Bodies[0].Graph
	k := len(body.Outputs) - (len(s.Node.Outputs) - i)
	for _, d := range body.Values[body.Outputs[k]].Shape {
		n, _ := d.Int()
		o.shape = append(o.shape, n)
	}
}

func (f *frame) deliver(s *plan.Step, i int, dt tensor.DType, shape tensor.Shape, data []byte, strs []string) error {
	if i >= len(s.Node.Outputs) || s.Node.Outputs[i] == graph.NoValue {
		return nil
	}
	f.step = s
	dst, err := f.settle(i, dt, shape)
	if err != nil {
		return err
	}
	copy(dst.Data, data)
	copy(dst.Strs, strs)
	return nil
}

func (f *frame) runLoop(ctx context.Context, s *plan.Step) error {
	n := s.Node
	trips, cond := int64(1<<63-1), true
	if v := n.Input(0); v != graph.NoValue {
		m := tensor.Cast[int64](f.views[v].Data)
		if len(m) != 1 {
			return fmt.Errorf("trip count: got %v, want one int64", f.views[v].Shape)
		}
		trips = m[0]
	}
	if v := n.Input(1); v != graph.NoValue {
		if len(f.views[v].Data) != 1 {
			return fmt.Errorf("condition: got %v, want one bool", f.views[v].Shape)
		}
		cond = f.views[v].Data[0] != 0
	}
	body := s.Control.Bodies[0]
	carried := make([]backend.View, max(len(n.Inputs)-2, 0))
	for j := range carried {
		carried[j] = f.view(n.Inputs[2+j])
	}
	l := newLoopState(carried, len(body.Graph.Outputs)-1-len(carried), 1)
	iter := []int64{0}
	flag := backend.View{DType: tensor.Bool, Shape: tensor.Shape{}, Data: []byte{1}}
	c := f.child(body)
	defer f.lane.release(c)
	for iter[0] = 0; iter[0] < trips && cond; iter[0]++ {
		in := body.Graph.Inputs
		c.views[in[0]] = backend.ViewOf(tensor.Scalar(iter[0]))
		c.views[in[1]] = flag
		for j := range l.carried {
			c.views[in[2+j]] = l.carried[j]
		}
		if err := f.body(ctx, c, l, iter[0]); err != nil {
			return fmt.Errorf("iteration %d: %w", iter[0], err)
		}
		cond = len(l.cond.Data) == 1 && l.cond.Data[0] != 0
		if err := l.turn(iter[0] > 0); err != nil {
			return err
		}
	}
	return f.finish(s, l, nil, nil)
}
