package prog

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/internal/simd/vec"
	"github.com/stowage-ml/stowage/tensor"
)

// Compile turns the nodes of a fused body that stand behind its anchor into a program; all nodes
// when anchor is nil, in which case the node need not be a fused one. axis is the dimension of the
// output along which operands with one element for each channel run. ok is false when a node is no
// known elementwise operator on float32, or when an operand has neither the output's shape nor one
// element nor one for each channel.
//
// The output of a program without an anchor may lie in the memory of an input of its size.
func Compile(l simd.Level, o *backend.Op, anchor *graph.Node, axis int) (p *Program, ok bool) {
	c := &compiler{o: o, axis: axis}
	return c.compile(l, anchor)
}

// Runs is Compile, without an anchor, for operands that broadcast in any way, as long as each
// of the runs that the program is called for finds them contiguous or, where one[i] is set for
// input i, at a single element. The program is for RunOn.
func Runs(l simd.Level, o *backend.Op, one []bool) (p *Program, ok bool) {
	if len(o.In) > MaxInputs {
		return nil, false
	}
	c := &compiler{o: o, axis: -1, one: one}
	return c.compile(l, nil)
}

// Body returns the graph of a fused node, or nil.
func Body(n *graph.Node) *graph.Graph {
	if !op.IsFused(n) {
		return nil
	}
	return n.Attrs.Graph("body")
}

// Knows reports whether every operator of a node, or of a fused node's body, is one that programs have; only
// Compile and Runs can tell whether its operands are.
func Knows(n *graph.Node) bool {
	body := Body(n)
	if body == nil {
		return lowerings[n.Op] != nil
	}
	return !slices.ContainsFunc(body.Nodes, func(m *graph.Node) bool { return lowerings[m.Op] == nil })
}

// compiler translates one body.
type compiler struct {
	o    *backend.Op
	axis int
	one  []bool
	// inputs gives the node's input behind a value, or −1.
	inputs []int
	facts  []op.Fact
	// values says where the results of nodes are.
	values []source
	code   code
}

// code is a program before registers are given out: the destination of each step is a value of
// its own. Value 0 is the anchor's.
type code struct {
	steps  []step
	smalls []small
	count  int
	result source
}

// open notes which of a body's values are inputs.
func (c *compiler) open(body *graph.Graph) {
	n := len(body.Values)
	inputs := make([]int, n)
	for i := range inputs {
		inputs[i] = -1
	}
	for i, v := range body.Inputs {
		if v != graph.NoValue {
			inputs[v] = i
		}
	}
	c.inputs, c.values = inputs, make([]source, n)
}

// sized reports whether a value has the output's type and shape.
func (c *compiler) sized(v graph.ValueID) bool {
	return c.facts[v].DType == tensor.Float32 && c.facts[v].Shape.Equals(c.o.Out[0].Shape)
}

func (c *compiler) compile(l simd.Level, anchor *graph.Node) (*Program, bool) {
	body, facts, err := c.o.Body()
	if err != nil || len(body.Outputs) != 1 || body.Outputs[0] == graph.NoValue || len(c.o.Out) != 1 {
		return nil, false
	}
	c.facts = facts
	c.open(body)
	c.code.count = 1
	nodes, result := body.Nodes, body.Outputs[0]
	if anchor != nil {
		at := slices.Index(nodes, anchor)
		if at < 0 || len(anchor.Outputs) == 0 || !c.sized(anchor.Outputs[0]) {
			return nil, false
		}
		c.values[anchor.Outputs[0]] = source{from: register}
		nodes = nodes[at+1:]
	}
	for _, n := range nodes {
		if !c.node(n) {
			return nil, false
		}
	}
	if !c.sized(result) {
		return nil, false
	}
	c.code.result = c.values[result]
	if c.inputs[result] >= 0 || c.code.result.from == nowhere {
		return nil, false
	}
	p := &Program{fn: vec.For(l), channels: c.channels(), runs: c.one != nil}
	p.code = c.code.tidied(anchor != nil)
	p.assign()
	return p, true
}

// channels returns the output's extent along the axis.
func (c *compiler) channels() int {
	if s := c.o.Out[0].Shape; c.axis >= 0 && c.axis < len(s) {
		return int(s[c.axis])
	}
	return 1
}

// node translates one node.
func (c *compiler) node(n *graph.Node) bool {
	lower := lowerings[n.Op]
	if lower == nil || n.Domain != "" && n.Domain != "ai.onnx" || len(n.Outputs) != 1 ||
		c.facts[n.Outputs[0]].DType != tensor.Float32 {
		return false
	}
	s, ok := lower(&lowering{c, n})
	c.values[n.Outputs[0]] = s
	return ok && s.from != nowhere
}

// operand returns where an operand of type float32 is; ok is false for others.
func (c *compiler) operand(v graph.ValueID) (s source, ok bool) {
	if v == graph.NoValue || c.facts[v].DType != tensor.Float32 {
		return source{}, false
	}
	i := c.inputs[v]
	if i < 0 {
		return c.values[v], c.values[v].from != nowhere
	}
	a := &c.o.In[i]
	channel, ok := c.alongAxis(a.Shape)
	switch {
	case count(a.Shape) == 1 && (c.one == nil || a.Const != nil):
		return c.small(small{input: i, data: constant(a)}), true
	case c.one != nil && c.one[i]:
		return c.small(small{input: i}), true
	case c.one != nil || a.Shape.Equal(c.o.Out[0].Shape):
		return source{full, i}, true
	case ok:
		return c.small(small{input: i, data: constant(a), channel: channel}), true
	}
	return source{}, false
}

// alongAxis reports whether a shape has one element for each of the output's channels.
func (c *compiler) alongAxis(s tensor.Shape) (channel, ok bool) {
	out := c.o.Out[0].Shape
	if c.axis < 0 || c.axis >= len(out) || len(s) > len(out) {
		return false, false
	}
	at := c.axis - (len(out) - len(s))
	for i, n := range s {
		if i != at && n != 1 || i == at && n != out[c.axis] {
			return false, false
		}
	}
	return true, at >= 0
}

// constant returns the contents of a constant, or nil.
func constant(a *backend.Arg) []float32 {
	if a.Const == nil {
		return nil
	}
	return tensor.Cast[float32](a.Const.Bytes())
}

func count(s tensor.Shape) int {
	n, _ := s.Elements()
	return int(n)
}

// small adds an operand to the program, once.
func (c *compiler) small(s small) source {
	if s.data != nil {
		s.input = -1
	}
	for i := range c.code.smalls {
		k := &c.code.smalls[i]
		if k.channel == s.channel && k.input == s.input && (s.input >= 0 || slices.Equal(k.data, s.data)) {
			return source{narrow, i}
		}
	}
	if s.data != nil && !s.channel {
		s.pattern = new(vec.Pattern)
		vec.Fill(s.pattern, s.data[0])
	}
	c.code.smalls = append(c.code.smalls, s)
	return source{narrow, len(c.code.smalls) - 1}
}

// number adds a constant of one element.
func (c *compiler) number(x float32) source { return c.small(small{input: -1, data: []float32{x}}) }

// value returns the number that an operand is, when it is known.
func (c *compiler) value(s source) (x float32, ok bool) {
	if s.from == narrow && c.code.smalls[s.i].pattern != nil {
		return c.code.smalls[s.i].data[0], true
	}
	return 0, false
}

// emit adds a step and returns its value.
func (c *compiler) emit(s step) source {
	s.dst = c.code.count
	c.code.count++
	c.code.steps = append(c.code.steps, s)
	return source{register, s.dst}
}

// wide returns an operand that has an element for each of the tile's.
func (c *compiler) wide(s source) source {
	if s.from == narrow {
		return c.emit(step{form: move, x: s})
	}
	return s
}

func (c *compiler) unary(f vec.Unary, x source, a, b float32) source {
	return c.emit(step{form: unary, unary: f, x: c.wide(x), a: a, b: b})
}

func (c *compiler) binary(f vec.Binary, x, y source) source {
	if x.from == narrow && y.from == narrow {
		x = c.wide(x)
	}
	return c.emit(step{form: binary, binary: f, x: x, y: y})
}
