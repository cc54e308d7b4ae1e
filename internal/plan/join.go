package plan

import (
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// outermost reports whether the values along the node's axis lie one whole block behind the
// other: every dimension outside the axis has one index.
func (m *layout) outermost(n *graph.Node, v graph.ValueID) bool {
	dt, shape := m.c.typeOf(v)
	axis := int(n.Attrs.Int("axis", 0))
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) || dt == tensor.String || dt.Bits()%8 != 0 {
		return false
	}
	outer, _ := shape[:axis].Elements()
	return outer == 1
}

// concat gives the inputs of a concatenation their places in its result, so that nothing is left
// to do. Every input must be made in this stage, alone in its class, and nobody's output.
func (m *layout) concat(n *graph.Node) bool {
	out := n.Outputs[0]
	if m.c.fate[out] != made || !m.outermost(n, out) {
		return false
	}
	seen := map[graph.ValueID]bool{}
	for _, v := range n.Inputs {
		if v == graph.NoValue || m.c.size(v) == 0 {
			continue
		}
		r := m.root(v)
		if seen[r] || !m.free(v, r) {
			return false
		}
		seen[r] = true
	}
	at := int64(0)
	for _, v := range n.Inputs {
		if v == graph.NoValue || m.c.size(v) == 0 {
			continue
		}
		m.join(m.root(v), out, at)
		at += m.c.size(v)
	}
	m.c.fate[out] = viewed
	return true
}

// free reports whether v, of the class of r, is the whole of it and may be put anywhere.
func (m *layout) free(v, r graph.ValueID) bool {
	inStage := func(f fate) bool { return f == made || f == viewed }
	return inStage(m.c.fate[v]) && inStage(m.c.fate[r]) && m.class[r].base == graph.NoValue &&
		m.at(v) == 0 && m.c.size(v) == m.c.size(r) && !m.result[v] && !m.result[r]
}

// split leaves the parts of a value where they are.
func (m *layout) split(n *graph.Node) bool {
	in := n.Inputs[0]
	if !m.outermost(n, in) {
		return false
	}
	for _, v := range n.Outputs {
		if v == graph.NoValue || m.c.fate[v] != made {
			return false
		}
	}
	at := int64(0)
	for _, v := range n.Outputs {
		m.join(v, in, at)
		m.c.fate[v] = viewed
		at += m.c.size(v)
	}
	return true
}
