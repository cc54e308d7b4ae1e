package conform

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// scan runs a Scan of version 9 or later.
func (p Interpreter) scan(n *graph.Node, in, vals []*tensor.Tensor) ([]*tensor.Tensor, error) {
	body, scanned := n.Attrs.Graph("body"), int(n.Attrs.Int("num_scan_inputs", 0))
	carried := append([]*tensor.Tensor{}, in[:len(in)-scanned]...)
	sequences := in[len(carried):]
	entry := func(list string, i int) int64 {
		if l := n.Attrs.Ints(list, nil); i < len(l) {
			return l[i]
		}
		return 0
	}
	axis := func(list string, i, rank int) int {
		a := int(entry(list, i))
		if a < 0 {
			a += rank
		}
		return a
	}
	length := int(sequences[0].Shape()[axis("scan_input_axes", 0, len(sequences[0].Shape()))])
	parts := make([][]*tensor.Tensor, len(body.Outputs)-len(carried))
	for t := range length {
		args := append([]*tensor.Tensor{}, carried...)
		for i, s := range sequences {
			at := t
			if entry("scan_input_directions", i) != 0 {
				at = length - 1 - t
			}
			args = append(args, take(s, axis("scan_input_axes", i, len(s.Shape())), at))
		}
		out, err := p.body(body, args, vals)
		if err != nil {
			return nil, err
		}
		carried = append([]*tensor.Tensor{}, out[:len(carried)]...)
		for j := range parts {
			if entry("scan_output_directions", j) != 0 {
				parts[j] = append([]*tensor.Tensor{out[len(carried)+j]}, parts[j]...)
			} else {
				parts[j] = append(parts[j], out[len(carried)+j])
			}
		}
	}
	for j := range parts {
		if len(parts[j]) == 0 {
			return nil, fmt.Errorf("scan output %d: a scan of length 0 has no shape to give it", j)
		}
		carried = append(carried, join(parts[j], axis("scan_output_axes", j, len(parts[j][0].Shape())+1)))
	}
	return carried, nil
}

// place returns the byte offset of an element of a dense tensor, and how wide elements are.
func place(t *tensor.Tensor, index []int64) (at, width int) {
	for i, d := range t.Shape() {
		at = at*int(d) + int(index[i])
	}
	width = t.DType().Bits() / 8
	return at * width, width
}

// positions calls visit with every index of a shape.
func positions(shape tensor.Shape, visit func(index []int64)) {
	n, _ := shape.Elements()
	index := make([]int64, len(shape))
	for k := range n {
		for i := len(shape) - 1; i >= 0; i-- {
			index[i] = k % shape[i]
			k /= shape[i]
		}
		visit(index)
	}
}

// take returns element at along an axis.
func take(t *tensor.Tensor, axis, at int) *tensor.Tensor {
	shape := append(t.Shape()[:axis].Clone(), t.Shape()[axis+1:]...)
	out, err := tensor.Zeros(t.DType(), shape)
	if err != nil {
		panic(err)
	}
	positions(shape, func(index []int64) {
		from := append(append(append([]int64{}, index[:axis]...), int64(at)), index[axis:]...)
		src, w := place(t, from)
		dst, _ := place(out, index)
		copy(out.Bytes()[dst:dst+w], t.Bytes()[src:])
	})
	return out
}

// join stacks tensors along a new axis.
func join(parts []*tensor.Tensor, axis int) *tensor.Tensor {
	one := parts[0].Shape()
	shape := append(append(one[:axis].Clone(), int64(len(parts))), one[axis:]...)
	out, err := tensor.Zeros(parts[0].DType(), shape)
	if err != nil {
		panic(err)
	}
	for k, t := range parts {
		positions(one, func(index []int64) {
			to := append(append(append([]int64{}, index[:axis]...), int64(k)), index[axis:]...)
			src, w := place(t, index)
			dst, _ := place(out, to)
			copy(out.Bytes()[dst:dst+w], t.Bytes()[src:])
		})
	}
	return out
}
