package op

import (
	"github.com/stowage-ml/stowage/internal/graph"
)

// Broadcast returns the shape that numpy's rule gives several operands: aligned at the last
// dimension, each extent 1 or equal. A dim of which nothing is known yields to a known extent
// other than 1. It fails with the two shapes that cannot meet.
func (c *Ctx) Broadcast(shapes ...graph.Shape) (graph.Shape, error) {
	rank := 0
	for _, s := range shapes {
		if s.Unranked() {
			return nil, nil
		}
		rank = max(rank, len(s))
	}
	out := make(graph.Shape, rank)
	for i := range out {
		out[i] = graph.Known(1)
	}
	for _, s := range shapes {
		base := rank - len(s)
		for j, d := range s {
			m, ok := meet(out[base+j], d)
			if !ok {
				return nil, c.Errf("shapes %v and %v do not broadcast: dim %d is %v against %v",
					out, s, base+j, out[base+j], d)
			}
			out[base+j] = m
		}
	}
	return out, nil
}

// meet joins two extents under broadcasting; ok is false when they are known to clash.
func meet(a, b graph.Dim) (graph.Dim, bool) {
	switch {
	case a.Is(1) || a.Same(b):
		return b, true
	case b.Is(1):
		return a, true
	}
	_, aok := a.Int()
	_, bok := b.Int()
	switch {
	case aok && bok:
		return a, false
	case aok:
		return a, true
	case bok:
		return b, true
	}
	return graph.Unknown(), true
}
