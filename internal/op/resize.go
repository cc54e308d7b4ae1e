package op

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var resizeRows = []Row{
	{Op: "Resize", In: Arity{1, 4}, Out: Arity{1, 1}, Infer: inferResize, Work: resizeWork, Contents: []int{1, 2, 3}},
	{Op: "Upsample", In: Arity{1, 2}, Out: Arity{1, 1}, Infer: inferResize, Work: resizeWork, Contents: []int{1}},
	{Op: "GridSample", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferGridSample, Work: workOfOutput(30)},
	{Op: "AffineGrid", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferAffineGrid, Work: workOfOutput(6), Contents: []int{1}},
	{Op: "RoiAlign", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferRoiAlign, Work: workOfOutput(40)},
	{Op: "MaxRoiPool", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferMaxRoiPool, Work: workOfOutput(16)},
	{Op: "Col2Im", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferCol2Im, Work: workOfInput(1), Contents: []int{1, 2}},
}

// workOfOutput returns a Work of a fixed number of operations for each element of the first
// output.
func workOfOutput(flops float64) func(*Ctx) Work {
	return func(c *Ctx) Work { return working(c, flops*elementsOf(c.Out[0].Shape)) }
}

func resizeWork(c *Ctx) Work {
	flops := 0.0
	switch c.Node.Attrs.Str("mode", "nearest") {
	case "linear", "bilinear":
		flops = 6
	case "cubic":
		flops = 40
	}
	return workOfOutput(flops)(c)
}

// ResizeInputs returns which inputs of Resize or Upsample hold the region of interest, the
// scales and the sizes; −1 for what the version does not have.
func ResizeInputs(n *graph.Node) (roi, scales, sizes int) {
	switch {
	case n.Op == "Upsample" && n.Version < 9:
		return -1, -1, -1
	case n.Op == "Upsample" || n.Version < 11:
		return -1, 1, -1
	}
	return 1, 2, 3
}

// ResizeAxes returns the dimensions that Resize changes, in the order of its lists.
func ResizeAxes(n *graph.Node, rank int) ([]int, error) {
	list := n.Attrs.Ints("axes", nil)
	if list == nil {
		for i := range rank {
			list = append(list, int64(i))
		}
	}
	return (&Ctx{Node: n}).Axes(list, rank)
}

func inferResize(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, nil)
	if in.Shape.Unranked() {
		return nil
	}
	axes, err := ResizeAxes(c.Node, len(in.Shape))
	if err != nil {
		return err
	}
	_, scales, sizes := ResizeInputs(c.Node)
	out := in.Shape.Clone()
	if sizes >= 0 && c.filled(sizes) {
		err = c.resizeBySizes(out, axes, c.Arg(sizes))
	} else if list, known := c.resizeScales(scales); known {
		err = c.resizeByScales(out, axes, list)
	} else {
		for _, a := range axes {
			out[a] = graph.Unknown()
		}
	}
	c.Set(0, in.DType, out)
	return err
}

// filled reports whether input i is present and not known to be empty.
func (c *Ctx) filled(i int) bool {
	s := c.Arg(i).Shape
	return c.Has(i) && (len(s) != 1 || !s[0].Is(0))
}

// resizeScales returns the scales, from the attribute or from an input.
func (c *Ctx) resizeScales(input int) (scales []float32, known bool) {
	if input < 0 {
		return c.Node.Attrs.Floats("scales", nil), true
	}
	t := c.Arg(input).Const
	if t == nil || t.DType() != tensor.Float32 {
		return nil, !c.Has(input)
	}
	return tensor.Cast[float32](t.Bytes()), true
}

func (c *Ctx) resizeByScales(out graph.Shape, axes []int, scales []float32) error {
	if len(scales) != len(axes) {
		return c.Errf("scales: got %d numbers, want %d", len(scales), len(axes))
	}
	for i, a := range axes {
		if s := scales[i]; !(s > 0) || math.IsInf(float64(s), 0) {
			return c.Errf("scales: element %d: got %v, want a positive number", i, s)
		}
		out[a] = scaled(out[a], scales[i])
	}
	return nil
}

// scaled returns ⌊d · scale⌋, the product rounded to float32 as other implementations do. For a
// dim that is not a number the scale must be a whole number of powers of two.
func scaled(d graph.Dim, scale float32) graph.Dim {
	if n, ok := d.Int(); ok {
		f := math.Floor(float64(float32(n) * scale))
		if f >= math.MaxInt64 {
			return graph.Known(math.MaxInt64)
		}
		return graph.Known(int64(f))
	}
	for den := int64(1); den <= 1024; den *= 2 {
		if num := float64(scale) * float64(den); num == math.Trunc(num) && num < 1<<31 {
			return d.Mul(graph.Known(int64(num))).Div(graph.Known(den))
		}
	}
	return graph.Unknown()
}

func (c *Ctx) resizeBySizes(out graph.Shape, axes []int, f *Fact) error {
	sizes, ok := f.Dims()
	if !ok {
		for _, a := range axes {
			out[a] = graph.Unknown()
		}
		return nil
	}
	if len(sizes) != len(axes) {
		return c.Errf("sizes: got %d numbers, want %d", len(sizes), len(axes))
	}
	in, want := make([]int64, len(axes)), make([]int64, len(axes))
	known := true
	for i, a := range axes {
		var iok, wok bool
		in[i], iok = out[a].Int()
		want[i], wok = sizes[i].Int()
		if wok && want[i] < 0 {
			return c.Errf("sizes: element %d: got %d, want at least 0", i, want[i])
		}
		known = known && iok && wok
		out[a] = sizes[i]
	}
	scale, fixed := AspectScale(c.Node, in, want)
	for i, a := range axes {
		switch {
		case fixed && known:
			out[a] = graph.Known(int64(math.Floor(scale*float64(in[i]) + 0.5)))
		case fixed:
			out[a] = graph.Unknown()
		}
	}
	return nil
}

// AspectScale returns the one scale for all axes of a Resize that keeps the aspect ratio, given
// the extents before and the sizes asked for; ok is false when it stretches each axis for itself.
func AspectScale(n *graph.Node, in, want []int64) (scale float64, ok bool) {
	var scales []float64
	for i := range in {
		if in[i] > 0 {
			scales = append(scales, float64(want[i])/float64(in[i]))
		}
	}
	if len(scales) == 0 {
		scales = []float64{0}
	}
	switch n.Attrs.Str("keep_aspect_ratio_policy", "stretch") {
	case "not_larger":
		return slices.Min(scales), true
	case "not_smaller":
		return slices.Max(scales), true
	}
	return 1, false
}
