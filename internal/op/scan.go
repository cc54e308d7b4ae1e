package op

import (
	"errors"

	"github.com/stowage-ml/stowage/internal/graph"
)

// inferScan serves versions 9 and later: the body takes the carried values and one element of
// each scanned input, and returns the carried values and one element of each scan output.
func inferScan(c *Ctx) error {
	if c.Node.Version < 9 {
		return c.Errf("opset: got %d, want at least 9: %w", c.Node.Version, errors.ErrUnsupported)
	}
	g, err := c.attrBody("body")
	if err != nil {
		return err
	}
	m := c.Node.Attrs.Int("num_scan_inputs", 0)
	if m < 1 || m > int64(len(c.In)) {
		return c.Errf("num_scan_inputs: got %d, want 1 to %d", m, len(c.In))
	}
	n := len(c.In) - int(m)
	if len(g.Inputs) != len(c.In) || len(g.Outputs) < n || len(c.Out) > len(g.Outputs) {
		return c.Errf("body: got %d inputs and %d outputs, want %d and at least %d", len(g.Inputs), len(g.Outputs),
			len(c.In), max(n, len(c.Out)))
	}
	elements, length, err := c.scanned(c.In[n:])
	if err != nil {
		return err
	}
	carried, out, err := c.settle(c.In[:n], 0, func(carried []Fact) ([]Fact, error) {
		return c.body(g, append(append([]Fact{}, carried...), elements...), len(g.Outputs))
	})
	if err != nil {
		return err
	}
	copy(c.Out, carried)
	return c.scanOutputs(out, n, length)
}

// scanned returns the facts of one element of each scanned input, and how many elements there
// are.
func (c *Ctx) scanned(inputs []Fact) (elements []Fact, length graph.Dim, err error) {
	axes := c.Node.Attrs.Ints("scan_input_axes", make([]int64, len(inputs)))
	if len(axes) != len(inputs) {
		return nil, length, c.Errf("scan_input_axes: got %d, want %d", len(axes), len(inputs))
	}
	length = graph.Unknown()
	elements = make([]Fact, len(inputs))
	for i, f := range inputs {
		elements[i].DType = f.DType
		if f.Shape.Unranked() {
			continue
		}
		axis, err := c.Axis(axes[i], len(f.Shape))
		if err != nil {
			return nil, length, c.Errf("scanned input %d: %w", i, err)
		}
		var ok bool
		if length, ok = agree(length, f.Shape[axis]); !ok {
			return nil, length, c.Errf("scanned input %d: got %v elements, want %v as before", i, f.Shape[axis], length)
		}
		elements[i].Shape = append(f.Shape[:axis].Clone(), f.Shape[axis+1:]...)
	}
	return elements, length, nil
}

// scanOutputs sets the outputs that collect an element of each iteration; out is what the body
// returns, n values of it carried.
func (c *Ctx) scanOutputs(out []Fact, n int, length graph.Dim) error {
	axes := c.Node.Attrs.Ints("scan_output_axes", make([]int64, len(out)-n))
	if len(axes) != len(out)-n {
		return c.Errf("scan_output_axes: got %d, want %d", len(axes), len(out)-n)
	}
	for i := n; i < len(c.Out); i++ {
		s := out[i].Shape
		c.Set(i, out[i].DType, nil)
		if s.Unranked() {
			continue
		}
		axis, err := c.Axis(axes[i-n], len(s)+1)
		if err != nil {
			return c.Errf("scan output %d: %w", i-n, err)
		}
		c.Set(i, out[i].DType, stacked(s, axis, length))
	}
	return nil
}
