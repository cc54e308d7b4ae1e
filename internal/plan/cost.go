package plan

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/op"
)

// Coster estimates times.
type Coster interface {
	// Kernel estimates one call of a candidate in nanoseconds, given the operator's own work, and
	// says where the estimate comes from. The operation "Reorder" of domain op.Domain changes a layout.
	Kernel(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string)
}

// Typical is a roofline with the rates of a usual processor core, for whoever has measured none.
type Typical struct{}

// The rates of Typical: operations and bytes per nanosecond, and nanoseconds to launch a kernel.
const (
	typicalFlops  = 90.0
	typicalStream = 12.0
	typicalLaunch = 300.0
	// A kernel whose maker knows no share of the peak reaches these.
	unknownFlops  = 0.01
	unknownStream = 0.05
	// A kernel that is known by its stream alone computes with this share of the peak.
	streamedFlops = 0.2
)

// Kernel implements Coster. The source is "roofline".
func (Typical) Kernel(o *backend.Op, w op.Work, c *backend.Candidate) (ns int64, source string) {
	flops, stream := c.Flops, c.Stream
	switch {
	case flops <= 0 && stream <= 0:
		flops, stream = unknownFlops, unknownStream
	case flops <= 0:
		flops = streamedFlops
	case stream <= 0:
		stream = 1
	}
	compute := (w.FLOPs + c.Extra.Flops) / (typicalFlops * flops * float64(max(1, o.Threads)))
	move := (w.Bytes + c.Extra.Bytes) / (typicalStream * stream)
	t := typicalLaunch + math.Max(compute, move)
	return int64(math.Min(t, 1e17)), "roofline"
}

// work returns what a node asks for, whatever runs it.
func (c *compiler) work(it *item) op.Work {
	ctx := c.inf.Ctx(it.node)
	for i, v := range it.node.Outputs {
		ctx.Out[i] = *c.inf.Fact(v)
	}
	return it.row.WorkOf(ctx)
}
