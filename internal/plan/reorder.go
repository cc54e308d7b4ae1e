package plan

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// reorderRow is the row of the operation that changes a layout: no graph has it.
var reorderRow = op.Row{Domain: op.Domain, Op: "Reorder"}

// reorder gives every operand of every item the instance that its option wants, and adds the items
// that change layouts: one for each value and layout that is not the one the value is made in. A
// change for the sake of an item comes right before the first that needs it, one for what has no
// choice right behind the maker.
func (c *compiler) reorder(b backend.Layout) {
	items := make([]item, 0, len(c.items)+8)
	for i := range c.items {
		it := &c.items[i]
		o := &it.options[it.pick]
		if o.blocked {
			it.in, it.out = c.instances(it.in, o.in), c.instances(it.out, o.out)
			captured := it.reads[len(it.reads)-it.captured:]
			it.reads = slices.Concat(present(it.in), captured)
		}
		for _, v := range it.in {
			if v != graph.NoValue && c.fate[v] == absent {
				items = append(items, c.change(c.inst[v].of, b, c.inst[v].layout))
			}
		}
		items = append(items, *it)
		for k, v := range it.out {
			if v == graph.NoValue || v == it.node.Outputs[k] {
				continue
			}
			of := it.node.Outputs[k]
			c.fate[v], c.fate[of] = c.fate[of], absent
			if c.outside[of] {
				items = append(items, c.change(of, b, backend.RowMajor))
			}
		}
	}
	c.items = items
}

func (c *compiler) instances(vs []graph.ValueID, ls []backend.Layout) []graph.ValueID {
	if ls == nil {
		return vs
	}
	out := make([]graph.ValueID, len(vs))
	for k, v := range vs {
		out[k] = c.in(v, at(ls, k))
	}
	return out
}

func present(vs []graph.ValueID) []graph.ValueID {
	out := make([]graph.ValueID, 0, len(vs))
	for _, v := range vs {
		if v != graph.NoValue {
			out = append(out, v)
		}
	}
	return out
}

// change returns the item that makes the instance of a value in layout to, which is row-major or
// blocks of b, from the other one.
func (c *compiler) change(v graph.ValueID, b, to backend.Layout) item {
	r := &reordering{}
	ns, est := c.reorderer(v, b, to, r)
	from := backend.RowMajor
	if to == backend.RowMajor {
		from = b
	}
	in, out := c.in(v, from), c.in(v, to)
	c.fate[out] = made
	ids := []graph.ValueID{in, out}
	it := item{node: &r.node, row: &reorderRow, in: ids[:1:1], out: ids[1:], reads: ids[:1:1], change: true, runner: -1,
		reason: "changes the layout", options: []option{{Candidate: r.kernel, ns: ns, estimate: est}}}
	if c.rowPart != nil && c.rowPart[v] {
		it.rows, it.sliced = c.of(v).shape[0], []bool{true}
	}
	return it
}
