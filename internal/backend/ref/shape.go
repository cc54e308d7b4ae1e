package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

var shapeKernels = []entry{
	{op: "Identity", types: []types{anything}, make: makeCopy},
	{op: "Shape", types: []types{anything}, make: makeShape},
}

// makeCopy serves every operator whose output is its first input's bytes under another shape.
func makeCopy(*backend.Op) (prepared, error) {
	return run(func(c *backend.Call) error {
		copy(c.Out[0].Data, c.In[0].Data)
		copy(c.Out[0].Strs, c.In[0].Strs)
		return nil
	})
}

func makeShape(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	start, n := o.Node.Attrs.Int("start", 0), o.Out[0].Shape[0]
	if start < 0 {
		start += int64(len(shape))
	}
	start = max(start, 0)
	return run(func(c *backend.Call) error {
		if n > 0 {
			copy(tensor.Cast[int64](c.Out[0].Data), shape[start:start+n])
		}
		return nil
	})
}
