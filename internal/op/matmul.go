package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var matmulRows = []Row{
	{Op: "MatMul", In: Arity{2, 2}, Out: Arity{1, 1}, Infer: inferMatMul, Work: workMatMul},
	{Op: "Gemm", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferGemm, Work: workGemm},
	{Op: "MatMulInteger", In: Arity{2, 4}, Out: Arity{1, 1}, Infer: inferMatMulInteger, Work: workMatMul},
	{Op: "QLinearMatMul", In: Arity{8, 8}, Out: Arity{1, 1}, Infer: inferQLinearMatMul, Work: workMatMul},
}

func inferMatMul(c *Ctx) error {
	dt, err := c.oneType(0, 1)
	if err != nil {
		return err
	}
	return c.matmul(0, 1, dt)
}

func inferMatMulInteger(c *Ctx) error {
	if err := c.matmul(0, 1, tensor.Int32); err != nil {
		return err
	}
	rows, cols := c.lines(0, 1)
	if err := c.oneOrEach(2, "A's zero point", rows); err != nil {
		return err
	}
	return c.oneOrEach(3, "B's zero point", cols)
}

func inferQLinearMatMul(c *Ctx) error {
	if err := c.matmul(0, 3, c.In[7].DType); err != nil {
		return err
	}
	rows, cols := c.lines(0, 3)
	one := graph.Known(1)
	for i, n := range []graph.Dim{rows, rows, cols, cols, one, one} {
		// The data stand at 0 and 3, their scales and zero points behind them.
		at := []int{1, 2, 4, 5, 6, 7}[i]
		if err := c.oneOrEach(at, "scale or zero point", n); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the rows of matrix a and the columns of matrix b; 1 for a vector.
func (c *Ctx) lines(a, b int) (rows, cols graph.Dim) {
	line := func(s graph.Shape, back int) graph.Dim {
		switch {
		case s.Unranked():
			return graph.Unknown()
		case len(s) < 2:
			return graph.Known(1)
		}
		return s[len(s)-back]
	}
	return line(c.Arg(a).Shape, 2), line(c.Arg(b).Shape, 1)
}

// oneOrEach checks that input i, when present, has one element, or n of them along one dim.
func (c *Ctx) oneOrEach(i int, what string, n graph.Dim) error {
	s := c.Arg(i).Shape
	if s.Unranked() || !clash(s.Elements(), graph.Known(1)) {
		return nil
	}
	long := 0
	for _, d := range s {
		if !d.Is(1) {
			long++
		}
	}
	if long > 1 || clash(s.Elements(), n) {
		return c.Errf("input %d, %s: got shape %v, want one element or %v", i, what, s, n)
	}
	return nil
}

// matmul infers numpy's product of inputs a and b: the last two dims are matrices, those before
// them broadcast, and a vector counts as a row on the left and as a column on the right.
func (c *Ctx) matmul(a, b int, dt tensor.DType) error {
	c.Set(0, dt, nil)
	as, bs := c.Arg(a).Shape, c.Arg(b).Shape
	if as.Unranked() || bs.Unranked() {
		return nil
	}
	if len(as) == 0 || len(bs) == 0 {
		return c.Errf("operands %v and %v: got a scalar, want at least one dim", as, bs)
	}
	inner := bs[max(len(bs)-2, 0)]
	if clash(as[len(as)-1], inner) {
		return c.Errf("operands %v and %v: got inner dims %v and %v, want the same", as, bs, as[len(as)-1], inner)
	}
	out, err := c.Broadcast(as[:max(len(as)-2, 0)], bs[:max(len(bs)-2, 0)])
	if err != nil {
		return err
	}
	out = out.Clone()
	if len(as) > 1 {
		out = append(out, as[len(as)-2])
	}
	if len(bs) > 1 {
		out = append(out, bs[len(bs)-1])
	}
	c.Set(0, dt, out)
	return nil
}

func inferGemm(c *Ctx) error {
	dt, err := c.oneType(0, 1, 2)
	if err != nil {
		return err
	}
	c.Set(0, dt, nil)
	m, ka, err := c.matrix(0, "A")
	if err != nil {
		return err
	}
	n, kb, err := c.matrix(1, "B")
	if err != nil {
		return err
	}
	if c.Node.Attrs.Int("transB", 0) == 0 {
		n, kb = kb, n
	}
	if c.Node.Attrs.Int("transA", 0) != 0 {
		m, ka = ka, m
	}
	if clash(ka, kb) {
		return c.Errf("operands %v and %v: got inner dims %v and %v, want the same",
			c.In[0].Shape, c.In[1].Shape, ka, kb)
	}
	out := graph.Shape{m, n}
	c.Set(0, dt, out)
	return c.wantSpread(2, "C", out)
}

// matrix returns the extents of input i as they are stored.
func (c *Ctx) matrix(i int, name string) (rows, cols graph.Dim, err error) {
	s := c.Arg(i).Shape
	if s.Unranked() {
		return graph.Unknown(), graph.Unknown(), nil
	}
	if len(s) != 2 {
		return rows, cols, c.Errf("%s: got %v, want a matrix", name, s)
	}
	return s[0], s[1], nil
}

func workGemm(c *Ctx) Work {
	k := graph.Unknown()
	if s := c.In[0].Shape; len(s) == 2 {
		k = s[1]
		if c.Node.Attrs.Int("transA", 0) != 0 {
			k = s[0]
		}
	}
	return working(c, 2*elementsOf(c.Out[0].Shape)*numberOf(k))
}

// workMatMul serves every matrix product whose left operand is the first input.
func workMatMul(c *Ctx) Work {
	k := graph.Unknown()
	if s := c.In[0].Shape; len(s) > 0 {
		k = s[len(s)-1]
	}
	return working(c, 2*elementsOf(c.Out[0].Shape)*numberOf(k))
}
