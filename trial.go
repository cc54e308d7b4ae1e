package stowage

import (
	"time"
	"unsafe"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/cost"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/plan"
)

const (
	// patience is how long one kernel is timed on operands of one set of shapes, once it has fewest
	// samples; a kernel that is hopeless is timed once.
	patience = 150 * time.Millisecond
	fewest   = 3
	// hopeless is how many times slower than the plan's own kernel that is.
	hopeless = 8
	// warming is how long a first call may take to count as a warming up, which is not a sample.
	warming = 10 * time.Millisecond
)

// trial is one kernel on operands of one set of shapes.
type trial struct {
	considered
	// steps counts the plan's steps that run it.
	steps int
	// samples counts the calls, ns holds the times of those that count.
	samples int
	ns      []int64
	spent   time.Duration
	warm    bool
	// enough says that further times are not worth their while.
	enough bool
}

// subject is a step with the ways in which it could run, and the one whose turn it is.
type subject struct {
	own  *way
	ways []*way
	turn int
}

// way is a kernel made for one step; steps that are alike in all but their constants share a trial.
type way struct {
	*trial
	kernel backend.Kernel
}

func (t *trial) done(runs int) bool {
	return t.enough || len(t.ns) >= runs || t.spent >= patience && len(t.ns) >= fewest
}

// add notes a time; best is that of the plan's own kernel, 0 when that is not known.
func (t *trial) add(took time.Duration, best int64) {
	t.samples++
	t.spent += took
	if !t.warm && took < warming {
		t.warm = true
		return
	}
	t.warm = true
	t.ns = append(t.ns, max(took.Nanoseconds(), 1))
	t.enough = t.enough || best > 0 && t.ns[len(t.ns)-1] > hopeless*best
}

func (t *trial) report() KernelTime {
	r := cost.Record{Ns: t.ns}
	ns, spread := r.Typical()
	return KernelTime{Op: cost.OpName(t.op.Node), Operands: cost.Operands(t.op), Kernel: t.cand.Name,
		Source: t.cand.Source,
		Steps:  t.steps, EstNs: t.considered.ns, EstSource: t.estimate, MeasuredNs: ns, SpreadNs: spread, Samples: len(t.ns)}
}

// around is called in place of a step: it runs the kernel whose turn it is on the step's operands,
// between the steps before and after, so that the caches hold what they hold in a run.
func (c *calibrator) around(s *plan.Step, call *backend.Call, run func() error) error {
	sub := c.subject(s, call)
	t := sub.next(c.opts.Runs)
	if t == nil {
		return run()
	}
	if t == sub.own {
		beside := c.beside
		start := time.Now()
		err := run()
		if took := time.Since(start) - c.clock; beside == c.beside {
			t.add(took, 0)
		}
		return err
	}
	var best int64
	if sub.own != nil && len(sub.own.ns) > 0 {
		best = sub.own.ns[0]
	}
	took, err := c.aside(t, call)
	if err != nil {
		return err
	}
	t.add(took, best)
	c.beside++
	return run()
}

// next returns the way whose turn it is; nil when all are done.
func (s *subject) next(runs int) *way {
	for range s.ways {
		t := s.ways[s.turn%len(s.ways)]
		s.turn++
		if !t.done(runs) {
			return t
		}
	}
	return nil
}

// subject finds the kernels that the plan considered for a step.
func (c *calibrator) subject(s *plan.Step, call *backend.Call) *subject {
	sub := c.subjects[s]
	if sub != nil {
		return sub
	}
	sub = &subject{}
	c.subjects[s] = sub
	if s.EstNs > 0 {
		c.before += s.EstNs
	}
	in := shapesOfViews(call.In)
	for _, x := range c.recorder.seen[nodeKey{s.Node, in}] {
		t := c.trials[x.key]
		if t == nil {
			t = &trial{considered: x}
			c.trials[x.key] = t
			c.order = append(c.order, t)
		}
		w := &way{trial: t, kernel: x.cand.Kernel}
		if sub.own == nil && isOwn(s, &x) {
			sub.own = w
			t.steps++
		}
		sub.ways = append(sub.ways, w)
	}
	return sub
}

// isOwn reports whether a kernel is the one that the step runs.
func isOwn(s *plan.Step, x *considered) bool {
	if s.Control != nil || s.Reorder {
		return true
	}
	if s.Name != x.cand.Name || s.Source != x.cand.Source {
		return false
	}
	return alike(s.Node.Inputs, s.In, x.op.In, x.cand.In) && alike(s.Node.Outputs, s.Out, x.op.Out, x.cand.Out)
}

// alike reports whether the instances that a step has of a node's values are in the layouts of a
// kernel.
func alike(values, instances []graph.ValueID, args []backend.Arg, layouts []backend.Layout) bool {
	for i, l := range layouts {
		if i >= len(values) || i >= len(instances) || args[i].Const != nil || l == backend.RowMajor {
			continue
		}
		n, _ := args[i].Shape.Elements()
		bytes, _ := args[i].DType.ByteSize(n)
		if values[i] == instances[i] && l.Bytes(args[i].DType, args[i].Shape) != bytes {
			return false
		}
	}
	return true
}

// aside runs a kernel on copies of a step's operands, where its layouts differ, and into memory of
// its own.
func (c *calibrator) aside(t *way, call *backend.Call) (time.Duration, error) {
	side := *call
	side.Place = side.Alloc
	c.spare.used = 0
	side.In, side.Out = make([]backend.View, len(call.In)), make([]backend.View, len(call.Out))
	for i := range call.In {
		side.In[i] = call.In[i]
		have, size := call.In[i].Data, layoutBytes(&t.op.In[i], t.cand.In, i)
		switch {
		case size < 0 || len(have) == 0:
		case size <= int64(len(have)):
			side.In[i].Data = have[:size:size]
		default:
			side.In[i].Data = c.spare.take(size)
			for b := side.In[i].Data; len(b) > 0; {
				b = b[copy(b, have):]
			}
		}
	}
	for i := range call.Out {
		v := call.Out[i]
		if size := layoutBytes(&t.op.Out[i], t.cand.Out, i); size >= 0 {
			v.Data = c.spare.take(size)
			v.Strs = make([]string, len(v.Strs))
		}
		side.Out[i] = v
	}
	side.Scratch = c.spare.take(t.cand.Scratch)
	start := time.Now()
	err := t.kernel(&side)
	return time.Since(start) - c.clock, err
}

// layoutBytes is the size of operand i in a kernel's layout; −1 when it has no shape, or cannot be in
// another layout than it is.
func layoutBytes(a *backend.Arg, layouts []backend.Layout, i int) int64 {
	if a.Shape == nil || a.Const != nil {
		return -1
	}
	l := backend.RowMajor
	if i < len(layouts) {
		l = layouts[i]
	}
	return l.Bytes(a.DType, a.Shape)
}

// spare is memory that is used again and again, as an arena is.
type spare struct {
	blocks [][]byte
	used   int
}

// take returns n bytes, aligned as an arena is, until used is set back.
func (s *spare) take(n int64) []byte {
	if s.used == len(s.blocks) {
		s.blocks = append(s.blocks, nil)
	}
	b := &s.blocks[s.used]
	s.used++
	if int64(len(*b)) < n {
		*b = make([]byte, n+plan.Align)
		at := -uintptr(unsafe.Pointer(unsafe.SliceData(*b))) % plan.Align
		*b = (*b)[at:]
	}
	return (*b)[:n:n]
}
