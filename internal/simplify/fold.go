package simplify

import (
	"fmt"
	"math"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// fold computes, in one sweep, the nodes all of whose inputs are constants.
func fold(s *simplifier, g *graph.Graph) (*graph.Patch, error) {
	p := &graph.Patch{Name: "fold constants", Const: map[graph.ValueID]*tensor.Tensor{}}
	uses := usesOf(g)
	s.expectFills(g)
	for _, n := range g.Nodes {
		in, ok := constants(g, p, n)
		if !ok || uses.turnsPacked(n) {
			continue
		}
		for i, t := range s.compute(n, in, uses.wantsWide(n)) {
			if v := n.Outputs[i]; v != graph.NoValue {
				p.Const[v] = t
			}
		}
	}
	if len(p.Const) == 0 {
		return nil, nil
	}
	return p, nil
}

// uses holds the nodes that read each value, once for each time, and which values a DequantizeLinear
// computes.
type uses struct {
	readers     [][]*graph.Node
	dequantised []bool
}

func usesOf(g *graph.Graph) *uses {
	u := &uses{readers: graph.Readers(g, func(i int) *graph.Node { return g.Nodes[i] }),
		dequantised: make([]bool, len(g.Values))}
	for _, n := range g.Nodes {
		if unpacks(n) {
			u.dequantised[n.Outputs[0]] = true
		}
	}
	return u
}

// turnsPacked reports whether a node transposes packed weights for one matrix product alone. Such a
// node stays: kernels read the weights either way, and its result would take as much memory again.
func (u *uses) turnsPacked(n *graph.Node) bool {
	if n.Domain != "" || n.Op != "Transpose" || len(u.readers[n.Outputs[0]]) != 1 {
		return false
	}
	m := u.readers[n.Outputs[0]][0]
	if !unpacks(m) || len(u.readers[m.Outputs[0]]) != 1 {
		return false
	}
	p := u.readers[m.Outputs[0]][0]
	return p.Domain == "" && (p.Op == "MatMul" || p.Op == "Gemm") && p.Inputs[1] == m.Outputs[0]
}

// wantsWide reports whether convolutions of values that are not quantised read a node's output: there
// are no kernels for packed weights then.
func (u *uses) wantsWide(n *graph.Node) bool {
	for _, m := range u.readers[n.Outputs[0]] {
		if m.Domain != "" || m.Op != "Conv" && m.Op != "ConvTranspose" {
			continue
		}
		if m.Op == "ConvTranspose" || !u.dequantised[m.Inputs[0]] {
			return true
		}
	}
	return false
}

// constants returns the contents of the node's inputs, nil for an absent one; ok is false when
// one is not a constant.
func constants(g *graph.Graph, p *graph.Patch, n *graph.Node) (in []*tensor.Tensor, ok bool) {
	in = make([]*tensor.Tensor, len(n.Inputs))
	for i, v := range n.Inputs {
		if v == graph.NoValue {
			continue
		}
		if in[i] = g.Values[v].Const; in[i] == nil {
			in[i] = p.Const[v]
		}
		if in[i] == nil {
			return nil, false
		}
	}
	return in, true
}

// compute returns the node's outputs; nil when it is not to be folded, or cannot be. wide says that
// packed weights are to be folded too.
func (s *simplifier) compute(n *graph.Node, in []*tensor.Tensor, wide bool) []*tensor.Tensor {
	row := op.Lookup(n.Domain, n.Op)
	if row == nil || row.Random || row.Control {
		return nil
	}
	c := &op.Ctx{Node: n, In: make([]op.Fact, len(in)), Out: make([]op.Fact, len(n.Outputs))}
	for i, t := range in {
		if t != nil {
			c.In[i] = op.FactOf(t)
		}
	}
	if row.Infer(c) != nil {
		return nil
	}
	if t := reshaped(row, c, in); t != nil {
		return t
	}
	size, ok := s.affordable(row, c, in)
	if !ok || unpacks(n) && size > sizeOf(in[0]) && !wide {
		return nil
	}
	if t := s.filled(c, size); t != nil {
		return t
	}
	key, ok := memoKey(n, in)
	if out := s.memo[key]; ok && out != nil {
		return out
	}
	if out := sliced(c, in); out != nil {
		s.memo[key] = out
		return out
	}
	if out := s.joined(c, in, size); out != nil {
		s.memo[key] = out
		return out
	}
	out, err := s.eval(n, in)
	if err != nil || len(out) != len(n.Outputs) {
		return nil
	}
	for i, v := range n.Outputs {
		if v != graph.NoValue && out[i] == nil {
			return nil
		}
	}
	if size < 0 {
		size = sizeOf(out...)
		if !s.within(size, sizeOf(in...)) {
			return nil
		}
	}
	s.bytes += size
	if ok {
		s.memo[key] = out
	}
	return out
}

// memoKey names what a node computes, so that two branches that prepare one weight in the same
// way share the result; ok is false for a node with attributes of a rare kind.
func memoKey(n *graph.Node, in []*tensor.Tensor) (key string, ok bool) {
	b := fmt.Appendf(nil, "%s %s %d %d", n.Domain, n.Op, n.Version, len(n.Outputs))
	for _, v := range n.Outputs {
		b = fmt.Appendf(b, " %t", v == graph.NoValue)
	}
	for _, t := range in {
		b = fmt.Appendf(b, " %p", t)
	}
	for i := range n.Attrs {
		a := &n.Attrs[i]
		switch a.Kind {
		case graph.AttrInt, graph.AttrFloat, graph.AttrString, graph.AttrInts, graph.AttrFloats, graph.AttrStrings,
			graph.AttrTensor:
			b = fmt.Appendf(b, " %q %d %d %x %q %p %d %x %q", a.Name, a.Kind, a.Int, math.Float32bits(a.Float), a.Str,
				a.Tensor, a.Ints, a.Floats, a.Strs)
		default:
			return "", false
		}
	}
	return string(b), true
}

// unpacks reports whether the node turns packed weights into wide ones. Such a node stays: to fold
// it would give away the memory that packing saves, and hide the packed form from kernels that can
// use it.
func unpacks(n *graph.Node) bool { return n.Domain == "" && n.Op == "DequantizeLinear" }

// reshaped returns the output of a node that only gives its input another shape, over the same
// memory; nil for other nodes.
func reshaped(row *op.Row, c *op.Ctx, in []*tensor.Tensor) []*tensor.Tensor {
	if !row.View || len(c.Out) != 1 || len(in) == 0 || in[0] == nil || c.Out[0].DType != in[0].DType() {
		return nil
	}
	shape, ok := c.Out[0].Shape.Concrete()
	if !ok {
		return nil
	}
	var t *tensor.Tensor
	var err error
	if in[0].DType() == tensor.String {
		t, err = tensor.New(shape, in[0].Strings())
	} else {
		t, err = tensor.FromBytes(in[0].DType(), shape, in[0].Bytes())
	}
	if err != nil {
		return nil
	}
	return []*tensor.Tensor{t}
}

// affordable reports whether the node may be computed, going by what inference says of it, and
// how large its outputs are: −1 when only computing it will tell.
func (s *simplifier) affordable(row *op.Row, c *op.Ctx, in []*tensor.Tensor) (size int64, ok bool) {
	elements := 0.0
	for i := range c.Out {
		f := &c.Out[i]
		if c.Node.Outputs[i] == graph.NoValue {
			continue
		}
		shape, ok := f.Shape.Concrete()
		if !ok {
			if !row.Dynamic {
				return 0, false
			}
			size = -1
			break
		}
		n, ok := shape.Elements()
		b, bok := byteSize(f.DType, n)
		if !ok || !bok || b > s.lim.TotalBytes {
			return 0, false
		}
		size += b
		elements += float64(n)
	}
	work := elements
	if row.Work != nil {
		work = row.Work(c).FLOPs
	}
	if s.flops+work > s.lim.FLOPs || !s.within(size, sizeOf(in...)) {
		return 0, false
	}
	s.flops += work
	return size, true
}

// within reports whether outputs of this size may be kept, for inputs of that size.
func (s *simplifier) within(out, in int64) bool {
	return (out <= s.lim.OutputBytes || out/s.lim.Growth <= in) && s.bytes+out <= s.lim.TotalBytes
}

// stringBytes is what one string counts for.
const stringBytes = 16

// byteSize is DType.ByteSize, with a size for strings.
func byteSize(dt tensor.DType, n int64) (int64, bool) {
	if dt == tensor.String {
		return n * stringBytes, n < 1<<40
	}
	return dt.ByteSize(n)
}

func sizeOf(ts ...*tensor.Tensor) int64 {
	var sum int64
	for _, t := range ts {
		if t != nil {
			sum += int64(len(t.Bytes()) + stringBytes*len(t.Strings()))
		}
	}
	return sum
}
