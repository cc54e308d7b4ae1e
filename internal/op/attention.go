package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
)

var attentionRows = []Row{
	{Op: "Attention", In: Arity{3, 7}, Out: Arity{1, 4}, Infer: inferAttention, Work: attentionWork},
	{Op: "RotaryEmbedding", In: Arity{3, 4}, Out: Arity{1, 1}, Infer: inferRotary, Work: workOfInput(3), InPlace: []int{0}},
}

// heads is a query, key or value tensor seen as [batch, heads, length, size], whichever of its
// two layouts it has.
type heads struct{ batch, heads, length, size graph.Dim }

// headsOf reads the layout of input i: four dimensions, or [batch, length, heads·size], where an
// attribute tells the number of heads. ok is false for an unknown rank.
func (c *Ctx) headsOf(i int, name, attr string) (h heads, ok bool, err error) {
	s := c.Arg(i).Shape
	switch {
	case s.Unranked():
		return h, false, nil
	case len(s) == 4:
		return heads{s[0], s[1], s[2], s[3]}, true, nil
	case len(s) != 3:
		return h, false, c.Errf("%s: got shape %v, want 3 or 4 dimensions", name, s)
	}
	n := c.Node.Attrs.Int(attr, 0)
	if n < 1 {
		return h, false, c.Errf("%s: got %d, want a positive number of heads for %s %v", attr, n, name, s)
	}
	if d, ok := s[2].Int(); ok && d%n != 0 {
		return h, false, c.Errf("%s: got shape %v, want %d heads of equal size", name, s, n)
	}
	return heads{s[0], graph.Known(n), s[1], s[2].Div(graph.Known(n))}, true, nil
}

// attended returns the query, key and value tensors; ok is false when a rank is unknown.
func attended(c *Ctx) (q, k, v heads, ok bool, err error) {
	all := true
	for i, at := range []*heads{&q, &k, &v} {
		attr := "kv_num_heads"
		if i == 0 {
			attr = "q_num_heads"
		}
		h, ok, err := c.headsOf(i, []string{"Q", "K", "V"}[i], attr)
		if err != nil {
			return q, k, v, false, err
		}
		*at = h
		all = all && ok
	}
	if all && len(c.In[1].Shape) != len(c.In[0].Shape) || all && len(c.In[2].Shape) != len(c.In[0].Shape) {
		return q, k, v, false, c.Errf("Q, K and V: got shapes %v, %v and %v, want one rank",
			c.In[0].Shape, c.In[1].Shape, c.In[2].Shape)
	}
	return q, k, v, all, nil
}

// attendedLength is how many keys there are, with those of the past.
func attendedLength(c *Ctx, k heads) graph.Dim {
	if !c.Has(4) {
		return k.length
	}
	if past := c.Arg(4).Shape; len(past) == 4 {
		return past[2].Add(k.length)
	}
	return graph.Unknown()
}

func inferAttention(c *Ctx) error {
	dt, vt := c.Arg(0).DType, c.Arg(2).DType
	c.Set(0, dt, nil)
	c.Set(1, c.Arg(1).DType, nil)
	c.Set(2, vt, nil)
	c.Set(3, dt, nil)
	q, k, v, ok, err := attended(c)
	if err != nil || !ok {
		return err
	}
	if c.Has(4) != c.Has(5) {
		return c.Errf("past_key and past_value: got one of them, want both or neither")
	}
	for i, name := range []string{"past_key", "past_value"} {
		if err := c.wantRank(4+i, name, 4); err != nil {
			return err
		}
	}
	total := attendedLength(c, k)
	if len(c.In[0].Shape) == 3 {
		c.Set(0, dt, graph.Shape{q.batch, q.length, q.heads.Mul(v.size)})
	} else {
		c.Set(0, dt, graph.Shape{q.batch, q.heads, q.length, v.size})
	}
	c.Set(1, c.Arg(1).DType, graph.Shape{k.batch, k.heads, total, k.size})
	c.Set(2, vt, graph.Shape{v.batch, v.heads, total, v.size})
	c.Set(3, dt, graph.Shape{q.batch, q.heads, q.length, total})
	return nil
}

func attentionWork(c *Ctx) Work {
	q, k, v, ok, err := attended(c)
	if !ok || err != nil {
		return working(c, 0)
	}
	pairs := elementsOf(graph.Shape{q.batch, q.heads, q.length, attendedLength(c, k)})
	return working(c, pairs*(2*numberOf(k.size)+2*numberOf(v.size)+20))
}

func inferRotary(c *Ctx) error {
	in := c.Arg(0)
	c.Set(0, in.DType, in.Shape)
	_, _, err := c.headsOf(0, "X", "num_heads")
	return err
}
