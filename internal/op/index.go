package op

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var indexRows = []Row{
	{Op: "Gather", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferGather},
	{Op: "GatherElements", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferGatherElements},
	{Op: "GatherND", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferGatherND},
	{Op: "ScatterElements", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferScatterElements, InPlace: []int{0}},
	{Op: "Scatter", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferScatterElements, InPlace: []int{0}},
	{Op: "ScatterND", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferScatterND, InPlace: []int{0}},
	{Op: "TensorScatter", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferTensorScatter, InPlace: []int{0}},
	{Op: "OneHot", In: Arity{3, 3}, Out: Arity{1, 1}, Infer: inferOneHot, Contents: []int{1}},
	{Op: "NonZero", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferNonZero, Work: workOfInput(1), Dynamic: true},
	{Op: "Compress", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferCompress, Dynamic: true},
	{Op: "TopK", In: Arity{1, 2}, Out: Arity{2, 2}, Infer: inferTopK, Work: workOfInput(20), Contents: []int{1}},
	{Op: "Unique", In: Arity{1, 1}, Out: Arity{1, 4}, Infer: inferUnique, Work: workOfInput(20), Dynamic: true},
	{Op: "CumSum", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferLikeFirst},
	{Op: "CumProd", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferLikeFirst},
	{Op: "NonMaxSuppression", In: Arity{2, 5}, Out: Arity{1, 1}, Infer: inferNonMaxSuppression, Dynamic: true},
	{Domain: "ai.onnx.ml", Op: "ArrayFeatureExtractor", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferFeatures},
}

// inferLikeFirst serves operators whose output has the type and shape of the first input.
func inferLikeFirst(c *Ctx) error {
	c.Set(0, c.In[0].DType, c.In[0].Shape)
	return nil
}

func inferGather(c *Ctx) error {
	data, idx := c.Arg(0), c.Arg(1)
	c.Set(0, data.DType, nil)
	if data.Shape.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", 0, len(data.Shape))
	if err != nil || idx.Shape.Unranked() {
		return err
	}
	c.Set(0, data.DType, graph.Join(data.Shape[:axis], idx.Shape, data.Shape[axis+1:]))
	dims, dok := data.Dims()
	at, iok := idx.Ints()
	if dok && iok && len(data.Shape) == 1 {
		if vals := pick(dims, at); vals != nil {
			c.setValue(0, vals)
		}
	}
	return nil
}

// pick returns the dims at the given places, where negative ones count from the end; nil when
// one lies outside.
func pick(dims []graph.Dim, at []int64) []graph.Dim {
	out := make([]graph.Dim, len(at))
	for i, j := range at {
		if j < 0 {
			j += int64(len(dims))
		}
		if j < 0 || j >= int64(len(dims)) {
			return nil
		}
		out[i] = dims[j]
	}
	return out
}

func inferGatherElements(c *Ctx) error {
	data, idx := c.Arg(0), c.Arg(1)
	c.Set(0, data.DType, idx.Shape)
	if data.Shape.Unranked() {
		return nil
	}
	if !idx.Shape.Unranked() && len(idx.Shape) != len(data.Shape) {
		return c.Errf("indices: got shape %v, want rank %d as in data %v", idx.Shape, len(data.Shape), data.Shape)
	}
	_, err := c.AxisAttr("axis", 0, len(data.Shape))
	return err
}

func inferGatherND(c *Ctx) error {
	data, idx := c.Arg(0), c.Arg(1)
	c.Set(0, data.DType, nil)
	if data.Shape.Unranked() || idx.Shape.Unranked() || len(idx.Shape) == 0 {
		return nil
	}
	last := len(idx.Shape) - 1
	depth, ok := idx.Shape[last].Int()
	if !ok {
		return nil
	}
	batch := c.Node.Attrs.Int("batch_dims", 0)
	if batch < 0 || batch > int64(last) || depth < 1 || depth > int64(len(data.Shape))-batch {
		return c.Errf("indices: got shape %v with batch_dims %d, want tuples that fit data %v",
			idx.Shape, batch, data.Shape)
	}
	c.Set(0, data.DType, graph.Join(idx.Shape[:last], data.Shape[batch+depth:]))
	return nil
}

func inferScatterElements(c *Ctx) error {
	data, idx, upd := c.Arg(0), c.Arg(1), c.Arg(2)
	c.Set(0, data.DType, data.Shape)
	if _, err := c.oneType(0, 2); err != nil || data.Shape.Unranked() {
		return err
	}
	for _, s := range []graph.Shape{idx.Shape, upd.Shape} {
		if !s.Unranked() && len(s) != len(data.Shape) {
			return c.Errf("indices and updates: got shapes %v and %v, want rank %d as in data %v",
				idx.Shape, upd.Shape, len(data.Shape), data.Shape)
		}
	}
	_, err := c.AxisAttr("axis", 0, len(data.Shape))
	return err
}

func inferScatterND(c *Ctx) error {
	data, idx, upd := c.Arg(0), c.Arg(1), c.Arg(2)
	c.Set(0, data.DType, data.Shape)
	if _, err := c.oneType(0, 2); err != nil || data.Shape.Unranked() || idx.Shape.Unranked() {
		return err
	}
	if len(idx.Shape) == 0 {
		return c.Errf("indices: got a scalar, want at least one dimension")
	}
	last := len(idx.Shape) - 1
	depth, ok := idx.Shape[last].Int()
	if !ok {
		return nil
	}
	if depth > int64(len(data.Shape)) {
		return c.Errf("indices: got shape %v, want tuples that fit data %v", idx.Shape, data.Shape)
	}
	if want := last + len(data.Shape) - int(depth); !upd.Shape.Unranked() && len(upd.Shape) != want {
		return c.Errf("updates: got shape %v, want rank %d", upd.Shape, want)
	}
	return nil
}

func inferTensorScatter(c *Ctx) error {
	data, upd := c.Arg(0), c.Arg(1)
	c.Set(0, data.DType, data.Shape)
	if _, err := c.oneType(0, 1); err != nil || data.Shape.Unranked() || upd.Shape.Unranked() {
		return err
	}
	if len(upd.Shape) != len(data.Shape) {
		return c.Errf("update: got shape %v, want rank %d as in past_cache %v", upd.Shape, len(data.Shape), data.Shape)
	}
	axis, err := c.AxisAttr("axis", -2, len(data.Shape))
	if err == nil && axis == 0 {
		return c.Errf("axis: got 0, want a dimension other than the batch")
	}
	return err
}

func inferOneHot(c *Ctx) error {
	idx := c.Arg(0)
	dt := c.Arg(2).DType
	c.Set(0, dt, nil)
	if idx.Shape.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", -1, len(idx.Shape)+1)
	if err != nil {
		return err
	}
	depth := scalarDim(c.Arg(1))
	if n, ok := depth.Int(); ok && n < 0 {
		return c.Errf("depth: got %d, want at least 0", n)
	}
	c.Set(0, dt, slices.Insert(idx.Shape.Clone(), axis, depth))
	return nil
}

// scalarDim returns the single number in a tensor of any numeric type; unknown when it is not
// known or not single. Fractions are cut off.
func scalarDim(f *Fact) graph.Dim {
	if dims, ok := f.Dims(); ok && len(dims) == 1 {
		return dims[0]
	}
	if f.Const == nil || f.Const.Len() != 1 {
		return graph.Unknown()
	}
	x, ok := firstFloat(f.Const)
	if !ok || x != x || x > 1<<53 || x < -1<<53 {
		return graph.Unknown()
	}
	return graph.Known(int64(x))
}

// firstFloat returns the first element of a floating-point tensor that is not empty.
func firstFloat(t *tensor.Tensor) (float64, bool) {
	switch t.DType() {
	case tensor.Float32:
		return float64(tensor.Cast[float32](t.Bytes())[0]), true
	case tensor.Float64:
		return tensor.Cast[float64](t.Bytes())[0], true
	case tensor.Float16:
		return float64(tensor.Cast[tensor.Half](t.Bytes())[0].Float32()), true
	case tensor.BFloat16:
		return float64(tensor.Cast[tensor.Brain](t.Bytes())[0].Float32()), true
	}
	return 0, false
}

func inferNonZero(c *Ctx) error {
	rank := graph.Unknown()
	if s := c.In[0].Shape; !s.Unranked() {
		rank = graph.Known(int64(len(s)))
	}
	c.Set(0, tensor.Int64, graph.Shape{rank, graph.Unknown()})
	return nil
}

func inferCompress(c *Ctx) error {
	in := c.Arg(0)
	if c.Node.Attrs.Get("axis") == nil {
		c.Set(0, in.DType, graph.Shape{graph.Unknown()})
		return nil
	}
	c.Set(0, in.DType, nil)
	if in.Shape.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", 0, len(in.Shape))
	if err != nil {
		return err
	}
	s := in.Shape.Clone()
	s[axis] = graph.Unknown()
	c.Set(0, in.DType, s)
	return nil
}

func inferTopK(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, nil)
	c.Set(1, tensor.Int64, nil)
	if in.Shape.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", -1, len(in.Shape))
	if err != nil {
		return err
	}
	k := scalarDim(c.Arg(1))
	if a := c.Node.Attrs.Get("k"); a != nil && a.Kind == graph.AttrInt {
		k = graph.Known(a.Int)
	}
	n, nok := in.Shape[axis].Int()
	if want, ok := k.Int(); ok && (want < 0 || nok && want > n) {
		return c.Errf("k: got %d, want between 0 and the %v elements along axis %d", want, in.Shape[axis], axis)
	}
	s := in.Shape.Clone()
	s[axis] = k
	c.Set(0, in.DType, s)
	c.Set(1, tensor.Int64, s)
	return nil
}

func inferUnique(c *Ctx) error {
	in := c.Arg(0)
	some := graph.Shape{graph.Unknown()}
	c.Set(0, in.DType, some)
	c.Set(1, tensor.Int64, some)
	c.Set(2, tensor.Int64, graph.Shape{in.Shape.Elements()})
	c.Set(3, tensor.Int64, some)
	if c.Node.Attrs.Get("axis") == nil {
		return nil
	}
	c.Set(0, in.DType, nil)
	c.Set(2, tensor.Int64, some)
	if in.Shape.Unranked() {
		return nil
	}
	axis, err := c.AxisAttr("axis", 0, len(in.Shape))
	if err != nil {
		return err
	}
	s := in.Shape.Clone()
	s[axis] = graph.Unknown()
	c.Set(0, in.DType, s)
	c.Set(2, tensor.Int64, graph.Shape{in.Shape[axis]})
	return nil
}

func inferNonMaxSuppression(c *Ctx) error {
	for i, name := range []string{"boxes", "scores"} {
		if s := c.Arg(i).Shape; !s.Unranked() && len(s) != 3 {
			return c.Errf("%s: got shape %v, want rank 3", name, s)
		}
	}
	c.Set(0, tensor.Int64, graph.Shape{graph.Unknown(), graph.Known(3)})
	return nil
}

func inferFeatures(c *Ctx) error {
	data, idx := c.Arg(0), c.Arg(1)
	c.Set(0, data.DType, nil)
	switch {
	case data.Shape.Unranked():
		return nil
	case len(data.Shape) == 0:
		return c.Errf("X: got a scalar, want at least one dimension")
	}
	s := data.Shape.Clone()
	if len(s) == 1 {
		s = slices.Insert(s, 0, graph.Known(1))
	}
	s[len(s)-1] = idx.Shape.Elements()
	c.Set(0, data.DType, s)
	return nil
}
