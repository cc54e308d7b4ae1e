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

// span is the steps between which a value must be kept; first is −1 when no step makes it.
type span struct{ first, last int }

// layout gives every value of a stage its place. Values are joined into classes by union-find
// before anything is placed; each knows how many bytes behind its class's first byte it starts.
type layout struct {
	c      *compiler
	parent []graph.ValueID
	shift  []int64
	class  []class
	// spans holds the lifetime of each value by itself.
	spans []span
	// parted says that the parts of a class have lifetimes of their own, so that others may lie where one
	// is not yet written or no longer read.
	parted bool
	// lined marks the values that lie in the rows of another one, pitch holds the bytes of a whole
	// row of each class that has such values. cut marks classes with parts one behind the other.
	lined []bool
	pitch []int64
	cut   []bool
	// result marks the graph's outputs.
	result []bool
}

// newLayout makes one class for each value, and joins the views and what is concatenated or
// split without a copy.
func newLayout(c *compiler) *layout {
	n := len(c.inst)
	m := &layout{c: c, parent: make([]graph.ValueID, n), shift: make([]int64, n), class: make([]class, n),
		spans: make([]span, n), result: make([]bool, n), lined: make([]bool, n),
		pitch: make([]int64, n), cut: make([]bool, n)}
	for i := range m.parent {
		m.parent[i] = graph.ValueID(i)
		m.class[i] = class{output: -1, base: graph.NoValue}
		if c.fate[i] == existing || c.fate[i] == fixed {
			m.class[i].base = graph.ValueID(i)
		}
	}
	for _, v := range c.u.Graph.Outputs {
		m.result[v] = true
	}
	for i := range c.items {
		it := &c.items[i]
		switch {
		case it.view:
			m.join(it.out[0], it.in[0], 0)
		case !it.options[it.pick].joins:
		case it.row.Joins:
			it.view = m.concat(it)
		case it.row.Parts:
			it.view = m.split(it)
		}
	}
	return m
}

// root returns the value that stands for v's class.
func (m *layout) root(v graph.ValueID) graph.ValueID {
	if p := m.parent[v]; p != v {
		r := m.root(p)
		if r != p {
			m.shift[v] += m.shift[p]
			m.parent[v] = r
		}
	}
	return m.parent[v]
}

// at returns how many bytes behind the first of its class v starts.
func (m *layout) at(v graph.ValueID) int64 {
	m.root(v)
	return m.shift[v]
}

func (m *layout) of(v graph.ValueID) *class { return &m.class[m.root(v)] }

// join puts the class of v into that of base, so that v starts shift bytes behind base.
func (m *layout) join(v, base graph.ValueID, shift int64) {
	r, to := m.root(v), m.root(base)
	m.shift[r] = m.at(base) + shift - m.at(v)
	m.parent[r] = to
	if m.pitch[to] == 0 {
		m.pitch[to] = m.pitch[r]
	}
}

// lifetimes finds the first and last step of every value and class. Views take no step of their own.
func (m *layout) lifetimes() {
	for i := range m.class {
		k := &m.class[i]
		k.first, k.last, k.bytes, k.output, k.keep = -1, -1, 0, -1, false
		m.spans[i] = span{-1, -1}
	}
	steps := m.c.stage.Steps
	for t := range steps {
		for _, v := range steps[t].Out {
			if v == graph.NoValue {
				continue
			}
			k := m.of(v)
			if k.first < 0 {
				k.first = t
			}
			m.spans[v].first = t
			m.read(v, t)
			if m.c.fate[v] == made {
				k.bytes = max(k.bytes, m.at(v)+m.span(v))
			}
		}
		for _, v := range steps[t].reads {
			m.read(v, t)
		}
	}
	for v, carried := range m.c.carried {
		if carried && m.c.fate[v] != absent {
			m.read(graph.ValueID(v), len(steps))
			m.of(graph.ValueID(v)).keep = true
		}
	}
}

// read notes that a value is needed at step t.
func (m *layout) read(v graph.ValueID, t int) {
	k := m.of(v)
	k.last, m.spans[v].last = max(k.last, t), max(m.spans[v].last, t)
}

// outputs gives each graph output that this stage makes to the caller's memory, or notes the
// copy that is needed when its bytes are somebody else's.
func (m *layout) outputs() {
	c := m.c
	c.stage.Copies = nil
	for i, v := range c.u.Graph.Outputs {
		if c.fate[v] == absent || c.before[v] && c.b.prev != nil {
			continue
		}
		k := m.of(v)
		whole := c.fate[v] == placed || m.at(v) == 0 && c.size(v) == k.bytes
		if k.base == graph.NoValue && k.output < 0 && whole {
			k.output = i
			continue
		}
		c.stage.Copies = append(c.stage.Copies, Copy{Value: v, Output: i})
		m.read(v, len(c.stage.Steps))
	}
}

// inPlace lets steps overwrite an input that nothing reads any more.
func (m *layout) inPlace() {
	for t := range m.c.stage.Steps {
		m.c.stage.Steps[t].InPlace = -1
		it := m.c.stage.Steps[t].item
		over := it.overwrites()
		if len(over) == 0 || m.c.fate[it.out[0]] != made || m.c.size(it.out[0]) == 0 {
			continue
		}
		for _, j := range over {
			if m.overwrite(t, it, j) {
				m.c.stage.Steps[t].InPlace = j
				break
			}
		}
	}
}

// overwrite joins the first output of step t with its input j when that is safe: the input's
// class is as large as the output, is nobody else's memory, and is read last by this step, once.
func (m *layout) overwrite(t int, it *item, j int) bool {
	if j >= len(it.in) || it.in[j] == graph.NoValue {
		return false
	}
	in, v := it.in[j], it.out[0]
	k, out, r := m.of(in), m.of(v), m.root(in)
	if k.base != graph.NoValue || k.output >= 0 || k.keep || k.last != t || k.bytes != m.c.size(v) || k.first < 0 ||
		out.output >= 0 || m.at(in) != 0 || m.c.size(in) != m.c.size(v) || m.c.of(in).dtype == tensor.String ||
		m.c.inst[in].layout != m.c.inst[v].layout || m.c.inst[in].device != m.c.inst[v].device ||
		m.lined[in] || m.lined[v] || m.pitch[r] != 0 && out.bytes != m.c.size(v) {
		return false
	}
	for i, v := range it.in {
		if i != j && v != graph.NoValue && m.root(v) == r {
			return false
		}
	}
	for i, v := range it.out {
		if i > 0 && v != graph.NoValue && m.root(v) == r {
			return false
		}
	}
	out.first = min(out.first, k.first)
	m.join(r, v, 0)
	return true
}

// slots writes the stage's list of values.
func (m *layout) slots() error {
	c := m.c
	listed := make([]bool, len(c.fate))
	c.stage.Slots = make([]Slot, 0, m.count())
	for i := range c.items {
		for _, v := range c.items[i].reads {
			if err := m.constSlot(v, listed); err != nil {
				return err
			}
		}
		for _, v := range c.items[i].out {
			if v != graph.NoValue {
				c.stage.Slots = append(c.stage.Slots, m.slot(v))
			}
		}
	}
	for t := range c.stage.Steps {
		if s := &c.stage.Steps[t]; s.Rows > 0 {
			s.RowIn, s.RowOut = m.rowsOf(s.item, s.In, s.item.sliced), m.rowsOf(s.item, s.Out, nil)
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

// count returns how many values the steps and views make or read.
func (m *layout) count() int {
	n := 0
	counted := make([]bool, len(m.c.fate))
	for i := range m.c.items {
		it := &m.c.items[i]
		for _, v := range it.out {
			if v != graph.NoValue {
				n++
			}
		}
		for _, v := range it.reads {
			if m.c.fate[v] == fixed && !counted[v] {
				counted[v] = true
				n++
			}
		}
	}
	return n
}

// constSlot lists a value whose contents are known, the first time it is read.
func (m *layout) constSlot(v graph.ValueID, listed []bool) error {
	c := m.c
	if c.fate[v] != fixed || listed[v] {
		return nil
	}
	listed[v] = true
	t := infer.Contents(c.inf.Fact(c.inst[v].of))
	if t == nil {
		panic("BUG: plan: fixed value without contents: " + c.name(v))
	}
	c.stage.Slots = append(c.stage.Slots, Slot{Value: v, Of: c.inst[v].of, Device: c.inst[v].device, Where: InConst,
		Own: c.u.Graph.Values[c.inst[v].of].Const == nil, DType: t.DType(), Shape: t.Shape(), Const: t,
		Bytes: int64(len(t.Bytes())), Span: int64(len(t.Bytes())), Output: -1})
	return nil
}

// slot describes a value that a node of this stage makes.
func (m *layout) slot(v graph.ValueID) Slot {
	c := m.c
	x := c.of(v)
	dt := x.dtype
	s := Slot{Value: v, Of: x.of, Layout: x.layout, Device: x.device, DType: dt, Shape: x.shape,
		Base: graph.NoValue, Output: -1}
	if c.fate[v] == placed {
		s.Where, s.Shape = Placed, nil
		s.Output = m.of(v).output
		return s
	}
	s.Bytes, s.Span, s.Offset = c.size(v), m.span(v), m.at(v)
	if m.lined[v] {
		s.Pitch = m.pitch[m.root(v)]
	}
	k := m.of(v)
	switch {
	case k.base != graph.NoValue || dt == tensor.String && m.root(v) != v:
		s.Where, s.Base = InValue, m.root(v)
	case k.output >= 0:
		s.Where, s.Output = InOutput, k.output
		s.OutShape = c.of(c.u.Graph.Outputs[k.output]).shape
	case dt == tensor.String:
		s.Where = Placed
	default:
		s.Where, s.Offset = InArena, k.offset+m.at(v)
	}
	return s
}
