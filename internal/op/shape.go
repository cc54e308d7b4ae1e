package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var shapeRows = []Row{
	{Op: "Identity", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferIdentity, View: true},
	{Op: "Shape", In: Arity{1, 1}, Out: Arity{1, 1}, Infer: inferShape},
}

func inferIdentity(c *Ctx) error {
	c.Out[0] = c.In[0]
	return nil
}

func inferShape(c *Ctx) error {
	s := c.In[0].Shape
	if s.Unranked() {
		c.Set(0, tensor.Int64, graph.Shape{graph.Unknown()})
		return nil
	}
	clamp := func(i int64) int64 {
		if i < 0 {
			i += int64(len(s))
		}
		return min(max(i, 0), int64(len(s)))
	}
	start := clamp(c.Node.Attrs.Int("start", 0))
	end := max(start, clamp(c.Node.Attrs.Int("end", int64(len(s)))))
	c.Set(0, tensor.Int64, graph.Of(end-start))
	c.Out[0].Value = append([]graph.Dim{}, s[start:end]...)
	return nil
}
