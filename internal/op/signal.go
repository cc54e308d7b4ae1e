package op

import (
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var signalRows = []Row{
	{Op: "DFT", In: Arity{1, 3}, Out: Arity{1, 1}, Infer: inferDFT, Work: workOfOutput(60), Contents: []int{1, 2}},
	{Op: "STFT", In: Arity{2, 4}, Out: Arity{1, 1}, Infer: inferSTFT, Work: workOfOutput(60), Contents: []int{1, 3}},
	{Op: "HannWindow", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferWindow, Work: workOfOutput(20), Contents: []int{0}},
	{Op: "HammingWindow", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferWindow, Work: workOfOutput(20), Contents: []int{0}},
	{Op: "BlackmanWindow", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferWindow, Work: workOfOutput(40), Contents: []int{0}},
	{Op: "MelWeightMatrix", In: Arity{5, 5}, Out: Arity{1, 1}, Infer: inferMel, Contents: []int{0, 1}},
	{Op: "Det", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferDet, Work: detWork},
	{Op: "Einsum", In: Arity{1, -1}, Out: Arity{1, 1}, Infer: inferEinsum, Work: einsumWork},
}

// DFTAxis returns the dimension of a signal that DFT transforms; ok is false when the input that
// names it is not known. axis holds the contents of that input.
func DFTAxis(n *graph.Node, axis []int64, present bool, rank int) (dim int, ok bool, err error) {
	c := &Ctx{Node: n}
	at := n.Attrs.Int("axis", 1)
	if n.Version >= 20 {
		at = -2
		if present {
			if len(axis) != 1 {
				return 0, false, nil
			}
			at = axis[0]
		}
	}
	dim, err = c.Axis(at, rank)
	if err == nil && dim == rank-1 {
		err = c.Errf("axis: got %d, want a dimension before the last, which holds real and imaginary parts", at)
	}
	return dim, err == nil, err
}

func inferDFT(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, nil)
	if in.Shape.Unranked() {
		return nil
	}
	rank := len(in.Shape)
	if rank < 2 || differs(in.Shape[rank-1], 1) && differs(in.Shape[rank-1], 2) {
		return c.Errf("input: got shape %v, want at least two dimensions, the last of 1 or 2", in.Shape)
	}
	axis, _ := c.Arg(2).Ints()
	dim, ok, err := DFTAxis(c.Node, axis, c.Has(2), rank)
	if err != nil {
		return err
	}
	out := in.Shape.Clone()
	inverse, onesided := c.Node.Attrs.Int("inverse", 0) != 0, c.Node.Attrs.Int("onesided", 0) != 0
	parts := int64(2)
	if inverse && onesided {
		parts = 1
	}
	out[rank-1] = graph.Known(parts)
	if !ok {
		for i := range rank - 1 {
			out[i] = graph.Unknown()
		}
		c.Set(0, in.DType, out)
		return nil
	}
	out[dim] = dftExtent(in.Shape[dim], c, inverse, onesided)
	c.Set(0, in.DType, out)
	return wantSizes(c, "output", out)
}

// dftExtent returns how many elements of a signal of n come out. A one-sided spectrum is half of
// a symmetric one, with the middle.
func dftExtent(n graph.Dim, c *Ctx, inverse, onesided bool) graph.Dim {
	switch {
	case c.Has(1):
		n = scalarDim(c.Arg(1))
	case inverse && onesided:
		n = n.Sub(graph.Known(1)).Mul(graph.Known(2))
	}
	if onesided && !inverse {
		n = n.Div(graph.Known(2)).Add(graph.Known(1))
	}
	return n
}

func inferSTFT(c *Ctx) error {
	signal := c.Arg(0)
	c.Set(0, signal.DType, nil)
	if err := c.wantRank(2, "window", 1); err != nil {
		return err
	}
	frame := graph.Unknown()
	switch {
	case c.Has(3):
		frame = scalarDim(c.Arg(3))
	case !c.Arg(2).Shape.Unranked():
		frame = c.Arg(2).Shape[0]
	}
	step := scalarDim(c.Arg(1))
	batch, frames := graph.Unknown(), graph.Unknown()
	if s := signal.Shape; !s.Unranked() {
		if len(s) != 3 && len(s) != 2 {
			return c.Errf("signal: got shape %v, want [batch,length,1 or 2]", s)
		}
		batch = s[0]
		frames = s[1].Sub(frame).Div(step).Add(graph.Known(1))
	}
	if n, ok := step.Int(); ok && n < 1 {
		return c.Errf("frame_step: got %d, want at least 1", n)
	}
	if n, ok := frame.Int(); ok && n < 1 {
		return c.Errf("frame_length: got %d, want at least 1", n)
	}
	if n, ok := frames.Int(); ok && n < 0 {
		return c.Errf("frame_length: got %v, want at most the length of the signal %v", frame, signal.Shape)
	}
	bins := frame
	if c.Node.Attrs.Int("onesided", 1) != 0 {
		bins = frame.Div(graph.Known(2)).Add(graph.Known(1))
	}
	c.Set(0, signal.DType, graph.Shape{batch, frames, bins, graph.Known(2)})
	return nil
}

// outputType returns the element type that the attribute output_datatype names.
func outputType(c *Ctx) (tensor.DType, error) {
	n := c.Node.Attrs.Int("output_datatype", int64(tensor.Float32))
	if n <= 0 || n > math.MaxUint8 || !tensor.DType(n).Valid() {
		return tensor.Undefined, c.Errf("output_datatype: got %d, want an element type", n)
	}
	return tensor.DType(n), nil
}

func inferWindow(c *Ctx) error {
	dt, err := outputType(c)
	if err != nil {
		return err
	}
	s := graph.Shape{scalarDim(c.Arg(0))}
	c.Set(0, dt, s)
	return wantSizes(c, "size", s)
}

func inferMel(c *Ctx) error {
	dt, err := outputType(c)
	if err != nil {
		return err
	}
	bins, length := scalarDim(c.Arg(0)), scalarDim(c.Arg(1))
	s := graph.Shape{length.Div(graph.Known(2)).Add(graph.Known(1)), bins}
	c.Set(0, dt, s)
	return wantSizes(c, "num_mel_bins and dft_length", []graph.Dim{bins, length})
}

func inferDet(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, nil)
	if in.Shape.Unranked() {
		return nil
	}
	last := len(in.Shape) - 2
	if last < 0 {
		return c.Errf("X: got shape %v, want matrices", in.Shape)
	}
	if n, ok := in.Shape[last].Int(); ok && differs(in.Shape[last+1], n) {
		return c.Errf("X: got shape %v, want square matrices", in.Shape)
	}
	c.Set(0, in.DType, in.Shape[:last].Clone())
	return nil
}

func detWork(c *Ctx) Work {
	w := workOfInput(2. / 3)(c)
	if s := c.Arg(0).Shape; len(s) > 0 {
		w.FLOPs *= numberOf(s[len(s)-1])
	}
	return w
}
