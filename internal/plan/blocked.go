package plan

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

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

// rows returns a kernel that copies the parts of a whole, each with so many rows, to or from their
// places side by side in the rows of the whole.
func rows(n int64, join bool) backend.Kernel {
	return func(c *backend.Call) error {
		whole, parts := &c.In[0], c.Out
		if join {
			whole, parts = &c.Out[0], c.In
		}
		if n == 0 || len(whole.Data) == 0 {
			return nil
		}
		at, pitch := 0, len(whole.Data)/int(n)
		for i := range parts {
			p := parts[i].Data
			w := len(p) / int(n)
			for r := range int(n) {
				x, y := whole.Data[r*pitch+at:r*pitch+at+w], p[r*w:r*w+w]
				if join {
					x, y = y, x
				}
				copy(y, x)
			}
			at += w
		}
		return nil
	}
}

// ends returns the whole and the parts of a concatenation or a split.
func (it *item) ends() (whole graph.ValueID, parts []graph.ValueID) {
	n := it.node
	if it.row.Joins {
		whole, parts = n.Outputs[0], n.Inputs
	} else {
		whole, parts = n.Inputs[0], n.Outputs
	}
	kept := make([]graph.ValueID, 0, len(parts))
	for _, v := range parts {
		if v != graph.NoValue {
			kept = append(kept, v)
		}
	}
	return whole, kept
}

// axis returns the axis of a concatenation or split of known shape.
func (c *compiler) axis(it *item) (axis int, ok bool) {
	whole, _ := it.ends()
	k := c.of(whole)
	axis = int(it.node.Attrs.Int("axis", 0))
	if axis < 0 {
		axis += len(k.shape)
	}
	return axis, k.shape != nil && axis >= 0 && axis < len(k.shape) && k.dtype != tensor.String && k.dtype.Bits()%8 == 0
}

// joinable reports whether, in a layout, the parts of a concatenation or a split lie one whole piece
// behind the other in the whole.
func (c *compiler) joinable(it *item, l backend.Layout) bool {
	if !it.row.Joins && !it.row.Parts {
		return false
	}
	axis, ok := c.axis(it)
	if !ok {
		return false
	}
	whole, _ := it.ends()
	n := outside(l, c.of(whole).shape, axis)
	return n == 1 || it.joinRows && n == it.rows
}
