package graph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-ml/stowage/tensor"
)

// Patch is a change to a graph, found by a pass and made by Apply. Ids and nodes are those of the
// graph that it is applied to.
type Patch struct {
	// Name says which pass made it; it is in Apply's errors.
	Name string
	// Values are new values. The first has the id len(g.Values); see NewValue.
	Values []Value
	// Replace says what is read instead of a value: by nodes, subgraphs and outputs, also by the
	// nodes that the patch itself adds. A replacement may be replaced in turn.
	Replace map[ValueID]ValueID
	// Const makes values constants, whatever computed them before.
	Const map[ValueID]*tensor.Tensor
	// Swap puts a node in the place of another. Its outputs may be the other's.
	Swap map[*Node]*Node
	// Remove lists nodes to drop. A node of which nothing is read any more need not be listed.
	Remove []*Node
	// Insert lists nodes to add; Apply finds a place for each.
	Insert []*Node
	// Sparse leaves a zero Value in the place of each that is left out, so that ids stay what they were and
	// nodes that do not change are shared. Such a graph is no valid one until a patch without it is applied.
	Sparse bool
	// Reuse says that the graph that the patch is for is not needed any more, so that the result may have its
	// lists.
	Reuse bool
}

// NewValue adds a value to the patch and returns the id that it has in the patched graph's nodes;
// g is the graph that the patch is for.
func (p *Patch) NewValue(g *Graph, v Value) ValueID {
	p.Values = append(p.Values, v)
	return ValueID(len(g.Values) + len(p.Values) - 1)
}

// Empty reports whether the patch changes nothing.
func (p *Patch) Empty() bool {
	return len(p.Replace) == 0 && len(p.Const) == 0 && len(p.Swap) == 0 && len(p.Remove) == 0 && len(p.Insert) == 0
}

// Apply returns the patched graph. g is not changed; what is the same in both is shared. Ids are
// numbered anew, unless the patch is Sparse.
//
//   - Nodes keep their order as far as what they read allows; an added node stands before the
//     first that reads from it.
//   - Nodes, values and captures that no output depends on are left out; inputs stay.
//   - Outputs keep their number, order and names. The value that takes an output's place takes its
//     name. Where it cannot, because it is an input, a capture or another output, an Identity node
//     stands between; a constant has a twin of the output's name.
//   - A new value whose name is taken gets a number behind it.
//
// It takes time in proportion to the graph. It fails when an id is out of range, replacements form
// a ring, nodes form a cycle, a node reads what nothing computes, two nodes compute one value, or
// an input is to be a constant.
func Apply(g *Graph, p *Patch) (*Graph, error) {
	values := g.Values
	if !p.Reuse {
		values = make([]Value, 0, len(g.Values)+len(p.Values)+len(p.Const)+len(g.Outputs))
		values = append(values, g.Values...)
	}
	e := &edit{g: g, p: p, old: len(g.Values), values: append(values, p.Values...)}
	out, err := e.apply()
	if err != nil {
		return nil, fmt.Errorf("graph: patch %q: %w", p.Name, err)
	}
	return out, nil
}

// edit is a patch being applied.
type edit struct {
	g *Graph
	p *Patch
	// old is the number of the graph's own values.
	old int
	// values are the old ones, the patch's, and those that Apply itself needs.
	values []Value
	// to is what is read instead of each value.
	to    []ValueID
	nodes []*Node
	// base marks what is there before any node: inputs, captures and constants.
	base []bool
	// outputs are the graph's, after replacement; named holds the names that they must have.
	outputs []ValueID
	named   map[ValueID]string
	// source is the index in nodes of what computes each value, or −1.
	source []int
	// buf is memory for reads.
	buf []ValueID
}

func (e *edit) apply() (*Graph, error) {
	if err := e.checkValues(); err != nil {
		return nil, err
	}
	if err := e.listNodes(); err != nil {
		return nil, err
	}
	e.constants()
	if err := e.redirect(); err != nil {
		return nil, err
	}
	e.placeOutputs()
	if err := e.findSources(); err != nil {
		return nil, err
	}
	live, err := e.live()
	if err != nil {
		return nil, err
	}
	order, err := e.order(live)
	if err != nil {
		return nil, err
	}
	return e.build(order), nil
}

func (e *edit) name(id ValueID) string { return e.values[id].Name }

func (e *edit) inRange(what string, ids ...ValueID) error {
	for _, id := range ids {
		if id != NoValue && (id < 0 || int(id) >= len(e.values)) {
			return fmt.Errorf("%s: got value %d of %d", what, id, len(e.values))
		}
	}
	return nil
}

func (e *edit) checkValues() error {
	for _, id := range slices.Sorted(maps.Keys(e.p.Replace)) {
		by := e.p.Replace[id]
		if err := e.inRange("replacement", id, by); err != nil {
			return err
		}
		if id == NoValue || by == NoValue || e.p.Const[id] != nil {
			return fmt.Errorf("replacement of value %d by %d: got no value or a constant too", id, by)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.p.Const)) {
		if err := e.inRange("constant", id); err != nil {
			return err
		}
		if id == NoValue || e.p.Const[id] == nil || slices.Contains(e.g.Inputs, id) {
			return fmt.Errorf("constant for value %d: got an input, no value or no contents", id)
		}
	}
	return nil
}

// listNodes makes the list of nodes in their order before sorting: those of g, swapped in place,
// then those inserted.
func (e *edit) listNodes() error {
	removed := make(map[*Node]bool, len(e.p.Remove))
	for _, n := range e.p.Remove {
		removed[n] = true
	}
	left := len(removed) + len(e.p.Swap)
	if e.nodes = e.g.Nodes[:0]; !e.p.Reuse {
		e.nodes = make([]*Node, 0, len(e.g.Nodes)+len(e.p.Insert)+len(e.g.Outputs))
	}
	for _, n := range e.g.Nodes {
		by, swapped := e.p.Swap[n]
		if swapped {
			left--
		}
		switch {
		case removed[n]:
			left--
		case swapped:
			e.nodes = append(e.nodes, by)
		default:
			e.nodes = append(e.nodes, n)
		}
	}
	if left > 0 {
		return fmt.Errorf("got %d nodes to remove or swap that are not in the graph", left)
	}
	e.nodes = append(e.nodes, e.p.Insert...)
	var ids []ValueID
	for _, n := range e.nodes {
		ids = n.appendReads(append(append(ids[:0], n.Inputs...), n.Outputs...))
		if e.inRange("", ids...) != nil {
			return e.inRange(n.Label(), ids...)
		}
	}
	return nil
}

// constants makes a value for each new constant and notes that it is read instead of the old one.
func (e *edit) constants() {
	e.to = make([]ValueID, len(e.values), cap(e.values))
	for i := range e.to {
		e.to[i] = ValueID(i)
	}
	for _, id := range slices.Sorted(maps.Keys(e.p.Const)) {
		t := e.p.Const[id]
		typ := Type{DType: t.DType(), Shape: Of(t.Shape()...)}
		e.to[id] = e.add(Value{Name: e.name(id), Type: typ, Const: t})
	}
}

func (e *edit) add(v Value) ValueID {
	id := ValueID(len(e.values))
	e.values, e.to = append(e.values, v), append(e.to, id)
	return id
}

// redirect follows replacements of replacements.
func (e *edit) redirect() error {
	done := make(map[ValueID]bool, len(e.p.Replace))
	for _, first := range slices.Sorted(maps.Keys(e.p.Replace)) {
		var path []ValueID
		id := first
		for by, ok := e.p.Replace[id]; ok && !done[id]; by, ok = e.p.Replace[id] {
			if path = append(path, id); len(path) > len(e.p.Replace) {
				return fmt.Errorf("value %q: got a ring of replacements", e.name(first))
			}
			id = by
		}
		for _, from := range path {
			e.to[from], done[from] = e.to[id], true
		}
	}
	return nil
}

// placeOutputs decides which value each output is, and what it is called.
func (e *edit) placeOutputs() {
	e.base = make([]bool, len(e.values), len(e.values)+len(e.g.Outputs))
	for i := range e.values {
		e.base[i] = e.values[i].Const != nil
	}
	for _, id := range e.g.Inputs {
		e.base[id] = true
	}
	for _, c := range e.g.Captures {
		e.base[c.Inner] = true
	}
	e.named = make(map[ValueID]string, len(e.g.Outputs))
	for _, o := range e.g.Outputs {
		if e.to[o] == o {
			e.named[o] = e.name(o)
		}
	}
	placed := make(map[ValueID]ValueID, len(e.g.Outputs))
	for _, o := range e.g.Outputs {
		id, ok := placed[o]
		if !ok {
			id = e.placeOutput(o)
			placed[o] = id
		}
		e.outputs = append(e.outputs, id)
	}
}

// placeOutput returns the value that stands for output o.
func (e *edit) placeOutput(o ValueID) ValueID {
	by, name := e.to[o], e.name(o)
	if by == o {
		return o
	}
	_, taken := e.named[by]
	v := &e.values[by]
	switch {
	case v.Const != nil && (taken || v.Name != name):
		by = e.add(Value{Name: name, Type: v.Type, Const: v.Const})
		e.base = append(e.base, true)
	case taken || e.base[by] && v.Const == nil:
		from := by
		by = e.add(Value{Name: name, Type: e.values[o].Type})
		e.base = append(e.base, false)
		e.nodes = append(e.nodes, &Node{
			Op: "Identity", Version: e.version(), Name: name, Inputs: []ValueID{from}, Outputs: []ValueID{by},
		})
	default:
		if v.DType == tensor.Undefined {
			v.DType = e.values[o].DType
		}
		if v.Shape == nil {
			v.Shape = e.values[o].Shape
		}
	}
	e.named[by] = name
	return by
}

// version returns the version of the standard operators that the graph's nodes use; 13, in which
// Identity takes every tensor, when it has none.
func (e *edit) version() int {
	for _, n := range e.nodes {
		if n.Domain == "" && n.Version > 0 {
			return n.Version
		}
	}
	return 13
}

func (e *edit) findSources() error {
	e.source = make([]int, len(e.values))
	for i := range e.source {
		e.source[i] = -1
	}
	for i, n := range e.nodes {
		for _, id := range n.Outputs {
			switch {
			case id == NoValue:
			case e.source[id] >= 0 || e.base[id]:
				return fmt.Errorf("%s: value %q: got a second source", n.Label(), e.name(id))
			default:
				e.source[id] = i
			}
		}
	}
	return nil
}

// reads returns what node i reads, after replacement; the next call overwrites it.
func (e *edit) reads(i int) []ValueID {
	e.buf = e.nodes[i].appendReads(e.buf[:0])
	for k, id := range e.buf {
		e.buf[k] = e.to[id]
	}
	return e.buf
}

// live marks the nodes that the outputs depend on.
func (e *edit) live() ([]bool, error) {
	live := make([]bool, len(e.nodes))
	var todo []int
	visit := func(id ValueID) error {
		i := e.source[id]
		if i < 0 && !e.base[id] {
			return fmt.Errorf("value %q: got a read of what nothing computes", e.name(id))
		}
		if i >= 0 && !live[i] {
			live[i] = true
			todo = append(todo, i)
		}
		return nil
	}
	for i, id := range e.outputs {
		if err := visit(id); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, id := range e.reads(i) {
			if err := visit(id); err != nil {
				return nil, fmt.Errorf("%s: %w", e.nodes[i].Label(), err)
			}
		}
	}
	return live, nil
}

// order sorts the live nodes: each right after the last that it must wait for, or where it was.
func (e *edit) order(live []bool) ([]int, error) {
	const (
		waiting = iota
		open
		done
	)
	state := make([]uint8, len(e.nodes))
	order := make([]int, 0, len(e.nodes))
	var stack []int
	for first := range e.nodes {
		if !live[first] || state[first] == done {
			continue
		}
		stack = append(stack, first)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if state[i] == done {
				stack = stack[:len(stack)-1]
				continue
			}
			if state[i] == open {
				state[i] = done
				order = append(order, i)
				stack = stack[:len(stack)-1]
				continue
			}
			state[i] = open
			reads := e.reads(i)
			for k := len(reads) - 1; k >= 0; k-- {
				j := e.source[reads[k]]
				if j < 0 || state[j] == done {
					continue
				}
				if state[j] == open {
					return nil, fmt.Errorf("%s: value %q: got a cycle", e.nodes[i].Label(), e.name(reads[k]))
				}
				stack = append(stack, j)
			}
		}
	}
	return order, nil
}
