package quant

import (
	"slices"
	"sync"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// group is a product or a convolution within a group of nodes: what goes before it becomes inputs of a
// call of its own, which come behind those of the group.
type group struct {
	inner backend.Kernel
	// quantiser makes the left operand from input x, unless it is nil: its results are inputs q to q+2.
	quantiser *dynamic
	x, q      int
	ins       int
	calls     sync.Pool
}

// frame is the calls that one call of a group makes.
type frame struct{ product, quantiser backend.Call }

// Fused returns the kernels for groups of MatMulInteger or ConvInteger, Cast to float32, and elementwise
// operators, in which a DynamicQuantizeLinear may make the first operand; and for convolutions between
// DequantizeLinear and QuantizeLinear.
func Fused(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	body := prog.Body(o.Node)
	if body == nil || len(body.Inputs) != len(o.In) || len(o.Out) != 1 || len(o.Out[0].Shape) == 0 {
		return nil, nil
	}
	if isOctet(o.Out[0].DType) {
		return between(l, o, body), nil
	}
	if o.Out[0].DType != tensor.Float32 {
		return nil, nil
	}
	b := split(body)
	if b == nil {
		return nil, nil
	}
	inner, g := b.flatten(l, o)
	if inner == nil {
		return nil, nil
	}
	at := operands{-1, -1, -1, -1}
	for i, v := range b.product.Inputs {
		if v == graph.NoValue {
			continue
		}
		if at[i] = slices.Index(b.after.Inputs, v); at[i] < 0 {
			return nil, nil
		}
	}
	if b.product.Op == "ConvInteger" {
		return b.convolve(l, inner, at, g), nil
	}
	return b.multiply(l, inner, at, g), nil
}

// multiply returns the kernels for a group of a matrix product.
func (b *parts) multiply(l simd.Level, o *backend.Op, at operands, g *group) []backend.Candidate {
	p := newProduct(l, o, at)
	axis := len(o.Out[0].Shape) - 1
	if p == nil || int(o.Out[0].Shape[axis]) != p.N {
		return nil
	}
	chain, ok := prog.Compile(l, o, b.cast, axis)
	if !ok {
		return nil
	}
	if p.mode = toFloats; !chain.Empty() {
		p.chain = chain
	}
	return g.wrap(p.candidates("matmul", o))
}

// convolve returns the kernels for a group of a convolution.
func (b *parts) convolve(l simd.Level, o *backend.Op, at operands, g *group) []backend.Candidate {
	v, ok := windowOf(b.product, &o.In[at[0]], &o.In[at[1]], &o.Out[0])
	if !ok {
		return nil
	}
	p := newConv(l, o, v, at[0], at[1], at[2], at[3])
	chain, ok := prog.Compile(l, o, b.cast, 1)
	if p == nil || !ok {
		return nil
	}
	if p.mode = toFloats; !chain.Empty() {
		p.chain = chain
	}
	return g.wrap(p.candidate(o))
}

// wrap makes the kernels for what is inside of the group ones for all of it.
func (g *group) wrap(cs []backend.Candidate) []backend.Candidate {
	for i := range cs {
		g.inner = cs[i].Kernel
		cs[i].Kernel, cs[i].Scratch = g.kernel, cs[i].Scratch+int64(g.bytes())
	}
	return cs
}

// parts is a body taken apart.
type parts struct {
	quantiser, product, cast *graph.Node
	// after is what stands behind the product, and what goes beside it; the product's result is an
	// input, as are the quantiser's.
	after *graph.Graph
}

// split takes a body apart; nil when it is none of this package's.
func split(body *graph.Graph) *parts {
	b := &parts{}
	var rest []*graph.Node
	for _, n := range body.Nodes {
		switch {
		case n.Domain == "" && n.Op == "DynamicQuantizeLinear" && b.quantiser == nil && len(n.Outputs) == 3:
			b.quantiser = n
		case n.Domain == "" && (n.Op == "MatMulInteger" || n.Op == "ConvInteger") && b.product == nil:
			b.product = n
		case n.Domain == "" && n.Op == "Cast" && b.cast == nil && n.Attrs.Int("to", 0) == int64(tensor.Float32):
			b.cast = n
		default:
			rest = append(rest, n)
		}
	}
	if b.product == nil || b.cast == nil || b.cast.Inputs[0] != b.product.Outputs[0] {
		return nil
	}
	b.after = &graph.Graph{Values: body.Values, Nodes: append([]*graph.Node{b.cast}, rest...),
		Inputs: append(slices.Clone(body.Inputs), b.product.Outputs[0]), Outputs: body.Outputs}
	if b.quantiser != nil {
		b.after.Inputs = append(b.after.Inputs, b.quantiser.Outputs...)
	}
	return b
}

// flatten describes the product and what stands behind it as a node whose inputs are those of the
// group and what is made before it.
func (b *parts) flatten(l simd.Level, o *backend.Op) (*backend.Op, *group) {
	node := &graph.Node{Domain: op.Domain, Op: op.Fused, Outputs: o.Node.Outputs,
		Attrs: graph.Attrs{{Name: "body", Kind: graph.AttrGraph, Graph: b.after}}}
	sums := backend.Arg{DType: tensor.Int32, Shape: o.Out[0].Shape}
	inner := &backend.Op{Node: node, In: append(slices.Clone(o.In), sums), Out: o.Out, Threads: o.Threads,
		Consts: o.Consts}
	g := &group{ins: len(o.In) + 1}
	if b.quantiser != nil {
		if g.x = slices.Index(b.after.Inputs[:len(o.In)], b.quantiser.Inputs[0]); g.x < 0 {
			return nil, nil
		}
		x := o.In[g.x]
		n, ok := x.Shape.Elements()
		if !ok || x.DType != tensor.Float32 || x.Shape == nil {
			return nil, nil
		}
		one := tensor.Shape{}
		inner.In = append(inner.In, backend.Arg{DType: tensor.Uint8, Shape: x.Shape},
			backend.Arg{DType: tensor.Float32, Shape: one}, backend.Arg{DType: tensor.Uint8, Shape: one})
		g.q, g.ins = g.ins, len(inner.In)
		g.quantiser = newDynamic(l, int(n))
	}
	g.calls.New = func() any {
		f := &frame{}
		f.product.In, f.product.Out = make([]backend.View, g.ins), make([]backend.View, 1)
		f.quantiser.In, f.quantiser.Out = make([]backend.View, 1), make([]backend.View, 3)
		return f
	}
	return inner, g
}

// bytes returns the scratch memory for what is made before the product.
func (g *group) bytes() int {
	if g.quantiser == nil {
		return 0
	}
	return 64 + roundUp(g.quantiser.count, 64)
}

func (g *group) kernel(c *backend.Call) error {
	f := g.calls.Get().(*frame)
	defer g.calls.Put(f)
	copy(f.product.In, c.In)
	copy(f.product.Out, c.Out)
	f.product.Team, f.product.Scratch = c.Team, c.Scratch[g.bytes():]
	if g.quantiser != nil {
		made := f.product.In[g.q:]
		made[0] = backend.View{DType: tensor.Uint8, Data: c.Scratch[64:][:g.quantiser.count]}
		made[1] = backend.View{DType: tensor.Float32, Data: c.Scratch[:4]}
		made[2] = backend.View{DType: tensor.Uint8, Data: c.Scratch[4:5]}
		f.quantiser.In[0] = c.In[g.x]
		copy(f.quantiser.Out, made)
		f.quantiser.Team = c.Team
		if err := g.quantiser.kernel(&f.quantiser); err != nil {
			return err
		}
	}
	return g.inner(&f.product)
}
