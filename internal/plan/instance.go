package plan

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// instance is a value in one layout on one device. The graph's own values are row-major, on the host,
// and keep their numbers; those in other layouts or on other devices, which exist during one stage only,
// are numbered behind them.
type instance struct {
	of     graph.ValueID
	layout backend.Layout
	device int
	dtype  tensor.DType
	// shape is nil when only the run tells it; bytes counts the instance's own layout, and strings 0.
	shape tensor.Shape
	bytes int64
	// typed says that the type has been looked up.
	typed bool
	// turns is a layout of which the backend has said whether it changes the value to and from it, and turned
	// what it said.
	turns  backend.Layout
	turned bool
}

// of returns what is known of an instance. Its type must have been inferred.
func (c *compiler) of(v graph.ValueID) *instance {
	k := &c.inst[v]
	if !k.typed {
		f := c.inf.Fact(k.of)
		k.dtype, k.typed = f.DType, true
		k.shape, _ = f.Shape.Concrete()
		if k.shape != nil {
			k.bytes = max(0, k.layout.Bytes(k.dtype, k.shape))
		}
	}
	return k
}

// size returns the bytes of an instance with a concrete shape; strings count 0.
func (c *compiler) size(v graph.ValueID) int64 { return c.of(v).bytes }

// name is how messages call an instance.
func (c *compiler) name(v graph.ValueID) string { return c.u.Graph.Values[c.inst[v].of].Name }

// in returns value v in a layout: v itself, or the instance that holds it in blocks.
func (c *compiler) in(v graph.ValueID, l backend.Layout) graph.ValueID {
	if v == graph.NoValue || l == backend.RowMajor {
		return v
	}
	if c.blocked[v] == graph.NoValue {
		c.blocked[v] = graph.ValueID(len(c.inst))
		c.inst = append(c.inst, instance{of: v, layout: l})
		c.fate = append(c.fate, absent)
		c.before = append(c.before, false)
		c.carried = append(c.carried, false)
	}
	return c.blocked[v]
}

// alike reports whether a tensor of this shape has the same bytes in blocks as in row-major order.
func alike(l backend.Layout, s tensor.Shape) bool {
	if l == backend.RowMajor {
		return true
	}
	if len(s) < 3 || s[1]%int64(l) != 0 {
		return false
	}
	n, _ := s[2:].Elements()
	return n <= 1
}

// outside returns the product of the extents that are outside of an axis in a layout, where the
// parts along that axis lie one whole piece behind the other.
func outside(l backend.Layout, s tensor.Shape, axis int) int64 {
	if l != backend.RowMajor && axis > 1 {
		n, _ := s[2:axis].Elements()
		return s[0] * ((s[1] + int64(l) - 1) / int64(l)) * n
	}
	n, _ := s[:axis].Elements()
	return n
}
