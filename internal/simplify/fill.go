package simplify

import (
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
		t, err := tensor.Zeros(value.DType(), shape)
		if err != nil {
			return nil
		}
		all = t.Bytes()
		fill(all, value.Bytes())
		s.fills[k] = all
		s.bytes += size
	}
	t, err := tensor.FromBytes(value.DType(), shape, all[:size:size])
	if err != nil {
		return nil
	}
	return []*tensor.Tensor{t}
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
