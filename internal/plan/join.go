package plan

import "github.com/stowage-ml/stowage/internal/graph"

// concat gives the inputs of a concatenation their places in its result, so that nothing is left
// to do. Every input must be made in this stage, alone in its class, and nobody's output.
func (m *layout) concat(it *item) bool {
	if it.joinRows {
		return m.joinRows(it)
	}
	out := it.out[0]
	if m.c.fate[out] != made || m.pitch[m.root(out)] != 0 {
		return false
	}
	seen := map[graph.ValueID]bool{}
	for _, v := range it.in {
		if v == graph.NoValue || m.c.size(v) == 0 {
			continue
		}
		r := m.root(v)
		if seen[r] || !m.free(v, r) || m.pitch[r] != 0 {
			return false
		}
		seen[r] = true
	}
	at := int64(0)
	for _, v := range it.in {
		if v == graph.NoValue || m.c.size(v) == 0 {
			continue
		}
		m.join(m.root(v), out, at)
		at += m.c.size(v)
	}
	m.c.fate[out], m.cut[m.root(out)] = viewed, true
	return true
}

// free reports whether v, of the class of r, is the whole of it and may be put anywhere.
func (m *layout) free(v, r graph.ValueID) bool {
	inStage := func(f fate) bool { return f == made || f == viewed }
	return inStage(m.c.fate[v]) && inStage(m.c.fate[r]) && m.class[r].base == graph.NoValue &&
		m.at(v) == 0 && m.c.size(v) == m.c.size(r) && !m.result[v] && !m.result[r]
}

// split leaves the parts of a value where they are.
func (m *layout) split(it *item) bool {
	if it.joinRows {
		return m.joinRows(it)
	}
	in := it.in[0]
	if m.pitch[m.root(in)] != 0 {
		return false
	}
	for _, v := range it.out {
		if v == graph.NoValue || m.c.fate[v] != made {
			return false
		}
	}
	at := int64(0)
	m.cut[m.root(in)] = true
	for _, v := range it.out {
		m.join(v, in, at)
		m.c.fate[v] = viewed
		at += m.c.size(v)
	}
	return true
}
