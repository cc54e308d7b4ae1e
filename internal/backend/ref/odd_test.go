package ref

import (
	"testing"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// oddTensors are operands that most operators are not made for; nil is a missing one.
func oddTensors(t *testing.T) []*tensor.Tensor {
	return []*tensor.Tensor{
		nil, tensor.Scalar[float32](2), ten[float32](sh(0)), ten[float32](sh(2, 3), 1, -2, 3, 4, 5, 6),
		ten[int64](sh(0)), tensor.Of[int64](-1, 1<<62), tensor.Of[int64](1, 1), tensor.Scalar[int64](-3),
		tensor.Of("a", "1"), tensor.Of(true, false), raw(t, tensor.Int4, sh(3), 0x21, 0x03),
		ten[float32](sh(1, 4, 2, 2), make([]float32, 16)...), ten(sh(2, 0, 1), []tensor.Half{}...),
	}
}

// survives runs a node as far as it goes; only a panic is a failure.
func survives(t *testing.T, n *graph.Node, row *op.Row, in []*tensor.Tensor) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s%v of %v: %v", n.Op, n.Attrs, in, p)
		}
	}()
	n.Inputs = n.Inputs[:0]
	for i, x := range in {
		id := graph.ValueID(i)
		if x == nil {
			id = graph.NoValue
		}
		n.Inputs = append(n.Inputs, id)
	}
	if len(in) < row.In.Min || row.In.Max >= 0 && len(in) > row.In.Max {
		return
	}
	facts, err := infer(n, row, in, true)
	if err != nil {
		return
	}
	if s, ok := facts[0].Shape.Concrete(); ok && count(s) > 1<<16 {
		return
	}
	kernel, scratch, err := prepare(t, n, in, facts, func(int) bool { return true })
	if err == nil {
		_, _ = call(n, row, kernel, scratch, in, facts)
	}
}

func TestOddOperandsGiveErrors(t *testing.T) {
	odd := oddTensors(t)
	attrs := []graph.Attrs{nil, {attrInt("axis", 5)}, {attrInts("axes", -9, 1<<62), attrInt("to", 6)},
		{attrInts("perm", 1, 0), attrInt("blocksize", 2), attrInt("num_outputs", 2)}}
	for _, family := range [][]entry{unaryKernels, randomKernels, binaryKernels, castKernels, shapeKernels, moveKernels} {
		for _, e := range family {
			row := op.Lookup(e.domain, e.op)
			for _, a := range attrs {
				for outputs := range 2 {
					n := outs(outputs+1, node(e.op, a...))
					survives(t, n, row, nil)
					for _, x := range odd {
						survives(t, n, row, []*tensor.Tensor{x})
						for _, y := range odd {
							survives(t, n, row, []*tensor.Tensor{x, y})
							for _, z := range odd[1:7] {
								survives(t, n, row, []*tensor.Tensor{x, y, z})
							}
						}
					}
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}
