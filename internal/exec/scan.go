package exec

import (
	"context"
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/plan"
	"github.com/stowage-ml/stowage/tensor"
)

// scanSpec is a Scan node's attributes with their defaults, and axes made non-negative.
type scanSpec struct {
	state, inputs, outputs int
	inAxes, inDirs         []int64
	outAxes, outDirs       []int64
}

func newScanSpec(s *plan.Step) (scanSpec, error) {
	a, n := s.Node.Attrs, s.Node
	p := scanSpec{inputs: int(a.Int("num_scan_inputs", 0))}
	p.state = len(n.Inputs) - p.inputs
	body := s.Control.Bodies[0].Graph
	p.outputs = len(body.Outputs) - p.state
	if p.inputs < 1 || p.state < 0 || p.outputs < 0 || len(body.Inputs) != len(n.Inputs) {
		return p, fmt.Errorf("got %d inputs, %d of them scanned, and a body of %d inputs and %d outputs",
			len(n.Inputs), p.inputs, len(body.Inputs), len(body.Outputs))
	}
	p.inAxes = a.Ints("scan_input_axes", make([]int64, p.inputs))
	p.inDirs = a.Ints("scan_input_directions", make([]int64, p.inputs))
	p.outAxes = a.Ints("scan_output_axes", make([]int64, p.outputs))
	p.outDirs = a.Ints("scan_output_directions", make([]int64, p.outputs))
	if len(p.inAxes) != p.inputs || len(p.inDirs) != p.inputs || len(p.outAxes) != p.outputs ||
		len(p.outDirs) != p.outputs {
		return p, fmt.Errorf("axes and directions: got %d, %d, %d and %d, want %d for inputs and %d for outputs",
			len(p.inAxes), len(p.inDirs), len(p.outAxes), len(p.outDirs), p.inputs, p.outputs)
	}
	return p, nil
}

// slices is a scanned input, seen as a sequence of elements along one axis.
type slices struct {
	view         backend.View
	outer, count int64
	inner        int64
	shape        tensor.Shape
	reverse      bool
	buf          []byte
}

func newSlices(v backend.View, axis, dir int64) (*slices, error) {
	r := int64(len(v.Shape))
	if axis < 0 {
		axis += r
	}
	if axis < 0 || axis >= r {
		return nil, fmt.Errorf("scan axis: got %d, want one of a rank-%d input", axis, r)
	}
	if v.DType.Bits()%8 != 0 || v.DType == tensor.String {
		return nil, fmt.Errorf("scan input: got %v, want a type of whole bytes", v.DType)
	}
	shape := append(v.Shape[:axis].Clone(), v.Shape[axis+1:]...)
	outer, _ := v.Shape[:axis].Elements()
	inner, _ := v.Shape[axis+1:].Elements()
	s := &slices{view: v, outer: outer, inner: inner * int64(v.DType.Bits()/8), count: v.Shape[axis], shape: shape,
		reverse: dir != 0}
	if axis != 0 {
		s.buf = alloc(s.outer * s.inner)
	}
	return s, nil
}

// at returns element i in scan order; it is valid until the next call.
func (s *slices) at(i int64) backend.View {
	if s.reverse {
		i = s.count - 1 - i
	}
	v := backend.View{DType: s.view.DType, Shape: s.shape}
	if s.buf == nil {
		v.Data = s.view.Data[i*s.inner : (i+1)*s.inner]
		return v
	}
	for o := int64(0); o < s.outer; o++ {
		at := (o*s.count + i) * s.inner
		copy(s.buf[o*s.inner:(o+1)*s.inner], s.view.Data[at:at+s.inner])
	}
	v.Data = s.buf
	return v
}

// arrange stacks collected elements along another axis than the first, or in reverse.
func arrange(o *scanOutput, axis, dir int64) (tensor.Shape, []byte, error) {
	r := int64(len(o.shape)) + 1
	if axis < 0 {
		axis += r
	}
	if axis < 0 || axis >= r {
		return nil, nil, fmt.Errorf("axis: got %d, want one of a rank-%d output", axis, r)
	}
	shape := append(append(o.shape[:axis].Clone(), o.n), o.shape[axis:]...)
	outer, _ := o.shape[:axis].Elements()
	inner, _ := o.shape[axis:].Elements()
	inner *= int64(o.dtype.Bits() / 8)
	data := alloc(int64(len(o.data)))
	for i := int64(0); i < o.n; i++ {
		to := i
		if dir != 0 {
			to = o.n - 1 - i
		}
		for p := int64(0); p < outer; p++ {
			src := (i*outer + p) * inner
			dst := (p*o.n + to) * inner
			copy(data[dst:dst+inner], o.data[src:src+inner])
		}
	}
	return shape, data, nil
}

func (f *frame) runScan(ctx context.Context, s *plan.Step) error {
	p, err := newScanSpec(s)
	if err != nil {
		return err
	}
	n := s.Node
	carried := make([]backend.View, p.state)
	for j := range carried {
		carried[j] = f.view(n.Inputs[j])
	}
	ins := make([]*slices, p.inputs)
	for j := range ins {
		if ins[j], err = newSlices(f.view(n.Inputs[p.state+j]), p.inAxes[j], p.inDirs[j]); err != nil {
			return err
		}
		if ins[j].count != ins[0].count {
			return fmt.Errorf("scan input %d: got length %d, want %d as input 0", j, ins[j].count, ins[0].count)
		}
	}
	l := newLoopState(carried, p.outputs, 0)
	body := s.Control.Bodies[0]
	c := f.child(body)
	defer f.lane.release(c)
	for t := int64(0); t < ins[0].count; t++ {
		for j := range l.carried {
			c.views[body.Graph.Inputs[j]] = l.carried[j]
		}
		for j := range ins {
			c.views[body.Graph.Inputs[p.state+j]] = ins[j].at(t)
		}
		if err := f.body(ctx, c, l, t); err != nil {
			return fmt.Errorf("iteration %d: %w", t, err)
		}
		if err := l.turn(t > 0); err != nil {
			return err
		}
	}
	return f.finish(s, l, p.outAxes, p.outDirs)
}
