package arena

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrOrder is the kind of an error about an order that is none: a node that comes before one that
// it needs, a node that is missing, or a result that is not an order's.
var ErrOrder = errors.New("bad order")

// DAG is operations, and the values that they make and read: what Schedule orders. Nodes are listed
// in an order in which they can run, the given order. Values and nodes are named by their index.
type DAG struct {
	Nodes  []Node
	Values []Value
}

// Node is an operation.
type Node struct {
	// Name is for people.
	Name string
	// Reads and Makes are values, After is nodes that must run before.
	Reads, Makes, After []int
	// Scratch is a number of bytes that the node needs while it runs.
	Scratch int64
}

// Value is what one node makes, or what is there from the beginning. It is live from the node that
// makes it to the last that reads it, both included, and takes Size bytes; padding is the caller's
// to add.
type Value struct {
	Name string
	Size int64
	// Keep says that the value is live to the end.
	Keep bool
	// Of, when set, is a value of the same size whose bytes these are: a view. The node that makes
	// the view reads that value, or makes it too.
	Of *int
	// Over lists values of the same size that the maker reads, over any of which it may write this
	// one: it does if nobody needs those bytes any more, the first such value counting.
	Over []int
}

// dagModel is a checked DAG.
type dagModel struct {
	d *DAG
	// maker is the node that makes each value, −1 for those from the beginning.
	maker []int32
	// class is the storage of each value.
	class   []int32
	classes []dagClass
	// pre and post are the nodes right before and right behind each node, in order.
	pre, post [][]int32
	// overs are the values of a node that may be written over others.
	overs [][]dagOver
	// begins are the classes of which a node makes a value, ends those that may end with it.
	begins, ends [][]int32
}

// dagClass is values that share their bytes.
type dagClass struct {
	size   int64
	keep   bool
	makers []int32
	// input says that it is there from the beginning.
	input bool
	// users are the nodes that make or read it, the last in the given order first.
	users []int32
}

// dagOver is a value, and those over which it may be written.
type dagOver struct {
	value int32
	from  []int32
}

func (d *DAG) failValue(kind error, v int, format string, args ...any) error {
	name := ""
	if v >= 0 && v < len(d.Values) {
		name = d.Values[v].Name
	}
	return &Error{Kind: kind, Buffer: label(name, v), Index: v, Detail: fmt.Sprintf(format, args...)}
}

func (d *DAG) failNode(kind error, n int, format string, args ...any) error {
	return &Error{Kind: kind, Index: -1, Detail: fmt.Sprintf("node %q: ", d.node(n)) + fmt.Sprintf(format, args...)}
}

// node is the name of node n.
func (d *DAG) node(n int) string { return label(d.Nodes[n].Name, n) }

// check finds what is wrong with a DAG, and merges what shares bytes.
func (d *DAG) check() (*dagModel, error) {
	m := &dagModel{d: d, maker: make([]int32, len(d.Values))}
	for _, step := range []func() error{m.sizes, m.makers, m.edges, m.views} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	m.share()
	m.spread()
	return m, nil
}

// sizes checks sizes and indices.
func (m *dagModel) sizes() error {
	d := m.d
	var sum int64
	for v := range d.Values {
		size := d.Values[v].Size
		if size < 0 || size > math.MaxInt64-sum {
			return d.failValue(ErrSize, v, "size: got %d B behind %d B, want at least 0 B and a sum of at most 63 bits",
				size, sum)
		}
		sum += size
	}
	for n := range d.Nodes {
		node := &d.Nodes[n]
		if node.Scratch < 0 || node.Scratch > math.MaxInt64-sum {
			return d.failNode(ErrSize, n, "scratch: got %d B behind %d B, want at least 0 B and a sum of at most 63 bits",
				node.Scratch, sum)
		}
		for _, list := range [][]int{node.Reads, node.Makes} {
			for _, v := range list {
				if v < 0 || v >= len(d.Values) {
					return d.failNode(ErrIndex, n, "got value %d, want one of %d", v, len(d.Values))
				}
			}
		}
	}
	return nil
}

// makers finds the node that makes each value.
func (m *dagModel) makers() error {
	for v := range m.maker {
		m.maker[v] = -1
	}
	for n := range m.d.Nodes {
		for _, v := range m.d.Nodes[n].Makes {
			if first := m.maker[v]; first >= 0 {
				return m.d.failValue(ErrOrder, v, "is made by node %q and node %q, want one", m.d.node(int(first)), m.d.node(n))
			}
			m.maker[v] = int32(n)
		}
	}
	return nil
}

// edges finds what must run before what.
func (m *dagModel) edges() error {
	d := m.d
	m.pre, m.post = make([][]int32, len(d.Nodes)), make([][]int32, len(d.Nodes))
	for n := range d.Nodes {
		for _, v := range d.Nodes[n].Reads {
			from := int(m.maker[v])
			if from >= n {
				return d.failNode(ErrOrder, n, "reads %q, which node %q makes: want it listed before",
					label(d.Values[v].Name, v), d.node(from))
			}
			if from >= 0 {
				m.pre[n] = append(m.pre[n], int32(from))
			}
		}
		for _, from := range d.Nodes[n].After {
			if from < 0 || from >= n {
				return d.failNode(ErrOrder, n, "runs after node %d, want one listed before", from)
			}
			m.pre[n] = append(m.pre[n], int32(from))
		}
		slices.Sort(m.pre[n])
		m.pre[n] = slices.Compact(m.pre[n])
		for _, from := range m.pre[n] {
			m.post[from] = append(m.post[from], int32(n))
		}
	}
	return nil
}

// views checks what values are over or of others, and makes the classes.
func (m *dagModel) views() error {
	d := m.d
	m.class = make([]int32, len(d.Values))
	for v := range d.Values {
		m.class[v] = int32(v)
	}
	root := func(v int32) int32 {
		for m.class[v] != v {
			m.class[v] = m.class[m.class[v]]
			v = m.class[v]
		}
		return v
	}
	for v := range d.Values {
		val := &d.Values[v]
		for _, u := range val.Over {
			if err := m.checkShared(v, u, "over", false); err != nil {
				return err
			}
		}
		if val.Of == nil {
			continue
		}
		if err := m.checkShared(v, *val.Of, "of", true); err != nil {
			return err
		}
		x, y := root(int32(v)), root(int32(*val.Of))
		m.class[max(x, y)] = min(x, y)
	}
	for v := range d.Values {
		m.class[v] = root(int32(v))
	}
	return nil
}

// checkShared finds why value v cannot have the bytes of value u.
func (m *dagModel) checkShared(v, u int, how string, view bool) error {
	d := m.d
	if u < 0 || u >= len(d.Values) || u == v {
		return d.failValue(ErrIndex, v, "%s: got value %d, want another one of %d", how, u, len(d.Values))
	}
	if d.Values[u].Size != d.Values[v].Size {
		return d.failValue(ErrAlias, v, "%s %q: got %d B, want its size, %d B", how, label(d.Values[u].Name, u),
			d.Values[v].Size, d.Values[u].Size)
	}
	by := m.maker[v]
	ok := by < 0 && view && m.maker[u] < 0 ||
		by >= 0 && (slices.Contains(d.Nodes[by].Reads, u) || view && m.maker[u] == by)
	if !ok {
		return d.failValue(ErrAlias, v, "%s %q: want the node that makes the one to read the other", how,
			label(d.Values[u].Name, u))
	}
	return nil
}

// share collects the classes' makers and users.
func (m *dagModel) share() {
	d := m.d
	index := make([]int32, len(d.Values))
	for v := range d.Values {
		r := m.class[v]
		if int(r) == v {
			index[v] = int32(len(m.classes))
			m.classes = append(m.classes, dagClass{size: d.Values[v].Size})
		}
		m.class[v] = index[r]
		c := &m.classes[index[r]]
		c.keep = c.keep || d.Values[v].Keep
		c.input = c.input || m.maker[v] < 0
	}
	m.begins, m.ends = make([][]int32, len(d.Nodes)), make([][]int32, len(d.Nodes))
	for n := len(d.Nodes) - 1; n >= 0; n-- {
		for _, v := range d.Nodes[n].Makes {
			m.begins[n] = append(m.begins[n], m.class[v])
		}
		m.begins[n] = sorted(m.begins[n])
		for _, c := range m.begins[n] {
			m.classes[c].makers = append(m.classes[c].makers, int32(n))
		}
		m.ends[n] = slices.Clone(m.begins[n])
		for _, v := range d.Nodes[n].Reads {
			m.ends[n] = append(m.ends[n], m.class[v])
		}
		m.ends[n] = sorted(m.ends[n])
		for _, c := range m.ends[n] {
			m.classes[c].users = append(m.classes[c].users, int32(n))
		}
		m.ends[n] = slices.DeleteFunc(m.ends[n], func(c int32) bool { return m.classes[c].keep })
	}
}

// spread collects the values that may be written over others.
func (m *dagModel) spread() {
	d := m.d
	m.overs = make([][]dagOver, len(d.Nodes))
	for n := range d.Nodes {
		for _, v := range d.Nodes[n].Makes {
			o := dagOver{value: int32(v)}
			for _, u := range d.Values[v].Over {
				if c := m.class[u]; c != m.class[v] && !m.classes[c].keep {
					o.from = append(o.from, int32(u))
				}
			}
			if o.from != nil {
				m.overs[n] = append(m.overs[n], o)
			}
		}
	}
}

// sorted returns the list in order, each element once.
func sorted(list []int32) []int32 {
	slices.Sort(list)
	return slices.Compact(list)
}

// begin is the number of bytes that are live before the first node.
func (m *dagModel) begin() (sum int64) {
	for i := range m.classes {
		if c := &m.classes[i]; c.input && (c.keep || len(c.users) > 0) {
			sum += c.size
		}
	}
	return sum
}

// Problem returns the problem of placing the values, and the nodes' scratch behind them, when the
// nodes run in that order: node order[t] at time t. Buffer v is value v. With an alignment of 1, as
// much is live at once as the order's peak says.
func (d *DAG) Problem(order []int) (*Problem, error) {
	m, err := d.check()
	if err != nil {
		return nil, err
	}
	at, err := d.positions(order)
	if err != nil {
		return nil, err
	}
	p := &Problem{}
	for v := range d.Values {
		b := Buffer{Name: d.Values[v].Name, Size: d.Values[v].Size}
		if by := m.maker[v]; by >= 0 {
			b.Start, b.End = at[by], at[by]+1
		}
		if d.Values[v].Keep {
			b.End = max(int64(len(order)), 1)
		}
		p.Buffers = append(p.Buffers, b)
		if of := d.Values[v].Of; of != nil {
			p.Aliases = append(p.Aliases, Alias{Out: v, In: *of})
		}
	}
	for n := range d.Nodes {
		for _, v := range d.Nodes[n].Reads {
			p.Buffers[v].End = max(p.Buffers[v].End, at[n]+1)
		}
		if s := d.Nodes[n].Scratch; s > 0 {
			p.Buffers = append(p.Buffers, Buffer{Name: d.node(n) + " scratch", Size: s, Start: at[n], End: at[n] + 1})
		}
	}
	m.overwrite(p, at)
	return p, nil
}

// positions returns when each node runs.
func (d *DAG) positions(order []int) ([]int64, error) {
	at := make([]int64, len(d.Nodes))
	for n := range at {
		at[n] = -1
	}
	if len(order) != len(d.Nodes) {
		return nil, d.failOrder("got %d nodes, want %d", len(order), len(d.Nodes))
	}
	for t, n := range order {
		if n < 0 || n >= len(d.Nodes) || at[n] >= 0 {
			return nil, d.failOrder("got node %d at %d, want each of %d once", n, t, len(d.Nodes))
		}
		at[n] = int64(t)
	}
	return at, nil
}

func (d *DAG) failOrder(format string, args ...any) error {
	return &Error{Kind: ErrOrder, Index: -1, Detail: "order: " + fmt.Sprintf(format, args...)}
}

// overwrite adds the aliases of the values that are written over others.
func (m *dagModel) overwrite(p *Problem, at []int64) {
	taken, placed := make([]bool, len(m.classes)), make([]bool, len(m.classes))
	for n := range m.d.Nodes {
		earlier := func(by int32) bool { return at[by] < at[n] }
		later := func(by int32) bool { return at[by] > at[n] }
		for _, o := range m.overs[n] {
			c := &m.classes[m.class[o.value]]
			if c.input || placed[m.class[o.value]] || slices.ContainsFunc(c.makers, earlier) {
				continue
			}
			for _, u := range o.from {
				f := m.class[u]
				if taken[f] || slices.ContainsFunc(m.classes[f].users, later) {
					continue
				}
				taken[f], placed[m.class[o.value]] = true, true
				p.Aliases = append(p.Aliases, Alias{Out: int(o.value), In: int(u)})
				break
			}
		}
	}
}
