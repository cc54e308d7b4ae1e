package plan

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

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
