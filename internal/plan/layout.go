package plan

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/tensor"
)

// class is a set of values that share the same bytes.
type class struct {
	// output is the graph output whose memory the class has, or −1.
	output int
	// base is the value that existed before the stage and whose memory the class has, or
	// graph.NoValue.
	base graph.ValueID
	// first and last are the steps between which the bytes must be kept.
	first, last int
	bytes       int64
	offset      int64
	keep        bool
}

// layout gives every value of a stage its place. Values are joined into classes by union-find
// before anything is placed.
type layout struct {
	c      *compiler
	parent []graph.ValueID
	class  []class
}

// newLayout makes one class for each value and joins the views.
func newLayout(c *compiler) *layout {
	n := len(c.u.Graph.Values)
	m := &layout{c: c, parent: make([]graph.ValueID, n), class: make([]class, n)}
	for i := range m.parent {
		m.parent[i] = graph.ValueID(i)
		m.class[i] = class{output: -1, base: graph.NoValue, first: -1, last: -1}
		if c.fate[i] == existing || c.fate[i] == fixed {
			m.class[i].base = graph.ValueID(i)
		}
	}
	for i := range c.items {
		if n := c.items[i].node; c.items[i].view {
			m.parent[n.Outputs[0]] = m.root(n.Inputs[0])
		}
	}
	m.lifetimes()
	return m
}

func (m *layout) root(v graph.ValueID) graph.ValueID {
	for m.parent[v] != v {
		m.parent[v] = m.parent[m.parent[v]]
		v = m.parent[v]
	}
	return v
}

func (m *layout) of(v graph.ValueID) *class { return &m.class[m.root(v)] }

// lifetimes finds the first and last step of every class. Views take no step of their own.
func (m *layout) lifetimes() {
	steps := m.c.stage.Steps
	for t := range steps {
		n := steps[t].Node
		for _, v := range n.Outputs {
			if v == graph.NoValue {
				continue
			}
			k := m.of(v)
			k.first, k.last = t, max(k.last, t)
			if m.c.fate[v] == made {
				k.bytes = m.c.size(v)
			}
		}
		for _, v := range n.Reads() {
			k := m.of(v)
			k.last = max(k.last, t)
		}
	}
	for v, carried := range m.c.carried {
		if carried && m.c.fate[v] != absent {
			k := m.of(graph.ValueID(v))
			k.last, k.keep = len(steps), true
		}
	}
}

// outputs gives each graph output that this stage makes to the caller's memory, or notes the
// copy that is needed when its bytes are somebody else's.
func (m *layout) outputs() {
	c := m.c
	for i, v := range c.u.Graph.Outputs {
		if c.fate[v] == absent || c.before[v] && c.b.prev != nil {
			continue
		}
		k := m.of(v)
		if k.base == graph.NoValue && k.output < 0 {
			k.output = i
			continue
		}
		c.stage.Copies = append(c.stage.Copies, Copy{Value: v, Output: i})
		k.last = len(c.stage.Steps)
	}
}

// inPlace lets steps overwrite an input that nothing reads any more.
func (m *layout) inPlace() {
	items := m.c.items
	t := -1
	for i := range items {
		if items[i].view {
			continue
		}
		t++
		n := items[i].node
		if len(items[i].row.InPlace) == 0 || m.c.fate[n.Outputs[0]] != made {
			continue
		}
		out := m.of(n.Outputs[0])
		if out.output >= 0 || out.bytes == 0 {
			continue
		}
		for _, j := range items[i].row.InPlace {
			if m.overwrite(t, n, j) {
				m.c.stage.Steps[t].InPlace = j
				break
			}
		}
	}
}

// overwrite joins the first output of step t with its input j when that is safe.
func (m *layout) overwrite(t int, n *graph.Node, j int) bool {
	in := n.Input(j)
	if in == graph.NoValue {
		return false
	}
	k, out := m.of(in), m.of(n.Outputs[0])
	if k.base != graph.NoValue || k.output >= 0 || k.keep || k.last != t || k.bytes != out.bytes || k.first < 0 ||
		m.c.dtype(in) == tensor.String {
		return false
	}
	r := m.root(in)
	for i, v := range n.Inputs {
		if i != j && v != graph.NoValue && m.root(v) == r {
			return false
		}
	}
	for i, v := range n.Outputs {
		if i > 0 && v != graph.NoValue && m.root(v) == r {
			return false
		}
	}
	k.last, k.keep = out.last, out.keep
	m.parent[m.root(n.Outputs[0])] = r
	return true
}

func (c *compiler) dtype(v graph.ValueID) tensor.DType { return c.inf.Fact(v).DType }

// slots writes the stage's list of values.
func (m *layout) slots() error {
	c := m.c
	listed := make([]bool, len(c.fate))
	for i := range c.items {
		n := c.items[i].node
		for _, v := range n.Reads() {
			if err := m.constSlot(v, listed); err != nil {
				return err
			}
		}
		for _, v := range n.Outputs {
			if v != graph.NoValue {
				c.stage.Slots = append(c.stage.Slots, m.slot(v, n))
			}
		}
	}
	for _, cp := range c.stage.Copies {
		if err := m.constSlot(cp.Value, listed); err != nil {
			return err
		}
	}
	for _, v := range c.wanted {
		if err := m.constSlot(v, listed); err != nil {
			return err
		}
	}
	return nil
}

// constSlot lists a value whose contents are known, the first time it is read.
func (m *layout) constSlot(v graph.ValueID, listed []bool) error {
	c := m.c
	if c.fate[v] != fixed || listed[v] {
		return nil
	}
	listed[v] = true
	t := infer.Contents(c.inf.Fact(v))
	if t == nil {
		panic("BUG: plan: fixed value without contents: " + c.u.Graph.Values[v].Name)
	}
	c.stage.Slots = append(c.stage.Slots, Slot{Value: v, Where: InConst, DType: t.DType(), Shape: t.Shape(),
		Const: t, Bytes: int64(len(t.Bytes())), Output: -1})
	return nil
}

// slot describes a value that a node of this stage makes.
func (m *layout) slot(v graph.ValueID, n *graph.Node) Slot {
	c := m.c
	dt, shape := c.typeOf(v)
	s := Slot{Value: v, DType: dt, Shape: shape, Base: graph.NoValue, Output: -1}
	if c.fate[v] == placed {
		s.Where, s.Shape = Placed, nil
		s.Output = m.of(v).output
		return s
	}
	s.Bytes = c.size(v)
	k := m.of(v)
	switch {
	case c.fate[v] == viewed && (k.base != graph.NoValue || k.output >= 0 || dt == tensor.String):
		s.Where, s.Base = InValue, n.Inputs[0]
	case k.output >= 0:
		s.Where, s.Output = InOutput, k.output
		_, s.OutShape = c.typeOf(c.u.Graph.Outputs[k.output])
	case dt == tensor.String:
		s.Where = Placed
	default:
		s.Where, s.Offset = InArena, k.offset
	}
	return s
}
