package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

var convRows = []Row{
	{Op: "Conv", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferConv, Work: workConv},
	{Op: "ConvTranspose", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferConvTranspose, Work: workConvTranspose},
	{Op: "DeformConv", In: Arity{3, 5}, Out: Arity{1, 1}, Infer: inferDeformConv, Work: workConv},
	{Op: "ConvInteger", In: Arity{2, 4}, Out: Arity{1, 1}, Infer: inferConvInteger, Work: workConv},
	{Op: "QLinearConv", In: Arity{8, 9}, Out: Arity{1, 1}, Infer: inferQLinearConv, Work: workQLinearConv},
}

func inferConv(c *Ctx) error {
	dt, err := c.oneType(0, 1, 2)
	if err != nil {
		return err
	}
	return c.conv(0, 1, 2, dt)
}

// ConvInteger's third input is a zero point, no bias.
func inferConvInteger(c *Ctx) error {
	if err := c.conv(0, 1, -1, tensor.Int32); err != nil {
		return err
	}
	return c.convScales([]int{2}, []int{3}, 1)
}

func inferQLinearConv(c *Ctx) error {
	if err := c.conv(0, 3, 8, c.In[7].DType); err != nil {
		return err
	}
	return c.convScales([]int{1, 2, 6, 7}, []int{4, 5}, 3)
}

// convScales checks scales and zero points: one for all data, one for all weights (input w) or
// one for each output channel.
func (c *Ctx) convScales(data, weights []int, w int) error {
	for _, i := range data {
		if err := c.oneOrEach(i, "scale or zero point", graph.Known(1)); err != nil {
			return err
		}
	}
	outs := graph.Unknown()
	if s := c.Arg(w).Shape; len(s) > 0 {
		outs = s[0]
	}
	for _, i := range weights {
		if err := c.oneOrEach(i, "scale or zero point", outs); err != nil {
			return err
		}
	}
	return nil
}

// conv infers a convolution whose data, weights and bias are the given inputs; bias is −1 when
// the operator has none.
func (c *Ctx) conv(x, w, bias int, dt tensor.DType) error {
	c.Set(0, dt, nil)
	xs, ws := c.Arg(x).Shape, c.Arg(w).Shape
	if err := c.convRanks(xs, ws); err != nil || xs.Unranked() {
		return err
	}
	kernel, err := c.kernel(ws, len(xs)-2)
	if err != nil {
		return err
	}
	outs := graph.Unknown()
	if !ws.Unranked() {
		outs = ws[0]
		if err := c.convChannels(xs[1], ws); err != nil {
			return err
		}
	}
	if bias >= 0 {
		if err := c.wantVector(bias, "bias", outs); err != nil {
			return err
		}
	}
	var few [3]Axis
	axes, err := windowsIn(few[:0], c.Node.Attrs, xs[2:], kernel)
	if err != nil {
		return err
	}
	c.Set(0, dt, spatialShape(xs[0], outs, axes))
	return nil
}

func spatialShape(batch, channels graph.Dim, axes []Axis) graph.Shape {
	s := append(make(graph.Shape, 0, 2+len(axes)), batch, channels)
	for i := range axes {
		s = append(s, axes[i].Out)
	}
	return s
}

func (c *Ctx) convRanks(xs, ws graph.Shape) error {
	if !xs.Unranked() && len(xs) < 3 {
		return c.Errf("input: got %v, want [batch, channels, spatial...]", xs)
	}
	if !ws.Unranked() && len(ws) < 3 {
		return c.Errf("weights: got %v, want [channels, channels, kernel...]", ws)
	}
	if !xs.Unranked() && !ws.Unranked() && len(xs) != len(ws) {
		return c.Errf("input %v and weights %v: got ranks %d and %d, want the same", xs, ws, len(xs), len(ws))
	}
	return nil
}

// kernel returns the window's extents, from the weights' shape and from kernel_shape.
func (c *Ctx) kernel(ws graph.Shape, n int) ([]graph.Dim, error) {
	given := c.Node.Attrs.Ints("kernel_shape", nil)
	if len(ws) == 2+n && (len(given) == 0 || ws[2:].Equals(given)) {
		return ws[2:], nil
	}
	kernel := make([]graph.Dim, n)
	for i := range kernel {
		kernel[i] = graph.Unknown()
		if !ws.Unranked() {
			kernel[i] = ws[2+i]
		}
	}
	if len(given) == 0 {
		return kernel, nil
	}
	if len(given) != n {
		return nil, c.Errf("kernel_shape: got %d values, want %d", len(given), n)
	}
	for i, k := range given {
		if w, ok := kernel[i].Int(); ok && w != k {
			return nil, c.Errf("kernel_shape: got %v, want %v as in the weights %v", given, kernel, ws)
		}
		kernel[i] = graph.Known(k)
	}
	return kernel, nil
}

// group returns the number of groups, at least 1.
func (c *Ctx) group() (int64, error) {
	g := c.Node.Attrs.Int("group", 1)
	if g < 1 {
		return 0, c.Errf("group: got %d, want at least 1", g)
	}
	return g, nil
}

// convChannels checks weights [outs, ins/group, ...] against the input's channels.
func (c *Ctx) convChannels(ins graph.Dim, ws graph.Shape) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	if m, ok := ws[0].Int(); ok && m%g != 0 {
		return c.Errf("group: got %d, want a divisor of the %d output channels", g, m)
	}
	have, hok := ins.Int()
	want, wok := ws[1].Mul(graph.Known(g)).Int()
	if hok && wok && have != want {
		return c.Errf("input channels: got %d, want %d (%d groups of weights %v)", have, want, g, ws)
	}
	return nil
}

// wantVector checks that input i, when present, has one dim of n elements.
func (c *Ctx) wantVector(i int, what string, n graph.Dim) error {
	s := c.Arg(i).Shape
	if s.Unranked() {
		return nil
	}
	if len(s) != 1 || clash(s[0], n) {
		return c.Errf("%s: got shape %v, want [%v]", what, s, n)
	}
	return nil
}

// clash reports whether two dims are known to differ.
func clash(a, b graph.Dim) bool {
	x, xok := a.Int()
	y, yok := b.Int()
	return xok && yok && x != y
}

func inferConvTranspose(c *Ctx) error {
	dt, err := c.oneType(0, 1, 2)
	if err != nil {
		return err
	}
	c.Set(0, dt, nil)
	xs, ws := c.In[0].Shape, c.In[1].Shape
	if err := c.convRanks(xs, ws); err != nil || xs.Unranked() {
		return err
	}
	g, err := c.group()
	if err != nil {
		return err
	}
	kernel, err := c.kernel(ws, len(xs)-2)
	if err != nil {
		return err
	}
	outs := graph.Unknown()
	if !ws.Unranked() {
		outs = ws[1].Mul(graph.Known(g))
		if clash(ws[0], xs[1]) {
			return c.Errf("input channels: got %v, want %v as in the weights %v", xs[1], ws[0], ws)
		}
		if m, ok := ws[0].Int(); ok && m%g != 0 {
			return c.Errf("group: got %d, want a divisor of the %d input channels", g, m)
		}
	}
	if err := c.wantVector(2, "bias", outs); err != nil {
		return err
	}
	axes, err := TransposedWindows(c.Node.Attrs, xs[2:], kernel)
	if err != nil {
		return err
	}
	c.Set(0, dt, spatialShape(xs[0], outs, axes))
	return nil
}

func inferDeformConv(c *Ctx) error {
	dt, err := c.oneType(0, 1, 2, 3, 4)
	if err != nil {
		return err
	}
	if err := c.conv(0, 1, 3, dt); err != nil {
		return err
	}
	out, ws := c.Out[0].Shape, c.In[1].Shape
	if out.Unranked() || ws.Unranked() {
		return nil
	}
	if len(out) != 4 {
		return c.Errf("input: got rank %d, want 4", len(out))
	}
	groups := c.Node.Attrs.Int("offset_group", 1)
	if n, ok := c.In[0].Shape[1].Int(); groups < 1 || ok && n%groups != 0 {
		return c.Errf("offset_group: got %d, want a divisor of the %v input channels", groups, c.In[0].Shape[1])
	}
	taps := graph.Known(groups).Mul(ws[2]).Mul(ws[3])
	if err := c.wantShape(2, "offset", graph.Shape{out[0], taps.Mul(graph.Known(2)), out[2], out[3]}); err != nil {
		return err
	}
	return c.wantShape(4, "mask", graph.Shape{out[0], taps, out[2], out[3]})
}

// wantShape checks the shape of input i, when it is present, as far as both are known.
func (c *Ctx) wantShape(i int, what string, want graph.Shape) error {
	s := c.Arg(i).Shape
	if s.Unranked() {
		return nil
	}
	bad := len(s) != len(want)
	for j := 0; j < len(s) && !bad; j++ {
		bad = clash(s[j], want[j])
	}
	if bad {
		return c.Errf("%s: got shape %v, want %v", what, s, want)
	}
	return nil
}

func workConv(c *Ctx) Work {
	return working(c, 2*elementsOf(c.Out[0].Shape)*macs(c.In[1].Shape))
}

func workQLinearConv(c *Ctx) Work {
	return working(c, 2*elementsOf(c.Out[0].Shape)*macs(c.In[3].Shape))
}

// Each input element meets one window of each output channel of its group.
func workConvTranspose(c *Ctx) Work {
	return working(c, 2*elementsOf(c.In[0].Shape)*macs(c.In[1].Shape))
}

// macs is the multiply-adds of one window of weights [channels, channels of the group, kernel...].
func macs(ws graph.Shape) float64 {
	if len(ws) == 0 {
		return 0
	}
	return elementsOf(ws[1:])
}
