package window

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// tail is what a kernel computes behind its own operator, and where that operator's operands are
// among the node's.
type tail struct {
	// node is the operator itself, in its input for each of its own; −1 for one left out.
	node *graph.Node
	in   []int
	// lo and hi bound the operator's results, then rest, unless it is nil, goes over them. all does
	// the same as both, or is nil.
	lo, hi    float32
	rest, all *prog.Program
}

var infinite = float32(math.Inf(1))

// alone is the tail of a node that is not fused.
func alone(o *backend.Op) tail {
	t := tail{node: o.Node, lo: -infinite, hi: infinite}
	for i := range o.In {
		if !o.In[i].Present() {
			t.in = append(t.in, -1)
			continue
		}
		t.in = append(t.in, i)
	}
	return t
}

// Fused returns the kernels for elementwise operators behind one of the package's.
func Fused(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	body := prog.Body(o.Node)
	if body == nil || len(body.Nodes) == 0 {
		return nil, nil
	}
	makes := anchors[body.Nodes[0].Op]
	if makes == nil || body.Nodes[0].Domain != "" {
		return nil, nil
	}
	t := tail{node: body.Nodes[0]}
	if w := slices.Index(body.Inputs, t.node.Input(1)); t.node.Op == "Conv" &&
		(w < 0 || len(o.In[w].Shape) < 2 || o.In[w].Shape[1] != 1 || len(o.In) != len(body.Inputs)) {
		return nil, nil
	}
	p, ok := prog.Compile(l, o, t.node, 1)
	if !ok {
		return nil, nil
	}
	t.all = p
	t.lo, t.hi, t.rest = p.Clamp()
	for _, v := range t.node.Inputs {
		t.in = append(t.in, slices.Index(body.Inputs, v))
	}
	return makes(l, o, t)
}

// anchors are the operators that others can follow in a fused node.
var anchors = map[string]func(simd.Level, *backend.Op, tail) ([]backend.Candidate, error){
	"Conv": depthwiseOf, "ConvTranspose": transposedOf,
}

// arg returns input i of the operator itself.
func (t *tail) arg(o *backend.Op, i int) *backend.Arg {
	if i < len(t.in) && t.in[i] >= 0 {
		return &o.In[t.in[i]]
	}
	return &backend.Arg{}
}

// layouts returns the layouts of all inputs when the operator's first, and the output, lie in blocks;
// ok is false when a constant would have to.
func (t *tail) layouts(o *backend.Op, block int) (in []backend.Layout, ok bool) {
	in = make([]backend.Layout, len(o.In))
	in[t.in[0]] = backend.Layout(block)
	if t.rest == nil {
		return in, true
	}
	for _, i := range t.rest.Full() {
		if o.In[i].Const != nil {
			return nil, false
		}
		in[i] = backend.Layout(block)
	}
	return in, true
}

// scratch is the floats of scratch memory that the tail needs.
func (t *tail) scratch(o *backend.Op) int {
	if t.rest == nil {
		return 0
	}
	return t.rest.Scratch() * max(1, o.Threads)
}

// finish applies the tail to pixels of a block of channels, of which ch is the first; at is where
// they are in the output. The tail's part of the call's scratch memory starts at from.
func (t *tail) finish(c *backend.Call, pixels []float32, at, ch, block, from, worker int) {
	if t.rest == nil {
		return
	}
	n := t.rest.Scratch()
	tile := prog.Tile{Data: pixels, At: at, Channel: ch, Mode: prog.Blocked, Block: block}
	t.rest.Run(c, &tile, tensor.Cast[float32](c.Scratch)[from+worker*n:][:n])
}
