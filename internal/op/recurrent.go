package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
)

var recurrentRows = []Row{
	{Op: "RNN", In: Arity{3, 6}, Out: Arity{0, 2}, Infer: inferRNN, Work: workRNN},
	{Op: "GRU", In: Arity{3, 6}, Out: Arity{0, 2}, Infer: inferGRU, Work: workGRU},
	{Op: "LSTM", In: Arity{3, 8}, Out: Arity{0, 3}, Infer: inferLSTM, Work: workLSTM},
}

func inferRNN(c *Ctx) error  { return c.recurrent(1) }
func inferGRU(c *Ctx) error  { return c.recurrent(3) }
func inferLSTM(c *Ctx) error { return c.recurrent(4) }

// Directions returns the number of directions that a recurrent node runs in, 1 or 2.
func (c *Ctx) Directions() (int64, error) {
	switch d := c.Node.Attrs.Str("direction", "forward"); d {
	case "forward", "reverse":
		return 1, nil
	case "bidirectional":
		return 2, nil
	default:
		return 0, c.Errf("direction: got %q, want forward, reverse or bidirectional", d)
	}
}

// hidden returns the number of hidden units, from the attribute or from the weights
// [directions, gates·hidden, hidden].
func (c *Ctx) hidden() (graph.Dim, error) {
	n := c.Node.Attrs.Int("hidden_size", 0)
	if c.Node.Attrs.Get("hidden_size") != nil && n < 1 {
		return graph.Unknown(), c.Errf("hidden_size: got %d, want at least 1", n)
	}
	if n > 0 {
		return graph.Known(n), nil
	}
	if r := c.In[2].Shape; len(r) == 3 {
		return r[2], nil
	}
	return graph.Unknown(), nil
}

// recurrent infers a network whose cells have the given number of gates. The inputs are data,
// weights, recurrence weights, bias, lengths, first state, first cell state, peepholes.
func (c *Ctx) recurrent(gates int64) error {
	x, layout := c.In[0].Shape, c.Node.Attrs.Int("layout", 0)
	for i := range c.Out {
		c.Set(i, c.In[0].DType, nil)
	}
	if layout != 0 && layout != 1 {
		return c.Errf("layout: got %d, want 0 or 1", layout)
	}
	dirs, err := c.Directions()
	if err != nil {
		return err
	}
	hidden, err := c.hidden()
	if err != nil {
		return err
	}
	seq, batch, ins := graph.Unknown(), graph.Unknown(), graph.Unknown()
	if !x.Unranked() {
		if len(x) != 3 {
			return c.Errf("input: got %v, want rank 3", x)
		}
		seq, batch, ins = x[layout], x[1-layout], x[2]
	}
	d, all := graph.Known(dirs), hidden.Mul(graph.Known(gates))
	state := graph.Shape{d, batch, hidden}
	y := graph.Shape{seq, d, batch, hidden}
	if layout == 1 {
		state, y = graph.Shape{batch, d, hidden}, graph.Shape{batch, seq, d, hidden}
	}
	c.Set(0, c.In[0].DType, y)
	c.Set(1, c.In[0].DType, state)
	c.Set(2, c.In[0].DType, state)
	for i, want := range []struct {
		what  string
		shape graph.Shape
	}{
		{"weights", graph.Shape{d, all, ins}},
		{"recurrence weights", graph.Shape{d, all, hidden}},
		{"bias", graph.Shape{d, all.Mul(graph.Known(2))}},
		{"sequence_lens", graph.Shape{batch}},
		{"initial_h", state},
		{"initial_c", state},
		{"peepholes", graph.Shape{d, hidden.Mul(graph.Known(3))}},
	} {
		if err := c.wantShape(i+1, want.what, want.shape); err != nil {
			return err
		}
	}
	return nil
}

func workRNN(c *Ctx) Work  { return c.recurrentWork(1) }
func workGRU(c *Ctx) Work  { return c.recurrentWork(3) }
func workLSTM(c *Ctx) Work { return c.recurrentWork(4) }

// recurrentWork counts the two matrix products of each step.
func (c *Ctx) recurrentWork(gates float64) Work {
	flops := 0.0
	dirs, err := c.Directions()
	hidden, herr := c.hidden()
	if x := c.In[0].Shape; len(x) == 3 && err == nil && herr == nil {
		h := numberOf(hidden)
		flops = 2 * numberOf(x[0]) * numberOf(x[1]) * float64(dirs) * gates * h * (numberOf(x[2]) + h)
	}
	return working(c, flops)
}
