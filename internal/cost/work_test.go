package cost

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/internal/op"
)

// work returns the operator's own work, as plans ask its row for it.
func work(o *backend.Op) op.Work {
	r := op.Lookup(o.Node.Domain, o.Node.Op)
	if r == nil {
		r = &op.Row{}
	}
	return r.WorkOf(&op.Ctx{Node: o.Node, In: facts(o.In), Out: facts(o.Out)})
}

func facts(args []backend.Arg) []op.Fact {
	out := make([]op.Fact, len(args))
	for i := range args {
		out[i] = op.Fact{DType: args[i].DType}
		if args[i].Shape != nil {
			out[i].Shape = graph.Of(args[i].Shape...)
		}
	}
	return out
}
