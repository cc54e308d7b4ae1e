package opencl

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

var fusedFamily = family{"fused", nil, 0.3, 0.5}

// anchors are the operators that take a chain behind them into their own kernel.
var anchors = map[string]func(b *builder, n *graph.Node, in []*value, out *value, t *tail) bool{
	"MatMul": matMul, "Gemm": gemmNode, "Conv": convolve, "ConvTranspose": convolve,
}

// tail is a chain behind an anchor: it reads the anchor's result under the number from.
type tail struct {
	*chain
	from int
}

// body is a Fused node's body while its tasks are made.
type body struct {
	b  *builder
	g  *graph.Graph
	at []*value
	// facts are those of all values.
	facts []op.Fact
}

// makeFused makes the tasks of a body: one kernel where all nodes are elementwise, or all but a first
// one that can take the others behind it; else each run of elementwise nodes is one, and every other
// node as it would be alone, with what they hand on in scratch memory.
func makeFused(b *builder, n *graph.Node, in, out []*value) bool {
	g := n.Attrs.Graph("body")
	facts := make([]op.Fact, len(in))
	for i, v := range in {
		facts[i] = op.Fact{DType: v.dtype, Shape: graph.Of(v.shape...), Const: v.data}
	}
	all, err := op.BodyFacts(g, facts)
	if err != nil {
		return false
	}
	f := &body{b: b, g: g, at: make([]*value, len(g.Values)), facts: all}
	for i, v := range g.Inputs {
		f.at[v] = in[i]
	}
	for i, v := range g.Outputs {
		f.at[v] = out[i]
	}
	if len(out) == 1 {
		mark, scratch := len(b.tasks), b.scratch
		if f.whole(out[0]) {
			return true
		}
		b.tasks, b.scratch = b.tasks[:mark], scratch
	}
	for _, m := range g.Nodes {
		if !f.node(m) {
			return false
		}
	}
	return true
}

// whole makes one kernel of the body.
func (f *body) whole(out *value) bool {
	ch := &chain{reads: map[int]*value{}, last: int(f.g.Outputs[0])}
	var anchor *graph.Node
	for _, m := range f.g.Nodes {
		if anchors[m.Op] != nil && m.Domain == "" && anchor == nil {
			anchor = m
			continue
		}
		if m.Domain != "" || !expressible(m.Op) || len(m.Outputs) != 1 {
			return false
		}
		mem := member{node: m, out: int(m.Outputs[0])}
		for _, v := range m.Inputs {
			mem.in = append(mem.in, int(v))
		}
		ch.members = append(ch.members, mem)
	}
	written := map[int]bool{}
	for _, m := range f.g.Nodes {
		written[int(m.Outputs[0])] = true
	}
	for k := range ch.members {
		for i, v := range ch.members[k].in {
			switch {
			case v == int(graph.NoValue):
				ch.members[k].in[i] = -1
			case !written[v]:
				ch.reads[v] = f.at[v]
			}
		}
	}
	if anchor == nil {
		return f.b.chainTask(ch, out)
	}
	from := int(anchor.Outputs[0])
	shape, ok := f.facts[from].Shape.Concrete()
	if !ok || len(ch.members) == 0 || from == ch.last || !shape.Equal(out.shape) || out.dtype != tensor.Float32 {
		return false
	}
	ch.reads[from] = &value{dtype: tensor.Float32, shape: shape}
	in := make([]*value, len(anchor.Inputs))
	for i, v := range anchor.Inputs {
		in[i] = &value{}
		if v != graph.NoValue {
			if in[i] = f.at[v]; in[i] == nil {
				return false
			}
		}
	}
	return anchors[anchor.Op](f.b, anchor, in, out, &tail{ch, from})
}

// node makes the tasks of one node of the body.
func (f *body) node(m *graph.Node) bool {
	in := make([]*value, len(m.Inputs))
	for i, v := range m.Inputs {
		in[i] = &value{}
		if v != graph.NoValue {
			in[i] = f.at[v]
		}
		if in[i] == nil {
			return false
		}
	}
	row := op.Lookup(m.Domain, m.Op)
	var out []*value
	for i, v := range m.Outputs {
		if v == graph.NoValue {
			out = append(out, &value{})
			continue
		}
		shape, ok := f.facts[v].Shape.Concrete()
		dt := f.facts[v].DType
		if !ok || dt.Bits() < 8 || dt == tensor.String {
			return false
		}
		if f.at[v] == nil && row.View && i == 0 && in[0].dtype == dt && len(m.Outputs) == 1 {
			same := *in[0]
			same.shape = shape
			f.at[v] = &same
			return true
		}
		if f.at[v] == nil {
			f.at[v] = f.b.temp(dt, shape)
		}
		out = append(out, f.at[v])
	}
	fam := familyOf(m)
	return fam != nil && fam.make(f.b, m, in, out)
}
