package cost

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
	"github.com/stowage-ml/stowage/tensor"
)

// Work returns an operator's work on operands of known shapes: what its row says, or one operation
// for each element of the first output, and every operand read or written once.
func Work(o *backend.Op) op.Work {
	c := op.Ctx{Node: o.Node, In: facts(o.In), Out: facts(o.Out)}
	if r := op.Lookup(o.Node.Domain, o.Node.Op); r != nil && r.Work != nil {
		return r.Work(&c)
	}
	var w op.Work
	for _, args := range [][]backend.Arg{o.In, o.Out} {
		for i := range args {
			w.Bytes += elements(args[i].Shape) * float64(args[i].DType.Bits()) / 8
		}
	}
	if len(o.Out) > 0 {
		w.FLOPs = elements(o.Out[0].Shape)
	}
	return w
}

// elements returns the number of elements of a shape; 0 when it is not known.
func elements(s tensor.Shape) float64 {
	if s == nil {
		return 0
	}
	n, _ := s.Elements()
	return float64(n)
}

func facts(args []backend.Arg) []op.Fact {
	out := make([]op.Fact, len(args))
	for i := range args {
		a := &args[i]
		if a.Const != nil {
			out[i] = op.FactOf(a.Const)
			continue
		}
		out[i] = op.Fact{DType: a.DType}
		if a.Shape != nil {
			out[i].Shape = graph.Of(a.Shape...)
		}
	}
	return out
}
