package op

import (
	"fmt"

	"github.com/stowage-ml/stowage/internal/graph"
)

// CheckArity fails unless a node has as many inputs and outputs as the operator may have. Absent
// ones at the end do not count against the maximum.
func (r *Row) CheckArity(n *graph.Node) error {
	if err := r.In.check("inputs", n.Inputs); err != nil {
		return err
	}
	return r.Out.check("outputs", n.Outputs)
}

func (a Arity) check(what string, ids []graph.ValueID) error {
	present := len(ids)
	for present > 0 && ids[present-1] == graph.NoValue {
		present--
	}
	if len(ids) >= a.Min && (a.Max < 0 || present <= a.Max) {
		return nil
	}
	want := fmt.Sprintf("%d to %d", a.Min, a.Max)
	switch {
	case a.Max < 0:
		want = fmt.Sprintf("at least %d", a.Min)
	case a.Min == a.Max:
		want = fmt.Sprint(a.Min)
	}
	return fmt.Errorf("got %d %s, want %s", len(ids), what, want)
}
