package plan

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
)

// addStep adds the launch of an item that is not a view.
func (c *compiler) addStep(it *item) {
	if it.view {
		return
	}
	n, o := it.node, &it.options[it.pick]
	s := Step{Node: n, item: it, In: it.in, Out: it.out, reads: it.reads, Reorder: it.change, InPlace: -1,
		Rows: it.rows, Device: c.deviceName(it.device), DeviceIndex: it.device, Transfer: it.transfer, From: it.from,
		To: it.to, Kernel: o.Kernel, Name: o.Name, Source: o.Source, ScratchBytes: o.Scratch,
		EstNs: c.truly(it, o.ns), EstSource: o.estimate, Reason: it.reason}
	if it.row.Control {
		s.Reason = "runs its bodies"
		s.Control = &Control{Bodies: c.u.Bodies[n], Taken: c.taken(n)}
	}
	if it.runner >= 0 {
		r := &it.options[it.runner]
		s.MarginNs = it.margin
		if s.RunnerUp = r.Name; !r.sameLayouts(o) {
			s.RunnerUp = fmt.Sprintf("%s, %v", r.Name, r.layout())
		}
	}
	if it.where != "" {
		s.Reason = it.where + "; " + s.Reason
	}
	if it.elsewhere != "" && (s.RunnerUp == "" || it.farther < s.MarginNs) {
		s.RunnerUp, s.MarginNs = "device "+it.elsewhere, it.farther
	}
	c.stage.Steps = append(c.stage.Steps, s)
}

// layout is the first that is not row-major among those of an option.
func (o *option) layout() backend.Layout {
	for _, ls := range [][]backend.Layout{o.in, o.out} {
		for _, l := range ls {
			if l != backend.RowMajor {
				return l
			}
		}
	}
	return backend.RowMajor
}

// taken returns the index of the body of an If whose condition is known, else −1.
func (c *compiler) taken(n *graph.Node) int {
	if n.Op != "If" {
		return -1
	}
	cond, ok := c.inf.Fact(n.Inputs[0]).Ints()
	if !ok || len(cond) != 1 {
		return -1
	}
	// Bodies are in order of attribute name: else_branch, then_branch.
	if cond[0] != 0 {
		return 1
	}
	return 0
}

func describe(args []backend.Arg) string {
	out := ""
	for i := range args {
		if i > 0 {
			out += ", "
		}
		if args[i].Present() {
			out += args[i].DType.String() + args[i].Shape.String()
		} else {
			out += "none"
		}
	}
	return out
}
