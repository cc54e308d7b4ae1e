package simplify

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// sliced returns the output of a Slice that takes whole rows of a constant, one after the other, over the
// constant's own memory; nil for other nodes.
func sliced(c *op.Ctx, in []*tensor.Tensor) []*tensor.Tensor {
	n := c.Node
	if n.Domain != "" || n.Op != "Slice" || n.Version < 10 || len(in) < 3 || in[0] == nil || len(c.Out) != 1 {
		return nil
	}
	from := in[0].Shape()
	to, ok := c.Out[0].Shape.Concrete()
	if !ok || len(to) != len(from) || len(from) == 0 || in[0].Len() == 0 || !byteWide(in[0]) || !from[1:].Equal(to[1:]) {
		return nil
	}
	first, ok := firstRow(c, from[0])
	if !ok || first+to[0] > from[0] {
		return nil
	}
	row := int64(len(in[0].Bytes())) / from[0]
	t, err := tensor.FromBytes(in[0].DType(), to, in[0].Bytes()[first*row:(first+to[0])*row])
	if err != nil {
		return nil
	}
	return []*tensor.Tensor{t}
}

// firstRow returns where a Slice begins on the first axis, which has n rows; ok is false when it does not take
// them in order.
func firstRow(c *op.Ctx, n int64) (first int64, ok bool) {
	starts, ok := c.In[1].Ints()
	if !ok {
		return 0, false
	}
	var axes, steps []int64
	if c.Has(3) {
		if axes, ok = c.In[3].Ints(); !ok || len(axes) != len(starts) {
			return 0, false
		}
	}
	if c.Has(4) {
		if steps, ok = c.In[4].Ints(); !ok || len(steps) != len(starts) {
			return 0, false
		}
	}
	for i, s := range starts {
		if steps != nil && steps[i] != 1 {
			return 0, false
		}
		axis := int64(i)
		if axes != nil {
			axis = axes[i]
		}
		if axis == 0 || axis == -int64(len(c.In[0].Shape)) {
			if first = s; s < 0 {
				first += n
			}
			first = min(max(first, 0), n)
		}
	}
	return first, true
}

// joined returns the output of a Concat whose inputs lie in it one behind the other; nil for other nodes. Its
// size is counted.
func (s *simplifier) joined(c *op.Ctx, in []*tensor.Tensor, size int64) []*tensor.Tensor {
	n := c.Node
	if n.Domain != "" || n.Op != "Concat" || len(c.Out) != 1 || size <= 0 {
		return nil
	}
	shape, ok := c.Out[0].Shape.Concrete()
	axis := n.Attrs.Int("axis", 1)
	if axis < 0 {
		axis += int64(len(shape))
	}
	if !ok || axis < 0 || axis >= int64(len(shape)) {
		return nil
	}
	if outer, _ := shape[:axis].Elements(); outer != 1 {
		return nil
	}
	for i, t := range in {
		if n.Inputs[i] == graph.NoValue || t.DType() != c.Out[0].DType || !byteWide(t) {
			return nil
		}
	}
	all := s.lim.Memory(int(size))
	at := 0
	for _, t := range in {
		at += copy(all[at:], t.Bytes())
	}
	t, err := tensor.FromBytes(c.Out[0].DType, shape, all)
	if err != nil || at != len(all) {
		return nil
	}
	s.bytes += size
	return []*tensor.Tensor{t}
}

// byteWide reports whether a tensor's elements are a whole number of bytes each.
func byteWide(t *tensor.Tensor) bool { return t.DType() != tensor.String && t.DType().Bits()%8 == 0 }
