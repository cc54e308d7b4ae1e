package move

import (
	"math"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/simd"
	"github.com/stowage-ml/stowage/tensor"
)

// stretch is a run of the output along one axis. A nil source stands for what constant padding
// fills.
type stretch struct {
	n, dst int
	src    *side
}

// Pad returns the kernels of operator Pad when the pads are known and reach no further than the
// input goes.
func Pad(l simd.Level, o *backend.Op) ([]backend.Candidate, error) {
	m := newMover(l, o, "pad")
	pads, ok := list(o, "pads", 1)
	axes, aok := list(o, "axes", 3)
	if m == nil || !ok || !aok {
		return nil, nil
	}
	mode := o.Node.Attrs.Str("mode", "constant")
	in, out := o.In[0].Shape, o.Out[0].Shape
	cuts := make([][]stretch, len(in))
	for i := range in {
		cuts[i], _ = stretches(mode, i, int(in[i]), 0, 0)
	}
	half := len(pads) / 2
	for i := range half {
		axis := i
		if axes != nil {
			axis = axisOf(axes[i], len(in))
		}
		before, after := int(pads[i]), int(pads[half+i])
		if int64(before+after) != out[axis]-in[axis] {
			return nil, nil
		}
		if cuts[axis], ok = stretches(mode, axis, int(in[axis]), before, after); !ok {
			return nil, nil
		}
	}
	if mode == "constant" && !m.constant() {
		return nil, nil
	}
	m.cover(cuts, nil, o.Arg(2).Present())
	return m.candidates(1, blocked{true, true}, blocked{true, false}), nil
}

// constant sets the element that fills, unless an input gives it; it reports false for an attribute
// that this package cannot convert.
func (m *mover) constant() bool {
	v := m.op.Node.Attrs.Float("value", 0)
	if m.op.Arg(2).Present() || v == 0 {
		return true
	}
	if m.op.In[0].DType != tensor.Float32 {
		return false
	}
	tensor.Cast[uint32](m.fill)[0] = math.Float32bits(v)
	return true
}

// stretches cuts an axis of n elements with padding into runs; ok is false when the padding
// needs more than is there, or takes everything away.
func stretches(mode string, axis, n, before, after int) (out []stretch, ok bool) {
	skip, drop := max(0, -before), max(0, -after)
	before, after = max(0, before), max(0, after)
	kept := n - skip - drop
	if kept < 0 || kept == 0 && mode != "constant" {
		return nil, false
	}
	first, last := skip, skip+kept-1
	add := func(n, at int, s *side) {
		if n > 0 {
			out = append(out, stretch{n, at, s})
		}
	}
	var head, tail *side
	switch mode {
	case "constant":
	case "edge":
		head, tail = &side{axis, first, 0}, &side{axis, last, 0}
	case "reflect":
		if max(before, after) >= kept {
			return nil, max(before, after) == 0
		}
		head, tail = &side{axis, first + before, -1}, &side{axis, last - 1, -1}
	case "wrap":
		if max(before, after) > kept {
			return nil, false
		}
		head, tail = &side{axis, last + 1 - before, 1}, &side{axis, first, 1}
	default:
		return nil, false
	}
	add(before, 0, head)
	add(kept, before, &side{axis, first, 1})
	add(after, before+kept, tail)
	return out, true
}

// cover adds a move for each combination of runs; what constant padding fills is filled over all
// axes that follow.
func (m *mover) cover(cuts [][]stretch, dims []dim, given bool) {
	axis := len(dims)
	if axis == len(cuts) {
		m.add(0, 0, dims...)
		return
	}
	for _, s := range cuts[axis] {
		next := append(dims[:axis:axis], dim{n: s.n, dst: side{axis, s.dst, 1}})
		if s.src != nil {
			next[axis].src = *s.src
			m.cover(cuts, next, given)
			continue
		}
		in := fill
		if given {
			in = 2
		}
		next[axis].src = still
		for i := axis + 1; i < len(cuts); i++ {
			next = append(next, dim{int(m.op.Out[0].Shape[i]), along(i), still})
		}
		for i := range next[:axis] {
			next[i].src = still
		}
		m.add(in, 0, next...)
	}
}
