package op

import (
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

func inferRange(c *Ctx) error {
	dt, err := c.oneType()
	if err != nil {
		return err
	}
	if err := c.wantScalars(0, 1, 2); err != nil {
		return err
	}
	c.Set(0, dt, unknownShape(1))
	if dt.IsFloat() {
		return c.rangeOfFloats(dt)
	}
	var lim [3]graph.Dim
	for i := range lim {
		vals, ok := c.In[i].Dims()
		if !ok || len(vals) != 1 {
			return nil
		}
		lim[i] = vals[0]
	}
	step, ok := lim[2].Int()
	if ok && step == 0 {
		return c.Errf("delta: got 0, want another number")
	}
	if !ok {
		return nil
	}
	n := rangeLength(lim[0], lim[1], step)
	c.Set(0, dt, graph.Shape{n})
	if k, ok := n.Int(); ok && k <= MaxValue {
		out := make([]graph.Dim, k)
		for i := range out {
			out[i] = lim[0].Add(graph.Known(int64(i) * step))
		}
		c.setValue(0, out)
	}
	return nil
}

// rangeLength returns how many numbers from start on, step apart, come before limit.
func rangeLength(start, limit graph.Dim, step int64) graph.Dim {
	span := subValue(limit, start)
	if step < 0 {
		span, step = subValue(start, limit), -step
	}
	return maxValue(span.CeilDiv(graph.Known(step)), graph.Known(0))
}

func (c *Ctx) rangeOfFloats(dt tensor.DType) error {
	var lim [3]float64
	for i := range lim {
		t := c.In[i].Const
		if t == nil {
			return nil
		}
		switch dt {
		case tensor.Float32:
			lim[i] = float64(tensor.Cast[float32](t.Bytes())[0])
		case tensor.Float64:
			lim[i] = tensor.Cast[float64](t.Bytes())[0]
		case tensor.Float16:
			lim[i] = float64(tensor.Cast[tensor.Half](t.Bytes())[0].Float32())
		case tensor.BFloat16:
			lim[i] = float64(tensor.Cast[tensor.Brain](t.Bytes())[0].Float32())
		default:
			return c.Errf("type: got %v, want a number", dt)
		}
	}
	n := math.Ceil((lim[1] - lim[0]) / lim[2])
	if math.IsNaN(n) || n >= math.MaxInt64 {
		return c.Errf("range: got start %v, limit %v, delta %v, want a finite number of elements", lim[0], lim[1], lim[2])
	}
	c.Set(0, dt, graph.Of(int64(max(n, 0))))
	return nil
}
