package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/place"
)

// The labels among which a layout is chosen, as devices of a placement.
const (
	inRows = iota
	inBlocks
)

// port is one operand of an item.
type port struct{ item, operand int }

// wire is a value with who makes and who reads it, while layouts are chosen.
type wire struct {
	// home is the item that makes the value, and which of its outputs; item is −1 when the value
	// exists before the stage.
	home port
	// count is the number of readers.
	count   int
	readers []port
	// outside says that the value is read in row-major order by what has no choice.
	outside bool
	// ns is the time of a change of layout.
	ns int64
	// need counts the readers of each label, by the options picked, those outside included.
	need [2]int
}

// labeller chooses layouts: a placement of items on two labels, where copies are reorders, then a
// choice of kernels for each.
type labeller struct {
	c     *compiler
	block backend.Layout
	wires []wire
	// node is the number of each item that has a choice in the placement, −1 for the others.
	node []int
	// rep is the option that stands for an item's kernels in blocks, −1 where it has none.
	rep []int
	p   place.Problem
	// reorder is the change of layout that is being estimated.
	reorder reordering
	// base is the cost of the items that have no choice.
	base int64
}

// anchor is the node of the placement that stands for all items without a choice.
const anchor = 0

// label picks an option for each item.
func (c *compiler) label(b backend.Layout) error {
	l := &labeller{c: c, block: b, wires: make([]wire, len(c.u.Graph.Values)), node: make([]int, len(c.items))}
	l.connect()
	var best []int
	var least int64
	var found *place.Solution
	// Where kernels have operands in different layouts, a placement knows one kernel in blocks for
	// each node: so there are several, of the fastest, of those with most in blocks, and of the best so far.
	for round := range maxRounds {
		if !l.represent(round) {
			// The same placement again would end in the same picks.
			if round >= 2 {
				break
			}
			continue
		}
		sol, err := l.solve()
		if err != nil {
			return err
		}
		if ns := l.total(); found == nil || ns < least {
			best, least, found = l.picks(), ns, sol
		} else if round >= 2 {
			break
		}
		if l.exact() {
			break
		}
	}
	for i, k := range best {
		c.items[i].pick = k
	}
	l.count()
	l.report(found)
	return nil
}

// maxRounds bounds the number of placements.
const maxRounds = 5

// solve places with one kernel in blocks for each item, and lets each item improve on it.
func (l *labeller) solve() (*place.Solution, error) {
	c := l.c
	l.problem()
	sol, err := place.Solve(context.Background(), &l.p, place.Options{})
	if err != nil {
		return nil, fmt.Errorf("plan: layouts: %w", err)
	}
	if err := place.Validate(&l.p, sol); err != nil {
		return nil, fmt.Errorf("BUG: plan: layouts: %w", err)
	}
	for i := range c.items {
		it := &c.items[i]
		it.pick = it.cheapest(false)
		if n := l.node[i]; n >= 0 && sol.Device[n] == inBlocks {
			it.pick = l.rep[i]
		}
	}
	l.count()
	for l.improve() {
	}
	return sol, nil
}

// represent sets the kernel in blocks of each item: in round 0 the fastest, in round 1 the fastest of
// those with most operands in blocks, and then what was picked, where that is in blocks. It reports whether
// these are others than before.
func (l *labeller) represent(round int) (changed bool) {
	if changed = l.rep == nil; changed {
		l.rep = make([]int, len(l.c.items))
	}
	for i := range l.c.items {
		it := &l.c.items[i]
		rep := l.rep[i]
		switch {
		case round == 0:
			rep = it.cheapest(true)
		case round == 1:
			rep = it.mostBlocked()
		case it.options[it.pick].blocked:
			rep = it.pick
		}
		changed = changed || rep != l.rep[i]
		l.rep[i] = rep
	}
	return changed
}

// mostBlocked returns the option with most operands in blocks, the fastest of those alike; −1 when
// there is none.
func (it *item) mostBlocked() int {
	best, most := -1, 0
	for i := range it.options {
		o := &it.options[i]
		n := 0
		for _, ls := range [][]backend.Layout{o.in, o.out} {
			for _, k := range ls {
				if k != backend.RowMajor {
					n++
				}
			}
		}
		if n > most || n == most && n > 0 && o.cost() < it.options[best].cost() {
			best, most = i, n
		}
	}
	return best
}

// picks returns what is picked now.
func (l *labeller) picks() []int {
	out := make([]int, len(l.c.items))
	for i := range out {
		out[i] = l.c.items[i].pick
	}
	return out
}

// total is the time of what is picked, with all changes of layout.
func (l *labeller) total() (ns int64) {
	for i := range l.c.items {
		it := &l.c.items[i]
		ns += max(0, it.options[it.pick].cost())
	}
	for v := range l.wires {
		if w := &l.wires[v]; w.need[1-l.home(w)] > 0 {
			ns += w.ns
		}
	}
	return ns
}

// findOutside marks what is read in row-major order by what is not an item of the stage, or captured
// by one.
func (c *compiler) findOutside() {
	c.outside = slices.Clone(c.carried)
	for i := range c.items {
		it := &c.items[i]
		for _, v := range it.reads[len(it.reads)-it.captured:] {
			c.outside[v] = true
		}
	}
	for _, v := range c.u.Graph.Outputs {
		c.outside[v] = true
	}
	for i := range c.items {
		it := &c.items[i]
		if it.device == host {
			continue
		}
		for _, v := range it.node.Inputs {
			if v != graph.NoValue {
				c.outside[v] = true
			}
		}
	}
}

// connect finds makers, readers and the costs of reorders.
func (l *labeller) connect() {
	c := l.c
	for v := range l.wires {
		l.wires[v].home.item = -1
	}
	total := 0
	for i := range c.items {
		it := &c.items[i]
		for k, v := range it.node.Outputs {
			if v != graph.NoValue {
				l.wires[v].home = port{i, k}
			}
		}
		for _, v := range it.node.Inputs {
			if v != graph.NoValue && c.fate[v] != fixed {
				l.wires[v].count++
				total++
			}
		}
	}
	all := make([]port, total)
	for v := range l.wires {
		n := l.wires[v].count
		l.wires[v].readers, all = all[:0:n], all[n:]
	}
	for i := range c.items {
		for k, v := range c.items[i].node.Inputs {
			if v != graph.NoValue && c.fate[v] != fixed {
				l.wires[v].readers = append(l.wires[v].readers, port{i, k})
			}
		}
	}
	for v := range l.wires {
		l.wires[v].outside = c.outside[v]
	}
}

// layout returns the layout of an item's input, or output, by one of its options.
func (it *item) layout(option int, p port, out bool) backend.Layout {
	o := &it.options[option]
	if out {
		return at(o.out, p.operand)
	}
	return at(o.in, p.operand)
}

// problem writes the placement.
func (l *labeller) problem() {
	c := l.c
	l.base = 0
	l.p = place.Problem{Tensors: l.p.Tensors[:0], Devices: []string{"row-major", l.block.String()},
		Latency: [][]int64{{0, 0}, {0, 0}}, PerByte: [][]float64{{0, 1}, {1, 0}}, Exit: inRows,
		Nodes: append(l.p.Nodes[:0], place.Node{Name: "row-major", Cost: []int64{0, place.Cannot}})}
	costs := make([]int64, 2*len(c.items))
	for i := range c.items {
		it := &c.items[i]
		l.node[i] = -1
		row, blocked := it.cheapest(false), l.rep[i]
		if blocked < 0 {
			l.base += max(0, it.options[row].cost())
			continue
		}
		n := place.Node{Name: it.node.Op, Cost: costs[2*i : 2*i+2 : 2*i+2]}
		n.Cost[inRows], n.Cost[inBlocks] = place.Cannot, it.options[blocked].cost()
		if row >= 0 {
			n.Cost[inRows] = it.options[row].cost()
		}
		l.node[i] = len(l.p.Nodes)
		l.p.Nodes = append(l.p.Nodes, n)
	}
	for v := range l.wires {
		l.tensor(graph.ValueID(v))
	}
}

// follows returns the node whose label an operand has: that of its item when the item's kernel in
// blocks has the operand in blocks, else the anchor.
func (l *labeller) follows(p port, out bool) int {
	it := &l.c.items[p.item]
	if k := l.rep[p.item]; k >= 0 && it.layout(k, p, out) != backend.RowMajor {
		return l.node[p.item]
	}
	return anchor
}

// tensor adds a value to the placement, if any item can have it in blocks.
func (l *labeller) tensor(v graph.ValueID) {
	w := &l.wires[v]
	if !l.open(w) {
		return
	}
	if w.ns == 0 {
		w.ns = l.estimate(v)
	}
	t := place.Tensor{Name: l.c.name(v), From: place.Fixed, At: inRows, Bytes: w.ns, Out: w.outside}
	if w.home.item >= 0 {
		if n := l.follows(w.home, true); n != anchor {
			t.From = n
		}
	}
	moves := t.From >= 0
	t.To = make([]int, 0, len(w.readers))
	for _, r := range w.readers {
		n := l.follows(r, false)
		moves = moves || n != anchor
		t.To = append(t.To, n)
	}
	if moves && (len(t.To) > 0 || t.Out) {
		l.p.Tensors = append(l.p.Tensors, t)
	}
}

// open reports whether some option has the value in blocks.
func (l *labeller) open(w *wire) bool {
	in := func(p port, out bool) bool {
		it := &l.c.items[p.item]
		for k := range it.options {
			if it.layout(k, p, out) != backend.RowMajor {
				return true
			}
		}
		return false
	}
	if w.home.item >= 0 && in(w.home, true) {
		return true
	}
	for _, r := range w.readers {
		if in(r, false) {
			return true
		}
	}
	return false
}

// estimate is the time of a reorder of a value, the slower direction counting.
func (l *labeller) estimate(v graph.ValueID) int64 {
	there, _ := l.c.reorderer(v, l.block, backend.RowMajor, &l.reorder)
	back, _ := l.c.reorderer(v, l.block, l.block, &l.reorder)
	return max(there, back, 0)
}

// reordering is a change of layout: the node that stands for it and what it is asked of the backend with.
type reordering struct {
	node graph.Node
	op   backend.Op
	args [2]backend.Arg
	ids  [1]graph.ValueID
	// kernel is the way to do it.
	kernel backend.Candidate
}

// reorderer finds the kernel that changes a value's layout to row-major, or to blocks of b, and returns
// its estimate.
func (c *compiler) reorderer(v graph.ValueID, b, to backend.Layout, r *reordering) (ns int64, est string) {
	x := c.of(v)
	from := b
	if to != backend.RowMajor {
		from = backend.RowMajor
	}
	arg, rows := c.arg(v), int64(1)
	if c.rowPart != nil && c.rowPart[v] {
		arg.Shape, rows = oneRow(x.shape), x.shape[0]
	}
	var ok bool
	r.kernel, ok = c.u.backend.(backend.Reorderer).Reorder(x.dtype, arg.Shape, from, to, c.threads())
	if !ok {
		panic("BUG: plan: layout of " + c.name(v) + " cannot be changed")
	}
	r.ids[0] = v
	r.node = graph.Node{Domain: op.Domain, Op: "Reorder", Version: 1, Name: c.name(v), Inputs: r.ids[:], Outputs: r.ids[:]}
	r.args = [2]backend.Arg{arg, arg}
	r.op = backend.Op{Node: &r.node, In: r.args[:1], Out: r.args[1:], Threads: c.threads()}
	w := op.Work{Bytes: float64(x.layoutBytes(from)+x.layoutBytes(to)) / float64(rows)}
	ns, est = c.timed(&r.op, w, &r.kernel)
	return ns * rows, est
}

func labelOf(l backend.Layout) int {
	if l == backend.RowMajor {
		return inRows
	}
	return inBlocks
}

// count counts the readers of each label.
func (l *labeller) count() {
	for v := range l.wires {
		w := &l.wires[v]
		w.need = [2]int{}
		if w.outside {
			w.need[inRows]++
		}
		for _, r := range w.readers {
			it := &l.c.items[r.item]
			w.need[labelOf(it.layout(it.pick, r, false))]++
		}
	}
}

// home is the label of a value as it is made.
func (l *labeller) home(w *wire) int {
	if w.home.item < 0 {
		return inRows
	}
	it := &l.c.items[w.home.item]
	return labelOf(it.layout(it.pick, w.home, true))
}

// local is the time of item i by one of its options, with the reorders that it is the cause of, all
// others staying as they are; of is the first value that is reordered, or graph.NoValue. What the
// item has now must not be counted in need.
func (l *labeller) local(i, option int) (ns int64, of graph.ValueID) {
	it := &l.c.items[i]
	ns, of = max(0, it.options[option].cost()), graph.NoValue
	pay := func(v graph.ValueID, reordered bool) {
		if reordered {
			ns += l.wires[v].ns
			if of == graph.NoValue {
				of = v
			}
		}
	}
	for k, v := range it.node.Inputs {
		if v == graph.NoValue || l.c.fate[v] == fixed {
			continue
		}
		w, to := &l.wires[v], labelOf(it.layout(option, port{i, k}, false))
		pay(v, to != l.home(w) && w.need[to] == 0 && !l.again(it, option, k, to))
	}
	for k, v := range it.node.Outputs {
		if v != graph.NoValue {
			pay(v, l.wires[v].need[1-labelOf(it.layout(option, port{i, k}, true))] > 0)
		}
	}
	return ns, of
}

// again reports whether an input before k is the same value with the same label.
func (l *labeller) again(it *item, option, k, to int) bool {
	for j, v := range it.node.Inputs[:k] {
		if v == it.node.Inputs[k] && labelOf(it.layout(option, port{operand: j}, false)) == to {
			return true
		}
	}
	return false
}

// read adds d to the readers of the item's inputs.
func (l *labeller) read(i, d int) {
	it := &l.c.items[i]
	for k, v := range it.node.Inputs {
		if v != graph.NoValue && l.c.fate[v] != fixed {
			l.wires[v].need[labelOf(it.layout(it.pick, port{i, k}, false))] += d
		}
	}
}
