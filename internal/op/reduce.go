package op

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var reduceRows = []Row{
	reduceRow("ReduceSum"),
	reduceRow("ReduceMean"),
	reduceRow("ReduceMax"),
	reduceRow("ReduceMin"),
	reduceRow("ReduceProd"),
	reduceRow("ReduceL1"),
	reduceRow("ReduceL2"),
	reduceRow("ReduceLogSum"),
	reduceRow("ReduceLogSumExp"),
	reduceRow("ReduceSumSquare"),
	{Op: "ArgMax", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferArg, Work: workOfInput(1)},
	{Op: "ArgMin", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferArg, Work: workOfInput(1)},
	{Op: "Softmax", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferSoftmax, Work: workOfInput(20), InPlace: []int{0}},
	{Op: "LogSoftmax", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferSoftmax, Work: workOfInput(20), InPlace: []int{0}},
	{Op: "Hardmax", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferSoftmax, Work: workOfInput(2), InPlace: []int{0}},
}

func reduceRow(name string) Row {
	flops := 1.0
	if name == "ReduceLogSumExp" {
		flops = 20
	}
	return Row{Op: name, In: Arity{1, 2}, Out: Arity{1, 1}, Infer: inferReduce, Work: workOfInput(flops),
		Contents: []int{1}}
}

// workOfInput returns a Work of a fixed number of operations for each element of the first input.
func workOfInput(flops float64) func(*Ctx) Work {
	return func(c *Ctx) Work { return working(c, flops*elementsOf(c.Arg(0).Shape)) }
}

func inferReduce(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, nil)
	if in.Shape.Unranked() {
		return nil
	}
	rank, keep := len(in.Shape), c.Node.Attrs.Int("keepdims", 1) != 0
	list, _, known := c.IntsOf("axes", 1)
	if !known {
		c.Set(0, in.DType, reducedUnknown(rank, keep, c.Arg(1).Shape))
		return nil
	}
	axes, err := ReduceAxes(c.Node, list, rank)
	if err != nil {
		return err
	}
	c.Set(0, in.DType, reduced(in.Shape, axes, keep))
	if dims, ok := in.Dims(); ok && rank <= 1 && len(axes) == rank {
		foldDims(c, dims)
	}
	return nil
}

// ReduceAxes returns which dimensions a reduction removes, in ascending order: those of the
// list; for an empty list all, or none when the node says noop_with_empty_axes.
func ReduceAxes(n *graph.Node, list []int64, rank int) ([]int, error) {
	if len(list) == 0 {
		if n.Attrs.Int("noop_with_empty_axes", 0) != 0 {
			return nil, nil
		}
		for i := range rank {
			list = append(list, int64(i))
		}
	}
	c := &Ctx{Node: n}
	axes, err := c.Axes(list, rank)
	slices.Sort(axes)
	return axes, err
}

// reduced returns s without the dimensions axes, or with 1 in their place.
func reduced(s graph.Shape, axes []int, keep bool) graph.Shape {
	out := make(graph.Shape, 0, len(s))
	for i, d := range s {
		switch {
		case !slices.Contains(axes, i):
			out = append(out, d)
		case keep:
			out = append(out, graph.Known(1))
		}
	}
	return out
}

// reducedUnknown is what is left to say when only the shape of the list of axes is known.
func reducedUnknown(rank int, keep bool, list graph.Shape) graph.Shape {
	if keep {
		return unknownShape(rank)
	}
	if len(list) == 1 {
		if n, ok := list[0].Int(); ok && n > 0 && n <= int64(rank) {
			return unknownShape(rank - int(n))
		}
	}
	return nil
}

// foldDims computes a reduction of known contents to one element, where dims can express it.
func foldDims(c *Ctx, dims []graph.Dim) {
	var step func(a, b graph.Dim) graph.Dim
	switch c.Node.Op {
	case "ReduceProd":
		step = graph.Dim.Mul
	case "ReduceSum":
		step = graph.Dim.Add
	case "ReduceMax":
		step = graph.Dim.Max
	case "ReduceMin":
		step = graph.Dim.Min
	}
	if step == nil || len(dims) == 0 || c.In[0].DType != tensor.Int64 {
		return
	}
	acc := dims[0]
	for _, d := range dims[1:] {
		acc = step(acc, d)
	}
	c.setValue(0, []graph.Dim{acc})
}

func inferArg(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, tensor.Int64, nil)
	if in.Shape.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", 0, len(in.Shape))
	if err != nil {
		return err
	}
	if in.Shape[axis].Is(0) {
		return c.Errf("axis %d: got 0 elements, want at least 1", axis)
	}
	c.Set(0, tensor.Int64, reduced(in.Shape, []int{axis}, c.Node.Attrs.Int("keepdims", 1) != 0))
	return nil
}

func inferSoftmax(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, in.Shape)
	if in.Shape.Unranked() {
		return nil
	}
	_, err := SoftmaxAxis(c.Node, len(in.Shape))
	return err
}

// SoftmaxAxis returns the axis of Softmax and its relatives. Before version 13 it is where a
// matrix begins: everything before it is a row number, all from it on is one row; it may then be
// equal to the rank. From 13 on it is one dimension. A scalar has the axis 0.
func SoftmaxAxis(n *graph.Node, rank int) (int, error) {
	c := &Ctx{Node: n}
	if n.Version >= 13 {
		return c.AxisAttr("axis", -1, max(rank, 1))
	}
	axis := n.Attrs.Int("axis", 1)
	if axis >= 0 && axis == int64(rank) || axis == 1 && rank == 0 {
		return rank, nil
	}
	return c.Axis(axis, rank)
}
