package plan

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// fate is what becomes of a value in the stage being planned.
type fate uint8

const (
	// absent: not computed yet, and not computed by this stage.
	absent fate = iota
	// existing: there before the stage starts.
	existing
	// fixed: contents known while planning.
	fixed
	// viewed: another value's memory under another shape.
	viewed
	// made: written by a step, in memory that the plan gives it.
	made
	// placed: written by a step, in memory that it asks for.
	placed
)

// compiler plans one stage.
type compiler struct {
	u     *Unit
	b     *Branch
	inf   *infer.Inferrer
	stage *Stage

	fate []fate
	// before marks what existed, or was known, when the stage started.
	before []bool
	items  []item
	rest   []*graph.Node
	// wanted lists values whose contents a deferred node's shape depends on.
	wanted []graph.ValueID
	// carried marks what must outlive the stage's steps: what deferred nodes read.
	carried []bool
	mem     *layout
}

// item is a node that runs in this stage, or, as a view, leaves its results where they are.
type item struct {
	node *graph.Node
	row  *op.Row
	view bool
}

func newCompiler(u *Unit, b *Branch, inf *infer.Inferrer) *compiler {
	n := len(u.Graph.Values)
	c := &compiler{u: u, b: b, inf: inf, stage: &Stage{}, fate: make([]fate, n), carried: make([]bool, n)}
	for i := range u.Graph.Values {
		if u.Graph.Values[i].Const != nil {
			c.fate[i] = fixed
		}
	}
	if b.prev != nil {
		for v, f := range b.prev.facts {
			c.fate[v] = existing
			if infer.Known(&f) {
				c.fate[v] = fixed
			}
		}
	}
	for _, v := range b.Shapes {
		c.fate[v] = existing
	}
	c.before = make([]bool, n)
	for v, f := range c.fate {
		c.before[v] = f != absent
	}
	return c
}

// run plans the nodes, which are in order, and fills in the stage.
func (c *compiler) run(nodes []*graph.Node) error {
	for _, n := range nodes {
		if err := c.classify(n); err != nil {
			return err
		}
	}
	for _, n := range c.rest {
		for _, v := range n.Reads() {
			c.carried[v] = true
		}
	}
	c.dropDead()
	c.mem = newLayout(c)
	c.stage.Steps = make([]Step, 0, len(c.items))
	for i := range c.items {
		if err := c.addStep(&c.items[i]); err != nil {
			return err
		}
	}
	c.mem.lifetimes()
	c.mem.outputs()
	c.mem.inPlace()
	if err := c.mem.solve(); err != nil {
		return err
	}
	if err := c.mem.bounded(); err != nil {
		return err
	}
	if err := c.mem.slots(); err != nil {
		return err
	}
	c.next()
	return nil
}

// classify decides whether a node is folded, runs in this stage, or waits for the next one.
func (c *compiler) classify(n *graph.Node) error {
	for _, v := range n.Reads() {
		if c.fate[v] == absent || c.fate[v] == placed {
			c.rest = append(c.rest, n)
			return nil
		}
	}
	if err := c.inf.Node(n); err != nil {
		return err
	}
	row := op.Lookup(n.Domain, n.Op)
	if row == nil {
		return fmt.Errorf("plan: node %s: operator of opset %d is not supported", n.Label(), n.Version)
	}
	switch {
	case c.allKnown(n):
		c.setFates(n, fixed)
	case c.concrete(n):
		it := item{node: n, row: row, view: row.View && c.isView(n)}
		c.items = append(c.items, it)
		if it.view {
			c.fate[n.Outputs[0]] = viewed
			return nil
		}
		c.setFates(n, made)
	case row.Dynamic || row.Control:
		c.items = append(c.items, item{node: n, row: row})
		c.setFates(n, made)
		for _, v := range n.Outputs {
			if v == graph.NoValue {
				continue
			}
			if _, ok := c.inf.Fact(v).Shape.Concrete(); !ok {
				c.fate[v] = placed
			}
		}
	case c.want(n, row):
		c.rest = append(c.rest, n)
	default:
		return fmt.Errorf("plan: node %s: the shape of its output cannot be inferred: got %v",
			n.Label(), c.inf.Fact(n.Outputs[0]).Shape)
	}
	return nil
}

// setFates gives every output of a node a fate; outputs with known contents are fixed anyway.
func (c *compiler) setFates(n *graph.Node, f fate) {
	for _, v := range n.Outputs {
		if v != graph.NoValue {
			c.fate[v] = f
		}
	}
}

func (c *compiler) allKnown(n *graph.Node) bool {
	for _, v := range n.Outputs {
		if v != graph.NoValue && infer.Contents(c.inf.Fact(v)) == nil {
			return false
		}
	}
	return true
}

func (c *compiler) concrete(n *graph.Node) bool {
	for _, v := range n.Outputs {
		if v == graph.NoValue {
			continue
		}
		if _, ok := c.inf.Fact(v).Shape.Concrete(); !ok {
			return false
		}
	}
	return true
}

// isView reports whether the node's only used output can share its input's bytes.
func (c *compiler) isView(n *graph.Node) bool {
	in, out := c.inf.Fact(n.Inputs[0]), c.inf.Fact(n.Outputs[0])
	for _, v := range n.Outputs[1:] {
		if v != graph.NoValue {
			return false
		}
	}
	return in.DType == out.DType && c.size(n.Inputs[0]) == c.size(n.Outputs[0])
}

// want notes the unknown inputs that decide the node's shape; false when there are none.
func (c *compiler) want(n *graph.Node, row *op.Row) bool {
	found := false
	for _, i := range row.Contents {
		v := n.Input(i)
		if v == graph.NoValue || infer.Known(c.inf.Fact(v)) {
			continue
		}
		c.wanted = append(c.wanted, v)
		c.carried[v] = true
		found = true
	}
	return found
}

// size returns the bytes of a value with a concrete shape; strings count 0.
func (c *compiler) size(v graph.ValueID) int64 {
	f := c.inf.Fact(v)
	s, _ := f.Shape.Concrete()
	n, _ := s.Elements()
	size, _ := f.DType.ByteSize(n)
	return size
}

// dropDead removes the nodes that nothing needs.
func (c *compiler) dropDead() {
	needed := append([]bool{}, c.carried...)
	for _, v := range c.u.Graph.Outputs {
		needed[v] = true
	}
	keep := make([]bool, len(c.items))
	for i := len(c.items) - 1; i >= 0; i-- {
		n := c.items[i].node
		for _, v := range n.Outputs {
			keep[i] = keep[i] || v != graph.NoValue && needed[v]
		}
		if keep[i] {
			for _, v := range n.Reads() {
				needed[v] = true
			}
		}
	}
	live := c.items[:0]
	for i, it := range c.items {
		if keep[i] {
			live = append(live, it)
		} else {
			c.setFates(it.node, absent)
		}
	}
	c.items = live
}

// addStep chooses a kernel for an item that is not a view.
func (c *compiler) addStep(it *item) error {
	if it.view {
		return nil
	}
	n := it.node
	s := Step{Node: n, InPlace: -1, Device: "cpu"}
	if it.row.Control {
		s.Name, s.Source = n.Op, "go"
		s.Reason = "runs its bodies"
		s.Control = &Control{Bodies: c.u.Bodies[n], Taken: c.taken(n)}
		c.stage.Steps = append(c.stage.Steps, s)
		return nil
	}
	o := backend.Op{Node: n, In: make([]backend.Arg, len(n.Inputs)), Out: make([]backend.Arg, len(n.Outputs))}
	o.Threads = c.u.limits.Threads
	for i, v := range n.Inputs {
		o.In[i] = c.arg(v)
		if v != graph.NoValue && c.fate[v] == fixed {
			o.In[i].Const = infer.Contents(c.inf.Fact(v))
		}
	}
	for i, v := range n.Outputs {
		o.Out[i] = c.arg(v)
	}
	cands, err := c.u.backend.Candidates(&o)
	if err != nil {
		return fmt.Errorf("plan: node %s: %w", n.Label(), err)
	}
	if len(cands) == 0 {
		return fmt.Errorf("plan: node %s: no kernel for inputs %s", n.Label(), describe(o.In))
	}
	k := cands[0]
	s.Kernel, s.Name, s.Source, s.ScratchBytes = k.Kernel, k.Name, k.Source, k.Scratch
	s.Reason = "only kernel"
	c.stage.Steps = append(c.stage.Steps, s)
	return nil
}

// taken returns the index of the body of an If whose condition is known, else −1.
func (c *compiler) taken(n *graph.Node) int {
	if n.Op != "If" {
		return -1
	}
	cond, ok := c.inf.Fact(n.Inputs[0]).Ints()
	if !ok || len(cond) != 1 {
		return -1
	}
	// Bodies are in order of attribute name: else_branch, then_branch.
	if cond[0] != 0 {
		return 1
	}
	return 0
}

func (c *compiler) arg(v graph.ValueID) backend.Arg {
	if v == graph.NoValue {
		return backend.Arg{}
	}
	f := c.inf.Fact(v)
	s, _ := f.Shape.Concrete()
	return backend.Arg{DType: f.DType, Shape: s}
}

func describe(args []backend.Arg) string {
	out := ""
	for i := range args {
		if i > 0 {
			out += ", "
		}
		if args[i].Present() {
			out += args[i].DType.String() + args[i].Shape.String()
		} else {
			out += "none"
		}
	}
	return out
}

// next makes the branch where planning goes on.
func (c *compiler) next() {
	if len(c.rest) == 0 {
		return
	}
	s := c.stage
	s.rest, s.facts = c.rest, map[graph.ValueID]op.Fact{}
	b := newBranch(c.u.limits.Keep)
	b.prev = s
	for i, f := range c.fate {
		v := graph.ValueID(i)
		switch {
		case f == placed:
			b.Shapes = append(b.Shapes, v)
		case f != absent && c.u.Graph.Values[v].Const == nil:
			s.facts[v] = *c.inf.Fact(v)
		}
	}
	seen := map[graph.ValueID]bool{}
	for _, v := range c.wanted {
		if !seen[v] {
			seen[v] = true
			b.Contents = append(b.Contents, v)
		}
	}
	s.Next = b
}

// typeOf returns the element type and concrete shape of a value.
func (c *compiler) typeOf(v graph.ValueID) (tensor.DType, tensor.Shape) {
	f := c.inf.Fact(v)
	s, _ := f.Shape.Concrete()
	return f.DType, s
}
