package plan

import (
	"fmt"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/infer"
	"github.com/stowage-ml/stowage/internal/op"
)

// option is one way to run an item.
type option struct {
	backend.Candidate
	// ns is the estimated time, and estimate where that comes from.
	ns       int64
	estimate string
	// in and out are the layouts of the item's operands, nil for row-major: those of the candidate
	// but for operands that have the same bytes in any layout.
	in, out []backend.Layout
	// blocked says that some operand is not row-major.
	blocked bool
	// device is where the option runs.
	device int
	// joins says that the item's operands may be one another's memory, so that no kernel runs.
	joins bool
}

// at returns entry i of a list of layouts; what it leaves out is row-major.
func at(list []backend.Layout, i int) backend.Layout {
	if i < len(list) {
		return list[i]
	}
	return backend.RowMajor
}

// pick is what was chosen for a node.
type pick struct {
	name    string
	device  int
	in, out []backend.Layout
}

// overwrites lists the inputs that the item's first output may be written over.
func (it *item) overwrites() []int {
	over := it.row.Overwrites(it.node)
	if k := it.options[it.pick].Over; len(k) > 0 {
		over = slices.Concat(over, k)
	}
	return over
}

// cost is the time that an option counts with in comparisons.
func (o *option) cost() int64 {
	if o.joins {
		return 0
	}
	return o.ns
}

// choose finds what can run each item, decides about layouts, and picks an option for each.
func (c *compiler) choose() error {
	c.splitRows()
	for i := range c.items {
		if err := c.offer(&c.items[i]); err != nil {
			return err
		}
	}
	if c.several() {
		if err := c.spread(); err != nil {
			return err
		}
	}
	b := c.block()
	if b != backend.RowMajor {
		c.offerBlocked(b)
		c.findOutside()
	}
	switch {
	case c.saved != nil:
		if err := c.take(); err != nil {
			return err
		}
	case c.like != nil:
		c.follow(c.like)
	case b != backend.RowMajor:
		if err := c.label(b); err != nil {
			return err
		}
	default:
		for i := range c.items {
			c.items[i].pick = c.items[i].cheapest(false)
			c.items[i].explain()
		}
	}
	if b != backend.RowMajor {
		c.reorder(b)
	}
	if c.several() {
		c.transfer()
	}
	return nil
}

// follow picks what another plan of the same nodes has picked, where it is on offer.
func (c *compiler) follow(like map[*graph.Node]pick) {
	for i := range c.items {
		it := &c.items[i]
		it.pick = max(it.cheapest(false), 0)
		want := like[it.node]
		for k := range it.options {
			if o := &it.options[k]; o.Name == want.name && slices.Equal(o.in, want.in) && slices.Equal(o.out, want.out) {
				it.pick = k
				break
			}
		}
		it.explain()
		it.reason = "as for the largest shapes"
	}
}

// cheapest returns the option of least cost with, or without, blocked operands, the first of those
// alike; −1 when there is none.
func (it *item) cheapest(blocked bool) int {
	best := -1
	for i := range it.options {
		if o := &it.options[i]; o.blocked == blocked && (best < 0 || o.cost() < it.options[best].cost()) {
			best = i
		}
	}
	return best
}

// offer asks the backend for the item's kernels.
func (c *compiler) offer(it *item) error {
	if it.view {
		it.options = []option{{joins: true}}
		return nil
	}
	n := it.node
	o := c.operation(it)
	if it.row.Control {
		it.options = []option{c.control(it, o)}
		return nil
	}
	if err := c.boundedOutputs(it); err != nil {
		return err
	}
	cands, err := c.u.backend.Candidates(o)
	if err != nil {
		return fmt.Errorf("plan: node %s: %w", n.Label(), err)
	}
	w := c.work(it)
	// The plan itself may have one more.
	it.options = make([]option, 0, len(cands)+1)
	for i := range cands {
		it.options = append(it.options, option{Candidate: cands[i]})
		p := &it.options[len(it.options)-1]
		if p.Precision > c.u.limits.Precision || !c.normalise(it, p) {
			it.options = it.options[:len(it.options)-1]
			continue
		}
		padded := w
		padded.Bytes += (padding(o.In, p.in) + padding(o.Out, p.out)) * float64(max(it.rows, 1))
		p.ns, p.estimate = c.estimate(it, o, padded, &p.Candidate)
		p.joins = !p.blocked && c.joinable(it, backend.RowMajor)
	}
	if it.cheapest(false) < 0 && it.cheapest(true) < 0 {
		return fmt.Errorf("plan: node %s: no kernel for inputs %s", n.Label(), describe(o.In))
	}
	return nil
}

// padding returns the bytes that layouts add to operands: the places of blocks that no channel has.
func padding(args []backend.Arg, layouts []backend.Layout) float64 {
	var n int64
	for i := range args {
		if i < len(layouts) && layouts[i] != backend.RowMajor && args[i].Shape != nil {
			n += layouts[i].Bytes(args[i].DType, args[i].Shape) - backend.RowMajor.Bytes(args[i].DType, args[i].Shape)
		}
	}
	return float64(n)
}

// control returns the only way to run a control node, whose time is known when it has been measured.
func (c *compiler) control(it *item, o *backend.Op) option {
	p := option{ns: -1, Candidate: ControlCandidate(it.node)}
	if m, ok := c.u.coster.(interface {
		Measured(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string, ok bool)
	}); ok {
		if ns, source, ok := m.Measured(o, c.work(it), &p.Candidate); ok {
			p.ns, p.estimate = ns, source
		}
	}
	return p
}

// ControlCandidate stands for the execution of a control node's bodies, which is no kernel.
func ControlCandidate(n *graph.Node) backend.Candidate {
	return backend.Candidate{Name: n.Op, Source: "go"}
}

// operation describes an item's node to a backend: what runs at once.
func (c *compiler) operation(it *item) *backend.Op {
	n := it.node
	args := make([]backend.Arg, len(n.Inputs)+len(n.Outputs))
	o := &backend.Op{Node: n, In: args[:len(n.Inputs):len(n.Inputs)], Out: args[len(n.Inputs):],
		Threads: c.threads(), Consts: c.u.limits.Consts}
	for i, v := range n.Inputs {
		o.In[i] = c.arg(v)
		if v == graph.NoValue || c.fate[v] != fixed {
			continue
		}
		o.In[i].Const = infer.Contents(c.inf.Fact(v))
		if c.u.Graph.Values[v].Const == nil {
			// The constant is this plan's, so what is made of it must go with the plan.
			o.Consts = nil
		}
	}
	for i, v := range n.Outputs {
		o.Out[i] = c.arg(v)
	}
	if it.rows > 0 {
		for i := range o.In {
			if it.sliced[i] {
				o.In[i].Shape = oneRow(o.In[i].Shape)
			}
		}
		for i := range o.Out {
			if o.Out[i].Present() {
				o.Out[i].Shape = oneRow(o.Out[i].Shape)
			}
		}
	}
	return o
}

// estimate is the time of an item by a candidate, given the work of all rows.
func (c *compiler) estimate(it *item, o *backend.Op, w op.Work, k *backend.Candidate) (ns int64, source string) {
	n := max(it.rows, 1)
	w.FLOPs, w.Bytes = w.FLOPs/float64(n), w.Bytes/float64(n)
	ns, source = c.timed(o, w, k)
	return ns * n, source
}

func (c *compiler) threads() int { return max(1, c.u.limits.Threads) }

func (c *compiler) arg(v graph.ValueID) backend.Arg {
	if v == graph.NoValue {
		return backend.Arg{}
	}
	k := c.of(v)
	return backend.Arg{DType: k.dtype, Shape: k.shape}
}

// normalise sets the layouts of an option, and reports whether the plan can give it its operands
// in them.
func (c *compiler) normalise(it *item, p *option) bool {
	var ok bool
	if p.in, ok = c.normal(it.node.Inputs, p.In); !ok {
		return false
	}
	if p.out, ok = c.normal(it.node.Outputs, p.Out); !ok {
		return false
	}
	p.blocked = p.in != nil || p.out != nil
	return true
}

func (c *compiler) normal(vs []graph.ValueID, ls []backend.Layout) (out []backend.Layout, ok bool) {
	for i, v := range vs {
		l := at(ls, i)
		if l == backend.RowMajor || v == graph.NoValue {
			continue
		}
		k := c.of(v)
		if c.fate[v] == fixed { // contents are there as they are, and no step changes their layout
			if !alike(l, k.shape) {
				return nil, false
			}
			continue
		}
		if !l.Fits(k.dtype, k.shape) || c.fate[v] == placed || k.layoutBytes(l) < 0 {
			return nil, false
		}
		if alike(l, k.shape) {
			continue
		}
		if !c.reorderable(v, l) {
			return nil, false
		}
		if out == nil {
			out = make([]backend.Layout, len(vs))
		}
		out[i] = l
	}
	return out, true
}

func (k *instance) layoutBytes(l backend.Layout) int64 { return l.Bytes(k.dtype, k.shape) }

// reorderable reports whether the backend changes the layout of a value, in both directions.
func (c *compiler) reorderable(v graph.ValueID, l backend.Layout) bool {
	r, ok := c.u.backend.(backend.Reorderer)
	if !ok {
		return false
	}
	k := c.of(v)
	if k.turns == l {
		return k.turned
	}
	_, there := r.Reorder(k.dtype, k.shape, backend.RowMajor, l, 1)
	_, back := r.Reorder(k.dtype, k.shape, l, backend.RowMajor, 1)
	k.turns, k.turned = l, there && back
	return k.turned
}

// block returns the block of most options; of those alike the larger. It is row-major when there is
// none. Options with another one are dropped.
func (c *compiler) block() backend.Layout {
	count := map[backend.Layout]int{}
	for i := range c.items {
		for j := range c.items[i].options {
			o := &c.items[i].options[j]
			for _, l := range o.in {
				count[l]++
			}
			for _, l := range o.out {
				count[l]++
			}
		}
	}
	best := backend.RowMajor
	for l, n := range count {
		if l != backend.RowMajor && (best == backend.RowMajor || n > count[best] || n == count[best] && l > best) {
			best = l
		}
	}
	if len(count) <= 2 {
		return best
	}
	for i := range c.items {
		it := &c.items[i]
		kept := it.options[:0]
		for _, o := range it.options {
			if !o.has(best) {
				continue
			}
			kept = append(kept, o)
		}
		it.options = kept
	}
	return best
}

// has reports whether every layout of the option is row-major or l.
func (o *option) has(l backend.Layout) bool {
	for _, ls := range [][]backend.Layout{o.in, o.out} {
		for _, k := range ls {
			if k != backend.RowMajor && k != l {
				return false
			}
		}
	}
	return true
}

// offerBlocked adds what the plan itself can do in blocks of b: views that leave the channels alone,
// and concatenations and splits at whole blocks.
func (c *compiler) offerBlocked(b backend.Layout) {
	for i := range c.items {
		it := &c.items[i]
		switch {
		case it.device != host:
		case it.view:
			c.blockedView(it, b)
		case it.row.Joins || it.row.Parts:
			c.blockedJoin(it, b)
		}
	}
}

func (c *compiler) blockedView(it *item, b backend.Layout) {
	v, w := it.node.Inputs[0], it.node.Outputs[0]
	if c.fate[v] == fixed {
		return
	}
	x, y := c.of(v), c.of(w)
	if !b.Fits(x.dtype, x.shape) || !b.Fits(y.dtype, y.shape) || x.shape[0] != y.shape[0] || x.shape[1] != y.shape[1] {
		return
	}
	p := option{joins: true, Candidate: backend.Candidate{In: []backend.Layout{b}, Out: []backend.Layout{b}}}
	if c.normalise(it, &p) && p.blocked {
		it.options = append(it.options, p)
	}
}

func (c *compiler) blockedJoin(it *item, b backend.Layout) {
	whole, parts := it.ends()
	axis, ok := c.axis(it)
	if !ok || len(it.options) == 0 || it.row.Parts && len(parts) < len(it.node.Outputs) {
		return
	}
	in, out := make([]backend.Layout, len(it.node.Inputs)), make([]backend.Layout, len(it.node.Outputs))
	for i := range in {
		in[i] = b
	}
	for i := range out {
		out[i] = b
	}
	if it.row.Parts {
		// The list of extents is not a tensor of the kind.
		in = in[:1]
	}
	for i, v := range parts {
		k := c.of(v)
		if c.fate[v] == fixed || !b.Fits(k.dtype, k.shape) ||
			axis == 1 && i < len(parts)-1 && k.shape[1]%int64(b) != 0 {
			return
		}
	}
	k := c.of(whole)
	if c.fate[whole] == fixed || !b.Fits(k.dtype, k.shape) {
		return
	}
	p := option{Candidate: backend.Candidate{Name: "blocks", Source: "go", In: in, Out: out, Stream: 0.5, Revision: 1,
		Kernel: rows(outside(b, k.shape, axis)/max(it.rows, 1), it.row.Joins)}}
	if !c.normalise(it, &p) || !p.blocked {
		return
	}
	p.joins = c.joinable(it, b)
	w := op.Work{Bytes: 2 * float64(k.layoutBytes(b))}
	p.ns, p.estimate = c.estimate(it, c.operation(it), w, &p.Candidate)
	it.options = append(it.options, p)
}
