package backend

import (
	"fmt"
	"sync"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// Compose returns a candidate that runs the nodes of a Fused node's body one after the other,
// each by the row-major kernel that pick returns for it. What the nodes hand to each other lies in
// the output's memory, as far as that is free, and else in scratch memory.
func Compose(o *Op, name string, pick func(*Op) (Candidate, error)) (Candidate, error) {
	b, err := newBody(o)
	if err != nil {
		return Candidate{}, err
	}
	for _, n := range b.g.Nodes {
		if err := b.choose(n, pick); err != nil {
			return Candidate{}, fmt.Errorf("node %s: %w", n.Label(), err)
		}
	}
	b.place()
	s := &sequence{steps: b.steps}
	c := b.estimate()
	c.Name, c.Kernel, c.Scratch = name, s.run, b.scratch
	return c, nil
}

// body is the body of a Fused node while its kernel is made.
type body struct {
	o     *Op
	g     *graph.Graph
	facts []op.Fact
	// steps are the body's nodes but for those that only give a value another shape.
	steps []step
	cands []Candidate
	works []op.Work
	// span says where and how long each value lives; a view is another value's span.
	span    []*span
	scratch int64
	// over lists the inputs whose memory the first output may have.
	over []int
}

// span is the life of a range of memory.
type span struct {
	// input or output is the operand that has the memory, else −1.
	input, output int
	// first and last are the steps that write it first and read it last.
	first, last int
	offset      int64
	bytes       int64
	// inScratch says that the memory is scratch memory, and not the first output's.
	inScratch bool
	joined    *span
}

func (s *span) root() *span {
	for s.joined != nil {
		s = s.joined
	}
	return s
}

func newBody(o *Op) (*body, error) {
	g, facts, err := o.Body()
	if err != nil {
		return nil, err
	}
	b := &body{o: o, g: g, facts: facts, span: make([]*span, len(g.Values))}
	home := RowMajor.Bytes(o.Out[0].DType, o.Out[0].Shape)
	for _, i := range op.Lookup(o.Node.Domain, o.Node.Op).Overwrites(o.Node) {
		if a := &o.In[i]; a.Const == nil && RowMajor.Bytes(a.DType, a.Shape) == home {
			b.over = append(b.over, i)
		}
	}
	for i, v := range g.Inputs {
		b.span[v] = &span{input: i, output: -1, first: -1}
	}
	return b, nil
}

// choose adds a step for a node, unless its output can share its input's memory.
func (b *body) choose(n *graph.Node, pick func(*Op) (Candidate, error)) error {
	row := op.Lookup(n.Domain, n.Op)
	t := len(b.steps)
	for _, v := range n.Inputs {
		if v != graph.NoValue {
			s := b.span[v].root()
			s.last = max(s.last, t)
		}
	}
	m, err := b.operands(n)
	if err != nil {
		return err
	}
	if row.View && !b.isOutput(n.Outputs[0]) && len(n.Outputs) == 1 && m.Out[0].DType == m.In[0].DType {
		b.span[n.Outputs[0]] = b.span[n.Inputs[0]]
		return nil
	}
	c, err := pick(m)
	if err != nil {
		return err
	}
	st := step{node: n, kernel: c.Kernel, in: make([]operand, len(m.In)), out: make([]operand, len(m.Out))}
	for i, v := range n.Inputs {
		if v != graph.NoValue {
			st.in[i] = operand{value: v, view: View{DType: m.In[i].DType, Shape: m.In[i].Shape}}
		}
	}
	for i, v := range n.Outputs {
		if v != graph.NoValue {
			st.out[i] = operand{value: v, view: View{DType: m.Out[i].DType, Shape: m.Out[i].Shape}}
			b.span[v] = &span{input: -1, output: -1, first: t, last: t,
				bytes: RowMajor.Bytes(m.Out[i].DType, m.Out[i].Shape)}
		}
	}
	if c.Scratch > 0 {
		st.scratch = &span{input: -1, output: -1, first: t, last: t, bytes: c.Scratch, inScratch: true}
	}
	b.steps = append(b.steps, st)
	b.cands = append(b.cands, c)
	b.works = append(b.works, row.WorkOf(b.ctx(n)))
	return nil
}

func (b *body) isOutput(v graph.ValueID) bool {
	for _, o := range b.g.Outputs {
		if o == v {
			return true
		}
	}
	return false
}

// ctx returns a node with the facts of its operands.
func (b *body) ctx(n *graph.Node) *op.Ctx {
	c := &op.Ctx{Node: n, In: make([]op.Fact, len(n.Inputs)), Out: make([]op.Fact, len(n.Outputs))}
	for i, v := range n.Inputs {
		if v != graph.NoValue {
			c.In[i] = b.facts[v]
		}
	}
	for i, v := range n.Outputs {
		if v != graph.NoValue {
			c.Out[i] = b.facts[v]
		}
	}
	return c
}

// operands returns a node of the body with the types and shapes of its operands.
func (b *body) operands(n *graph.Node) (*Op, error) {
	m := &Op{Node: n, In: make([]Arg, len(n.Inputs)), Out: make([]Arg, len(n.Outputs)), Threads: b.o.Threads,
		Consts: b.o.Consts}
	set := func(a *Arg, v graph.ValueID) error {
		if v == graph.NoValue {
			return nil
		}
		f := &b.facts[v]
		s, ok := f.Shape.Concrete()
		if !ok {
			return fmt.Errorf("value %q: got shape %v, want one that is known", b.g.ValueName(v), f.Shape)
		}
		a.DType, a.Shape, a.Const = f.DType, s, f.Const
		return nil
	}
	for i, v := range n.Inputs {
		if err := set(&m.In[i], v); err != nil {
			return nil, err
		}
	}
	for i, v := range n.Outputs {
		if err := set(&m.Out[i], v); err != nil {
			return nil, err
		}
		m.Out[i].Const = nil
	}
	return m, nil
}

// estimate joins what is known of the speed of the body's kernels.
func (b *body) estimate() Candidate {
	const slow = 0.01
	share := func(s float64) float64 {
		if s <= 0 {
			return slow
		}
		return s
	}
	var flops, flopTime, bytes, byteTime float64
	c := Candidate{Source: "go"}
	for i := range b.steps {
		w, k := b.works[i], &b.cands[i]
		flops += w.FLOPs
		flopTime += w.FLOPs / share(k.Flops)
		bytes += w.Bytes
		byteTime += w.Bytes / share(k.Stream)
		c.Extra.Flops += k.Extra.Flops
		c.Extra.Bytes += k.Extra.Bytes
		if c.Revision += k.Revision; k.Source != "go" {
			c.Source = k.Source
		}
	}
	if flopTime > 0 {
		c.Flops = flops / flopTime
	}
	if byteTime > 0 {
		c.Stream = bytes / byteTime
	}
	boundary := 0.0
	for _, args := range [][]Arg{b.o.In, b.o.Out} {
		for i := range args {
			boundary += float64(max(0, RowMajor.Bytes(args[i].DType, args[i].Shape)))
		}
	}
	c.Extra.Bytes += max(0, bytes-boundary)
	return c
}

// sequence is the kernel of a body.
type sequence struct {
	steps []step
	mu    sync.Mutex
	idle  []*[]Call
}

// step is one kernel of a body.
type step struct {
	node    *graph.Node
	kernel  Kernel
	in, out []operand
	scratch *span
}

// operand is what a step reads or writes; the zero operand is absent.
type operand struct {
	value graph.ValueID
	view  View
	at    *span
}

// run executes the steps in order.
func (s *sequence) run(c *Call) error {
	calls := s.take()
	defer s.give(calls)
	for i := range s.steps {
		st, sub := &s.steps[i], &(*calls)[i]
		for k := range st.in {
			st.in[k].bind(&sub.In[k], c)
		}
		for k := range st.out {
			st.out[k].bind(&sub.Out[k], c)
		}
		if sub.Team = c.Team; st.scratch != nil {
			sub.Scratch = c.Scratch[st.scratch.offset:][:st.scratch.bytes]
		}
		if err := st.kernel(sub); err != nil {
			return fmt.Errorf("node %s: %w", st.node.Label(), err)
		}
	}
	return nil
}

// bind says where an operand is in a call.
func (o *operand) bind(v *View, c *Call) {
	if o.at == nil {
		return
	}
	*v = o.view
	switch at := o.at; {
	case at.input >= 0:
		v.Data, v.Strs = c.In[at.input].Data, c.In[at.input].Strs
	case at.inScratch:
		v.Data = c.Scratch[at.offset:][:at.bytes]
	default:
		v.Data, v.Strs = c.Out[at.output].Data, c.Out[at.output].Strs
	}
	if n := RowMajor.Bytes(v.DType, v.Shape); int64(len(v.Data)) > n {
		v.Data = v.Data[:n]
	}
}

// take returns calls that nobody uses.
func (s *sequence) take() *[]Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return c
	}
	calls := make([]Call, len(s.steps))
	for i := range calls {
		calls[i] = Call{In: make([]View, len(s.steps[i].in)), Out: make([]View, len(s.steps[i].out))}
	}
	return &calls
}

// give takes calls back, without what they point to.
func (s *sequence) give(calls *[]Call) {
	for i := range *calls {
		c := &(*calls)[i]
		clear(c.In)
		clear(c.Out)
		c.Scratch, c.Team = nil, nil
	}
	s.mu.Lock()
	s.idle = append(s.idle, calls)
	s.mu.Unlock()
}
