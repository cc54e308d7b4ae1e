package conv

import (
	"math"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/cpu/prog"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/simd"
)

// finish is what is done to the sums: first plus is added, the node's input that is as large as the output,
// or −1; then come bounds; then a program, which may be nil.
type finish struct {
	plus   int
	lo, hi float32
	rest   *prog.Program
	// full lists the node's inputs, among them plus, that are as large as the output.
	full []int
}

var unbounded = finish{plus: -1, lo: float32(math.Inf(-1)), hi: float32(math.Inf(1))}

// finishes returns what is done to the results of the body's node k: all by the bounds and the
// program; and, where it can, with a sum first.
func finishes(l simd.Level, o *backend.Op, body *graph.Graph, k int) (f [2]finish, ok bool) {
	all, ok := prog.Compile(l, o, body.Nodes[k], 1)
	if !ok {
		return f, false
	}
	f[0] = finishOf(all, -1)
	f[1] = f[0]
	if i := residual(o, body, k); i >= 0 {
		if rest, ok := prog.Compile(l, o, body.Nodes[k+1], 1); ok {
			f[1] = finishOf(rest, i)
		}
	}
	return f, true
}

func finishOf(p *prog.Program, plus int) finish {
	f := finish{plus: plus, full: p.Full()}
	if f.lo, f.hi, f.rest = p.Clamp(); f.rest != nil && f.rest.Empty() {
		f.rest = nil
	}
	if plus >= 0 && !slices.Contains(f.full, plus) {
		f.full = append(f.full, plus)
	}
	return f
}

// residual returns the node's input that the body's node k+1 adds to the result of node k, when that
// is its only use; −1 when there is none of the output's shape.
func residual(o *backend.Op, body *graph.Graph, k int) int {
	if len(body.Nodes) < k+2 {
		return -1
	}
	sum, add := body.Nodes[k].Outputs[0], body.Nodes[k+1]
	if add.Op != "Add" || add.Domain != "" || len(add.Inputs) != 2 {
		return -1
	}
	other := add.Inputs[0]
	if other == sum {
		other = add.Inputs[1]
	}
	i := slices.Index(body.Inputs, other)
	if i < 0 || usesOf(body, sum) != 1 || !slices.Contains(add.Inputs, sum) || !o.In[i].Shape.Equal(o.Out[0].Shape) ||
		o.In[i].DType != o.Out[0].DType {
		return -1
	}
	return i
}
