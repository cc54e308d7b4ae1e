package simplify

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// fillOf names what memory is filled with: the bytes of an element.
type fillOf struct {
	value string
	dtype tensor.DType
}

// filled returns the output of a node that fills a shape with one number. All that are filled with the
// same number lie in the memory of the largest, so that weights which a file describes by a fill take
// no more than one of them. It returns nil for other nodes, and for elements that are no bytes.
func (s *simplifier) filled(c *op.Ctx, size int64) []*tensor.Tensor {
	if c.Node.Domain != "" || c.Node.Op != "ConstantOfShape" || len(c.Out) != 1 || size <= 0 {
		return nil
	}
	value := c.Node.Attrs.Tensor("value")
	if value == nil {
		value = tensor.Scalar(float32(0))
	}
	shape, ok := c.Out[0].Shape.Concrete()
	if !ok || c.Out[0].DType != value.DType() || value.Len() != 1 || !wholeBytes(value) {
		return nil
	}
	k := fillOf{string(value.Bytes()), value.DType()}
	all := s.fills[k]
	if int64(len(all)) < size {
		all = s.lim.Memory(int(max(size, s.largest[k])))
		fill(all, value.Bytes())
		s.fills[k] = all
		s.bytes += int64(len(all))
	}
	t, err := tensor.FromBytes(value.DType(), shape, all[:size:size])
	if err != nil {
		return nil
	}
	return []*tensor.Tensor{t}
}

// expectFills notes the largest fill of each number among the nodes of a graph that are within bounds.
func (s *simplifier) expectFills(g *graph.Graph) {
	for _, n := range g.Nodes {
		if n.Domain != "" || n.Op != "ConstantOfShape" || len(n.Inputs) != 1 || n.Inputs[0] == graph.NoValue {
			continue
		}
		value, to := n.Attrs.Tensor("value"), g.Values[n.Inputs[0]].Const
		if value == nil || to == nil || to.DType() != tensor.Int64 || value.Len() != 1 || !wholeBytes(value) {
			continue
		}
		count, ok := tensor.Shape(tensor.Cast[int64](to.Bytes())).Elements()
		size, sok := value.DType().ByteSize(count)
		if !ok || !sok || !s.within(size, 0) {
			continue
		}
		k := fillOf{string(value.Bytes()), value.DType()}
		s.largest[k] = max(s.largest[k], size)
	}
}

// wholeBytes reports whether the elements of a tensor are a whole number of bytes each.
func wholeBytes(t *tensor.Tensor) bool {
	two, ok := t.DType().ByteSize(2)
	return ok && t.DType() != tensor.String && two == 2*int64(len(t.Bytes()))
}

// fill repeats a pattern, in pieces that stay in the first cache.
func fill(dst, pattern []byte) {
	n := copy(dst, pattern)
	for n < len(dst) {
		n += copy(dst[n:], dst[:min(n, 4096/len(pattern)*len(pattern))])
	}
}
