package plan

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/op"
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

	// inst, fate, before and carried have an entry for each instance of a value.
	inst []instance
	fate []fate
	// before marks what existed, or was known, when the stage started.
	before []bool
	// blocked is, for each value of the graph, its instance in blocks, or graph.NoValue.
	blocked []graph.ValueID
	// outside marks the values that something without a choice reads in row-major order.
	outside []bool
	// rowPart marks the values that lie in the rows of another one; nil when there is none.
	rowPart []bool
	items   []item
	rest    []*graph.Node
	// wanted lists values whose contents a deferred node's shape depends on.
	wanted []graph.ValueID
	// carried marks what must outlive the stage's steps: what deferred nodes read.
	carried []bool
	mem     *layout
	// remote holds the instances on devices beside the host.
	remote map[remoteKey]graph.ValueID
	// devices lists those beside the host, as they were when the compiler started.
	devices []Device
	// arm is what the stage is planned for.
	arm *Arm
	// hostToo says that the host may run what devices can, since they lack the memory.
	hostToo bool
	// counted is what the placement has put on each device, in its bytes.
	counted []int64
	guide
}

// item is a node that runs in this stage, or, as a view, leaves its results where they are; or a
// change of layout.
type item struct {
	node *graph.Node
	row  *op.Row
	view bool
	// change says that the item changes a layout.
	change bool
	// in and out are the instances of the node's inputs and outputs; reads those that must exist:
	// the inputs, and what subgraphs capture, of which there are captured, at the end.
	in, out, reads []graph.ValueID
	captured       int
	// rows is the number of rows one by one of which the item runs, 0 when it runs at once; sliced
	// says which of the node's inputs are in rows. joinRows says that the parts may lie in the
	// rows of the whole.
	rows     int64
	sliced   []bool
	joinRows bool
	// options are the ways to run the item, pick the one that was chosen and runner the next best,
	// −1 when there is none, which takes margin ns more.
	options      []option
	pick, runner int
	margin       int64
	reason       string
	// device is where the item runs, for the reason where; elsewhere is the device that would be next
	// and farther what it would add to the time.
	device           int
	where, elsewhere string
	farther          int64
	// transfer says that the item copies a value between two devices.
	transfer bool
	from, to int
}

func newItem(n *graph.Node, row *op.Row) item {
	it := item{node: n, row: row, in: n.Inputs, out: n.Outputs, reads: n.Reads(), runner: -1}
	it.captured = len(it.reads) - len(present(n.Inputs))
	return it
}

func newCompiler(u *Unit, b *Branch, inf *infer.Inferrer) *compiler {
	n := len(u.Graph.Values)
	c := &compiler{u: u, b: b, inf: inf, devices: u.devices(), arm: &u.arms[b.arm],
		stage: &Stage{ID: stages.Add(1), from: b}, inst: make([]instance, n),
		fate: make([]fate, n), carried: make([]bool, n), blocked: make([]graph.ValueID, n)}
	for i := range u.Graph.Values {
		c.inst[i].of, c.blocked[i] = graph.ValueID(i), graph.NoValue
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
	c.items = make([]item, 0, len(nodes))
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
	if err := c.choose(); err != nil {
		return err
	}
	c.mem = newLayout(c)
	c.stage.Steps = make([]Step, 0, len(c.items))
	for i := range c.items {
		c.addStep(&c.items[i])
	}
	for i := range c.stage.Steps {
		c.stage.spread = c.stage.spread || c.stage.Steps[i].DeviceIndex != host
	}
	c.stage.Values, c.stage.items = len(c.inst), c.items
	if err := c.mem.arrange(); err != nil {
		return err
	}
	if err := c.mem.bounded(); err != nil {
		return err
	}
	if err := c.mem.slots(); err != nil {
		return err
	}
	if err := c.verify(); err != nil {
		return err
	}
	if c.several() {
		c.waits()
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
		it := newItem(n, row)
		it.view = row.View && c.isView(n)
		c.items = append(c.items, it)
		if it.view {
			c.fate[n.Outputs[0]] = viewed
			return nil
		}
		c.setFates(n, made)
	case row.Dynamic || row.Control:
		c.items = append(c.items, newItem(n, row))
		c.setFates(n, made)
		for _, v := range n.Outputs {
			if v == graph.NoValue {
				continue
			}
			if !c.inf.Fact(v).Shape.IsConcrete() {
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
		if !c.inf.Fact(v).Shape.IsConcrete() {
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

// dropDead removes the nodes that nothing needs.
func (c *compiler) dropDead() {
	needed := append([]bool{}, c.carried...)
	for _, v := range c.u.Graph.Outputs {
		needed[v] = true
	}
	keep := make([]bool, len(c.items))
	for i := len(c.items) - 1; i >= 0; i-- {
		for _, v := range c.items[i].out {
			keep[i] = keep[i] || v != graph.NoValue && needed[v]
		}
		if keep[i] {
			for _, v := range c.items[i].reads {
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

// next makes the branch where planning goes on.
func (c *compiler) next() {
	if len(c.rest) == 0 {
		return
	}
	s := c.stage
	s.rest, s.facts = c.rest, map[graph.ValueID]op.Fact{}
	b := newBranch(c.u.limits.Keep)
	b.prev = s
	for i := range c.u.Graph.Values {
		v, f := graph.ValueID(i), c.fate[i]
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
