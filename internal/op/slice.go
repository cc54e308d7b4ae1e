package op

import (
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
)

// inferSlice reads starts, ends and axes from attributes (through version 9) or inputs, and
// steps from an input.
func inferSlice(c *Ctx) error {
	in := c.In[0].Shape
	c.Set(0, c.In[0].DType, nil)
	if in.Unranked() {
		return nil
	}
	starts, ends := c.dimsOf("starts", 1), c.dimsOf("ends", 2)
	axes, given, known := c.IntsOf("axes", 3)
	if !known {
		c.Set(0, c.In[0].DType, unknownShape(len(in)))
		return nil
	}
	if !given {
		n, ok := max(len(starts), len(ends)), starts != nil || ends != nil
		if !ok {
			n, ok = c.listLen(1)
		}
		if !ok || n > len(in) {
			c.Set(0, c.In[0].DType, unknownShape(len(in)))
			return nil
		}
		for i := range n {
			axes = append(axes, int64(i))
		}
	}
	list, err := c.Axes(axes, len(in))
	if err != nil {
		return err
	}
	if starts == nil {
		starts = unknownShape(len(list))
	}
	if ends == nil {
		ends = unknownShape(len(list))
	}
	if len(starts) != len(list) || len(ends) != len(list) {
		return c.Errf("starts and ends: got %d and %d, want %d like axes", len(starts), len(ends), len(list))
	}
	return c.sliceAlong(list, starts, ends)
}

// dimsOf returns the list that an attribute or an input holds; nil when nothing is known of it.
func (c *Ctx) dimsOf(name string, input int) []graph.Dim {
	if a := c.Node.Attrs.Ints(name, nil); a != nil {
		return graph.Of(a...)
	}
	vals, _ := c.Arg(input).Dims()
	return vals
}

func (c *Ctx) sliceAlong(axes []int, starts, ends []graph.Dim) error {
	steps, stepsKnown := graph.Shape(repeated(graph.Known(1), len(axes))), true
	if c.Has(4) {
		var vals []graph.Dim
		if vals, stepsKnown = c.In[4].Dims(); stepsKnown {
			steps = vals
		} else {
			steps = unknownShape(len(axes))
		}
		if len(steps) != len(axes) {
			return c.Errf("steps: got %d, want %d", len(steps), len(axes))
		}
	}
	in := c.In[0].Shape
	out := in.Clone()
	from := graph.Known(0)
	for i, a := range axes {
		step, ok := steps[i].Int()
		switch {
		case !ok:
			out[a] = graph.Unknown()
			continue
		case step == 0:
			return c.Errf("steps: got 0, want another number")
		}
		from, out[a] = sliceOf(in[a], starts[i], ends[i], step)
	}
	c.Set(0, c.In[0].DType, out)
	if len(in) == 1 && len(axes) == 1 {
		c.sliceValue(from, steps[0])
	}
	return nil
}

// sliceValue picks the contents of a list.
func (c *Ctx) sliceValue(from, step graph.Dim) {
	vals, ok := c.In[0].Dims()
	s, sok := step.Int()
	first, fok := from.Int()
	n, nok := c.Out[0].Shape[0].Int()
	if !ok || !sok || !fok || !nok {
		return
	}
	out := make([]graph.Dim, n)
	for i := range out {
		at := first + int64(i)*s
		if at < 0 || at >= int64(len(vals)) {
			return
		}
		out[i] = vals[at]
	}
	c.setValue(0, out)
}

// sliceOf returns where a slice of a dimension of extent d starts, once clamped, and how many
// elements it has.
func sliceOf(d, start, end graph.Dim, step int64) (from, n graph.Dim) {
	if step < 0 {
		last := d.Sub(graph.Known(1))
		from = clampIndex(start, d, graph.Known(0), last)
		to := clampIndex(end, d, graph.Known(-1), last)
		return from, countSteps(from.Sub(to), max(-step, 1))
	}
	from = clampIndex(start, d, graph.Known(0), d)
	to := clampIndex(end, d, graph.Known(0), d)
	k, known := start.Int()
	switch {
	case to.Same(d) && !isNumber(d) && known && k < 0 && k > math.MinInt32:
		n = d.Min(graph.Known(-k))
	case to.Same(d) && start.NonNegative():
		n = d.Sub(start)
	default:
		n = to.Sub(from)
	}
	return from, countSteps(n, step)
}

// countSteps returns how many steps it takes to cover a span; none when it is negative.
func countSteps(span graph.Dim, step int64) graph.Dim {
	return maxValue(span, graph.Known(0)).CeilDiv(graph.Known(step))
}

// clampIndex resolves an index into a dimension of extent d: negative ones count from its end,
// and the result is limited to [low, high], where high is d or d-1. In a dimension without a
// number, an index beyond every 32-bit number means the end or the beginning.
func clampIndex(i, d, low, high graph.Dim) graph.Dim {
	k, known := i.Int()
	switch {
	case known && k >= math.MaxInt32 && !isNumber(d):
		return high
	case known && k <= math.MinInt32 && !isNumber(d):
		return low
	case known && k < 0:
		i = d.Add(i)
		if i.Same(high) {
			return high
		}
		if i = maxValue(i, low); high.Same(d) && !isNumber(d) {
			return i
		}
		return minValue(i, high)
	case !known && !i.NonNegative():
		return graph.Unknown()
	case i.Same(high):
		return high
	}
	return minValue(i, high)
}
