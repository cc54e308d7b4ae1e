package op

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
)

func inferReshape(c *Ctx) error {
	in := c.In[0].Shape
	dims, ok := c.In[1].Dims()
	c.Set(0, c.In[0].DType, nil)
	if !ok {
		if n, ok := c.listLen(1); ok {
			c.Set(0, c.In[0].DType, unknownShape(n))
		}
		return nil
	}
	out, copied, open, err := c.reshapeDims(in, dims)
	if err != nil {
		return err
	}
	if open >= 0 && !in.Unranked() {
		if out[open], err = c.remaining(in, out, copied, open); err != nil {
			return err
		}
	}
	total, tok := in.Elements().Int()
	if n, ok := out.Elements().Int(); ok && tok && n != total {
		return c.Errf("shape: got %v, want one with the %d elements of %v", graph.Shape(dims), total, in)
	}
	c.Set(0, c.In[0].DType, out)
	c.keepValue()
	return nil
}

// reshapeDims turns the requested dims into extents; 0 is the input's extent at the same place,
// which copied notes. open is the one extent that follows from the others: where -1 stands or,
// without any, the only one that is unknown; -1 when there is none or more.
func (c *Ctx) reshapeDims(in graph.Shape, dims []graph.Dim) (out graph.Shape, copied []bool, open int, err error) {
	keepZero := c.Node.Attrs.Int("allowzero", 0) != 0
	out, copied, open = make(graph.Shape, len(dims)), make([]bool, len(dims)), -1
	unknown, inferred := 0, false
	for i, d := range dims {
		n, known := d.Int()
		out[i] = d
		switch {
		case known && n < -1, known && n == -1 && inferred:
			return nil, nil, 0, c.Errf("shape: got %v, want extents with at most one -1", graph.Shape(dims))
		case known && n == -1:
			open, inferred = i, true
			out[i] = graph.Unknown()
			continue
		case known && n == 0 && !keepZero && in.Unranked():
			out[i] = graph.Unknown()
		case known && n == 0 && !keepZero && i >= len(in):
			return nil, nil, 0, c.Errf("shape: got 0 for dimension %d, want an extent: the input has shape %v", i, in)
		case known && n == 0 && !keepZero:
			out[i], copied[i] = in[i], true
		case !known && !d.NonNegative():
			out[i] = graph.Unknown()
		}
		if out[i].IsUnknown() && !copied[i] {
			unknown++
			if !inferred {
				open = i
			}
		}
	}
	if !inferred && unknown != 1 || inferred && unknown > 0 {
		open = -1
	}
	return out, copied, open, nil
}

// remaining returns the extent at open that gives out the number of elements of in. Extents that
// stand on both sides cancel, those that were taken from the input even when nothing is known of
// them; a zero that was not taken from it cancels nothing.
func (c *Ctx) remaining(in, out graph.Shape, copied []bool, open int) (graph.Dim, error) {
	var rest graph.Shape
	for i, d := range out {
		if i != open && !copied[i] {
			rest = append(rest, d)
		}
	}
	top, below := graph.Known(1), graph.Known(1)
	for i, d := range in {
		if i < len(copied) && copied[i] {
			continue
		}
		if j := indexSame(rest, d); j >= 0 && !d.Is(0) {
			rest = slices.Delete(rest, j, j+1)
		} else {
			top = top.Mul(d)
		}
	}
	for _, d := range rest {
		below = below.Mul(d)
	}
	n, ok := below.Int()
	if m, known := top.Int(); known && ok {
		if n == 0 && m == 0 {
			return graph.Unknown(), nil
		}
		if n == 0 || m%n != 0 {
			return graph.Dim{}, c.Errf("shape: got %v elements of %v, want a multiple of %d", in.Elements(), in, n)
		}
	}
	q := top.Div(below)
	if ok && n > 0 || q.Mul(below).Same(top) {
		return q, nil
	}
	return graph.Unknown(), nil
}

func indexSame(s graph.Shape, d graph.Dim) int { return slices.IndexFunc(s, d.Same) }
