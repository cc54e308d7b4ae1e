package ref

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var randomKernels = checkedAll([]entry{
	{op: "Dropout", types: []types{floats, floats, bools}, make: makeDropout},
	{op: "RandomUniform", make: makeUniform},
	{op: "RandomNormal", make: makeNormal},
	{op: "RandomUniformLike", types: []types{movable}, make: makeUniform},
	{op: "RandomNormalLike", types: []types{movable}, make: makeNormal},
	{op: "Bernoulli", types: []types{floats}, make: makeBernoulli},
	{op: "Multinomial", types: []types{floats}, make: makeMultinomial},
})

// drawing returns a kernel that sets each element of the output to what draw gives for it.
func drawing(o *backend.Op, draw func(c *backend.Call, t *twister, i int) float64) (prepared, error) {
	dt, n := o.Out[0].DType, count(o.Out[0].Shape)
	if !(numbers | bools).has(dt) {
		return prepared{}, fmt.Errorf("ref: dtype: got %v, want %v", dt, numbers|bools)
	}
	put := func(v *backend.View, i int, x float64) { setInt(v, i, toInt(x)) }
	switch {
	case floats.has(dt):
		put = func(v *backend.View, i int, x float64) { setFloat(dt, v.Data, i, x) }
	case dt == tensor.Bool:
		put = func(v *backend.View, i int, x float64) { v.Data[i] = bit(x != 0) }
	}
	k := func(c *backend.Call) error {
		t := newTwister(c.Scratch, seedOf(o.Node))
		for i := range n {
			put(&c.Out[0], i, draw(c, &t, i))
		}
		return nil
	}
	return prepared{run: k, scratch: twisterScratch}, nil
}

func makeUniform(o *backend.Op) (prepared, error) {
	low, high := float64(o.Node.Attrs.Float("low", 0)), float64(o.Node.Attrs.Float("high", 1))
	return drawing(o, func(_ *backend.Call, t *twister, _ int) float64 { return low + (high-low)*t.uniform() })
}

func makeNormal(o *backend.Op) (prepared, error) {
	mean, scale := float64(o.Node.Attrs.Float("mean", 0)), float64(o.Node.Attrs.Float("scale", 1))
	return drawing(o, func(_ *backend.Call, t *twister, _ int) float64 { return mean + scale*t.normal() })
}

// makeBernoulli draws 1 with the probability that the input gives for each element.
func makeBernoulli(o *backend.Op) (prepared, error) {
	dt := o.In[0].DType
	return drawing(o, func(c *backend.Call, t *twister, i int) float64 {
		return float64(bit(t.uniform() < floatAt(dt, c.In[0].Data, i)))
	})
}

// makeMultinomial draws classes from rows of logarithms of probabilities, which need not add up
// to 1.
func makeMultinomial(o *backend.Op) (prepared, error) {
	dt := o.In[0].DType
	classes, samples := int(o.In[0].Shape[1]), max(1, int(o.Out[0].Shape[1]))
	if classes == 0 && count(o.Out[0].Shape) > 0 {
		return prepared{}, fmt.Errorf("ref: multinomial: got 0 classes, want at least one")
	}
	return drawing(o, func(c *backend.Call, t *twister, i int) float64 {
		row := i / samples * classes
		top, sum := math.Inf(-1), 0.0
		for k := range classes {
			top = max(top, floatAt(dt, c.In[0].Data, row+k))
		}
		for k := range classes {
			sum += math.Exp(floatAt(dt, c.In[0].Data, row+k) - top)
		}
		left := t.uniform() * sum
		for k := range classes {
			if left -= math.Exp(floatAt(dt, c.In[0].Data, row+k) - top); left < 0 {
				return float64(k)
			}
		}
		return float64(classes - 1)
	})
}

// dropout is a node's fixed part: the type of data and mask, and how often each occurs.
type dropout struct {
	dt, mask tensor.DType
	n        int
}

// makeDropout keeps everything, unless the call says that it is training: then it sets elements
// to zero by chance, and scales up the others by as much as is lost on average.
func makeDropout(o *backend.Op) (prepared, error) {
	d := dropout{dt: o.In[0].DType, n: count(o.In[0].Shape)}
	if len(o.Out) > 1 {
		d.mask = o.Out[1].DType
	}
	k := func(c *backend.Call) error {
		ratio := 0.5
		if len(c.In) > 1 && c.In[1].DType != tensor.Undefined {
			ratio = floatAt(c.In[1].DType, c.In[1].Data, 0)
		}
		if len(c.In) < 3 || c.In[2].DType == tensor.Undefined || c.In[2].Data[0] == 0 {
			ratio = 0
		}
		if !(ratio >= 0 && ratio < 1) {
			return fmt.Errorf("ref: dropout: got ratio %v, want one in [0, 1)", ratio)
		}
		d.run(c, ratio, seedOf(o.Node))
		return nil
	}
	return prepared{run: k, scratch: twisterScratch}, nil
}

func (d *dropout) run(c *backend.Call, ratio float64, seed uint32) {
	if ratio == 0 {
		copy(c.Out[0].Data, c.In[0].Data)
		for i := range d.n {
			d.keep(c, i, true)
		}
		return
	}
	t := newTwister(c.Scratch, seed)
	for i := range d.n {
		kept := t.uniform() >= ratio
		x := 0.0
		if kept {
			x = floatAt(d.dt, c.In[0].Data, i) / (1 - ratio)
		}
		setFloat(d.dt, c.Out[0].Data, i, x)
		d.keep(c, i, kept)
	}
}

// keep notes in the mask, if there is one, whether element i was kept.
func (d *dropout) keep(c *backend.Call, i int, kept bool) {
	switch {
	case d.mask == tensor.Undefined || len(c.Out) < 2:
	case d.mask == tensor.Bool:
		c.Out[1].Data[i] = bit(kept)
	default:
		setFloat(d.mask, c.Out[1].Data, i, float64(bit(kept)))
	}
}
