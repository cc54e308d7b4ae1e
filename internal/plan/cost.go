package plan

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
)

// Coster estimates times.
type Coster interface {
	// Kernel estimates one call of a candidate in nanoseconds, given the operator's own work, and
	// says where the estimate comes from. The operation "Reorder" of domain op.Domain changes a layout.
	Kernel(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string)
	// Transfer estimates the copy of so many bytes from one device to another, by their names.
	Transfer(from, to string, bytes int64) int64
}

// work returns what a node asks for, whatever runs it.
func (c *compiler) work(it *item) op.Work {
	ctx := c.inf.Ctx(it.node)
	for i, v := range it.node.Outputs {
		ctx.Out[i] = *c.inf.Fact(v)
	}
	return it.row.WorkOf(ctx)
}
